"""What counts as the same output, and what does not."""

import numpy as np
import pytest

from bookcheck.notebooks.outputs import difference, drawing_difference, text_difference
from bookkit.figures import figure, svg


def stream(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def result(kind, data):
    return {"output_type": "display_data", "metadata": {}, "data": {kind: data}}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("the score is 0.123456", "the score is 0.1234561"),
        ("tensor([1.0000e-03, 2.])", "tensor([1.0000e-03, 2.])"),
        ("deviation 2.2e-16", "deviation 3.1e-16"),
        ("<td>0.5</td>", "<td>0.5000001</td>"),
        ("fill: #1f6fb2", "fill: #1f6fb3"),
    ],
)
def test_the_same_within_the_tolerance(old, new):
    assert text_difference(old, new) is None


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("the score is 0.333", "the score is 0.334", "0.334"),
        ("the score is 0.5", "the score is -0.5", "-0.5"),
        ("3 tokens", "4 tokens", "4"),
        ("3 tokens", "3.5 tokens", "3.5"),
        ("a word", "a wold", "wold"),
        ("[1.0, 2.0]", "[1.0, 2.0, 3.0]", "3.0"),
        ("nan", "0.0", "0.0"),
        ("two\nlines", "two", "lines"),
        ("two\n", "two", "two\\n"),
        ("fill: #1f6fb2", "fill: #1f6f00", "#1f6f00"),
        ("fill: #1f6fb2 ", "fill: 12 ", "12"),
    ],
)
def test_a_changed_number_or_word_is_named(old, new, named):
    assert named in text_difference(old, new)


def test_a_wider_tolerance_still_has_an_end():
    assert text_difference("loss 2.00", "loss 2.10", relative=0.1) is None
    assert "2.30" in text_difference("loss 2.00", "loss 2.30", relative=0.1)


def test_outputs_are_counted_and_typed():
    assert difference([stream("a\n"), stream("b\n")], [stream("a\nb\n")]) is None
    assert "no output" in difference([stream("a")], [])
    assert "text/html" in difference([result("text/plain", "a")], [result("text/html", "a")])
    assert "stderr" in difference([stream("a")], [stream("a", "stderr")])
    assert "text/plain" in difference([stream("a")], [result("text/plain", "a")])
    error = {"output_type": "error", "ename": "ValueError", "evalue": "odd", "traceback": []}
    assert difference([error], [error]) is None
    assert "even" in difference([error], [{**error, "evalue": "even"}])
    assert "text/plain (1)" in difference(
        [stream("a"), result("text/plain", "a")], [stream("a"), result("text/plain", "b")]
    )


def curve(height):
    drawing, axes = figure(3, 2)
    axes.plot([0, 1, 2], [0, 1, height])
    return svg(drawing, "a curve that rises from left to right")


def test_a_figure_whose_curve_moved_is_caught():
    assert curve(4.0) == curve(4.0)
    assert drawing_difference(curve(4.0), curve(4.0001)) is None
    assert "is stored" in drawing_difference(curve(4.0), curve(4.2))


@pytest.mark.parametrize("said", ["<text>GeGLU {}</text>", '<svg aria-label="ALiBi {}"></svg>'])
def test_what_a_figure_says_is_compared_as_text(said):
    assert drawing_difference(said.format(1.63), said.format(1.63)) is None
    assert "1.63 is stored" in drawing_difference(said.format(1.63), said.format(1.68))


def test_a_figure_with_embedded_pixels_is_decoded():
    def picture(value):
        drawing, axes = figure(3, 2)
        axes.imshow(np.full((9, 9), value), vmin=0, vmax=1)
        return svg(drawing, "one square of a single colour")

    assert "base64" in picture(0.3)
    assert drawing_difference(picture(0.3), picture(0.3)) is None
    assert "pixels of a picture" in drawing_difference(picture(0.3), picture(0.6))
