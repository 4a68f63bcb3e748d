"""Do two outputs of a cell say the same? Words exactly, numbers nearly, figures drawn alike.

Last digits differ between processors, so a number with a decimal point or an exponent may
deviate by `RELATIVE` of itself. Whole numbers, words, layout and the number of outputs must be
the same.
"""

import base64
import io
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

import numpy as np

RELATIVE = 1e-5
ABSOLUTE = 1e-9
# A figure's coordinates are points (1/72 inch): this much is not seen.
DRAWING = 0.06

_NUMBER = re.compile(
    r"(?<![\w.#])[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?(?![\w.])|#[0-9a-fA-F]{6}\b"
)
_WHOLE = re.compile(r"[-+]?\d+")
# The labels of a drawing, and the text that stands for it.
_SAID = re.compile(r'(?<=>)[^<>]*\w[^<>]*(?=<)|(?<=aria-label=")[^"]*')
_EMBEDDED_IMAGE = re.compile(r"data:image/png;base64,\s*([A-Za-z0-9+/=\s]+)")


def difference(
    stored: Sequence[Mapping[str, Any]],
    fresh: Sequence[Mapping[str, Any]],
    relative: float = RELATIVE,
) -> str | None:
    """The first way in which a cell's fresh outputs differ from the stored ones, or None."""
    old, new = _texts(stored), _texts(fresh)
    if list(old) != list(new):
        names = [", ".join(texts) or "no output" for texts in (old, new)]
        return f"{names[0]} is stored, the cell now gives {names[1]}"
    for name in old:
        if "svg" in name:
            problem = drawing_difference(old[name], new[name], relative)
        else:
            problem = text_difference(old[name], new[name], relative)
        if problem:
            return f"{name}: {problem}"
    return None


def _texts(outputs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What outputs say, by name; a kernel may cut a stream into pieces anywhere."""
    texts: dict[str, str] = {}
    displays = 0
    for output in outputs:
        kind = output["output_type"]
        if kind == "stream":
            texts[output["name"]] = texts.get(output["name"], "") + output["text"]
        elif kind == "error":
            texts["an error"] = f"{output['ename']}: {output['evalue']}"
        else:
            displays += 1
            texts |= {f"{form} ({displays})": str(data) for form, data in output["data"].items()}
    return texts


def text_difference(
    old: str, new: str, relative: float = RELATIVE, absolute: float = ABSOLUTE
) -> str | None:
    """Compare the words exactly and the numbers between them within the tolerance."""
    if _NUMBER.sub("0", old) != _NUMBER.sub("0", new):
        pairs = zip([*old.splitlines(), "nothing"], [*new.splitlines(), "nothing"], strict=False)
        line, other = next((pair for pair in pairs if pair[0] != pair[1]), (old, new))
        same = takewhile(lambda pair: pair[0] == pair[1], zip(line, other, strict=False))
        start = max(len(list(same)) - 60, 0)
        shown = line[start : start + 120], other[start : start + 120]
        return "{!r} is stored, the cell now gives {!r}".format(*shown)
    for found, number in zip(_NUMBER.finditer(old), _NUMBER.findall(new), strict=True):
        if found.group() != number and not _close(found.group(), number, relative, absolute):
            near = old[max(found.start() - 40, 0) : found.start()].strip()
            return f"{found.group()} is stored, the cell now gives {number}, after {near!r}"
    return None


def _close(old: str, new: str, relative: float, absolute: float) -> bool:
    if "#" in old + new:  # a colour
        one, other = (bytes.fromhex(text[1:]) if text[0] == "#" else b"" for text in (old, new))
        return len(one) == len(other) and all(
            abs(a - b) <= 2 for a, b in zip(one, other, strict=True)
        )
    if _WHOLE.fullmatch(old) and _WHOLE.fullmatch(new) and absolute < DRAWING:
        return int(old) == int(new)
    return abs(float(old) - float(new)) <= absolute + relative * abs(float(old))


def drawing_difference(old: str, new: str, relative: float = RELATIVE) -> str | None:
    """Compare two SVG figures: what they say as printed texts are, what they draw nearly."""
    one, other = (_EMBEDDED_IMAGE.sub("image", text) for text in (old, new))
    said, says = ("\n".join(_SAID.findall(text)) for text in (one, other))
    problem = text_difference(said, says, relative)
    problem = problem or text_difference(one, other, RELATIVE, DRAWING)
    images = [_EMBEDDED_IMAGE.findall(text) for text in (old, new)]
    if problem is None and any(map(_pixels_changed, *images)):
        problem = "the pixels of a picture in it changed"
    return problem


def _pixels_changed(old: str, new: str) -> bool:
    """Whether more than one pixel in 500 changed: machines draw edges a little differently."""
    # Here, since few figures hold pictures, and every test process imports this module.
    from PIL import Image

    one, other = (Image.open(io.BytesIO(base64.b64decode(text))) for text in (old, new))
    return changed_share(one, other, 8) > 0.002


def changed_share(one: Any, other: Any, largest_step: int) -> float:
    """The share of pixels in which a channel changed by more than a step; 1 for other sizes."""
    old, new = (np.asarray(picture.convert("RGBA"), dtype=np.int16) for picture in (one, other))
    if old.shape != new.shape:
        return 1.0
    return float((np.abs(old - new).max(axis=-1) > largest_step).mean())
