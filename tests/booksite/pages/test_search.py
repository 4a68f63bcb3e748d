"""The book's search: what readers find in the built site, and how the box is used."""

import html
import re

import pytest
from docutils import nodes
from docutils.utils import new_document
from playwright.sync_api import expect

from bookformat.contents import main_line
from bookformat.paths import BUILD
from bookkit.models import read_models
from booksite.reference import entries, modules
from booksite.search import sections_of

# What readers type, by the page that must be among the first three results.
ENGLISH = {
    "attention": [
        "causal mask", "does attention see order", "softmax overflow", "weighted average",
    ],
    "why-sqrt-d": [
        "why sqrt d", "why divide by root d_k", "sqrt d", "softmax gradient", "QK-norm",
    ],
    "many-heads": ["multi-head attention"],
    "residuals-and-norms": ["prenorm vs postnorm", "residual", "RMSNorm", "layer norm"],
    "feed-forward": ["SwiGLU", "feed forward"],
    "deeper/experts": ["mixture of experts", "moe"],
    "why-position": ["NoPE"],
    "sinusoids": ["sinusoidal positional encoding", "why sine"],
    "encoder-decoder": ["encoder decoder"],
    "relative-positions": ["relative positions", "alibi", "t5 bias"],
    "deriving-rope": ["derive rope", "rotation matrix", "rotary"],
    "implementing-rope": [
        "implement rope", "interleaved layout", "position_ids", "rotate_half", "rope_theta",
    ],
    "cache": ["grouped query attention", "kv cache", "gqa"],
    "latent-attention": ["MLA", "deepseek mla"],
    "deeper/keep-less": ["sliding window"],
    "attention-in-blocks": ["flash attention"],
    "longer-contexts": [
        "extend context length", "yarn", "long context", "extrapolation",
    ],
    "deeper/stretching": ["ntk"],
    "which-encoding": ["which positional encoding should I use"],
    "fewer-scores": ["sinks", "attention sink"],
    "cost": ["rope speed triton"],
    "one-file": ["top-p sampling"],
    "glossary": ["head dimension", "long-term decay", "warm-up"],
    "models": ["theta 500000", "llama 3", "qwen3", "gemma 3"],
    "notation": ["theta", "θ", "d_k", "R_m", "W^Q", "epsilon"],
}  # fmt: skip
CHINESE = {
    "attention": ["因果掩码", "加权平均"],
    "why-sqrt-d": ["为什么除以根号d", "softmax 饱和", "梯度消失"],
    "many-heads": ["多头注意力"],
    "residuals-and-norms": ["残差连接", "层归一化"],
    "feed-forward": ["前馈网络"],
    "sinusoids": ["正弦位置编码", "波长"],
    "relative-positions": ["相对位置"],
    "deriving-rope": ["旋转位置编码"],
    "implementing-rope": ["RoPE 频率", "怎么实现RoPE", "交错排列"],
    "what-rope-encodes": ["远程衰减"],
    "cache": ["键值缓存", "分组查询", "KV cache"],
    "latent-attention": ["什么是潜在注意力"],
    "longer-contexts": ["外推", "长文本"],
    "glossary": ["注意力", "键", "滑动窗口"],
}

SITE = BUILD / "html"
FIND = """async (queries) => {
  const find = await bookSearch.makeSearch(MiniSearch, bookSections);
  return queries.map((query) => find(query).slice(0, 15).map(({ page, anchor }) => [page, anchor]));
}"""
chinese = pytest.mark.skipif(
    not (SITE / "zh").is_dir(), reason="only with make book LANGUAGE=zh_CN"
)


def search(open_page, folder, queries):
    """Open the page of the search; return it, and pages and anchors for each query."""
    page = open_page(SITE / folder / "search.html")
    page.wait_for_function("globalThis.MiniSearch && globalThis.bookSections")
    return page, dict(zip(queries, page.evaluate(FIND, queries), strict=True))


def test_a_formula_in_a_heading_is_shown_in_letters():
    document = new_document("page")
    title = nodes.title("", "How large is ", nodes.math("", r"q \cdot k"), nodes.Text("?"))
    document += nodes.section("", title, nodes.paragraph("", "Large."), ids=["large"])
    assert [section.title for section in sections_of("page", document)] == ["How large is q ⋅ k?"]


