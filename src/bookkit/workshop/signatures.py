"""Naming a mistake: the stored output that a reader's outputs agree with.

signatures.json has, for each function, what the solution returns for every probe, and for each
known mistake what it returns where it differs (`python -m laboratory.workshop.signatures`).
"""

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from bookkit.workshop.comparing import Description, agree

FILE = Path(__file__).parent / "signatures.json"
# Kinds that many different mistakes lead to: alone, they say little about which one it was.
VAGUE = ("error", "nothing", "changed", "other")


class Named(NamedTuple):
    """A mistake that explains the outputs."""

    says: str
    look: str
    sure: bool  # every output agrees, not only some
    explained: tuple[int, ...] = ()  # the numbers of the probes that it explains


@cache
def stored(function: str) -> Any:
    """The stored numbers of a function."""
    return all_stored()[function]


@cache
def all_stored() -> Any:
    """The stored numbers of all functions."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def failing(function: str, outputs: list[Description], tolerances: list[float]) -> list[int]:
    """The numbers of the probes whose output is not that of the solution."""
    right = stored(function)["right"]
    triples = zip(outputs, right, tolerances, strict=True)
    return [number for number, triple in enumerate(triples) if not agree(*triple)]


def name_mistake(function: str, outputs: list[Description], tolerances: list[float]) -> list[Named]:
    """The mistakes that explain the outputs best: one that is sure, or at most two that may be."""
    wrong = failing(function, outputs, tolerances)
    candidates: list[tuple[int, Named]] = []
    for mistake in stored(function)["mistakes"]:
        theirs = {int(number): output for number, output in mistake["outputs"].items()}
        explained = [
            number
            for number in wrong
            if number in theirs and agree(outputs[number], theirs[number], tolerances[number])
        ]
        telling = [number for number in explained if outputs[number]["kind"] not in VAGUE]
        unexplained = len(set(wrong) | set(theirs)) - len(explained)
        sure = unexplained == 0 and bool(telling)
        if sure or telling or unexplained == 0:
            named = Named(mistake["says"], mistake["look"], sure, tuple(telling or explained))
            candidates.append((unexplained, named))
    if not candidates:
        return name_part(function, outputs, tolerances)
    fewest = min(unexplained for unexplained, _ in candidates)
    best: dict[str, Named] = {}  # by their words: some mistakes can be made in several ways
    for unexplained, named in candidates:
        if unexplained == fewest:
            best.setdefault(named.says, named)
    if len(best) > 1:
        best = {says: named._replace(sure=False) for says, named in best.items()}
    return list(best.values()) if len(best) <= 2 else []


def name_part(function: str, outputs: list[Description], tolerances: list[float]) -> list[Named]:
    """The mistakes that explain the first wrong one of several results, for all probes."""
    right = stored(function)["right"]
    sizes = {len(one.get("items", [])) for one in (*right, *outputs)}
    if len(sizes) > 1 or sizes == {0}:
        return []
    for part in range(sizes.pop()):
        wrong = failing_parts(outputs, right, tolerances, part)
        if wrong:
            break
    else:
        return []
    best: dict[str, Named] = {}
    for mistake in stored(function)["mistakes"]:
        theirs = [mistake["outputs"].get(str(number), one) for number, one in enumerate(right)]
        if any(len(one.get("items", [])) <= part for one in theirs):
            continue
        if not failing_parts(outputs, theirs, tolerances, part):
            named = Named(mistake["says"], mistake["look"], sure=False, explained=tuple(wrong))
            best.setdefault(named.says, named)
    return list(best.values()) if len(best) <= 2 else []


def failing_parts(
    outputs: list[Description], others: list[Description], tolerances: list[float], part: int
) -> list[int]:
    """The numbers of the probes in which one of several results differs."""
    triples = zip(outputs, others, tolerances, strict=True)
    return [
        number
        for number, (ours, theirs, tolerance) in enumerate(triples)
        if not agree(ours["items"][part], theirs["items"][part], tolerance)
    ]
