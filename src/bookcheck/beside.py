"""Numbers in texts that code contradicts: a text beside a number must say this number.

A tick of a figure has a place and a label, `set_yticks([0.1, 1, 10], ["0.1", "1", "10"])` or, in a
script, `[100, "10²"]`; a table of units has sizes and names, `[3600, "h"]`. Where a label reads as
a number, a unit, or both, it says its place; in a list, all places may differ from their labels by
the size of a unit that the code names beside the list (10¹² for ticks in TFLOP/s), be their
exponents, or lie half a cell beside them (the middles of the cells of an image), or, where labels
count to both sides of 0, one distance. A label that reads otherwise than the rest of its list is
told.
Labels that have no such relation to their places rise or fall with them; more of them is not
computed, only listed (`bookcheck.numbers`).

A key and its text have a word in common, or have not: `{memory: "memory traffic", full: "all"}`.
Where of two texts each has the word of the other's key and not of its own, they are exchanged; so
are names of places, `set_yticks([KEY, VALUE], ["values", "keys"])`. A text of a script that ends
with a letter, `key k`, has no other letter's colour.

The help of an option, `help="how many it writes (300)"`, names its default. The letters of shapes
in the signatures of one file come in one order: `"b h n d"` beside `"b n h d"` is an exchange.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from bookcheck.scripts import TAG, Part, parts_of
from bookformat.notebooks import cells_of
from bookformat.values import SCALES

RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
# Units of tables and ticks, with those that no value has.
UNITS = {unit: Fraction(scale) for unit, scale in SCALES.items()} | {
    "KB": Fraction(10) ** 3,
    "PB": Fraction(10) ** 15,
    "PiB": Fraction(2) ** 50,
    "us": 1 / Fraction(10) ** 6,
    "min": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
    "G": Fraction(10) ** 9,
    "T": Fraction(10) ** 12,
}
LABEL = re.compile(
    r"(?:\w+ = )?"  # N = 8
    r"(?P<sign>[-−]?)(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d*\.?\d+(?:e[-+]?\d+)?)"
    r"(?:/(?P<below>\d+))?"
    r"(?:\^\{?(?P<power>[-−]?\d+)\}?|(?P<raised>[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?"
    r"(?:\s?(?P<unit>[^\s\d]+))?"
)
NAMED_UNIT = re.compile(
    rf"(?:^|\()({'|'.join(sorted(map(re.escape, UNITS), key=len, reverse=True))})(?![\w/])"
)
TICKS = frozenset({"set_xticks", "set_yticks", "set_ticks"})
BASES = (2, 10)
WORD = re.compile(r"[^\W\d_]+")
# The class that gives a text the colour of a letter, and a text that ends with one.
COLOURED = re.compile(r"is-([qkvs])")
LETTER_BEHIND = re.compile(r"\b([qkvs])$")
LETTERS = 4  # so many tell a word from others: KEY and keys, QUERY and queries
# What the help of an option says about its default.
DEFAULT = re.compile(r"\((?:default:? )?(?P<number>[-\d.,e]+)\)$|\(default:? (?P<word>[^()]+)\)$")
SHAPES = frozenset({"Float", "Integer", "Int", "Bool", "Num", "Shaped", "Inexact", "Complex"})


class Labelled(NamedTuple):
    """A place and its label; a place without one is its own."""

    place: Fraction
    label: str

    def __str__(self) -> str:
        return f"[{float(self.place):g}, “{self.label}”]"


def number_of(label: str) -> Fraction | None:
    """The number that a label reads as, with its unit: 1,000, 10², 1/4, 2 GiB, min; or none."""
    text = label.strip().strip("$").replace("\\,", " ").strip()
    if text in UNITS and text != "B":  # bytes, or billions
        return UNITS[text]
    found = LABEL.fullmatch(text)
    if found is None:
        return None
    unit = found["unit"]
    if unit is not None and unit not in UNITS:
        return None
    number = Fraction(found["digits"].replace(",", ""))
    if found["below"]:
        number /= int(found["below"])
    power = found["power"] or (found["raised"] or "").translate(RAISED)
    if power:
        number **= int(power.replace("−", "-"))
    if found["sign"]:
        number = -number
    return number * UNITS[unit] if unit is not None else number


def sizes_named(texts: Iterable[str]) -> frozenset[Fraction]:
    """The sizes of the units with which texts begin, or which stand in their brackets."""
    return frozenset(UNITS[unit] for text in texts for unit in NAMED_UNIT.findall(text))


def wrong_labels(rows: Sequence[Labelled], sizes: frozenset[Fraction]) -> Iterator[str]:
    """The rows of one list whose labels read otherwise than the others, or than its unit."""
    read = [(row, number) for row in rows if (number := number_of(row.label)) is not None]
    relations = [{"the same number"} if row.place == number else set() for row, number in read]
    allowed = {"the same number", "the number and 0.5", *(f"the exponent of {n}" for n in BASES)}
    allowed |= {f"{float(size):g} times the number" for size in sizes}
    numbers = [number for _, number in read]
    both_sides = bool(numbers) and min(numbers) == -max(numbers)
    for one, (row, number) in zip(relations, read, strict=True):
        if number:
            one.add(f"{float(row.place / number):g} times the number")
        one |= {
            f"the exponent of {base}"
            for base in BASES
            if row.place.denominator == 1
            and abs(row.place) < 100
            and Fraction(base) ** int(row.place) == number
        }
        one.add(f"the number and {float(row.place - number):g}")
    counted = Counter(itertools.chain.from_iterable(relations))
    if not counted:
        return
    # Of several relations that hold equally often, the plain one.
    usual = max(counted, key=lambda name: (counted[name], name == "the same number"))
    several = 2 * counted[usual] > len(read) and counted[usual] > 1
    if not several and "the same number" not in counted:
        numbers = [number for _, number in sorted(read)]
        if numbers not in (sorted(numbers), sorted(numbers, reverse=True)):
            labels = ", ".join(str(row) for row, _ in read)
            yield f"{labels}: the labels neither rise nor fall with the places"
        return
    if several and usual not in allowed and not (both_sides and usual.startswith("the number")):
        labels = ", ".join(str(row) for row, _ in read)
        yield f"{labels}: the places are {usual}, and no text beside them names such a unit"
        return
    wanted = usual if several else "the same number"
    for one, (row, _) in zip(relations, read, strict=True):
        if wanted not in one:
            yield f"{row}: its place is not {wanted}, as in the rest of its list"


class Named(NamedTuple):
    """A key, or another name in code, and the text beside it."""

    name: str
    text: str

    def says(self, name: str) -> bool:
        """Whether the text has a word that begins as a name does."""
        begin = "".join(WORD.findall(name.lower())[:1])[:LETTERS]
        return any(word.startswith(begin) for word in WORD.findall(self.text.lower()))


def exchanged_texts(named: Sequence[Named]) -> Iterator[str]:
    """The pairs of which each text says the other's name and not its own."""
    long = [one for one in named if len("".join(WORD.findall(one.name)[:1])) > 2]
    for first, second in itertools.combinations(long, 2):
        crosswise = first.says(second.name) and second.says(first.name)
        if (first.text, second.text) == (second.name, first.name):
            continue  # a table that exchanges the two, {"row": "column", "column": "row"}
        if crosswise and not first.says(first.name) and not second.says(second.name):
            yield (
                f"“{first.text}” stands beside {first.name}, and “{second.text}” beside "
                f"{second.name}: each says what the other is"
            )


