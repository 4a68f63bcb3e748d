"""Values of the prose, evaluated in the kernel that runs a notebook's cells."""

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from bookcheck.notebooks.values import Value, complete, disagreement, reprinted

# What stays of a value on its way out of the kernel: Python's own numbers and texts. `bookcheck`
# need not be importable there.
PLAIN = "(lambda v: v if isinstance(v, (bool, int, str)) else float(v))"


def request(values: Sequence[Value]) -> dict[str, Any]:
    """The arguments of `execute` that let a kernel evaluate the values and nothing else."""
    expressions = {
        str(n): f"{PLAIN}({complete(value.expression)})" for n, value in enumerate(values)
    }
    return {
        "code": "",
        "store_history": False,
        "allow_stdin": False,
        "user_expressions": expressions,
    }


def computed_of(reply: Mapping[str, Any], values: Sequence[Value]) -> list[Any]:
    """The values in a kernel's reply; an Exception in the place of one that failed."""
    found: list[Any] = []
    for number in range(len(values)):
        answer = reply["content"]["user_expressions"][str(number)]
        if answer["status"] != "ok":
            found.append(RuntimeError(f"{answer['ename']}: {answer['evalue']}"))
            continue
        text = answer["data"]["text/plain"]
        found.append(float(text) if text in ("nan", "inf", "-inf") else ast.literal_eval(text))
    return found


def faults(values: Sequence[Value], computed: Sequence[Any]) -> list[str]:
    """One line for each value whose printed text is not what was computed."""
    lines = []
    for value, result in zip(values, computed, strict=True):
        failed = isinstance(result, Exception)
        wrong = f"fails: {result}" if failed else disagreement(value.printed, result)
        if wrong:
            lines.append(f"{{value}}`{value.printed} = {value.expression}` {wrong}")
    return lines


def with_new_values(text: str, values: Sequence[Value], computed: Sequence[Any]) -> str:
    """A text whose values print what was computed, with as many digits as before."""
    for value, result in zip(values, computed, strict=True):
        if isinstance(result, Exception) or disagreement(value.printed, result) is None:
            continue
        old = f"{{value}}`{value.printed} = {value.expression}`"
        text = text.replace(old, old.replace(value.printed, reprinted(value.printed, result), 1))
    return text
