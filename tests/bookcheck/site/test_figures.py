"""Figures inside the page, in the page's colours."""

import re

import pytest

from bookcheck.paths import ROOT
from bookcheck.site.figures import SMALLEST_LETTER, FigureError, inline_svg, least_width
from bookkit.figures import PALETTE, figure, svg

STYLE = (ROOT / "_static" / "book.css").read_text(encoding="utf8")


def rule(selector):
    """Return the variables that a rule of book.css sets."""
    block = re.search(rf"{re.escape(selector)}[^{{]*\{{(.*?)\}}", STYLE, re.DOTALL)[1]
    return dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6});", block))


def contrast(one, other):
    """Contrast of two colours as WCAG defines it."""

    def luminance(colour):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", PALETTE)
def test_each_colour_stands_out_on_light_and_dark(name):
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    light, dark = rule('html[data-theme="light"]'), rule('html[data-theme="dark"]')
    assert contrast(PALETTE[name], light["pst-color-background"]) >= 3
    assert contrast(dark[f"figure-{name}"], dark["pst-color-background"]) >= 3


def test_a_figure_knows_the_width_at_which_its_letters_can_be_read():
    drawing, axes = figure(8, 3)
    axes.set_title("A title", fontsize=14)
    axes.text(0.5, 0.5, "$x^2$", fontsize=8)
    text = svg(drawing, "eight inches wide with letters of eight points")
    width = 8 * 72 * SMALLEST_LETTER / 8
    assert least_width(text) == pytest.approx(width, abs=1)
    boxed = inline_svg(text, prefix="f-")
    assert boxed.startswith(
        '<div class="figure-box" tabindex="0"><svg class="book-figure" style="--least-width'
    )


@pytest.mark.parametrize("name", ["style", "script"])
def test_a_drawing_that_would_harm_the_page_is_refused(name):
    with pytest.raises(FigureError, match="act on the whole page"):
        inline_svg(f"<svg><{name}></{name}></svg>", prefix="f-")
