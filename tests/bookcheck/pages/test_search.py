"""The book's search: what a section is, and what readers find in the built site."""

import re

import pytest
from playwright.sync_api import expect

from bookcheck.paths import BUILD
from bookcheck.site.reference import entries, modules
from bookkit.models import read_models

# What readers type, and the page they want first.
WANTED = {
    "why sqrt d": "02-why-sqrt-d",
    "why divide by root d_k": "02-why-sqrt-d",
    "softmax gradient": ("02-why-sqrt-d", "02-softmax-gradient"),
    "QK-norm": ("02-why-sqrt-d", "glossary"),
    "multi-head attention": ("03-many-heads", "glossary"),
    "grouped query attention": ("13-cache", "glossary"),
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
    "relative positions": "09-relative-positions",
    "derive rope": "10-deriving-rope",
    "rotation matrix": ("10-deriving-rope", "glossary", "api"),
    "implement rope": "11-implementing-rope",
    "interleaved layout": ("11-implementing-rope", "glossary"),
    "long-term decay": ("12-what-rope-encodes", "glossary"),
    "extend context length": "15-longer-contexts",
    "which positional encoding should I use": "16-which-encoding",
    "rope speed triton": "18-speed-of-memory",
}

# Short searches of readers, typed into the box of any page, by the page that must be in sight.
TYPED = {
    "01-attention": ["softmax overflow"],
    "02-why-sqrt-d": ["sqrt d"],
    "04-residuals-and-norms": ["layer norm"],
    "05-feed-forward": ["swiglu"],
    "07-sinusoids": ["why sine"],
    "09-relative-positions": ["alibi", "t5 bias"],
    "10-deriving-rope": ["rotary"],
    "11-implementing-rope": ["position_ids", "rotate_half", "interleaved", "rope_theta"],
    "13-cache": ["deepseek mla", "kv cache", "gqa"],
    "13-keep-less": ["sliding window"],
    "14-attention-in-blocks": ["flash attention"],
    "15-longer-contexts": ["yarn", "ntk", "long context", "extrapolation"],
    "17-beyond-softmax": ["sinks"],
    "models": ["theta 500000", "llama 3", "qwen3", "gemma 3"],
}

# What readers of the Chinese edition type, by the page that must be among the first three.
CHINESE = {
    "01-attention": ["因果掩码", "加权平均"],
    "02-why-sqrt-d": ["为什么除以根号d", "softmax 饱和", "梯度消失"],
    "03-many-heads": ["多头注意力"],
    "04-residuals-and-norms": ["残差连接", "层归一化"],
    "05-feed-forward": ["前馈网络"],
    "07-sinusoids": ["正弦位置编码", "波长"],
    "09-relative-positions": ["相对位置"],
    "10-deriving-rope": ["旋转位置编码"],
    "11-implementing-rope": ["RoPE 频率", "怎么实现RoPE", "交错排列"],
    "12-what-rope-encodes": ["远程衰减"],
    "13-cache": ["键值缓存", "分组查询", "KV cache", "什么是潜在注意力"],
    "15-longer-contexts": ["外推", "长文本"],
    "glossary": ["注意力", "键", "滑动窗口"],
}


def wanted_pages(wanted):
    names = (wanted,) if isinstance(wanted, str) else wanted
    return {f"chapters/{name}" for name in names} | {f"chapters/deeper/{name}" for name in names}


SITE = BUILD / "html"
FIND = """async (queries) => {
  const find = await bookSearch.makeSearch(MiniSearch, bookSections);
  return queries.map((query) => find(query).slice(0, 15).map(({ page, anchor }) => [page, anchor]));
}"""


def search_page(open_page, site=SITE):
    """The page of the search, and a function that gives pages and anchors for each query."""
    page = open_page(site / "search.html")
    page.wait_for_function("globalThis.MiniSearch && globalThis.bookSections")
    return page, lambda queries: dict(zip(queries, page.evaluate(FIND, queries), strict=True))


