"""Check a step of the workshop: what is right, and which mistake a function makes.

for line in report(7, check_step(7, names)):
    print(line)
"""

import dis
import os
import sys
import traceback
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from bookkit.saying import said
from bookkit.workshop.comparing import Description, agree, observe, place_of, wrong_places
from bookkit.workshop.errors import meaning
from bookkit.workshop.probes import OTHER_NAMES, STEPS, Names, Probe, functions_of, probes_of
from bookkit.workshop.signatures import Named, failing, name_mistake, stored
from bookkit.workshop.steps import CHAPTERS, HINTS

# Mistakes that every function can make.
PLAIN = {
    "changed": "it changes one of its arguments. Work on a copy.",
    "nothing": "it returns nothing. Is there a `return`?",
}
LOOK_AT_NAMES = 'Look at the names that the dictionary keeps: kept["k"] and kept["v"].'
NO_LIST = "a list of integers is asked for"
SEVERAL_ARRAYS = "it returns several arrays in a list or a tuple. Return one array"
ORDINALS = ("first", "second", "third")
NOT_OF_THE_READER = ("bookkit", "numpy", os.path.dirname(os.__file__))  # in the names of files
MOST_NAMES = 12  # of a dictionary that are shown


class Verdict(NamedTuple):
    """What a check found about one function."""

    function: str
    state: str  # right, missing, wrong
    says: str  # one or two sentences for the reader
    tried: str = ""  # what was tried and what came out
    look: str = ""  # where to look, if the mistake is known
    sure: bool = False  # whether the mistake is certain


def check_step(step: int, names: Names) -> list[Verdict]:
    """The verdicts of a step's functions, up to the first that is not right.

    Behind it come only those of functions that are not there at all.
    """
    verdicts = check_alone(step, names)
    place = first_open(verdicts)
    first = verdicts[place]
    if first.state == "wrong" and not first.sure:
        earlier = first_wrong_before(step, first.function, names)
        if earlier:
            verdicts[place] = first._replace(says=f"{earlier} {first.says}")
    return verdicts


def first_wrong_before(step: int, function: str, names: Names) -> str:
    """A sentence about the first function of an earlier step that is not right, or nothing.

    Only functions count that this one calls.
    """
    reached = reached_from(function, names)
    for number in range(1, step):
        for earlier in functions_of(number):
            if earlier in reached and check_function(earlier, names).state != "right":
                return (
                    f"Look at step {number} first: `{earlier}` is not right yet, and "
                    f"`{function}` calls it."
                )
    return ""


def reached_from(function: str, names: Names) -> set[str]:
    """The names that a function uses, and those that the functions of these names use."""
    reached = {function}
    waiting = [names.get(function)]
    while waiting:
        for name in names_used(getattr(waiting.pop(), "__code__", None)):
            if name in names and name not in reached:
                reached.add(name)
                waiting.append(names[name])
    return reached


