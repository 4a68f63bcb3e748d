"""The small picture of the playground: its maps in one colour, and where the page shows it."""

import io
import random

import pytest
from PIL import Image

from bookformat.paths import CHAPTERS
from booksite.playground import drawing_of, one_colour, opacities


@pytest.mark.parametrize("kind", ["noise", "slopes"])
def test_maps_are_read_and_written(kind):
    draw, side = random.Random(1), 24
    alphas = [
        draw.randrange(256) if kind == "noise" else 5 * (place % side + place // side)
        for place in range(side * side)
    ]
    picture = Image.new("RGBA", (side, side))
    picture.putdata([(31, 111, 178, alpha) for alpha in alphas])
    file = io.BytesIO()
    picture.save(file, "PNG")
    rows = opacities(file.getvalue())
    assert [*b"".join(map(bytes, rows))] == alphas
    written = Image.open(io.BytesIO(one_colour(rows, bytes.fromhex("1f6fb2")))).convert("RGBA")
    dots = written.tobytes()
    for place, alpha in enumerate(alphas):
        *colour, shown = dots[4 * place : 4 * place + 4]
        assert colour == [31, 111, 178]
        assert abs(shown - alpha) <= 8


def test_maps_in_another_form_are_refused():
    file = io.BytesIO()
    Image.new("L", (2, 2)).save(file, "PNG")
    with pytest.raises(ValueError, match="stored in another form"):
        opacities(file.getvalue())


def test_the_notebook_of_the_playground_has_the_picture():
    assert "data:image/png;base64," in drawing_of(CHAPTERS / "workshop" / "playground.ipynb")
    with pytest.raises(ValueError, match="has no figure fig-playground"):
        drawing_of(CHAPTERS / "attention.ipynb")
