"""How fast the model in the chapter on the cache writes, with its cache and without.

The listing is taken from the page and gets the weights of the book's model. Both ways write the
same tokens after the same prompt. A round times both, and the row has the median over the rounds.
The time is that of the processor, on one thread, so that other programs do not count.

python -m laboratory.speed.writing                          a CPU, a few minutes
python -m laboratory.speed.writing --new 4 --out FILE       tiny, only to try it
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bookkit import book_model
from bookkit.records import RESULTS, Row
from bookkit.trained import held_out
from laboratory.precision.listings import source_of
from laboratory.record import origin, write

COMMAND = "python -m laboratory.speed.writing"
PROMPT = 120  # bytes
Way = Callable[[Any, Tensor, int], Tensor]


def listing() -> dict[str, Any]:
    """What the listing of the page defines; its prints are dropped."""
    names: dict[str, Any] = {"print": lambda *_, **__: None}
    exec(source_of("def generate(model, tokens, count)"), names)
    return names


@torch.no_grad()
def generate_without_cache(model: Any, tokens: Tensor, count: int) -> Tensor:
    """The loop of the page before the five changes: every step reads the whole text."""
    for _ in range(count):
        logits, _ = model(tokens)
        new = logits[:, -1:].argmax(-1)
        tokens = torch.cat((tokens, new), dim=1)
    return tokens


def rows_of(new_tokens: Sequence[int], rounds: int) -> Iterator[Row]:
    """One row for each way and number of new tokens."""
    names = listing()
    trained = book_model()
    model = names["Model"](vocabulary=257, d=192, h=6, g=2, hidden=512, layers=6)
    model.load_state_dict(trained.state_dict())
    prompt = held_out(PROMPT, start=30_000)
    ways: dict[str, Way] = {"cache": names["generate"], "no cache": generate_without_cache}
    parameters = sum(weight.numel() for weight in trained.parameters())
    for count in new_tokens:
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        written = {}
        for _ in range(rounds):
            for way, generate in ways.items():
                began = time.process_time()
                written[way] = generate(model, prompt, count)
                seconds[way].append(time.process_time() - began)
        if not torch.equal(written["cache"], written["no cache"]):
            raise ValueError(f"with and without a cache, {count} new tokens are not the same")
        for way, times in seconds.items():
            yield {
                "way": way,
                "parameters": parameters,
                "prompt": PROMPT,
                "new": count,
                "dtype": "float32",
                "seconds": float(f"{statistics.median(times):.4g}"),
                "range": [float(f"{limit:.4g}") for limit in (min(times), max(times))],
            }


def main(arguments: list[str] | None = None) -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--new", type=int, nargs="+", default=[100, 200, 400])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS / "speed" / "writing.jsonl")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    write(given.out, rows_of(given.new, given.rounds), origin(COMMAND))


if __name__ == "__main__":
    main()
