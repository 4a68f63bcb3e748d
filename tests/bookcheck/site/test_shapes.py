"""Formulas in fewer bytes look and read the same."""

import re

import pytest

from bookcheck.gates.browser import Picture, visit_site
from bookcheck.paths import ROOT
from bookcheck.site.shapes import STYLE_SHEET, lighter, shapes

FORMULAS = (
    r"\operatorname{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right)V",
    r"\sum_{i=0}^{d/2-1} \cos\big((m-n)\,\theta_i\big) \le \hat p_j^{\,2}",
    r"\begin{pmatrix} \cos m\theta & -\sin m\theta \\ \sin m\theta & \cos m\theta \end{pmatrix}",
    r"\mathbb{E}\Big[\sum_j q_j k_j\Big] = \underbrace{d_k}_{\text{terms}} \cdot 0",
    r"\quad x \in \mathbb{R}^{N \times d}, \qquad \Pi^\top R(m\theta)\,\Pi = \bar R_m",
)


def as_katex_writes(katex, tex):
    return katex._ask({"tex": tex, "display": True})["html"]


def test_every_style_has_one_class():
    assert len(shapes()) == len(set(shapes().values())) == STYLE_SHEET.read_text().count("{")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('<span class="mspace" style="margin-right:0.2778em;">', '<span class="mspace k0">'),
        ('<span style="margin-right:0.2778em;">', '<span class="k0">'),
        ('<span style="margin-right:0.12345em;">', '<span style="margin-right:0.12345em;">'),
        ('<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mi>a</mi>'
         '<annotation encoding="application/x-tex">a</annotation></semantics></math>',
         "<math><mi>a</mi></math>"),
    ],
)  # fmt: skip
def test_what_is_repeated_becomes_a_class(before, after):
    assert lighter(before) == after


@pytest.mark.parametrize("tex", FORMULAS)
def test_a_formula_loses_bytes_and_no_letter(katex, tex):
    full = as_katex_writes(katex, tex)
    light = lighter(full)
    assert len(light) < 0.85 * len(full)
    for part in (r'<span class="katex-html".*', r"<math.*?</math>"):
        letters = [
            re.sub(r"<annotation.*?</annotation>|<[^>]*>", "", re.search(part, html)[0])
            for html in (full, light)
        ]
        assert letters[0] == letters[1]


def test_the_site_shows_the_lighter_form(katex):
    assert katex.render(FORMULAS[0], display=True) == lighter(as_katex_writes(katex, FORMULAS[0]))


@pytest.mark.browser
def test_the_lighter_form_is_drawn_alike_to_the_dot(katex, tmp_path):
    style = (ROOT / "node_modules" / "katex" / "dist" / "katex.min.css").read_text()
    (tmp_path / "katex.css").write_text(style + STYLE_SHEET.read_text())
    fonts = ROOT / "node_modules" / "katex" / "dist" / "fonts"
    (tmp_path / "fonts").symlink_to(fonts)
    full = "".join(f"<div>{as_katex_writes(katex, tex)}</div>" for tex in FORMULAS)
    shots = []
    for name, body in (("full", full), ("light", lighter(full)), ("bare", "<p>a</p>")):
        (tmp_path / f"{name}.html").write_text(
            f'<!doctype html><link rel="stylesheet" href="katex.css">{body}'
        )
        shots.append(Picture(f"{name}.html", 900, 500, "light", str(tmp_path / f"{name}.png")))
    visit_site(tmp_path, pages=[], pictures=shots)
    full_picture, light_picture, bare = (
        (tmp_path / f"{s.page[:-5]}.png").read_bytes() for s in shots
    )
    assert full_picture == light_picture
    assert full_picture != bare