# ------------------------------------------------------------------------ Python


def wrong_in_code(code: str) -> list[str]:
    """What texts of a piece of Python say otherwise than the numbers beside them."""
    tree = ast.parse(code)
    found: list[str] = []
    sizes = sizes_named(text for one in ast.walk(tree) if (text := text_of(one)) is not None)
    for node in ast.walk(tree):
        for rows in labelled_by(node, tree):
            found += wrong_labels(rows, sizes)
        found += exchanged_texts([*named_by(node)])
        if isinstance(node, ast.Call) and name_of(node.func) == "add_argument":
            found += wrong_help(node, tree)
    return found


def labelled_by(node: ast.AST, tree: ast.AST) -> Iterator[list[Labelled]]:
    """The places and labels that a part of code has: ticks of an axis, rows, a dictionary."""
    if isinstance(node, ast.Call) and name_of(node.func) in TICKS:
        given = node.args[1:2] + [one.value for one in node.keywords if one.arg == "labels"]
        places = numbers_in(node.args[0], tree) if node.args else None
        if places is not None and given and isinstance(given[0], (ast.List, ast.Tuple)):
            labels = [text_of(one) for one in given[0].elts]
            ticks = zip(places, labels, strict=False)
            yield [Labelled(place, label) for place, label in ticks if label is not None]
    elif isinstance(node, (ast.List, ast.Tuple)):
        yield [row for one in node.elts if (row := row_of(one)) is not None]
    elif isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        yield [row for pair in pairs if (row := labelled(pair)) is not None]


