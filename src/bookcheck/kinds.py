"""Kinds of units that the names in a value's expression contradict.

A unit has a size, which the value's number shows, and a kind, which no number shows: 989 TB/s is as
much as 989 TFLOP/s. But names say what they hold: `layer_bytes`, `row["seconds"]`, `gpu.peak()`. So
the kind of an expression is computed like its value: bytes divided by bytes per second are seconds.
A name that says nothing is what the page's code gave it, and what says nothing at all is a count.
A value with a unit of bytes, operations or time must be of this kind; a factor or a share is none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from bookformat.notebooks import cells_of
from bookformat.values import KIND_OF, QUANTITY, Value, line_of, values_in

# A kind as the powers of bytes, operations and seconds.
Kind = tuple[int, int, int]
NOTHING: Kind = (0, 0, 0)
KINDS: dict[str, Kind] = {
    "bytes": (1, 0, 0),
    "bytes per second": (1, 0, -1),
    "operations": (0, 1, 0),
    "operations per second": (0, 1, -1),
    "seconds": (0, 0, 1),
}
NAMES = {kind: name for name, kind in KINDS.items()}
# What words of names say, the first that is found.
WORDS: tuple[tuple[str, Kind], ...] = (
    (r"bytes_per_second|bandwidth", KINDS["bytes per second"]),
    (r"(?:flops?|operations)_per_second", KINDS["operations per second"]),
    (r"(?:milli|micro|nano)?seconds|ms|us|durations?", KINDS["seconds"]),
    (r"(?:kilo|mega|giga)?bytes|gb|gib|memory", KINDS["bytes"]),
    (r"flops?|operations", KINDS["operations"]),
    (r"tokens|steps|layers|heads|share", NOTHING),
)
# Other quotients, and names of the size of a unit, GB = 1e9, say nothing.
SILENT = re.compile(r"(?<![a-z])per(?![a-z])|^[A-Z]B$|^[A-Z]iB$|^MS$")
SAYING = [(re.compile(rf"(?<![a-z])(?:{words})(?![a-z])"), kind) for words, kind in WORDS]
# Of units with a kind, not of counts such as B.
OF_A_KIND = [unit for unit, kind in KIND_OF.items() if kind in KINDS]
UNIT_BEHIND = re.compile(
    rf"[\s-]?({'|'.join(sorted(map(re.escape, OF_A_KIND), key=len, reverse=True))})(?![\w/])"
)


def said_by(name: str) -> Kind | None:
    """The kind that the words of a name say, if they do."""
    text = re.sub(r"\W+", "_", name).lower()
    found = next((kind for words, kind in SAYING if words.search(text)), None)
    rate = found is not None and found[2] < 0
    return None if SILENT.search(name) and not rate else found


class Kinds:
    """The kinds of a page's names, from what its code gives them."""

    def __init__(self, code: str) -> None:
        self.given: dict[str, list[ast.expr]] = {}
        self.open: set[str] = set()  # names that are being looked up
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    self.bind(target, node.value)
            elif isinstance(node, ast.FunctionDef):
                returned = [one.value for one in ast.walk(node) if isinstance(one, ast.Return)]
                self.given[node.name] = [one for one in returned if one is not None]

    def bind(self, target: ast.expr, value: ast.expr) -> None:
        """Remember what a name was given."""
        if isinstance(target, ast.Name):
            self.given.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, part in zip(target.elts, value.elts, strict=False):
                self.bind(one, part)

    def kind(self, expression: str) -> Kind | None:
        """The kind of an expression, if it has a name."""
        found = self.of(ast.parse(expression, mode="eval").body)
        return found if found in NAMES else None

    def of(self, node: ast.AST) -> Kind | None:
        """The kind of a part of an expression; none where nothing says it."""
        if isinstance(node, ast.Constant):
            return NOTHING if isinstance(node.value, (int, float)) else None
        if isinstance(node, ast.Name):
            return self.of_name(node.id)
        if isinstance(node, ast.Attribute) and node.attr == "peak":  # read_gpu("H200").peak()
            return KINDS["operations per second"]
        if isinstance(node, ast.Attribute):
            return said_by(node.attr) or self.of(node.value)
        if isinstance(node, ast.Subscript):
            return self.of_key(node.slice) or self.of(node.value)
        if isinstance(node, ast.Call):
            return self.of_call(node)
        if isinstance(node, ast.UnaryOp):
            return self.of(node.operand)
        if isinstance(node, ast.BinOp):
            return self.of_operation(node)
        if isinstance(node, ast.IfExp):
            return self.of(node.body) or self.of(node.orelse)
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return self.one_of(node.elts)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            return self.of(node.elt)
        if isinstance(node, ast.DictComp):
            return self.of(node.value)
        if isinstance(node, ast.Dict):
            return self.one_of(node.values)
        return None

    def one_of(self, nodes: list[ast.expr]) -> Kind | None:
        """The kind of several expressions, if those that have one agree."""
        kinds = {kind for one in nodes if (kind := self.of(one)) is not None}
        return kinds.pop() if len(kinds) == 1 else None

    def of_key(self, key: ast.expr) -> Kind | None:
        """What a key says: row["seconds"]."""
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            return said_by(key.value)
        return None

    def of_name(self, name: str) -> Kind | None:
        """The kind of a name: what it says, else what it was given."""
        said = said_by(name)
        if said is not None or name not in self.given or name in self.open:
            return said
        self.open.add(name)
        found = self.one_of(self.given[name])
        self.open.discard(name)
        return found if found in NAMES else None

    def of_call(self, node: ast.Call) -> Kind | None:
        """The kind of a call: what its function says, or returns, else that of its arguments."""
        if isinstance(node.func, ast.Name) and node.func.id == "reported":
            keys = [one.value for one in node.args[1:2] if isinstance(one, ast.Constant)]
            return said_by(str(keys[0])) if keys else None
        found = self.of(node.func)
        if found is not None:
            return found
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ("float", "int", "round", "abs"):
            return self.one_of(node.args[:1])
        if name in ("min", "max", "sum", "sorted") or isinstance(node.func, ast.Attribute):
            return self.one_of(node.args)
        return None

    def of_operation(self, node: ast.BinOp) -> Kind | None:
        """The kind of a sum, a product or a quotient; a factor that says nothing counts."""
        left = self.of(node.left)
        right = self.of(node.right)
        if isinstance(node.op, (ast.Add, ast.Sub)):
            return left or right
        product = isinstance(node.op, ast.Mult)
        if not product and not isinstance(node.op, (ast.Div, ast.FloorDiv)):
            return None
        # What multiplies and says nothing is a number of things; what is divided may be anything.
        if product and all(kind in (None, NOTHING) for kind in (left, right)):
            return left if left == right else None
        if not product and None in (left, right):
            return None
        sign = 1 if product else -1
        of_bytes, of_operations, of_seconds = left or NOTHING
        by_bytes, by_operations, by_seconds = right or NOTHING
        return (
            of_bytes + sign * by_bytes,
            of_operations + sign * by_operations,
            of_seconds + sign * by_seconds,
        )


