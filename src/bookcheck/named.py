"""Values whose expression names nothing, and so is true of itself.

`320 KiB = 2 * 80 * 8 * 128 * 2` is right whatever it is about: who misprints the number and the
arithmetic alike is not told. So an expression names what it computes with: a name of the page's
code, a size of a model (`read_model`), a published number (`reported`), a function of the library.
Python's own functions, `math`, `np`, `torch` and variables of the expression itself name nothing.

Pure mathematics may do without where the sentence beside it prints every number that it has, each
as often: “2¹⁷ is {value}`131,072 = 2**17`”. A number with a unit of bytes, operations or time is
no pure mathematics.
"""

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from bookcheck.kinds import KINDS
from bookcheck.numbers import sentences_of_page
from bookformat.values import KIND_OF, NUMBER, QUANTITY, VALUE, Value, line_of, number_of, values_in

# What says nothing of a page: plain mathematics.
MATHEMATICS = frozenset({*dir(builtins), "math", "np", "torch"})
# What a type of numbers can hold is a fact of the type: torch.finfo(torch.float16).max.
OF_TYPES = frozenset({"finfo", "iinfo", "itemsize", "bfloat16", "float16"})
ADDRESS = re.compile(r"<[^<>\s]+>")
PRINTED = re.compile(rf"(?<![\w.,#])(?:{NUMBER.pattern})(?![\d.,]*\d)")
ADVICE = (
    "is arithmetic that is true of itself: name what it computes with, a name of the page's code, "
    'read_model("…")["heads"], reported("…", "…") or a function such as cache_bytes; or print each '
    "number of a pure formula in the same sentence"
)


def names_something(expression: str) -> bool:
    """Whether an expression has a name that is not plain mathematics, nor bound within it."""
    nodes = list(ast.walk(ast.parse(expression, mode="eval")))
    bound = {one.arg for one in nodes if isinstance(one, ast.arg)}
    bound |= {
        one.id for one in nodes if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)
    }
    names = {one.id for one in nodes if isinstance(one, ast.Name)}
    types = any(isinstance(one, ast.Attribute) and one.attr in OF_TYPES for one in nodes)
    return types or bool(names - bound - MATHEMATICS)


def literals_of(expression: str) -> Counter[Fraction]:
    """The numbers of an expression, and how often it has each."""
    nodes = ast.walk(ast.parse(expression, mode="eval"))
    constants = [one.value for one in nodes if isinstance(one, ast.Constant)]
    return Counter(Fraction(str(one)) for one in constants if type(one) in (int, float))


def printed_in(sentence: str, but: Value) -> Counter[Fraction]:
    """The numbers that a sentence prints, without this value and others that name nothing."""

    def shown(role: re.Match[str]) -> str:
        (value,) = values_in(role[0])
        return value.printed if names_something(value.expression) else " "

    text = VALUE.sub(shown, ADDRESS.sub(" ", sentence))
    found = [number_of(one[0].strip()) for one in PRINTED.finditer(text)]
    return Counter(abs(one[0]) for one in found if one)


def unnamed(value: Value, sentence: str) -> bool:
    """Whether a value is arithmetic that nothing but itself says."""
    if names_something(value.expression):
        return False
    quantity = QUANTITY.fullmatch(value.printed)
    unit = quantity["unit"] if quantity else None
    if unit and KIND_OF[unit] in KINDS:
        return True
    used = literals_of(value.expression)
    return not used or not used <= printed_in(sentence, value)


def unnamed_of_page(path: Path) -> Iterator[str]:
    """The values of a page that name nothing, as a record has them, in their order."""
    for sentence in sentences_of_page(path):
        for value in values_in(sentence.text):
            if unnamed(value, sentence.text):
                yield line_of(value)