@pytest.mark.built
@pytest.mark.parametrize(
    ("folder", "searches"), [("", ENGLISH), pytest.param("zh", CHINESE, marks=chinese)]
)
def test_what_readers_look_for_is_found(open_page, folder, searches):
    wanted = {query: f"chapters/{name}" for name in searches for query in searches[name]}
    _, found = search(open_page, folder, [*wanted, "zeppelin", "齐柏林飞艇"])
    pages = {query: [page for page, _ in found[query][:3]] for query in found}
    assert {query: pages[query] for query in wanted if wanted[query] not in pages[query]} == {}
    assert pages["zeppelin"] == pages["齐柏林飞艇"] == []


@pytest.mark.built
@pytest.mark.parametrize("folder", ["", pytest.param("zh", marks=chinese)])
def test_every_chapter_is_found_by_its_title(open_page, folder):
    titles = {}
    for path in main_line():
        text = (SITE / folder / "chapters" / f"{path.stem}.html").read_text(encoding="utf-8")
        (title,) = re.findall(r"<title>\s*(?:\d+\. )?(.*?) (?:—|&#8212;) ", text)
        titles[html.unescape(title)] = f"chapters/{path.stem}"
    assert len(titles) == len(main_line())
    _, found = search(open_page, folder, [*titles])
    pages = {title: [page for page, _ in found[title][:3]] for title in titles}
    assert {title: pages[title] for title in titles if titles[title] not in pages[title]} == {}


@pytest.mark.built
def test_every_function_and_model_is_found_and_shown_by_a_sentence(open_page):
    names = {entry.name: entry.path for module in modules() for entry in entries(module)}
    models = [model["name"] for model in read_models()]
    page, found = search(open_page, "", [*names, *models])
    for name, path in names.items():
        assert any(page.startswith("chapters/api-") and at == path for page, at in found[name])
    assert {found[name][0][0] for name in models} == {"chapters/models"}
    shown = page.evaluate(
        "Object.values(bookSections).flatMap(([, all]) => all.flatMap((one) => [one[1], one[3]]))"
    )
    assert len(shown) > 1800
    hole = re.compile(r" [,.;:](?: |$)|\b(?:eq|fig)-[a-z]|\\[a-z]")
    assert [text for text in shown if hole.search(text)] == []


@pytest.mark.built
def test_results_are_shown_in_the_box_while_typing(open_page):
    page = open_page(SITE / "chapters" / "attention.html", 390)

    def open_box():
        page.keyboard.press("Control+k")
        return page.locator("#pst-search-dialog input[name=q]")

    box, results = page.locator("#pst-search-dialog"), page.locator(".search-found li")
    field = open_box()
    field.press_sequentially("sinuso")
    expect(results.first).to_contain_text("Sinusoid")
    expect(results.first.locator("p")).to_contain_text(" ")
    place = box.bounding_box()
    assert place["x"] >= 0
    assert place["x"] + place["width"] <= 390
    field.fill("zeppelin")
    expect(box.get_by_role("status")).to_contain_text("Nothing was found")
    # Enter leads to the search page, which shows more.
    field.fill("why sqrt d")
    field.press("Enter")
    page.wait_for_url("**/search.html?q=*")
    results.first.locator("a").click()
    page.wait_for_url("**/chapters/why-sqrt-d.html*")
    # A result on the same page closes the box.
    open_box().fill("why divide by sqrt d")
    results.first.locator("a").click()
    expect(box).not_to_be_visible()


@pytest.mark.built
def test_without_javascript_the_page_says_so(open_page):
    page = open_page(SITE / "search.html", javascript=False)
    assert "needs JavaScript" in page.locator("main").inner_text()


@pytest.mark.built
def test_the_first_result_costs_at_most_300_kilobytes():
    files = [SITE / "_static" / name for name in ("minisearch.js", "search-data.js", "search.js")]
    assert sum(file.stat().st_size for file in files) <= 300_000
