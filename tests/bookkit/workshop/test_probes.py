"""The names of the workshop's probes: a number in a name is one of the call's arguments."""

import inspect
import re

import numpy as np
import pytest

from bookkit.workshop import probes, solution

NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?!\w)"
ANY_NUMBER = re.compile(rf"(?<![\w.]){NUMBER}")
OF_PARAMETER = re.compile(rf"(\w+) (?:= |of )?({NUMBER})")
# Numbers that are no argument, and what they are.
OTHERWISE = {
    "numbers of about 1,000": "their size",
    "tiny numbers, about 0.001": "their size",
    "logits of 1000": "their size",
    "1 token, at position 9": "the position of its row in the table",
    "layer 1, beside layers 10 and 11": "names of weights",
    "d_k = 32, a length of 1,024": "16 frequencies are given",
    "2 queries behind 3 older tokens, 5 keys": "5 keys without the 2 queries",
}


def amount(text):
    return float(text.replace(",", ""))


def numbers_of(given):
    """The numbers in an argument: itself, lengths of its axes and rows, few entries."""
    if isinstance(given, np.ndarray):
        return {float(size) for size in (*given.shape, *(given.flat if given.size <= 16 else ()))}
    if isinstance(given, (int, float)):
        return {float(given)}
    if isinstance(given, dict):
        return set().union(*map(numbers_of, given.values()))
    if isinstance(given, (list, tuple)):
        return {float(len(given))}.union(*map(numbers_of, given))
    return set()


def contradictions(probe):
    """What the name of a probe says otherwise than its call."""
    call = inspect.getclosurevars(probe.run).nonlocals
    if "arguments" not in call:
        return  # it makes several calls, or one of its own
    function = getattr(solution, call["function"])
    bound = inspect.signature(function).bind(*call["arguments"], **call["named"])
    bound.apply_defaults()
    for name, number in OF_PARAMETER.findall(probe.words):
        given = bound.arguments.get(name)
        if isinstance(given, (int, float)) and given != amount(number):
            yield f"“{probe.words}”: {name} is {given}"
    known = set().union(*map(numbers_of, bound.arguments.values()))
    for number in ANY_NUMBER.findall(probe.words):
        if amount(number) not in known and probe.words not in OTHERWISE:
            yield f"“{probe.words}”: {number} is none of the arguments"


def functions():
    return [name for step in range(1, 13) for name in probes.functions_of(step)]


@pytest.mark.parametrize("function", functions())
def test_the_name_of_a_probe_says_what_it_is_given(function):
    assert [fault for probe in probes.probes_of(function) for fault in contradictions(probe)] == []


def test_what_is_said_otherwise_is_said_by_a_probe():
    said = {probe.words for name in functions() for probe in probes.probes_of(name)}
    assert set(OTHERWISE) <= said


@pytest.mark.parametrize(
    ("words", "arguments", "told"),
    [
        ("temperature 2", (2.0,), []),
        ("temperature 2", (0.5,), ["“temperature 2”: temperature is 0.5"]),
        ("top_k = 3 and top_p = 0.7", (1.0, 3, 0.7), []),
        ("top_k = 3 and top_p = 0.7", (1.0, 3, 0.6),
         ["“top_k = 3 and top_p = 0.7”: top_p is 0.6",
          "“top_k = 3 and top_p = 0.7”: 0.7 is none of the arguments"]),
        ("6 logits", (), []),
        ("4 logits", (), ["“4 logits”: 4 is none of the arguments"]),
    ],
)  # fmt: skip
def test_a_name_that_contradicts_its_call_is_told(words, arguments, told):
    probe = probes.call(words, "probabilities", probes.LOGITS, *arguments)
    assert [*contradictions(probe)] == told