@pytest.mark.built
@pytest.mark.skipif(not (SITE / "zh").is_dir(), reason="only with make book LANGUAGE=zh_CN")
def test_chinese_words_are_found(open_page):
    _, find = search_page(open_page, SITE / "zh")
    found = find([query for queries in CHINESE.values() for query in queries])
    pages = {query: [page for page, _ in found[query][:3]] for query in found}
    missed = {
        q: pages[q] for name in CHINESE for q in CHINESE[name] if f"chapters/{name}" not in pages[q]
    }
    assert missed == {}
    assert find(["齐柏林飞艇"]) == {"齐柏林飞艇": []}


@pytest.mark.built
def test_what_readers_look_for_is_found_and_shown_by_a_sentence(open_page):
    page, find = search_page(open_page)
    for query, found in find(list(WANTED)).items():
        assert found, query
        assert found[0][0] in wanted_pages(WANTED[query]), query
    for query, found in find(["theta", "θ", "d_k", "R_m", "W^Q", "epsilon"]).items():
        assert found[0][0] == "chapters/notation", query
    for query, found in find(["RMSNorm", "head dimension", "YaRN", "warm-up"]).items():
        assert any(anchor.startswith("term-") for _, anchor in found[:3]), query
    names = {entry.name: entry.path for module in modules() for entry in entries(module)}
    for name, found in find(list(names)).items():
        assert any(at == names[name] and page.startswith("chapters/api-") for page, at in found)
    for name, found in find([model["name"] for model in read_models()]).items():
        assert found[0][0] == "chapters/models", name
    assert find(["zeppelin"]) == {"zeppelin": []}

    shown = page.evaluate(
        "Object.values(bookSections).flatMap(([, all]) => all.map((one) => one[3]))"
    )
    assert len(shown) > 900
    hole = re.compile(r" [,.;:](?: |$)|\b(?:eq|fig)-[a-z]|\\[a-z]")
    assert [text for text in shown if hole.search(text)] == []


def open_box(page):
    """Open the theme's dialog, as Ctrl+K does, and return its field."""
    page.keyboard.press("Control+k")
    return page.locator("#pst-search-dialog input[name=q]")


@pytest.mark.built
def test_results_are_shown_in_the_box_while_typing(open_page):
    page = open_page(SITE / "chapters" / "01-attention.html")
    field, results = open_box(page), page.locator("#pst-search-dialog .search-found li")
    missed = {}
    for wanted, query in ((name, query) for name in TYPED for query in TYPED[name]):
        field.fill(query)
        results.first.wait_for()
        links = results.locator("a").evaluate_all("(links) => links.map((link) => link.href)")
        first = [link.rpartition("/")[2].partition(".html")[0] for link in links[:3]]
        if wanted not in first:
            missed[query] = first
        field.fill("")
        expect(results).to_have_count(0)
    assert missed == {}
    field.press_sequentially("sinuso")
    expect(results.first).to_contain_text("Sinusoid")
    expect(results.first.locator("p")).to_contain_text(" ")
    field.fill("zeppelin")
    expect(page.locator("#pst-search-dialog [role=status]")).to_contain_text("Nothing was found")


@pytest.mark.built
def test_the_box_is_used_by_keys_and_on_a_phone(open_page):
    page = open_page(SITE / "index.html", 390)
    field = open_box(page)
    field.fill("softmax gradient")
    expect(page.locator(".search-found a").first).to_be_visible()
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
    expect(page.locator(".search-found a").first).to_be_focused()
    box = page.locator("#pst-search-dialog").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    page.keyboard.press("Enter")
    page.wait_for_url("**/02-*.html*")
    field = open_box(page)
    field.fill("why divide by sqrt d")
    page.locator(".search-found a").first.click()
    expect(page.locator("#pst-search-dialog")).not_to_be_visible()


@pytest.mark.built
def test_without_javascript_the_page_says_so(open_page):
    page = open_page(SITE / "search.html", javascript=False)
    assert "needs JavaScript" in page.locator("main").inner_text()


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
