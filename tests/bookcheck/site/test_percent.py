"""A number and its percent sign are not torn apart."""

import pytest
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser
from docutils.utils import new_document

from bookcheck.site.percent import keep_percent


def kept(*parts):
    document = new_document("page", get_default_settings(Parser))
    document += nodes.paragraph("", "", *parts)
    keep_percent(document)
    return document.astext()


@pytest.mark.parametrize("text", ["99 % of it", "99% of it"])
def test_a_typed_number(text):
    assert kept(nodes.Text(text)) == "99\u00a0% of it"


def test_a_computed_number_and_a_formula():
    value = nodes.inline("", "50", classes=["value"])
    formula = nodes.math("", "p = 7")
    found = kept(value, nodes.Text(" % or "), formula, nodes.Text(" %."))
    assert found == "50\u00a0% or p = 7\u00a0%."


def test_code_and_words_stay():
    code = nodes.literal("", "7 % 3")
    assert kept(code, nodes.Text(" is a rest; a % sign")) == "7 % 3 is a rest; a % sign"