def named_by(node: ast.AST) -> Iterator[Named]:
    """The names and texts that a part of code pairs: a dictionary, rows, ticks of an axis."""
    pairs: list[tuple[ast.expr | None, ast.expr]] = []
    if isinstance(node, ast.Dict):
        pairs += zip(node.keys, node.values, strict=True)
    elif isinstance(node, (ast.List, ast.Tuple)):
        rows = [one for one in node.elts if isinstance(one, (ast.List, ast.Tuple)) and one.elts]
        pairs += [(row.elts[0], one) for row in rows for one in row.elts[1:2]]
    elif isinstance(node, ast.Call) and name_of(node.func) in TICKS and len(node.args) > 1:
        places, labels = node.args[:2]
        if isinstance(places, (ast.List, ast.Tuple)) and isinstance(labels, (ast.List, ast.Tuple)):
            pairs += zip(places.elts, labels.elts, strict=False)
    for key, value in pairs:
        name = key.id if isinstance(key, ast.Name) else text_of(key) if key else None
        text = text_of(value)
        if name is not None and text is not None:
            yield Named(name, text)


def row_of(node: ast.AST) -> Labelled | None:
    """A row of a number and a text, in either order."""
    if isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) == 2:
        return labelled((node.elts[0], node.elts[1]))
    return None


def labelled(pair: tuple[ast.expr | None, ast.expr]) -> Labelled | None:
    """A number and a text, in either order, where they are constants."""
    for first, second in (pair, pair[::-1]):
        if first is None or second is None:
            return None
        number = constant_of(first)
        text = text_of(second)
        if number is not None and text is not None:
            return Labelled(number, text)
    return None


def name_of(function: ast.AST) -> str:
    """The name of a function that code calls, without its object."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def text_of(node: ast.AST) -> str | None:
    """A typed text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


def value_of(name: str, tree: ast.AST) -> ast.expr | None:
    """What the code gives a name first."""
    for one in ast.walk(tree):
        if isinstance(one, ast.Assign):
            names = [target.id for target in one.targets if isinstance(target, ast.Name)]
            if name in names and not isinstance(one.value, ast.Name):
                return one.value
    return None


def numbers_in(node: ast.AST, tree: ast.AST) -> list[Fraction] | None:
    """The typed numbers of a list, also of one that has a name, or none."""
    if isinstance(node, ast.Name):
        value = value_of(node.id, tree)
        return None if value is None else numbers_in(value, tree)
    if not isinstance(node, (ast.List, ast.Tuple)):
        return None
    numbers = [constant_of(one) for one in node.elts]
    typed = [one for one in numbers if one is not None]
    return typed if len(typed) == len(numbers) else None


def constant_of(node: ast.AST) -> Fraction | None:
    """A number in code: -1, 1e9, 2**30."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return Fraction(str(node.value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = constant_of(node.operand)
        return None if number is None else -number
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        base = constant_of(node.left)
        power = constant_of(node.right)
        if base and power is not None and power.denominator == 1:
            return base ** int(power)
    return None


def wrong_help(call: ast.Call, tree: ast.AST) -> Iterator[str]:
    """A default that the help of an option names otherwise than the option."""
    given = {one.arg: one.value for one in call.keywords}
    words = text_of(given["help"]) if "help" in given else None
    said = DEFAULT.search(words) if words else None
    default = given.get("default")
    if said is None or default is None:
        return
    if isinstance(default, ast.Name):
        default = value_of(default.id, tree) or default
    number = constant_of(default)
    if said["number"] and number is not None:
        agrees = Fraction(said["number"].replace(",", "")) == number
    elif said["number"]:
        agrees = False
    else:
        agrees = text_of(default) is None or text_of(default) == said["word"]
    if not agrees:
        yield f"“{words}”: the default is {ast.unparse(default)}"


def exchanged_axes(code: str) -> Iterator[str]:
    """Letters that come in two orders in the shapes of a file's signatures."""
    seen: dict[tuple[str, str], str] = {}
    for shape in shapes_in(ast.parse(code)):
        for pair in itertools.combinations(shape.split(), 2):
            other = seen.get((pair[1], pair[0]))
            if other is None or pair[0] == pair[1]:
                seen.setdefault(pair, shape)
            else:
                yield f"“{shape}” has {pair[0]} before {pair[1]}, and “{other}” the reverse"


