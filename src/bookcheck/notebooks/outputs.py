"""Do two outputs of a cell say the same? Words exactly, numbers nearly, figures drawn alike.

Last digits differ between processors, so a number with a decimal point or an exponent may
deviate by `RELATIVE` of itself. Whole numbers, words, layout and the number of outputs must be
the same.
"""

import base64
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

RELATIVE = 1e-5
ABSOLUTE = 1e-9
# A figure's coordinates are points (1/72 inch): this much is not seen.
DRAWING = 0.06

_NUMBER = re.compile(
    r"(?<![\w.#])[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?(?![\w.])|#[0-9a-fA-F]{6}\b"
)
_EMBEDDED_IMAGE = re.compile(r"data:image/png;base64,\s*([A-Za-z0-9+/=\s]+)")


def difference(
    stored: Sequence[Mapping[str, Any]],
    fresh: Sequence[Mapping[str, Any]],
    relative: float = RELATIVE,
) -> str | None:
    """The first way in which a cell's fresh outputs differ from the stored ones, or None."""
    stored, fresh = _merge_streams(stored), _merge_streams(fresh)
    if len(stored) != len(fresh):
        return (
            f"{len(stored)} outputs are stored ({_kinds(stored)}), "
            f"the cell now gives {len(fresh)} ({_kinds(fresh)})"
        )
    for number, (old, new) in enumerate(zip(stored, fresh, strict=True), start=1):
        problem = _output_difference(old, new, relative)
        if problem:
            return f"output {number}: {problem}"
    return None


def _kinds(outputs: Sequence[Mapping[str, Any]]) -> str:
    return (
        ", ".join(
            output.get("name") or "/".join(output.get("data", {})) or output["output_type"]
            for output in outputs
        )
        or "none"
    )


