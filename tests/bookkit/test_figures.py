"""Figures: the same text every time, colours of the page, an alt text that says something."""

import numpy as np
import pytest

from bookkit.figures import BLUE, PAPER, figure, heatmap, show, svg

ALT = "a line that rises from left to right"


def line():
    drawing, axes = figure(3, 2)
    axes.plot([0, 1], [0, 1])
    axes.set_title("A line with $x_1$")
    return drawing


def test_the_same_figure_gives_the_same_text():
    assert svg(line(), ALT) == svg(line(), ALT)


def test_colours_are_those_of_the_page():
    text = svg(line(), ALT)
    assert "#000000" not in text
    assert "currentColor" in text
    assert f"var(--figure-blue, {BLUE})" in text
    assert "<style" not in text


def test_ids_are_short_and_every_reference_has_its_target():
    import re

    text = svg(line(), ALT)
    targets = set(re.findall(r' id="([^"]+)"', text))
    references = set(re.findall(r'(?:url\(#|href="#)([^")]+)', text))
    assert references == targets
    assert all(re.fullmatch(r"s\d+", name) for name in targets)


def test_the_alt_text_is_on_the_figure_and_escaped():
    text = svg(line(), 'where "a < b" & so on to the end')
    assert 'role="img" aria-label="where &quot;a &lt; b&quot; &amp; so on to the end"' in text


def test_an_alt_text_of_five_words_is_enough():
    show(line(), alt="a line that rises slowly")


@pytest.mark.parametrize("alt", ["", "a plot", "a line that rises", None])
def test_an_alt_text_that_says_nothing_is_refused(alt):
    with pytest.raises(ValueError, match="what the figure shows"):
        show(line(), alt=alt)


@pytest.mark.parametrize("label", [r"divided by $\sqrt{d_k}$", r"$\frac{N}{N-1} r$"])
def test_a_label_that_the_page_cannot_set_is_refused(label):
    drawing = line()
    drawing.axes[0].set_xlabel(label)
    with pytest.raises(ValueError, match="has a bar"):
        show(drawing, alt=ALT)


def test_show_displays_the_figure_and_its_text(monkeypatch):
    shown = []
    monkeypatch.setattr("bookkit.figures.display", lambda data, raw: shown.append((data, raw)))
    show(line(), alt=ALT)
    assert shown == [({"image/svg+xml": svg(line(), ALT), "text/plain": ALT}, True)]


def test_small_heat_maps_are_vector_and_large_ones_are_pixels():
    drawing, axes = figure(3, 3)
    heatmap(axes, np.eye(3), rows=["a", "b", "c"], columns=["x", "y", "z"], digits=1)
    assert [text.get_text() for text in axes.texts][:2] == ["1.0", "0.0"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b", "c"]
    assert "base64" not in svg(drawing, ALT)
    drawing, axes = figure(3, 3)
    mesh = heatmap(axes, np.ones((80, 80)) * -2, signed=True)
    assert mesh.get_clim() == (-2, 2)
    assert "base64" in svg(drawing, ALT)


def test_letters_in_a_heat_map_stand_out_from_their_cell():
    _, axes = figure(3, 3)
    heatmap(axes, np.array([[0.0, 1.0]]), digits=0)
    assert [text.get_color() for text in axes.texts] == ["#000000", PAPER]


def test_letters_on_the_palette_take_the_colour_of_the_page():
    drawing, axes = figure(3, 3)
    axes.text(0, 0, "a", color=PAPER)
    assert "fill: var(--figure-paper, #fefefe)" in svg(drawing, ALT)


def test_a_heat_map_of_zeros_and_of_given_limits():
    _, axes = figure(3, 3)
    assert heatmap(axes, np.zeros((2, 2)), digits=1).get_clim() == (0, 1)
    assert heatmap(axes, np.ones((2, 2)), high=0.5, digits=1).get_clim() == (0, 0.5)


def test_a_heat_map_needs_a_matrix():
    _, axes = figure(3, 3)
    with pytest.raises(ValueError, match=r"got shape \(2, 3, 4\)"):
        heatmap(axes, np.zeros((2, 3, 4)))
