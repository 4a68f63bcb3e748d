"""The words of stored outputs: printed lines, cells of tables, labels of figures.

A message of an output has `{}` where a number stands, which stays as the cell computed it, with
the spaces before it. In a translation, `{×10} 亿` takes the number of "{} billion" ten times, and
the field `{x / 1e8:.0f}` that of `{x / 1e9:.1f}`, because Chinese counts in 10⁴ and 10⁸. A label of
two lines is one message of two lines. A line that consists of texts of the code (`listings`) is no
message: it follows from their translations, as it would if the translated code were run. Nothing is
executed.
"""

import html
import math
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from itertools import zip_longest
from typing import Any, NamedTuple

Lookup = Callable[[str], str | None]

HOLE = "{}"
PLACE_OF_NUMBER = re.compile(r"\{(?:×1(?P<zeros>0+))?\}")
# What a field counts in, and with how many decimals.
UNIT = re.compile(r"1e(\d+)")
DECIMALS = re.compile(r"\.\d+f")
NUMBER = re.compile(
    r"(?:(?<=[ \[]) +)?(?<![\w.])[-+−]?"
    r"(?:\d+(?:[.,]\d+)*(?:\.(?=[\s\]]))?(?:e[-+]?\d+)?|inf|nan)(?!\w)"
)
# What says the same in both languages, when nothing else stands beside it.
NEUTRAL = re.compile(
    r"\$[^$]*\$|\b(?:torch\.)?(?:b?float\d+|int\d+|bool|tensor|dtype|True|False|None|inf|nan)\b"
    r"|\b[A-Za-z]\w*_\w*|\b\w*[A-Z]\w*[A-Z]\w*"  # names in code, and GB, RoPE, RMSNorm
)
WORDS = re.compile(r"[A-Za-z]{2,}")
FIELD = re.compile(r"\{[^{}]*\}")
WIDTH = re.compile(r":([<>]?)(\d+)[^{}:]*\}")
CELL = re.compile(r"(<t[hd]\b[^>]*>)(.*?)(?=</t[hd]>)", re.DOTALL)


def said(text: str) -> bool:
    """Whether a text of an output or of code has words to translate."""
    return bool(WORDS.search(NEUTRAL.sub(" ", FIELD.sub(" ", text))))


def translate_words(text: str, lookup: Lookup) -> str:
    """A text of an output in the other language, with its own numbers; or else as it is."""
    numbers = NUMBER.findall(text)
    message = NUMBER.sub(HOLE, text)
    if not said(message):
        return text
    other = lookup(message)
    if other is None or len(PLACE_OF_NUMBER.findall(other)) != len(numbers):
        return text
    left = iter(numbers)
    return PLACE_OF_NUMBER.sub(lambda at: times(next(left), len(at["zeros"] or "")), other)


def times(number: str, zeros: int, form: str = "f") -> str:
    """A number times a power of ten, with the digits that it has, and in the room that it had."""
    if zeros == 0:
        return number
    value = Decimal(number.strip().replace(",", "").replace("−", "-")).scaleb(zeros)
    return format(value, form).rjust(len(number) if number.startswith(" ") else 0)


def unit_of(field: str) -> int:
    """The power of ten that a field counts in."""
    found = UNIT.search(field)
    return int(found[1]) if found else 0


def without_unit(field: str) -> str:
    """A field without what changes with its unit."""
    return DECIMALS.sub("", UNIT.sub("", field))


def put(line: str, field: str, shown: str) -> str:
    """The translated line with what a field of the message shows."""
    if field in line:
        return line.replace(field, shown, 1)
    for other in FIELD.findall(line):
        if without_unit(other) == without_unit(field):
            form = other.rpartition(":")[2].rstrip("}")
            return line.replace(other, times(shown, unit_of(field) - unit_of(other), form), 1)
    return line


class Text(NamedTuple):
    """One line of a literal: its parts between fields, the fields, and the translated line."""

    parts: list[str]
    fields: list[str]
    translation: str