def names_used(code: CodeType | None) -> set[str]:
    """The names that code takes from outside, also in the functions inside it."""
    if code is None:
        return set()
    inside = [names_used(part) for part in code.co_consts if isinstance(part, CodeType)]
    steps = dis.get_instructions(code)
    own = {step.argval for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return own.union(*inside)


def is_missing(error: BaseException | None, function: str) -> bool:
    """Whether the function, or one that it calls, is still empty."""
    return isinstance(error, NotImplementedError) and str(error).endswith(f": {function}")


def says_absent(function: str, names: Names) -> str:
    """What is told where a function is not there: perhaps another one has nearly its name."""
    if function in names:
        return f"In your code `{function}` is no function."
    says = "Your code has no function of this name."
    asked = {one for step in range(1, len(STEPS) + 1) for one in functions_of(step)}
    alike = [name for name in names if name not in asked and is_alike(name, function)]
    theirs = [f"`{name}`" for name in alike if callable(names[name])]
    return f"{says} It has {' and '.join(theirs)}." if theirs else says


def is_alike(first: str, second: str) -> bool:
    """Whether two names differ in one letter at most, apart from capitals and underscores."""
    first, second = (name.lower().replace("_", "") for name in (first, second))
    if len(first) == len(second):
        unlike = [
            place
            for place, pair in enumerate(zip(first, second, strict=True))
            if pair[0] != pair[1]
        ]
        if len(unlike) != 2:
            return len(unlike) < 2
        here, there = unlike  # two letters that changed places
        return there == here + 1 and first[here] == second[there] and first[there] == second[here]
    shorter, longer = sorted((first, second), key=len)
    return any(longer[:place] + longer[place + 1 :] == shorter for place in range(len(longer)))


def check_function(function: str, names: Names) -> Verdict:
    """Try one function."""
    if not callable(names.get(function)):
        return Verdict(function, "missing", says_absent(function, names))
    probes = probes_of(function)
    outputs: list[Description] = []
    errors: list[BaseException | None] = []
    for probe in probes:
        output, error = observe(probe, names)
        if is_missing(error, function):
            return Verdict(function, "missing", "It is not written yet.")
        if isinstance(error, NotImplementedError):
            return Verdict(function, "wrong", f"It calls a function that is empty ({error}).")
        outputs.append(output)
        errors.append(error)
    tolerances = [probe.tolerance for probe in probes]
    wrong = failing(function, outputs, tolerances)
    if not wrong:
        return Verdict(function, "right", f"Right: all {len(probes)} trials agree.")
    names_kept = other_names([outputs[number] for number in wrong])
    if names_kept:
        says = f'Not right yet: `kept` must have the names "k" and "v". Yours has {names_kept}.'
        return Verdict(function, "wrong", says, look=LOOK_AT_NAMES, sure=True)
    named = name_mistake(function, outputs, tolerances)
    shown_ones = list(named[0].explained) if named else wrong
    tried = describe_failure(function, probes, outputs, errors, shown_ones or wrong)
    kinds = {outputs[number]["kind"] for number in wrong}
    for kind, says in PLAIN.items():
        if kinds == {kind} or (kind in kinds and kind == "changed"):
            return Verdict(function, "wrong", f"Not right yet: {says}", tried, sure=True)
    explained = meaning([errors[number] for number in wrong])
    expected = {stored(function)["right"][number]["kind"] for number in wrong}
    if kinds == {"items"} and expected == {"numbers"}:
        explained = SEVERAL_ARRAYS
    if kinds == {"no list"}:
        explained = NO_LIST
    return named_verdict(function, named, explained, tried)


def other_names(outputs: list[Description]) -> str:
    """The names of a layer's dictionary, if others stand there in place of "k" or "v"."""
    for output in outputs:
        keys = output.get("keys", [])
        if OTHER_NAMES in keys:
            return str(output["items"][keys.index(OTHER_NAMES)]["text"])
    return ""


def named_verdict(function: str, named: list[Named], explained: str, tried: str) -> Verdict:
    """The verdict of a function that is wrong; `explained` is what its errors mean."""
    if not named and explained:
        return Verdict(function, "wrong", f"Not right yet: {explained}.", tried)
    if not named:
        says = "It is not right yet, and the mistake is none that the workshop knows."
        return Verdict(function, "wrong", says, tried)
    look = named[0].look
    if named[0].sure:
        return Verdict(function, "wrong", f"Not right yet: {named[0].says}.", tried, look, True)
    perhaps = "; or ".join(one.says for one in named)
    if explained:
        says = f"Not right yet: {explained}. Perhaps {perhaps}."
        return Verdict(function, "wrong", says, tried, look)
    return Verdict(function, "wrong", f"Not right yet. Perhaps {perhaps}.", tried, look)


def describe_failure(
    function: str,
    probes: list[Probe],
    outputs: list[Description],
    errors: list[BaseException | None],
    wrong: list[int],
) -> str:
    """What was tried and what came out, for the first failing probe; one without an error first."""
    number = min(wrong, key=lambda one: (errors[one] is not None, one))
    words = f"Tried: {probes[number].words}."
    error = errors[number]
    if error is not None:
        return f"{words} Python stopped with {error_text(error, function)}"
    expected = stored(function)["right"][number]
    return f"{words} {difference(outputs[number], expected, probes[number].tolerance)}"


def error_text(error: BaseException, function: str = "") -> str:
    """The error and the reader's line in which it arose, seen from this function."""
    message = f"{type(error).__name__}: {error}"
    own = [
        (frame, summary)
        for (frame, _), summary in zip(
            traceback.walk_tb(error.__traceback__),
            traceback.extract_tb(error.__traceback__),
            strict=True,
        )
        if summary.line and is_of_reader(frame, summary.filename)
    ]
    if not own:
        return message
    frame, summary = own[-1]
    place = f"line {summary.lineno}"
    step = step_of(summary.name)
    if step and summary.name != function:
        place = f"step {step}, `{summary.name}`, {place}"
    message += f" ({place}: {summary.line})"
    if isinstance(error, KeyError):
        message += names_in_dictionaries(error, frame.f_locals, summary.line or "")
    return message


def is_of_reader(frame: FrameType, file: str) -> bool:
    """Whether a frame runs the reader's code, and not that of Python, of NumPy or of the book."""
    module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    # In the browser Python's own modules come from an archive, whose path says little.
    return module not in sys.stdlib_module_names and not any(
        part in file for part in NOT_OF_THE_READER
    )


def step_of(function: str) -> int | None:
    """The step that asks for a function of this name."""
    for step in range(1, len(STEPS) + 1):
        if function in functions_of(step):
            return step
    return None


def names_in_dictionaries(error: KeyError, variables: dict[str, Any], line: str) -> str:
    """The names that the dictionaries of the reader's line have, as sentences."""
    asked = error.args[0] if error.args else None
    sentences = []
    for variable, value in variables.items():
        if isinstance(value, dict) and asked not in value and f"{variable}[" in line:
            sentences.append(f" {names_in(variable, list(map(repr, value)), str(asked))}")
    return "." * bool(sentences) + "".join(sentences)


def names_in(variable: str, names: list[str], asked: str) -> str:
    """A sentence about the names of one dictionary; of many, those like the one asked for."""
    if not names:
        return f"`{variable}` is empty."
    alike = [name for name in names if asked.strip(".") in name]
    if len(names) > MOST_NAMES and alike:
        names = alike
    shown_names = ", ".join(names[:MOST_NAMES])
    more = ", …" if len(names) > MOST_NAMES else ""
    return f"`{variable}` has these names: {shown_names}{more}."


def shown(number: float) -> str:
    """A number with four digits."""
    return f"{number:.4g}"


def difference(found: Description, expected: Description, tolerance: float) -> str:
    """How a result differs from the right one, in words."""
    if found["kind"] == "changed":
        return "It changed one of its arguments."
    if found["kind"] == "nothing":
        return "It returned nothing. Is there a `return`?"
    if found["kind"] == "no list":
        return f"It must return a list, yours returned {found['type']}."
    if found["kind"] != expected["kind"]:
        got = found.get("type") or found["kind"]
        return f"It must return {expected['kind']}, yours returned {got}."
    if expected["kind"] == "text":
        return f"Expected: {expected['text']}. Yours: {found['text']}."
    if expected["kind"] in ("numbers", "Booleans"):
        return array_difference(found, expected, tolerance)
    return parts_difference(found, expected, tolerance)


def array_difference(found: Description, expected: Description, tolerance: float) -> str:
    """How an array differs."""
    if found["shape"] != expected["shape"]:
        right, yours = tuple(expected["shape"]), tuple(found["shape"])
        return f"The shape must be {right}, yours is {yours}."
    places = wrong_places(found, expected, tolerance)
    ratio = common_ratio(found["values"], expected["values"])
    if ratio is not None:
        return f"Every number is {shown(ratio)} times what it must be."
    place = place_of(places[0], expected["shape"])
    if place is None:
        return "The shape is right, but some numbers are not."
    right, yours = expected["values"][places[0]], found["values"][places[0]]
    if expected["kind"] == "Booleans":
        return f"At {list(place)} it must be {bool(right)}, yours is {bool(yours)}."
    where = f"At {list(place)} it" if place else "It"
    return f"{where} must be {shown(right)}, yours is {shown(yours)}."


def common_ratio(found: list[float], expected: list[float]) -> float | None:
    """By which number all of the expected ones were multiplied, if there is one."""
    ours, theirs = np.array(found), np.array(expected)
    if len(theirs) < 3 or not np.isfinite(ours).all() or (np.abs(theirs) < 1e-9).any():
        return None
    ratios = ours / theirs
    ratio = float(np.median(ratios))
    return ratio if np.allclose(ratios, ratio, rtol=1e-3) else None


def parts_difference(found: Description, expected: Description, tolerance: float) -> str:
    """How a tuple, a list or a dictionary differs: its first part that does."""
    if found.get("keys") != expected.get("keys"):
        return keys_difference(set(found["keys"]), set(expected["keys"]))
    if len(found["items"]) != len(expected["items"]):
        right, yours = len(expected["items"]), len(found["items"])
        return f"It must return {right} results, yours returned {yours}."
    labels = [key if " " in key else f"`{key}`" for key in expected.get("keys", [])]
    if not labels:
        labels = [label_of(number) for number in range(len(expected["items"]))]
    for label, ours, theirs in zip(labels, found["items"], expected["items"], strict=True):
        if agree(ours, theirs, tolerance):
            continue
        if ours["kind"] == "nothing":
            return f"Look at {label}. It is missing, or it is None."
        return f"Look at {label}. {difference(ours, theirs, tolerance)}"
    return "Some numbers are not right."


def label_of(number: int) -> str:
    """What one of several results is called."""
    if number < len(ORDINALS):
        return f"the {ORDINALS[number]} result"
    return f"result {number + 1}"


def keys_difference(found: set[str], expected: set[str]) -> str:
    """Which names a dictionary lacks, or has too many."""
    missing, extra = sorted(expected - found), sorted(found - expected)
    sentences = []
    if missing:
        sentences.append(f"These are missing: {', '.join(missing)}.")
    if extra:
        sentences.append(f"These should not be there: {', '.join(extra)}.")
    return " ".join(sentences)


def report(step: int, verdicts: list[Verdict]) -> list[str]:
    """The verdicts of a step as lines."""
    lines = [said(f"Step {step}: {STEPS[step - 1][0]}")]
    for verdict in verdicts:
        mark = {"right": "✓", "missing": "·", "wrong": "✗"}[verdict.state]
        lines.append(said(f"  {mark} {verdict.function}: {verdict.says}"))
        if verdict.tried:
            lines.append(f"      {said(verdict.tried)}")
    return lines


def is_done(step: int, verdicts: list[Verdict]) -> bool:
    """Whether all functions of the step are right."""
    right = [verdict for verdict in verdicts if verdict.state == "right"]
    return len(right) == len(functions_of(step))


def hint(step: int, stage: int, names: Names) -> str:
    """A hint, in three stages: which property fails, where it comes from, where to look."""
    verdicts = check_step(step, names)
    if is_done(step, verdicts):
        return said(f"Step {step} is done. It needs no hint.")
    verdict = verdicts[first_open(verdicts)]
    property_, line = HINTS[verdict.function]
    if stage == 1:
        return f"{verdict.function}: {said(property_)}"
    if stage == 2:
        chapter = CHAPTERS[step - 1]
        where = f"the chapter “{chapter.title}” explains it ({chapter.file})."
        return f"{verdict.function}: {said(where)}"
    return f"{verdict.function}: {said(verdict.look or line)}"


def progress(names: Names) -> list[bool]:
    """Which steps are done."""
    return [is_done(step, check_alone(step, names)) for step in range(1, len(STEPS) + 1)]


def check_alone(step: int, names: Names) -> list[Verdict]:
    """As `check_step`, without a look at earlier steps."""
    verdicts: list[Verdict] = []
    for function in functions_of(step):
        if is_open(verdicts) and callable(names.get(function)):
            continue
        verdicts.append(check_function(function, names))
    return verdicts


def is_open(verdicts: list[Verdict]) -> bool:
    """Whether one of the functions is not right."""
    return any(verdict.state != "right" for verdict in verdicts)


def first_open(verdicts: list[Verdict]) -> int:
    """The place of the first verdict that is not right, or of the last one."""
    states = [verdict.state == "right" for verdict in verdicts]
    return states.index(False) if False in states else len(states) - 1
