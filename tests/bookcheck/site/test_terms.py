"""Words of the glossary are linked at their first use, in running text only."""

import pytest
from docutils import nodes
from docutils.utils import new_document

from bookcheck.site.terms import link_terms

WORDS = ("token", "mask", "causal mask", "RoPE", "value")


def links():
    return {word: nodes.reference("", refuri=f"glossary.html#term-{word}") for word in WORDS}


def document(*parts):
    whole = new_document("chapters/01-x")
    section = nodes.section("", nodes.title("", "The mask"), *parts)
    whole += section
    return whole


def paragraph(*parts):
    return nodes.paragraph("", "", *(nodes.Text(p) if isinstance(p, str) else p for p in parts))


def test_the_first_use_is_linked_and_no_other():
    whole = document(paragraph("Tokens meet a causal mask."), paragraph("A token, a mask, RoPE."))
    assert link_terms(whole, links()) == ["token", "causal mask", "mask", "RoPE"]
    assert whole.astext() == "The mask\n\nTokens meet a causal mask.\n\nA token, a mask, RoPE."
    found = [(node["refuri"], node.astext()) for node in whole.findall(nodes.reference)]
    assert found[0] == ("glossary.html#term-token", "Tokens")


@pytest.mark.parametrize(
    "part",
    [
        paragraph(nodes.literal("", "mask"), nodes.math("", "mask")),
        paragraph(nodes.reference("", "mask", refuri="x.html")),
        nodes.literal_block("", "mask"),
        nodes.note("", paragraph("A mask.")),
        nodes.figure("", nodes.caption("", "A mask.")),
        paragraph("Unmasked, masking, a mask-like thing, rope."),
        paragraph("Of great value."),
        paragraph(nodes.emphasis("", "What is a mask?")),
    ],
    ids=[
        "code and formula",
        "link",
        "block",
        "box",
        "caption",
        "other words",
        "everyday",
        "question",
    ],
)
def test_what_is_no_running_text_is_left_alone(part):
    assert link_terms(document(part), links()) == []


def test_the_build_links_what_a_chapter_does_not(good_site):
    page = (good_site / "chapters" / "02-two.html").read_text(encoding="utf-8")
    assert page.count('href="glossary.html#term-head-dimension"') == 1
    link = '<a class="reference internal" href="glossary.html#term-logits">'
    assert page.count(link) == 1
    assert f'Two {link}<span class="xref std std-term">logits</span></a>, again logits.' in page