def shapes_in(tree: ast.AST) -> Iterator[str]:
    """The shapes in a file's annotations: of Float[Tensor, "b h n d"], the text."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Subscript)
            and name_of(node.value) in SHAPES
            and isinstance(node.slice, ast.Tuple)
            and (shape := text_of(node.slice.elts[-1])) is not None
        ):
            yield shape


# ------------------------------------------------------------------------ scripts


def wrong_in_script(script: str) -> list[str]:
    """What texts of a script say otherwise than the numbers beside them."""
    parts = [*parts_of(script)]
    sizes = sizes_named(part.content for part in parts if part.is_text)
    faults = [fault for rows in lists_of(parts) for fault in wrong_labels(rows, sizes)]
    faults += wrong_classes(parts)
    return faults + [fault for one in objects_of(parts) for fault in exchanged_texts(one)]


def wrong_classes(parts: Sequence[Part]) -> Iterator[str]:
    """Texts such as `key k` in the colour of another letter, `class: "is-v"`."""
    said = ""  # the last text of the call that is read
    for index, part in enumerate(parts):
        if not part.is_text and part.content in (";", "+"):
            said = ""
        elif part.is_text:
            letter = COLOURED.fullmatch(part.content)
            if parts[index - 1].content == TAG:
                said = part.content
            elif letter is not None and parts[index - 2].content == "class":
                own = LETTER_BEHIND.search(said)
                if own is not None and own[1] != letter[1]:
                    yield f"“{said}” has the colour of {letter[1]}"


def lists_of(parts: Sequence[Part]) -> Iterator[list[Labelled]]:
    """The rows of a number and a text in each list of a script; a number alone says itself."""
    for start, part in enumerate(parts):
        if part.is_text or part.content != "[":
            continue
        rows = [row for item in items_of(parts, start + 1) if (row := labelled_by_parts(item))]
        if any(row.label for row in rows):
            yield [Labelled(place, label or str(place)) for place, label in rows]


def items_of(parts: Sequence[Part], start: int) -> Iterator[list[Part]]:
    """What stands between the commas of a list that begins here."""
    depth = 0
    item: list[Part] = []
    for part in parts[start:]:
        content = "" if part.is_text else part.content
        if content in ("]", ")", "}"):
            if depth == 0:
                break
            depth -= 1
        elif content in ("[", "(", "{"):
            depth += 1
        if content == "," and depth == 0:
            yield item
            item = []
        else:
            item.append(part)
    yield item


def objects_of(parts: Sequence[Part]) -> Iterator[list[Named]]:
    """The keys and texts of each object of a script, and of each list of rows that begin so."""
    for start, part in enumerate(parts):
        if not part.is_text and part.content in ("{", "["):
            items = items_of(parts, start + 1)
            yield [named for item in items if (named := named_by_parts(item)) is not None]


def named_by_parts(item: Sequence[Part]) -> Named | None:
    """An item `key: "text"` or `["key", "text", …]` of a script."""
    words = [part for part in item if part.content != TAG]
    if len(words) > 3 and words[0].content == "[" and words[2].content == ",":
        name, text = words[1], words[3]
        return Named(name.content, text.content) if name.is_text and text.is_text else None
    if len(words) == 3 and words[1].content == ":" and words[2].is_text:
        return Named(words[0].content, words[2].content)
    return None


def labelled_by_parts(item: Sequence[Part]) -> Labelled | None:
    """A row `[1e9, "GB"]` or `[1e9, phrase`billion`]`, or a number alone, of a script."""
    words = [part.content for part in item if part.content != TAG]
    if len(words) > 2 and words[0] == "[" and words[-1] == "]":
        texts = [part.content for part in item if part.is_text]
        comma = words.index(",") if "," in words else 0
        number = number_in_script(words[1:comma])
        if len(texts) == 1 and words[comma + 1 : -1] == texts and number is not None:
            return Labelled(number, texts[0])
        return None
    number = number_in_script(words)
    return None if number is None or any(part.is_text for part in item) else Labelled(number, "")


def number_in_script(words: Sequence[str]) -> Fraction | None:
    """A number of a script: 100, -1, 1e9, 2 ** 30."""
    try:
        return constant_of(ast.parse("".join(words), mode="eval").body)
    except SyntaxError:
        return None


def wrong_beside(path: Path) -> list[str]:
    """A message for each text of a file that the number beside it contradicts."""
    if path.suffix == ".js":
        faults = wrong_in_script(path.read_text(encoding="utf-8"))
    elif path.suffix == ".py":
        code = path.read_text(encoding="utf-8")
        faults = [*wrong_in_code(code), *exchanged_axes(code)]
    else:
        return [
            f"{path.name}, {cell.place}: {fault}"
            for cell in cells_of(path)
            if cell.kind == "code"
            for fault in wrong_in_code(cell.source)
        ]
    return [f"{path.name}: {fault}" for fault in faults]