def lines_of(texts: Mapping[str, str]) -> list[Text]:
    """The lines of the literals: f-strings first, and those with the most letters first."""
    found = []
    for text, translation in texts.items():
        for line, other in zip_longest(text.split("\n"), translation.split("\n"), fillvalue=""):
            fields = FIELD.findall(line)
            if fields or said(line):
                found.append(Text(FIELD.split(line), fields, other))
    return sorted(found, key=lambda text: (not text.fields, -sum(map(len, text.parts))))


def pattern_of(line: Text) -> str:
    """What a printed line looks like that a literal made, with a group for each field."""
    parts = [re.escape(part) for part in line.parts]
    pattern = parts[0]
    for field, part in zip(line.fields, parts[1:], strict=True):
        width = WIDTH.search(field)
        # Without words around it, only a field that fills its width can be told.
        more = "," if said(" ".join(line.parts)) else ""
        pattern += f"(.{{{width[2]}{more}}}{'?' if more else ''})" if width else "(.*?)"
        pattern += part
    if line.fields and not line.parts[-1]:
        pattern += "" if WIDTH.search(line.fields[-1]) else "$"
    elif line.parts[-1][-1:].isalpha():
        pattern += r"(?![^\W\d])"
    if line.fields and not line.parts[0]:
        return f"^{pattern}"
    return rf"(?<![^\W\d]){pattern}" if line.parts[0][:1].isalpha() else pattern


def composed(text: str, lines: list[Text]) -> str | None:
    """A printed text that consists of literals, with their translations; or else None."""
    if not said(text):
        return text
    for line in lines:
        found = re.search(pattern_of(line), text)
        if found is None:
            continue
        others = [other for other in lines if other is not line]
        fields = [
            translate_field(shown, name, others)
            for name, shown in zip(line.fields, found.groups(), strict=True)
        ]
        before, after = composed(text[: found.start()], lines), composed(text[found.end() :], lines)
        if before is None or after is None or None in fields:
            continue
        other = line.translation
        for name, field in zip(line.fields, fields, strict=True):
            other = put(other, name, field or "")
        return before + other + after
    return None


def translate_field(shown: str, name: str, lines: list[Text]) -> str | None:
    """What a field of an f-string shows, as wide as its format asks; a format counts letters."""
    words = composed(shown.strip(), lines)
    width = WIDTH.search(name)
    if words is None or words == shown.strip():
        return None if words is None else shown
    if width is None:
        return words
    return words.rjust(int(width[2])) if width[1] == ">" else words.ljust(int(width[2]))


def translate_print(text: str, lookup: Lookup, texts: Mapping[str, str]) -> str:
    """Printed lines: composed of literals, or each a message without the spaces around it."""
    known = lines_of(texts)
    lines = []
    for line in text.split("\n"):
        other = composed(line, known)
        if other is None:
            words = line.strip()
            before, _, after = line.partition(words)
            other = before + translate_words(words, lookup) + after
        lines.append(other)
    return "\n".join(lines)


def translate_table(table: str, lookup: Lookup) -> str:
    """The cells of a table."""
    return CELL.sub(
        lambda cell: (
            cell[1] + html.escape(translate_words(html.unescape(cell[2]), lookup), quote=False)
        ),
        table,
    )


# A label: text elements that follow each other are its lines.
LINE = r"<text\b(?P<look>[^>]*?)(?:/>|>(?P<text>[^<]*)</text>)"
LABEL = re.compile(r"<text\b[^>]*?(?:/>|>[^<]*</text>)(?:\s*<text\b[^>]*?(?:/>|>[^<]*</text>))*")
PLACE = re.compile(r'transform="translate\((?P<x>\S+) (?P<y>\S+)\)(?: rotate\((?P<angle>\S+)\))?"')
# A label with formulas, whose letters matplotlib places one by one.
FORMULA = re.compile(
    r"(?P<indent> *)(?P<group><g\b[^>]*>)\s*<text>\s*"
    r"(?P<letters>(?:<tspan .*?</tspan>\s*)+)</text>",
    re.DOTALL,
)
LETTER = re.compile(r'<tspan x="([^"]+)" y="([^"]+)" style="([^"]*)">([^<]+)</tspan>')
SIZE = re.compile(r"font-size: ([\d.]+)px")
# How deep matplotlib's labels of axes stand, in spaces; what stands less deep starts at its place.
OF_AXES = 5


