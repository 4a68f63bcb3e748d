"""The small picture of the playground, which comes from a figure that the notebook stores."""

import io

import pytest
from PIL import Image

from bookformat.paths import CHAPTERS
from booksite.playground import SIDE, drawing_of, maps_of


def test_the_notebook_of_the_playground_has_the_picture():
    picture = Image.open(io.BytesIO(maps_of(CHAPTERS / "workshop" / "playground.ipynb")))
    assert picture.size == (2 * SIDE, 2 * SIDE)
    opacities = picture.getchannel("A").getextrema()
    assert opacities[0] < 20
    assert opacities[1] > 200


def test_another_notebook_is_refused():
    with pytest.raises(ValueError, match="has no figure fig-playground"):
        drawing_of(CHAPTERS / "attention.ipynb")
