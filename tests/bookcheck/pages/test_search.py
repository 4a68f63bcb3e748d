"""The book's search: what a section is, and what readers find in the built site."""

import pytest

from bookcheck.paths import BUILD
from bookcheck.site.reference import entries, modules

# What readers type, and the page they want first.
WANTED = {
    "why sqrt d": "02-why-sqrt-d",
    "why divide by root d_k": "02-why-sqrt-d",
    "softmax gradient": ("02-why-sqrt-d", "02-softmax-gradient"),
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
    "top-p sampling": ("19-one-file", "glossary"),
    "does attention see order": ("06-why-position", "01-attention"),
    "NoPE": ("06-why-position", "glossary"),
    "sinusoidal positional encoding": "07-sinusoids",
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
}


def wanted_pages(wanted):
    names = (wanted,) if isinstance(wanted, str) else wanted
    return {f"chapters/{name}" for name in names} | {f"chapters/deeper/{name}" for name in names}


SITE = BUILD / "html"
FIND = """(queries) => {
  const find = bookSearch.makeSearch(MiniSearch, bookSections);
  return queries.map((query) => find(query).slice(0, 15).map(({ page, anchor }) => [page, anchor]));
}"""


@pytest.fixture
def find(open_page):
    """Ask the search of the built site: the pages and anchors that it gives for each query."""
    page = open_page(SITE / "search.html")
    return lambda queries: dict(zip(queries, page.evaluate(FIND, queries), strict=True))


@pytest.mark.built
def test_questions_lead_to_the_right_page(find):
    for query, found in find(list(WANTED)).items():
        assert found, query
        assert found[0][0] in wanted_pages(WANTED[query]), query


@pytest.mark.built
def test_symbols_words_and_every_name_of_the_library_are_found(find):
    for query, found in find(["theta", "θ", "d_k", "R_m", "W^Q", "epsilon"]).items():
        assert found[0][0] == "chapters/notation", query
    for query, found in find(["RMSNorm", "head dimension", "YaRN", "warm-up"]).items():
        assert any(anchor.startswith("term-") for _, anchor in found[:3]), query
    names = {entry.name: entry.path for module in modules() for entry in entries(module)}
    for name, found in find(list(names)).items():
        assert ["chapters/api", names[name]] in found
    assert find(["zeppelin"]) == {"zeppelin": []}


@pytest.mark.built
def test_a_reader_types_and_follows_a_result(open_page):
    page = open_page(SITE / "index.html")
    page.locator("button.search-button-field").click()
    field = page.locator("input[name=q]:visible")
    field.fill("why sqrt d")
    field.press("Enter")
    page.locator(".search-found a").first.click()
    page.wait_for_url("**/chapters/02-why-sqrt-d.html*")


@pytest.mark.built
def test_the_first_result_costs_at_most_300_kilobytes():
    files = [SITE / "_static" / name for name in ("minisearch.js", "search-data.js", "search.js")]
    assert sum(file.stat().st_size for file in files) <= 300_000
