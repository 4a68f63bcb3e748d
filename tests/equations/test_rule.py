"""Rules over the whole book: displays are labelled, checked and explained, sentences are bound."""

import re

import pytest

from bookcheck.equations.checks import ByHand, load_checks, load_pages, rule_violations
from bookcheck.equations.scan import (
    BELOW,
    collect,
    equations_of_markdown,
    formulas_in,
    inline_relations,
    markdown_cells,
)
from bookcheck.paths import CHAPTERS, book_pages
from bookcheck.site.notation import WORDS, meanings_on

GREEK = (
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|kappa|lambda|mu|nu|xi|rho|sigma|tau|phi|chi|psi"
    "|omega"
)
LETTER = re.compile(rf"\\(?:var)?(?i:{GREEK})(?![A-Za-z])|(?<![\\A-Za-z])[A-Za-z]")
INDEX = re.compile(rf"_\w|{BELOW.pattern}")
# A letter that a formula itself defines, as in z_i = …, and the index of a sum.
OWN = re.compile(r"(?:^|\\q?quad|,|&|\\\\|\})\s*(\\?[A-Za-z]+)(?:_\{?\w+\}?)?\s*&?=")
SUMMED = re.compile(r"\\(?:sum|prod)_\{?(\w)")
CONSTANTS = {"I", "e"}


def test_every_displayed_equation_has_one_label_and_one_check():
    problems = rule_violations(collect(), load_checks())
    assert not problems, "\n".join(problems)


def test_nine_of_ten_equations_are_executed_from_their_own_text():
    checks = load_checks()
    by_hand = [check.name for check in checks if isinstance(check, ByHand)]
    assert len(by_hand) <= 0.1 * len(checks), f"too many are checked by hand: {by_hand}"


def test_every_page_with_relations_binds_its_sentences():
    bound = load_pages()
    missing = [page for page, relations in inline_relations().items() if relations]
    missing = [page for page in missing if page not in bound]
    assert not missing, f"bind the sentences of {missing} in tests/equations with @sentences"


def unexplained(texts):
    """Letters of displays that no sentence, no formula and no notation explains, by label."""
    notation = (CHAPTERS / "notation.md").read_text(encoding="utf-8")
    known = CONSTANTS | {letter for one in meanings_on(notation) for letter in letters(one.symbol)}
    known |= {letter for text in texts for one in formulas_in(text) for letter in letters(one)}
    displays = [one for text in texts for one in equations_of_markdown(text, "")]
    known |= {name for one in displays for name in OWN.findall(one.text) + SUMMED.findall(one.text)}
    found = {one.label: letters(INDEX.sub(" ", one.text)) - known for one in displays}
    return {label: missing for label, missing in found.items() if missing}


def letters(formula):
    return set(LETTER.findall(WORDS.sub(" ", formula)))


@pytest.mark.parametrize("path", book_pages(), ids=lambda path: path.stem)
def test_every_letter_of_a_display_is_explained(path):
    found = unexplained([text for _, text in markdown_cells(path)])
    assert not found, f"{path.name}: explain in a sentence or on the notation page: {found}"


def test_a_letter_that_was_renamed_in_a_display_alone_is_found():
    display = "$$\n\\sin \\frac{\\theta}{2} = z_i, \\qquad z_i = \\sum_{l=0}^{3} x_l\n$$ (eq-a)"
    assert unexplained(["With $i$:\n\n" + display]) == {}
    assert unexplained([display.replace("theta", "varphi")]) == {"eq-a": {"\\varphi"}}