def join_pieces(outputs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Join neighbouring pieces of one stream: kernels cut a stream where they like."""
    joined: list[dict[str, Any]] = []
    for output in outputs:
        output = dict(output)
        if output["output_type"] == "stream":
            output["text"] = _text(output["text"])
            if joined and joined[-1].get("name") == output["name"]:
                joined[-1]["text"] += output["text"]
                continue
        joined.append(output)
    return joined


def _merge_streams(outputs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each stream whole, at the place of its first piece; nbval hands outputs over like this."""
    merged: list[dict[str, Any]] = []
    for output in join_pieces(outputs):
        same = [one for one in merged if one.get("name") == output.get("name", "")]
        if same:
            same[0]["text"] += output["text"]
        else:
            merged.append(output)
    return merged


def _text(payload: Any) -> str:
    return "".join(payload) if isinstance(payload, list) else str(payload)


def _output_difference(
    old: Mapping[str, Any], new: Mapping[str, Any], relative: float
) -> str | None:
    if old["output_type"] != new["output_type"]:
        return f"a {old['output_type']} is stored, the cell now gives a {new['output_type']}"
    if old["output_type"] == "stream":
        if old["name"] != new["name"]:
            return f"{old['name']} is stored, the cell now writes to {new['name']}"
        return text_difference(old["text"], new["text"], relative)
    if old["output_type"] == "error":
        return text_difference(
            f"{old['ename']}: {old['evalue']}", f"{new['ename']}: {new['evalue']}", relative
        )
    if set(old["data"]) != set(new["data"]):
        return f"{sorted(old['data'])} is stored, the cell now gives {sorted(new['data'])}"
    for kind in old["data"]:
        problem = _payload_difference(kind, old["data"][kind], new["data"][kind], relative)
        if problem:
            return f"{kind}: {problem}"
    return None


def _payload_difference(kind: str, old: Any, new: Any, relative: float) -> str | None:
    if kind in ("image/png", "image/jpeg"):
        return pixel_difference(base64.b64decode(_text(old)), base64.b64decode(_text(new)))
    if kind == "image/svg+xml":
        return drawing_difference(_text(old), _text(new))
    if isinstance(old, (dict, bool, int, float)) or isinstance(new, (dict, bool, int, float)):
        return None if old == new else f"{old!r} is stored, the cell now gives {new!r}"
    return text_difference(_text(old), _text(new), relative)


def text_difference(
    old: str, new: str, relative: float = RELATIVE, absolute: float = ABSOLUTE
) -> str | None:
    """Compare the words exactly and the numbers between them within the tolerance."""
    old_words, new_words = _NUMBER.split(old), _NUMBER.split(new)
    old_numbers, new_numbers = _NUMBER.findall(old), _NUMBER.findall(new)
    for index in range(max(len(old_words), len(new_words))):
        old_word = old_words[index] if index < len(old_words) else None
        new_word = new_words[index] if index < len(new_words) else None
        if old_word != new_word:
            return _first_difference(old, new)
        if index < len(old_numbers) and index < len(new_numbers):
            pair = old_numbers[index], new_numbers[index]
            if pair[0] != pair[1] and not _close(*pair, relative, absolute):
                return (
                    f"the number {pair[0]} is stored, the cell now gives {pair[1]}, "
                    f"near {_nearby(old_word)!r}"
                )
    return None


def _close(old: str, new: str, relative: float, absolute: float) -> bool:
    if old.startswith("#") or new.startswith("#"):
        if not (old.startswith("#") and new.startswith("#")):
            return False
        channels = [(int(old[i : i + 2], 16), int(new[i : i + 2], 16)) for i in (1, 3, 5)]
        return all(abs(one - other) <= 2 for one, other in channels)
    whole = re.compile(r"[-+]?\d+")
    if whole.fullmatch(old) and whole.fullmatch(new) and absolute < DRAWING:
        return int(old) == int(new)
    return abs(float(old) - float(new)) <= absolute + relative * abs(float(old))


def _nearby(words: str | None) -> str:
    return (words or "").strip()[-40:]


def _first_difference(old: str, new: str) -> str:
    old_lines, new_lines = old.splitlines(), new.splitlines()
    for number, (one, other) in enumerate(zip(old_lines, new_lines, strict=False), start=1):
        if one != other:
            return f"line {number}: {_short(one)} is stored, the cell now gives {_short(other)}"
    return f"{len(old_lines)} lines are stored, the cell now gives {len(new_lines)}"


def _short(line: str) -> str:
    return repr(line if len(line) <= 120 else line[:117] + "...")


def drawing_difference(old: str, new: str) -> str | None:
    """Compare two SVG figures: same elements and words, coordinates and colours nearly the same."""
    problem = text_difference(
        _EMBEDDED_IMAGE.sub("image", old), _EMBEDDED_IMAGE.sub("image", new), RELATIVE, DRAWING
    )
    if problem:
        return f"the figure changed: {problem}"
    old_images, new_images = _EMBEDDED_IMAGE.findall(old), _EMBEDDED_IMAGE.findall(new)
    for one, other in zip(old_images, new_images, strict=True):
        problem = pixel_difference(base64.b64decode(one), base64.b64decode(other))
        if problem:
            return f"the figure changed: {problem}"
    return None


def pixel_difference(old: bytes, new: bytes) -> str | None:
    """Compare two pictures by their decoded pixels.

    A pixel counts as changed when a channel moved by more than 8 of 255; edges may be drawn
    differently by another version of a font or a processor, so one pixel in 500 may change.
    """
    # Here, since few outputs hold pictures, and every test process imports this module.
    from PIL import Image

    from bookcheck.notebooks.pixels import changed_share

    pictures = []
    for name, data in (("stored", old), ("new", new)):
        try:
            pictures.append(Image.open(io.BytesIO(data)).convert("RGBA"))
        except OSError as error:
            return f"the {name} picture cannot be decoded ({error})"
    one, other = pictures
    if one.size != other.size:
        return (
            f"{one.width} x {one.height} pixels are stored, "
            f"the cell now gives {other.width} x {other.height}"
        )
    changed = changed_share(one, other, 8)
    return None if changed <= 0.002 else f"{changed:.1%} of the pixels changed"
