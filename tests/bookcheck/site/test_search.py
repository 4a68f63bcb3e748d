"""The book's search: what a section is, and forty questions with the page that comes first."""

from pathlib import Path

import pytest
from docutils import nodes

from bookcheck.gates.search import find
from bookcheck.paths import ROOT
from bookcheck.site.search import SNIPPET, Section, own_text, record

# What readers type, and the page they want first.
WANTED = {
    "why sqrt d": "02-why-sqrt-d",
    "why divide by root d_k": "02-why-sqrt-d",
    "softmax gradient": "02-why-sqrt-d",
    "QK-norm": ("02-why-sqrt-d", "glossary"),
    "kv cache": ("13-cache", "13-keep-less", "13-cache-in-code"),
    "multi-head attention": ("03-many-heads", "glossary"),
    "grouped query attention": ("13-cache", "glossary"),
    "GQA": ("13-cache", "glossary"),
    "MLA": ("13-cache", "glossary"),
    "causal mask": ("01-attention", "glossary", "api"),
    "weighted average": "01-attention",
    "attention sink": ("01-attention", "17-beyond-softmax", "glossary"),
    "prenorm vs postnorm": "04-residuals-and-norms",
    "residual": "04-residuals-and-norms",
    "RMSNorm": ("04-residuals-and-norms", "glossary", "api"),
    "SwiGLU": ("05-feed-forward", "glossary", "api"),
    "mixture of experts": ("05-experts", "05-feed-forward", "glossary"),
    "moe": ("05-experts", "05-feed-forward", "glossary"),
    "feed forward": "05-feed-forward",
    "encoder decoder": "08-encoder-decoder",
    "top-p sampling": ("08-encoder-decoder", "glossary"),
    "does attention see order": ("06-why-position", "01-attention"),
    "NoPE": ("06-why-position", "glossary"),
    "sinusoidal positional encoding": "07-sinusoids",
    "正弦": "07-sinusoids",
    "ALiBi": ("09-relative-positions", "glossary", "api"),
    "T5 bias": ("09-relative-positions", "glossary", "api"),
    "relative positions": "09-relative-positions",
    "derive rope": "10-deriving-rope",
    "rotation matrix": ("10-deriving-rope", "glossary", "api"),
    "implement rope": "11-implementing-rope",
    "rotate_half": "11-implementing-rope",
    "interleaved layout": ("11-implementing-rope", "glossary"),
    "long-term decay": ("12-what-rope-encodes", "glossary"),
    "extend context length": "15-longer-contexts",
    "yarn": ("15-longer-contexts", "glossary", "api"),
    "flash attention": ("14-attention-in-blocks", "glossary"),
    "which positional encoding should I use": "16-which-encoding",
    "rope speed triton": "18-speed-of-memory",
    "注意力": "01-attention",
    "位置编码": ("07-sinusoids", "16-which-encoding"),
    "旋转位置编码": ("10-deriving-rope", "00-short-road"),
}


def wanted_pages(wanted):
    names = (wanted,) if isinstance(wanted, str) else wanted
    return {f"chapters/{name}" for name in names} | {f"chapters/deeper/{name}" for name in names}


@pytest.mark.built
def test_forty_questions_lead_to_the_right_page():
    site = ROOT / "_build" / "html"
    answers = find(site, list(WANTED))
    wrong = {
        query: [found.page for found in answer[:3]]
        for (query, wanted), answer in zip(WANTED.items(), answers, strict=True)
        if not answer or answer[0].page not in wanted_pages(wanted)
    }
    assert len(WANTED) >= 40
    assert not wrong


@pytest.mark.built
def test_the_first_result_costs_at_most_300_kilobytes():
    static = ROOT / "_build" / "html" / "_static"
    files = [static / name for name in ("minisearch.js", "search-data.js", "search.js")]
    assert sum(Path(file).stat().st_size for file in files) <= 300_000


def section(*children):
    return nodes.section("", nodes.title("", "A title"), *children, ids=["a"])


def test_the_text_of_a_section_is_its_own():
    inner = section(nodes.paragraph("", "Of another section."))
    formula = nodes.paragraph(
        "", "", nodes.Text("Before "), nodes.math("", "x"), nodes.Text("after.")
    )
    code = nodes.literal_block("", "print(1)")
    assert own_text(section(formula, code, inner)) == "Before after."


def test_a_long_text_is_cut_at_a_word_and_still_found_by_its_words():
    text = "short words " * 30 + "extraordinary end"
    *_, snippet, words = record(Section("p", "a", "T", "C", "section", text))
    assert len(snippet) <= SNIPPET + 2
    assert snippet.endswith("short …") or snippet.endswith("words …")
    assert "extraordinary" in words