class Letter(NamedTuple):
    """A letter of a label with formulas."""

    x: float
    y: float
    look: str
    text: str

    @property
    def size(self) -> float:
        """The size of the letter."""
        found = SIZE.search(self.look)
        assert found is not None
        return float(found[1])


def rough_width(text: str) -> float:
    """About how wide a text is, in sizes of its font."""
    width = 0.0
    for letter in text:
        if letter > "\u2e7f":
            width += 1.0
        elif letter in "fijltrI.,:;'|!()[]/ ":
            width += 0.36
        else:
            width += 0.9 if letter in "mwMW@%=→" else 0.62
    return width


def translate_labels(svg: str, lookup: Lookup) -> str:
    """The labels of a drawing."""
    svg = FORMULA.sub(lambda label: translate_formula(label, lookup), svg)
    return LABEL.sub(lambda label: translate_label(label[0], lookup), svg)


def translate_label(label: str, lookup: Lookup) -> str:
    """A label of one line or more, which keeps its left end, its middle or its right end."""
    lines = [*re.finditer(LINE, label)]
    texts = [html.unescape(line["text"] or "") for line in lines]
    message = "\n".join(text for text in texts if text)
    others = translate_words(message, lookup)
    if others == message:
        return label
    new = others.split("\n")
    places = [PLACE.search(line["look"]) for line in lines]
    if len(lines) == 1 or not all(places):
        return label.replace(f">{lines[0]['text']}<", f">{html.escape(others, quote=False)}<")
    x = [float(place["x"]) for place in places if place]
    y = [float(place["y"]) for place in places if place]
    angle = math.radians(float(places[0]["angle"] or 0)) if places[0] else 0.0
    along = [a * math.cos(angle) + b * math.sin(angle) for a, b in zip(x, y, strict=True)]
    anchor, at = anchor_of(along, texts)
    written = []
    for line, text, start, a, b in zip(lines, texts, along, x, y, strict=True):
        shown = new.pop(0) if text and new else ""
        move = at - start if anchor != "start" else 0.0
        look = PLACE.sub(
            lambda place, a=a, b=b, move=move: place[0].replace(
                f"translate({place['x']} {place['y']})",
                f"translate({a + move * math.cos(angle):.2f} {b + move * math.sin(angle):.2f})",
            ),
            line["look"],
        )
        if anchor != "start":
            look = look.replace('style="', f'style="text-anchor: {anchor}; ')
        written.append(f"<text{look}>{html.escape(shown, quote=False)}</text>")
    return "\n".join(written)


def anchor_of(starts: list[float], texts: list[str]) -> tuple[str, float]:
    """Where the lines of a label meet, from where they start: left, in the middle, or right."""
    if max(starts) - min(starts) < 0.5:
        return "start", starts[0]
    widths = [rough_width(text) for text in texts]
    long = max(range(len(texts)), key=widths.__getitem__)
    short = min(range(len(texts)), key=widths.__getitem__)
    # How much earlier the longest line starts, for each letter that it is longer than the shortest.
    step = (starts[short] - starts[long]) / max(widths[long] - widths[short], 0.1)
    # A letter of our figures is about 11 pixels wide; half of that says that the middles meet.
    return "end" if step > 8 else "middle", starts[long] + step * widths[long]


def runs_of(letters: list[Letter]) -> Iterator[tuple[str, str]]:
    """The letters in order as runs: upright, italic, below or above the line."""
    size = max(letter.size for letter in letters)
    line = next(letter.y for letter in letters if letter.size == size)
    kind = ""
    text = ""
    for letter in sorted(letters):
        if letter.size < 0.9 * size:
            now = "_" if letter.y > line else "^"
        else:
            now = "$" if "oblique" in letter.look else " "
        if now != kind and text:
            yield kind, text
            text = ""
        kind = now
        text += letter.text
    yield kind, text


