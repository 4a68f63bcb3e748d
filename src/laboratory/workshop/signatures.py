"""Write what the solution and every mistake return: python -m laboratory.workshop.signatures

The checks of the workshop compare a reader's function with these numbers, so the solution and the
mistakes themselves need not be shipped. For a mistake only what differs from the solution is kept.
"""

import json
from typing import Any

from bookkit.workshop import solution
from bookkit.workshop.comparing import agree, observe
from bookkit.workshop.probes import STEPS, probes_of
from bookkit.workshop.signatures import FILE
from laboratory.workshop.changing import Mistake, names_with
from laboratory.workshop.mistakes import ALL


def right_outputs(function: str) -> list[dict[str, Any]]:
    """What the solution returns for each probe; it must not fail."""
    outputs = []
    for probe in probes_of(function):
        description, error = observe(probe, vars(solution))
        if error is not None:
            raise error
        outputs.append(description)
    return outputs


def wrong_outputs(mistake: Mistake, right: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What a mistake returns for those probes in which it differs, by their numbers."""
    names = names_with(mistake)
    outputs = {}
    for number, probe in enumerate(probes_of(mistake.function)):
        description, _ = observe(probe, names)
        if not agree(description, right[number], probe.tolerance):
            outputs[str(number)] = description
    return outputs


def all_signatures() -> dict[str, dict[str, Any]]:
    """The stored numbers of every function."""
    signatures: dict[str, dict[str, Any]] = {}
    for _, all_probes in STEPS:
        for probes in all_probes:
            right = right_outputs(probes.__name__)
            signatures[probes.__name__] = {"right": right, "mistakes": []}
    unseen = []
    for mistake in ALL:
        of_function = signatures[mistake.function]
        outputs = wrong_outputs(mistake, of_function["right"])
        if not outputs:
            unseen.append(f"{mistake.function}: {mistake.says}")
        entry = {"says": mistake.says, "look": mistake.look, "outputs": outputs}
        of_function["mistakes"].append(entry)
    if unseen:
        raise ValueError("no probe sees these mistakes:\n" + "\n".join(unseen))
    return signatures


def as_text(signatures: dict[str, dict[str, Any]]) -> str:
    """JSON with one mistake a line."""
    lines = []
    for function, stored in signatures.items():
        right = ",\n".join(json.dumps(output) for output in stored["right"])
        mistakes = ",\n".join(json.dumps(mistake) for mistake in stored["mistakes"])
        lines.append(f'"{function}": {{"right": [\n{right}],\n"mistakes": [\n{mistakes}]}}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(as_text(all_signatures()), encoding="utf-8")
    print(f"{len(ALL)} mistakes, {FILE.stat().st_size:,} bytes: {FILE}")