def wrong_kind(value: Value, kinds: Kinds) -> str | None:
    """What is wrong with the unit of a value whose expression says another kind."""
    quantity = QUANTITY.fullmatch(value.printed)
    unit = quantity["unit"] if quantity else None
    if unit is None:
        return None
    found = kinds.kind(value.expression)
    if found is None or NAMES[found] == KIND_OF[unit]:
        return None
    # Operations are also counted, in millions; one letter for a billion could be that of bytes.
    if KIND_OF[unit] == "a count" and len(unit) > 1:
        return None
    return (
        f"{{value}}`{line_of(value)}`: {unit} is {KIND_OF[unit]}, and the names in the expression "
        f"say {NAMES[found]}"
    )


def wrong_kinds_of_code(code: str, kinds: Kinds) -> Iterator[str]:
    """The units behind expressions of f-strings, such as `f"{seconds} GB"`, of another kind."""
    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, ast.JoinedStr):
            continue
        for value, text in zip(node.values, node.values[1:], strict=False):
            if not isinstance(value, ast.FormattedValue) or not isinstance(text, ast.Constant):
                continue
            unit = UNIT_BEHIND.match(str(text.value))
            found = kinds.of(value.value) if unit else None
            if unit and found in NAMES and NAMES[found] != KIND_OF[unit[1]]:
                yield (
                    f"“{{{ast.unparse(value.value)}}} {unit[1]}”: {unit[1]} is {KIND_OF[unit[1]]}, "
                    f"and the names in the expression say {NAMES[found]}"
                )


def wrong_kinds_of_page(path: Path) -> list[str]:
    """A message for each value of a page whose unit is of another kind than its expression."""
    cells = cells_of(path)
    kinds = Kinds("\n".join(cell.source for cell in cells if cell.kind == "code"))
    found = []
    for cell in cells:
        values = values_in(cell.caption if cell.kind == "code" else cell.source)
        faults = [fault for value in values if (fault := wrong_kind(value, kinds))]
        faults += wrong_kinds_of_code(cell.source, kinds) if cell.kind == "code" else []
        place = ", ".join(filter(None, (path.name, cell.place)))
        found += [f"{place}: {fault}" for fault in faults]
    return found