def message_of(letters: list[Letter]) -> str:
    """A label with formulas as a message: italic letters and indices between dollar signs."""
    written = ""
    for kind, text in runs_of(letters):
        if kind in "_^":
            text = f"{kind}{text}" if len(text) == 1 else f"{kind}{{{text}}}"
        written += text if kind == " " else f"${text}$"
    return written.replace("$$", "")


def translate_formula(label: re.Match[str], lookup: Lookup) -> str:
    """A label with formulas, whose letters then follow each other as the page's font has them."""
    letters = [
        Letter(float(x), float(y), look, html.unescape(text))
        for x, y, look, text in LETTER.findall(label["letters"])
    ]
    message = message_of(letters)
    other = translate_words(message, lookup)
    if other == message:
        return label[0]
    last = max(letters)
    middle = len(label["indent"]) + 1 > OF_AXES or "rotate" in label["group"]
    at = (last.x + last.size * rough_width(last.text)) / 2 if middle else 0.0
    size = max(letter.size for letter in letters)
    y = next(letter.y for letter in letters if letter.size == size)
    fill = re.search(r"fill: [^;]+", letters[0].look)
    look = f"font-size: {size:g}px; text-anchor: {'middle' if middle else 'start'}"
    look += f"; {fill[0]}" if fill else ""
    parts = "".join(written_run(part, size) for part in re.findall(r"\$[^$]*\$|[^$]+", other))
    return f'{label["group"]}<text x="{at:.2f}" y="{y:g}" style="{look}">{parts}</text>'


def written_run(part: str, size: float) -> str:
    """One run of a label: words, or a formula with letters above or below the line."""
    if not part.startswith("$"):
        return f"<tspan>{html.escape(part, quote=False)}</tspan>"
    written = ""
    back = 0.0
    for mark, text in re.findall(r"([_^]?)(\{[^}]*\}|[^_^])", part.strip("$")):
        shown = html.escape(text.strip("{}"), quote=False)
        down = {"_": 0.15, "^": -0.4, "": 0.0}[mark] * size
        move = f' dy="{down - back:.2f}"' if down != back else ""
        small = f"; font-size: {0.7 * size:.2f}px" if mark else ""
        written += f'<tspan{move} style="font-style: oblique{small}">{shown}</tspan>'
        back = down
    # An empty line of letters would not move what follows back to the line.
    return written + (f'<tspan dy="{-back:.2f}">\u200b</tspan>' if back else "")


def translate_output(
    output: Any, lookup: Lookup, texts: Mapping[str, str], labels: Mapping[str, str]
) -> None:
    """Change the words of an output in place; `texts` are the literals with their translations.

    `labels` are those of figures and tables that say in English what the code needs so.
    """

    def of_label(message: str) -> str | None:
        return labels.get(message) or lookup(message)

    if "text" in output:
        output["text"] = translate_print("".join(output["text"]), lookup, texts)
    data = output.get("data", {})
    if "text/html" in data:
        data["text/html"] = translate_table("".join(data["text/html"]), of_label)
    if "image/svg+xml" in data:
        data["image/svg+xml"] = translate_labels("".join(data["image/svg+xml"]), of_label)


def texts_seen(outputs: list[Any]) -> str:
    """What readers see of outputs, to find the literals of the code in it."""
    parts = []
    for output in outputs:
        parts.append("".join(output.get("text", "")))
        data = output.get("data", {})
        parts += [
            html.unescape(cell[2]) for cell in CELL.finditer("".join(data.get("text/html", "")))
        ]
        parts += [
            html.unescape(line["text"] or "")
            for line in re.finditer(LINE, "".join(data.get("image/svg+xml", "")))
        ]
    return "\n".join(parts)
