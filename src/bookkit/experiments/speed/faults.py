"""Where the time of naive attention goes: the program, or the system that hands out memory.

`python -m bookkit.experiments.speed.faults` records it. Seconds of processor time, not of a clock,
so that other programs on the machine disturb little.
"""

import json
import resource
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_to_rope import attention
from bookkit.experiments.speed.measure import facts
from bookkit.experiments.speed.run import RESULTS
from bookkit.randomness import normal

LENGTHS = (1024, 2048, 4096, 8192)
CANDIDATES: dict[str, Callable[..., Tensor]] = {
    "naive attention": attention,
    "PyTorch's fused kernel": torch.nn.functional.scaled_dot_product_attention,
}


def fault_rows(lengths: tuple[int, ...], heads: int, d_k: int, rounds: int) -> list[dict[str, Any]]:
    """For each length and form, the call of several with the least processor time.

    A row: candidate, N, user_seconds, system_seconds, page_faults (first touches of fresh pages).
    """
    rows = []
    for N in lengths:
        x = [normal(1, heads, N, d_k, seed=seed, dtype=torch.float32) for seed in range(3)]
        for name, form in CANDIDATES.items():
            calls = [_one_call(form, x) for _ in range(rounds)]
            best = min(calls, key=lambda one: one["user_seconds"] + one["system_seconds"])
            rows.append({"candidate": name, "N": N, **best})
    return rows


def _one_call(form: Callable[..., Tensor], x: list[Tensor]) -> dict[str, float]:
    before = resource.getrusage(resource.RUSAGE_SELF)
    with torch.no_grad():
        form(*x)
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "user_seconds": round(after.ru_utime - before.ru_utime, 4),
        "system_seconds": round(after.ru_stime - before.ru_stime, 4),
        "page_faults": after.ru_minflt - before.ru_minflt,
    }


if __name__ == "__main__":
    about = facts("cpu", "python -m bookkit.experiments.speed.faults")
    lines = [json.dumps(row | about) for row in fault_rows(LENGTHS, heads=8, d_k=64, rounds=5)]
    (RESULTS / "faults.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
