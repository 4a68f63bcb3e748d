"""Timing several candidates side by side, so that what disturbs one disturbs all."""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from bookkit.records import Row

Candidate = Callable[[], Any]
Clock = Callable[[], float]


def _as_graph(candidate: Candidate, repeats: int, pool: Any) -> Candidate:
    """The same repeats recorded as one CUDA graph, which launches them without Python."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):  # compilation and allocation come before the recording
        for _ in range(3):
            candidate()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        for _ in range(repeats):
            candidate()
    return graph.replay


def _seconds(candidate: Candidate, repeats: int, device: str, clock: Clock) -> float:
    if device == "cuda":
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(repeats):
            candidate()
        end.record()
        torch.cuda.synchronize()
        return float(start.elapsed_time(end)) / 1e3 / repeats
    began = clock()
    for _ in range(repeats):
        candidate()
    return (clock() - began) / repeats


def compare(
    candidates: dict[str, Candidate],
    *,
    floor: str,
    device: str = "cpu",
    rounds: int = 15,
    repeats: int = 1,
    clock: Clock = time.perf_counter,
) -> list[dict[str, Any]]:
    """One row a candidate: median seconds, and the ratio to the floor of the same round.

    Every round times every candidate once, in a rotating order. The ratio is the median over the
    rounds of time / floor's time, with its quartiles. On a GPU a candidate is timed called from
    Python (eager) and replayed as a CUDA graph. The row has both, and in `seconds` and `ratio` the
    faster way counts: small work waits for its launches, and a large copy is slower in a graph.
    """
    names = list(candidates)
    if device == "cuda":
        pool = torch.cuda.graph_pool_handle()  # one for all: only one graph runs at a time
        graphs = {name: _as_graph(run, repeats, pool) for name, run in candidates.items()}
    for name in names:  # warm-up: compilation, caches, allocator
        _seconds(candidates[name], max(2, repeats // 4), device, clock)
    eager, graph, fastest = ({name: list[float]() for name in names} for _ in range(3))
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            eager[name].append(_seconds(candidates[name], repeats, device, clock))
            if device == "cuda":
                graph[name].append(_seconds(graphs[name], 1, device, clock) / repeats)
            fastest[name].append(min(times[name][-1] for times in (eager, graph) if times[name]))
    rows = []
    for name in names:
        seconds = _median(fastest, name)
        low, middle, high = _ratios(fastest, name, floor)
        row = {"candidate": name, "seconds": seconds, "ratio": middle}
        row |= {"ratio_quartiles": [low, high], "floor": floor}
        for way, times in (("eager", eager), ("graph", graph)):
            if device == "cuda":
                row[f"{way}_seconds"] = _median(times, name)
                row[f"{way}_ratio"] = _ratios(times, name, floor)[1]
        rows.append(row)
    return rows


def medians(runs: list[list[Row]]) -> Iterator[Row]:
    """One row for the same row of several runs: medians, and in `runs` the ratio of each."""
    for rows in zip(*runs, strict=True):
        numbers = [key for key in rows[0] if key.endswith(("seconds", "ratio"))]
        middle = {key: statistics.median(row[key] for row in rows) for key in numbers}
        yield rows[0] | middle | {"runs": [row["ratio"] for row in rows]}


def _median(times: dict[str, list[float]], name: str) -> float:
    return float(f"{statistics.median(times[name]):.4g}")


def _ratios(times: dict[str, list[float]], name: str, floor: str) -> list[float]:
    """The quartiles of time / floor's time of the same round."""
    ratios = [mine / base for mine, base in zip(times[name], times[floor], strict=True)]
    return [round(ratio, 3) for ratio in statistics.quantiles(ratios, n=4, method="inclusive")]
