"""Figures in the colours of the page."""

import re

import pytest

from bookformat.paths import ROOT, STATIC
from bookkit import figures
from bookkit.figures import PALETTE, PAPER
from booksite.figures import inline_svg

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


def test_the_light_page_has_the_palette_of_the_figures():
    palette = {f"figure-{name}": code for name, code in {**PALETTE, "paper": PAPER}.items()}
    differ = {name: code for name, code in palette.items() if rule(":root").get(name) != code}
    message = "write PALETTE and PAPER of src/bookkit/figures.py into :root of _static/book.css"
    assert differ == {}, message
    assert rule(":root") == palette, message


@pytest.mark.parametrize("name", PALETTE)
def test_a_colour_has_its_name_in_code_too(name):
    assert getattr(figures, name.upper()) == PALETTE[name]


def test_interactive_figures_name_the_colours_of_the_others_in_their_order():
    script = (STATIC / "widgets" / "shared.js").read_text(encoding="utf-8")
    (names,) = re.findall(r"const CYCLE = \[(.*?)\];", script)
    message = "name in CYCLE of _static/widgets/shared.js the colours of bookkit.figures.PALETTE"
    assert re.findall(r'"(\w+)"', names) == list(PALETTE), message


def colours_of_their_own(text):
    """The variables of the figures that a text uses with a fallback, or that nobody sets."""
    found = re.findall(r"var\(--figure-(\w+)(, ?#\w+)?\)", text)
    return [name for name, fallback in found if fallback or name not in (*PALETTE, "paper")]


def test_style_sheets_and_scripts_have_no_colours_of_figures_of_their_own():
    paths = [*STATIC.rglob("*.css"), *STATIC.rglob("*.js")]
    texts = {path.name: path.read_text(encoding="utf-8") for path in paths}
    assert any("var(--figure-green)" in text for text in texts.values())
    own = {name: found for name, text in texts.items() if (found := colours_of_their_own(text))}
    assert own == {}, "write var(--figure-name); what it is, :root of _static/book.css says"
    assert colours_of_their_own("var(--figure-red, #9f1d2d)") == ["red"]
    assert colours_of_their_own("var(--figure-pink)") == ["pink"]


def test_the_dark_page_has_every_colour_and_no_other():
    found = [name for name in rule('html[data-theme="dark"]') if name.startswith("figure-")]
    message = "name in _static/book.css the colours of PALETTE in src/bookkit/figures.py"
    assert found == [f"figure-{name}" for name in (*PALETTE, "paper")], message


def test_numbers_of_labels_have_minus_signs_and_their_places_have_none():
    label = '<text x="-3" transform="rotate(-0 -3 4)">a (-7, -1e3), x-1</text>'
    drawing = inline_svg(f'<svg aria-label="a">{label}</svg>', prefix="p-")
    assert label.replace("(-7", "(−7") in drawing


def test_words_of_labels_are_whole():
    letters = [("0", "0.0", "d"), ("7", "2.0", "k"), ("33", "0.0", "6"), ("26", "0.0", "="),
               ("40", "0.0", "4"), ("47", "0.0", "\xa0"), ("50", "0.0", "8")]  # fmt: skip
    label = "".join(f'<tspan x="{x}" y="{y}" style="">{sign}</tspan>\n' for x, y, sign in letters)
    drawing = inline_svg(f'<svg aria-label="a"><text>{label}</text></svg>', prefix="p-")
    assert re.findall(r"<tspan[^>]*>(.*?)</tspan>", drawing) == ["d", "k", "=", "64", "8"]


def test_groups_that_say_nothing_are_left_out():
    kept = '<g clip-path="url(#p-a)"><path/></g><g class="b"/>'
    groups = '<g>\n <g clip-path="url(#a)"><g><path/></g></g><g/> <g class="b"/></g>'
    drawing = inline_svg(f'<svg aria-label="a">{groups}</svg>', prefix="p-")
    assert re.sub(r">\s+<", "><", drawing).count(f'aria-label="a">{kept}</svg>') == 1
