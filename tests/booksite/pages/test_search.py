"""The book's search: what readers find in the built site, and how the box is used."""

import gzip
import html
import re
from pathlib import Path

import pytest
from docutils import nodes
from docutils.utils import new_document
from playwright.sync_api import expect

from bookformat.contents import main_line
from bookformat.paths import BUILD
from bookkit.models import read_models
from booksite.find import find
from booksite.reference import entries, modules
from booksite.search import anchor_of, kind_of, sections_of, slug, subjects, with_subjects

# What readers type, by the page that must be among the first three results.
ENGLISH = {
    "attention": [
        "causal mask", "does attention see order", "softmax overflow", "weighted average",
    ],
    "why-sqrt-d": ["why sqrt d", "why divide by root d_k", "sqrt d", "softmax gradient"],
    "many-heads": ["multi-head attention"],
    "residuals-and-norms": ["prenorm vs postnorm", "residual", "RMSNorm", "layer norm"],
    "feed-forward": ["SwiGLU", "feed forward"],
    "deeper/experts": ["mixture of experts", "moe"],
    "sinusoids": ["sinusoidal positional encoding", "why sine"],
    "encoder-decoder": ["encoder decoder"],
    "relative-positions": ["relative positions", "alibi", "t5 bias"],
    "deriving-rope": ["derive rope", "rotation matrix", "rotary"],
    "implementing-rope": ["implement rope", "interleaved layout", "rotate_half"],
    "deeper/configurations": ["rope_theta", "kv_lora_rank", "sliding_window"],
    "questions": ["position_ids", "left padding", "ring cache"],
    "symptoms": ["KeyError: 'rope_type'", "NaN only in bfloat16", "gibberish"],
    "cache": ["grouped query attention", "kv cache", "gqa"],
    "latent-attention": ["MLA", "deepseek mla"],
    "attention-in-blocks": ["flash attention"],
    "longer-contexts": [
        "extend context length", "yarn", "long context", "extrapolation", "ntk",
        "position interpolation",
    ],
    "which-encoding": ["which positional encoding should I use"],
    "fewer-scores": ["sinks", "attention sink", "sliding window"],
    "cost": ["rope speed triton"],
    "one-file": ["top-p sampling"],
    "glossary": [
        "head dimension", "long-term decay", "warm-up", "QK-norm", "NoPE", "what is a token",
    ],
    "deeper/bounds": ["theta 500000"],
    "models": ["llama 3", "qwen3", "gemma 3"],
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

# Searches written by somebody who had not seen the index: the query, what should come first, and
# the places that answer it, each a page with any of its sections, a section by the beginning of its
# anchor, or ("page#") the page's own beginning.
BLIND_FILE = Path(__file__).with_name("blind_searches.tsv")
BLIND_ROWS = [line.split("\t") for line in BLIND_FILE.read_text(encoding="utf-8").splitlines()]
BLIND = {query: places.split(", ") for query, _, places in BLIND_ROWS}

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


def test_a_question_is_found_by_its_answer_and_not_by_its_threads():
    document = new_document("questions")
    section = nodes.section(ids=["why"])
    section += nodes.title(text="Why softmax?")
    section += nodes.paragraph(text="Because weights sum to one.")
    section += nodes.paragraph(text="Asked in gpt-fast.")
    page = nodes.section(ids=["questions"])
    page += nodes.title(text="Questions")
    page += section
    document += page
    (_, found) = sections_of("chapters/questions", document)
    assert found.text == "Because weights sum to one."
    (_, elsewhere) = sections_of("chapters/page", document)
    assert elsewhere.text == "Because weights sum to one. Asked in gpt-fast."


def test_a_link_to_a_heading_leads_to_the_anchor_that_its_entry_has():
    page = nodes.section("", nodes.title(text="Cache"), ids=["cache"])
    inner = nodes.section("", nodes.title(text="YaRN’s"), ids=["yarn-s", "yarn"], slug="yarns")
    document = new_document("page")
    document += page
    page += inner
    assert [anchor_of(target, document) for target in ("yarns", "yarn", "cache", "other")] == [
        "yarn-s", "yarn-s", "", "other",
    ]  # fmt: skip


def test_what_repeats_a_page_is_no_section_of_its_own():
    anchors = ["", "the-score", "what-to-remember", "exercises"]
    assert [kind_of("chapters/cache", anchor) for anchor in anchors] == [
        "page", "section", "summary", "exercises",
    ]  # fmt: skip
    assert kind_of("chapters/deeper/bounds", "exercises") == "exercises"
    assert kind_of("chapters/deeper/bounds", "") == "deeper"


def test_a_section_has_the_names_of_its_place():
    document = new_document("cache")
    page = nodes.section("", nodes.title(text="The cache"), ids=["the-cache"])
    page += nodes.section("", nodes.title(text="Share: groups"), ids=["share-groups"])
    page += nodes.section("", nodes.title(text="Other"), ids=["other"])
    document += page
    whole, share, other = with_subjects(sections_of("chapters/cache", document))
    assert "autoregressive inference" in whole.called.split(";")
    assert "repeat_kv" in share.called.split(";")
    assert other.called == ""


@pytest.mark.built
def test_every_subject_is_one_section_and_its_names_find_it(open_page):
    page, _ = search(open_page, "", [])
    sections = page.evaluate("bookSections")
    places = {}
    for name, beginnings in subjects().items():
        anchors = [
            anchor.replace("*", slug(title))
            for anchor, title, kind, *_ in sections[name][1]
            if kind not in ("entry", "key", "model", "symptom")
        ]
        for beginning, called in beginnings:
            ours = [one for one in anchors if (one.startswith(beginning) if beginning else not one)]
            assert len(ours) == 1, (name, beginning, ours)
            places |= {one: (name, ours[0]) for one in called.split(";")}
    _, found = search(open_page, "", [*places])
    missed = [one for one in places if list(places[one]) not in found[one][:3]]
    # Some names are nearly those of other sections.
    assert len(missed) <= 0.01 * len(places), missed


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


def answers(place, accepted):
    """Whether a result is one of the places that answer a search."""
    page, anchor = place
    name = page.removeprefix("chapters/")
    for one in accepted:
        wanted, mark, beginning = one.partition("#")
        own_beginning = mark and not beginning
        if name == wanted and (anchor == "" if own_beginning else anchor.startswith(beginning)):
            return True
    return False


def test_a_place_answers_a_search_by_page_section_or_beginning():
    assert answers(("chapters/cache", "memory"), ["cache"])
    assert answers(("chapters/cache", ""), ["cache#"])
    assert not answers(("chapters/cache", "memory"), ["cache#"])
    assert not answers(("chapters/cache", "memory"), ["cache#share", "cost"])


@pytest.mark.built
def test_searches_of_strangers_are_answered_first_or_among_three(open_page):
    assert len(BLIND) == 40
    _, found = search(open_page, "", [*BLIND])
    first = [query for query in BLIND if answers(found[query][0], BLIND[query])]
    three = [
        query for query in BLIND if any(answers(one, BLIND[query]) for one in found[query][:3])
    ]
    assert len(first) >= 32, {query: found[query][:1] for query in BLIND if query not in first}
    assert len(three) >= 38, {query: found[query][:3] for query in BLIND if query not in three}


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
    expect(results.first).to_contain_text("Sinusoid", timeout=30_000)  # the index is loaded first
    expect(results.first.locator("p")).to_contain_text(" ")
    expect(results.first.locator("mark").first).to_have_text(re.compile("sinuso", re.IGNORECASE))
    place = box.bounding_box()
    assert place["x"] >= 0
    assert place["x"] + place["width"] <= 390
    field.fill("zeppelin")
    expect(box.get_by_role("status")).to_contain_text("Nothing was found")
    # A link leads to the search page, which shows more.
    field.fill("attention")
    box.get_by_role("status").get_by_role("link").click()
    page.wait_for_url("**/search.html?q=attention")
    expect(results.nth(8)).to_be_visible()
    # There the same link shows further results.
    expect(results).to_have_count(30)
    page.get_by_role("link", name="Show more").click()
    expect(results.nth(30).locator("a")).to_be_focused()
    # Enter opens the first result.
    page.locator(".bd-search-container input").fill("SwiGLU gate")
    page.locator(".bd-search-container input").press("Enter")
    page.wait_for_url("**/chapters/feed-forward.html*")
    # The arrow keys go through the results and back to the field.
    field = open_box()
    field.fill("attention sink")
    expect(results.first).to_be_visible()
    field.press("ArrowDown")
    expect(results.first.locator("a")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(results.nth(1).locator("a")).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(field).to_be_focused()
    # Behind the last result they reach the link to the others, and go back from it.
    field.fill("attention")
    expect(results).to_have_count(8)
    for _ in range(9):
        page.keyboard.press("ArrowDown")
    expect(box.get_by_role("link", name="Show more")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(results.nth(7).locator("a")).to_be_focused()
    field.focus()
    field.fill("yarn mscale")
    field.press("Enter")
    page.wait_for_url("**/chapters/longer-contexts.html*")
    # A result on the same page closes the box.
    open_box().fill("yarn mscale")
    results.first.locator("a").click()
    expect(box).not_to_be_visible()


@pytest.mark.built
def test_without_javascript_the_page_says_so(open_page):
    page = open_page(SITE / "search.html", javascript=False)
    assert "needs JavaScript" in page.locator("main").inner_text()


@pytest.mark.built
def test_mistyped_words_find_what_was_meant(open_page):
    meant = {"atention": "attention", "rotery": "deriving-rope", "cahce": "cache"}
    _, found = search(open_page, "", [*meant, "zeppelin"])
    for query, name in meant.items():
        assert f"chapters/{name}" in [page for page, _ in found[query][:3]], query
    assert found["zeppelin"] == []


@pytest.mark.built
def test_a_result_shows_the_sentence_with_the_searched_words(open_page):
    page = open_page(SITE / "search.html")
    page.wait_for_function("globalThis.bookSearch")
    text = "First a sentence. " * 20 + "Then the cache holds keys. " + "More follows. " * 20
    parts = page.evaluate("([text]) => bookSearch.snippet(text, ['cach', 'key'])", [text])
    shown = "".join(part if isinstance(part, str) else part["mark"] for part in parts)
    assert "Then the cache holds keys." in shown
    assert len(shown) < 260
    assert [part["mark"] for part in parts if not isinstance(part, str)] == ["cache", "keys"]


@pytest.mark.built
def test_one_ellipsis_stands_before_a_word_from_further_down(open_page):
    page = open_page(SITE / "search.html")
    page.wait_for_function("globalThis.bookSearch")
    for text in ("A sentence. …", "More follows here. " * 20):
        parts = page.evaluate("([text]) => bookSearch.snippet(text, ['cach'], 'cache')", [text])
        shown = "".join(part if isinstance(part, str) else part["mark"] for part in parts)
        assert shown.endswith(" … cache")
        assert shown.count("…") == 1


@pytest.mark.built
def test_nearly_every_result_shows_a_word_that_was_searched():
    queries = [*BLIND, *(query for group in ENGLISH.values() for query in group)]
    shown = [
        (query, one)
        for query, all_of in zip(queries, find(queries), strict=True)
        for one in all_of[:8]
    ]
    silent = [(query, one["title"]) for query, one in shown if not one["marked"]]
    # The section that a term's entry names may say it in other words.
    assert len(silent) <= 0.01 * len(shown), silent


@pytest.mark.built
def test_the_first_result_costs_at_most_200_kilobytes_as_a_server_sends_it():
    files = [SITE / "_static" / name for name in ("minisearch.js", "search-data.js", "search.js")]
    # Nothing of it is loaded before somebody searches. The whole text of sections is in it, so
    # that results show the searched words; a server sends it compressed, at a third of its size.
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) <= 200_000
