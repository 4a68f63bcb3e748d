"""Rules over the whole book: displays are labelled, checked and explained, sentences are bound."""

import re
from collections import Counter

import pytest

from bookcheck.equations.checks import load_all, load_checks, rule_violations
from bookcheck.equations.places import listed, problems, reasons, row_of
from bookformat.contents import book_pages, page_name
from bookformat.formulas import (
    BELOW,
    collect,
    equations_of_markdown,
    formulas_in,
    inline_formulas,
    inline_relations,
    is_relation,
    markdown_cells,
    unknown_letters,
)
from bookformat.myst import inline_of
from bookformat.notebooks import cells_of
from bookformat.paths import CHAPTERS
from booksite.notation import WORDS, meanings_on

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
NOTATION = (CHAPTERS / "notation.md").read_text(encoding="utf-8")
# A letter with a label, such as d_k or W^O; i, j, l, m and n are indices.
LABELLED = re.compile(r"([A-Za-z])[_^](?:([a-hko-zA-Z])(?![a-z\d])|\{([a-hko-z]|[A-Z]+)\})")


def test_every_displayed_equation_has_one_label_and_one_check():
    problems = rule_violations(collect(), load_checks())
    assert not problems, "\n".join(problems)


def test_every_page_with_relations_binds_its_sentences():
    bound = {item.name for item in load_all()}
    missing = [page for page, relations in inline_relations().items() if relations]
    missing = [page for page in missing if page not in bound]
    assert not missing, f"bind the sentences of {missing} in tests/equations with @sentences"


@pytest.mark.parametrize("page", inline_relations())
def test_every_relation_of_a_sentence_is_listed_at_its_place(page):
    found = problems(page, inline_relations()[page], listed().get(page, []))
    assert not found, "\n".join(found)


def test_the_list_of_relations_has_no_other_pages():
    assert not {*listed()} - {*inline_relations()}


def test_formulas_are_written_in_commands():
    formulas = [*collect(), *(one for page in inline_formulas().values() for one in page)]
    strange = [
        f"{one.place}: ${one.text}$ has {' '.join(found)}: write a command, such as \\ne for ≠, "
        "which the checks read"
        for one in formulas
        if (found := unknown_letters(one.text))
    ]
    assert not strange, "\n".join(strange)


@pytest.mark.parametrize("path", book_pages(), ids=lambda path: path.stem)
def test_formulas_of_sentences_stand_between_dollar_signs(path):
    roles = [place for place, text in markdown_cells(path) if "{math}`" in text]
    assert not roles, f"{path.name}: {roles}: write $ … $ for {{math}}, which no check reads"


def unexplained(texts):
    """Letters of displays that no sentence, no formula and no notation explains, by label."""
    known = CONSTANTS | {letter for one in meanings_on(NOTATION) for letter in letters(one.symbol)}
    known |= {letter for text in texts for one in formulas_in(text) for letter in letters(one)}
    displays = [one for text in texts for one in equations_of_markdown(text, "")]
    known |= {name for one in displays for name in OWN.findall(one.text) + SUMMED.findall(one.text)}
    found = {one.label: letters(INDEX.sub(" ", one.text)) - known for one in displays}
    return {label: missing for label, missing in found.items() if missing}


def letters(formula):
    return set(LETTER.findall(WORDS.sub(" ", formula)))


def labelled(text):
    return {"".join(found) for found in LABELLED.findall(re.sub(r"dots, \S+|\\log_", "", text))}


def used_once(texts, code=(), page=""):
    """Labelled letters of sentences that nobody executes, which the page has nowhere else."""
    inline = [one for text in texts for one in inline_of(text)]
    counts = Counter(symbol for one in inline for symbol in labelled(one.text))
    known = reasons(listed().get(page, []))
    silent = [one for one in inline if row_of(one)[:2] in known or not is_relation(one.text)]
    once = {symbol for one in silent for symbol in labelled(one.text) if counts[symbol] == 1}
    displays = [one.text for text in texts for one in equations_of_markdown(text, "")]
    return once - labelled("\n".join([NOTATION, *code, *displays]))


@pytest.mark.parametrize("path", book_pages(), ids=lambda path: path.stem)
def test_every_letter_of_a_display_or_a_sentence_is_explained(path):
    texts = [text for _, text in markdown_cells(path)]
    found = unexplained(texts)
    assert not found, f"{path.name}: explain in a sentence or on the notation page: {found}"
    if path.stem not in ("errata", "sources"):  # which quote the letters of others
        code = [one.source for one in cells_of(path) if one.kind == "code"]
        once = used_once(texts, code, page_name(path))
        assert not once, f"{path.name}: only one sentence has {once}; is it a misprint?"


def test_a_letter_that_was_renamed_in_one_formula_alone_is_found():
    display = "$$\n\\sin \\frac{\\theta}{2} = z_i, \\qquad z_i = \\sum_{l=0}^{3} x_l\n$$ (eq-a)"
    assert unexplained(["With $i$:\n\n" + display]) == {}
    assert unexplained([display.replace("theta", "varphi")]) == {"eq-a": {"\\varphi"}}
    sentence = "It grows like $\\sqrt{d_k}$ with $x_j$ and $W^O$."
    assert used_once([sentence, sentence.replace("d_k", "d_q")]) == {"dq"}
