"""The test vectors of RoPE that the site offers are what the library computes.

After a change: `rope-doctor --vectors _static/rope-vectors`.
"""

import json
from pathlib import Path

import pytest

from rope_doctor.families import FAMILIES, FORMAT, vectors

FOLDER = Path(__file__).parents[2] / "_static" / "rope-vectors"
INDEX = json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))


def numbers(value):
    """All numbers of a JSON value in order, and the value without them."""
    if isinstance(value, float):
        return [value], None
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    inside = [numbers(part) for part in parts]
    flat = [number for found, _ in inside for number in found]
    rest = [left for _, left in inside]
    return flat, (list(value), rest) if isinstance(value, dict) else rest or value


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_is_stored_as_the_library_computes_it(name):
    stored, computed = (
        numbers(json.loads(text))
        for text in ((FOLDER / INDEX[name]).read_text(encoding="utf-8"), json.dumps(vectors(name)))
    )
    assert stored[1] == computed[1]
    assert stored[0] == pytest.approx(computed[0], rel=1e-12, abs=1e-12)


def test_nothing_else_is_stored():
    assert set(INDEX) == set(FAMILIES)
    files = {path.name for path in FOLDER.iterdir()}
    assert files == {*INDEX.values(), "index.json", "FORMAT.txt"}
    assert (FOLDER / "FORMAT.txt").read_text(encoding="utf-8").strip() == FORMAT.strip()
