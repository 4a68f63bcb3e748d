"""Compare what readers copy with float64, on a device, and record each case: --help."""

import argparse
import json
import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch

from bookkit.records import Row
from laboratory.precision.found import Found
from laboratory.precision.listings import USES
from laboratory.precision.one_file_models import CASES
from laboratory.precision.one_file_models import Use as Model
from laboratory.precision.situations import DTYPES, situations
from laboratory.record import origin, write

COMMAND = "python -m laboratory.precision.run"


class Case(NamedTuple):
    """One comparison: whose code, in which dtype, used in which way."""

    listing: str
    dtype: str
    situation: str
    measure: Callable[[], Found]

    @property
    def key(self) -> tuple[str, str, str]:
        """By this a recorded row is found again."""
        return self.listing, self.dtype, self.situation


def cases_of_listings(device: str, compiler: str) -> Iterator[Case]:
    """The listings of the chapters."""
    for name, use in USES.items():
        for dtype in DTYPES:
            measures = situations(use, dtype, device, compiler=compiler)
            for situation, measure in measures.items():
                yield Case(name, name_of(dtype), situation, measure)


def cases_of_models(device: str, compiler: str, length: int) -> Iterator[Case]:
    """The models in one file; `length` is the number of tokens of their longest text."""
    for (model, situation), measure in CASES.items():
        for dtype in DTYPES:
            if situation == "compiled" and not compiler:
                continue
            use = Model(device, dtype, compiler or "eager", length)
            yield Case(f"one file: {model}", name_of(dtype), situation, partial(measure, use))


def name_of(dtype: torch.dtype) -> str:
    """As rows have it: float32, bfloat16, float16."""
    return str(dtype).removeprefix("torch.")


def row_of(case: Case) -> Row:
    """Run a case; an exception becomes a row too, without an error but with its message."""
    row: Row = {"listing": case.listing, "dtype": case.dtype, "situation": case.situation}
    try:
        found = case.measure()
    except Exception as problem:  # the record names every one, and the others still run
        message = f"{type(problem).__name__}: {problem}"
        return row | {"error": None, "allowance": None, "right": False, "problem": message[:500]}
    row["allowance"] = float(f"{found.allowed:.3g}")
    row["right"] = found.units <= 1
    if math.isfinite(found.units):
        row["error"] = round(found.units, 4)  # in units of the allowance
    else:
        row["error"] = None
        row["problem"] = "a result is not finite"
    return row


def rows_in(path: Path) -> dict[tuple[str, str, str], Row]:
    """The rows that a record has already, by their case."""
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(row["listing"], row["dtype"], row["situation"]): row for row in rows}


def measured(cases: list[Case]) -> Iterator[Row]:
    """A row for each case, printed as it comes."""
    for number, case in enumerate(cases, start=1):
        row = row_of(case)
        verdict = "right" if row["right"] else f"WRONG {row.get('problem', '')}"
        error = "   -  " if row["error"] is None else f"{row['error']:6.3f}"
        print(
            f"[{number}/{len(cases)}] {case.listing:42} {case.dtype:9} {case.situation:13}"
            f" {error} {verdict}",
            flush=True,
        )
        yield row


def main(arguments: list[str] | None = None) -> int:
    """Run the cases that the record does not have yet; return 1 if a recorded one is not right."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("out", type=Path, help="the record; what it has is not run again")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--compile", action="store_true", help="also in one compiled graph")
    parser.add_argument(
        "--backend",
        help="of torch.compile (default: inductor on a GPU; on a CPU aot_eager, without its code)",
    )
    parser.add_argument(
        "--length",
        type=int,
        help="of the texts of the models (default: 1000 on a GPU, where half precision has no "
        "numbers for all positions; 40 on a CPU)",
    )
    parser.add_argument("--only", default="", help="cases whose name has this text")
    given = parser.parse_args(arguments)
    if given.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("no CUDA device found; run it with --device cpu")

    backend = given.backend or ("inductor" if given.device == "cuda" else "aot_eager")
    compiler = backend if given.compile else ""
    length = given.length or (1000 if given.device == "cuda" else 40)
    wanted = [
        *cases_of_listings(given.device, compiler),
        *cases_of_models(given.device, compiler, length),
    ]
    wanted = [case for case in wanted if given.only in ", ".join(case.key)]
    if not wanted:
        raise SystemExit(f"no case has {given.only!r} in its name")
    known = rows_in(given.out)
    missing = [case for case in wanted if case.key not in known]
    print(f"{len(wanted)} cases, {len(wanted) - len(missing)} of them recorded in {given.out}")

    command = f"{COMMAND} OUT.jsonl --device {given.device} --length {length}"
    if given.compile:
        command += f" --compile --backend {backend}"
    write(given.out, measured(missing), origin(command, given.device), append=True)

    recorded = rows_in(given.out)
    wrong = [case for case in wanted if not recorded[case.key]["right"]]
    print(f"{len(wrong)} of {len(wanted)} are not right")
    return int(len(wrong) > 0)


if __name__ == "__main__":
    raise SystemExit(main())
