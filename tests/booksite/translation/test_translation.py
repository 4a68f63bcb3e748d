"""The translations of the book: what stays the same in them, and how they reach the page."""

import contextlib
import copy
import io
import re
import shutil
from types import SimpleNamespace

import pytest
from babel.messages.pofile import write_po
from docutils import nodes
from docutils.utils import new_document
from playwright.sync_api import expect
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from bookformat.paths import BUILD, CHAPTERS, ROOT, SOURCES, STATIC
from bookformat.records import Record, read_records, write_record
from booksite import languages
from booksite.read_model import read_rules
from booksite.translation import __main__ as command
from booksite.translation import catalogs, outputs, sources
from booksite.translation.listings import comments_of, inside, width_of
from booksite.translation.messages import (
    Notes,
    read_page,
    shown_literals,
    spans_of,
    translate_notebook,
    translate_text,
)
from booksite.widgets import run_widgets

TEXT = """\
# A heading

Words with $x$ in
two lines.

- [x] A choice {check}`1 == 1`
  > Because of
  > the rest.

| a | Some words |
|---|---|
| $x$ | other words |

:::{exercise-start} A title
:label: name
:::

$$
x = \\text{no message}
$$ (label)

:::{glossary}
token
  What a model
  reads.
:::
"""
RECORD = Record("eq-score", "a = b")
OPENING = catalogs.ROOT / "index.md"
MESSAGES = [
    "A heading",
    "Words with $x$ in two lines.",
    "A choice",
    "Because of the rest.",
    "Some words",
    "other words",
    "A title",
    "token",
    "What a model reads.",
]


def test_messages_are_found_and_put_back_in_their_places():
    assert [span.text for span in spans_of(TEXT)] == MESSAGES
    assert translate_text(TEXT, lambda _: None) == TEXT
    translated = translate_text(TEXT, str.upper)
    assert (
        "# A HEADING\n\nWORDS WITH $X$ IN TWO LINES.\n\n- [x] A CHOICE {check}`1 == 1`"
        in translated
    )
    assert "  > BECAUSE OF THE REST.\n" in translated
    assert "| a | SOME WORDS |\n|---|---|\n| $x$ | OTHER WORDS |" in translated
    assert "{exercise-start} A TITLE\n:label: name" in translated
    assert "TOKEN\ntoken\n  WHAT A MODEL READS.\n" in translated
    assert "\\text{no message}" in translated


def test_what_has_no_translation_stays_in_english_with_a_note_where_one_fits():
    known = {"Because of the rest.": "因为其余的。"}
    text = translate_text(TEXT, known.get, Notes("（此段）", "（英文）"))
    assert "# A heading\n\nWords with $x$ in two lines. {in-english}`（此段）`\n" in text
    assert "- [x] A choice {in-english}`（英文）` {check}`1 == 1`\n  > 因为其余的。\n" in text
    assert "| a | Some words {in-english}`（英文）` |" in text
    assert "| $x$ | other words {in-english}`（英文）` |" in text
    assert "{exercise-start} A title\n:label: name" in text
    assert "\ntoken\n  What a model reads. {in-english}`（此段）`\n" in text
    assert text.count("{in-english}") == 5


def test_a_comment_beside_a_command_is_a_message():
    text = "Type:\n\n```bash\nmake all  # do everything\necho 'a #b' # 2\n```\n"
    assert [span.text for span in spans_of(text)] == ["Type:", "do everything"]
    assert translate_text(text, {"do everything": "全部做完"}.get) == text.replace(
        "do everything", "全部做完"
    )


def test_a_line_printed_by_a_function_of_an_earlier_cell_keeps_its_columns():
    printing = 'def show(word):\n    print(f"{1:.1f} {word:6}|")\n\n\n'
    calling = "def twice(word):\n    show(word)\n\n\n"
    cells = [
        {
            "cell_type": "code",
            "metadata": {},
            "source": source + 'twice("south")',
            "outputs": [{"text": "1.0 south |\n"}],
        }
        for source in (printing + calling, "")
    ]
    translate_notebook({"cells": cells}, {"south": "南"}.get)
    assert [cell["outputs"][0]["text"] for cell in cells] == ["1.0 南     |\n"] * 2


def test_captions_and_descriptions_of_figures_stay_in_english_too():
    cell = {
        "cell_type": "code",
        "metadata": {"mystnb": {"figure": {"caption": "A caption."}}},
        "outputs": [{"data": {"image/svg+xml": '<svg aria-label="a &lt; b" role="img"/>'}}],
    }
    notes = Notes("（此段）", "（英文）")
    translate_notebook({"cells": [cell]}, {}.get, notes)
    assert cell["metadata"]["mystnb"]["figure"]["caption"] == "A caption. {in-english}`（此段）`"
    (output,) = cell["outputs"]
    assert output["data"]["image/svg+xml"] == '<svg aria-label="a &lt; b" lang="en" role="img"/>'
    translate_notebook({"cells": [cell]}, {"a < b": "甲 < 乙"}.get, notes)
    assert 'aria-label="甲 &lt; 乙"' in output["data"]["image/svg+xml"]


LISTING = """\
import numpy as np

words = ["from", "Beijing", "to"]  # three tokens
weights = np.array([0.25, 0.5, 0.25])


def share(word):
    \"\"\"The weight of a word.\"\"\"
    return weights[words.index(word)]  # looked up


# A sentence that is so long that it goes on in the next line
# of the code, as one comment.
for word in words:
    print(f"{word:8} weight {share(word):.2f}", word == "to")
print("sum of all:", weights.sum(), sep="  ")
"""
IN_CHINESE = {
    "from": "从",
    "Beijing": "北京",
    "to": "到",
    "three tokens": "三个词元",
    "The weight of a word.": "一个词的权重。",
    "looked up": "查表",
    "{word:8} weight {share(word):.2f}": "{word:8} 权重 {share(word):.2f}",
    "sum of all:": "总和：",
    "A sentence that is so long that it goes on in the next line of the code, as one comment.": (
        "这句话很长，" * 12
    ),
}


def printed_by(code):
    """What a listing prints."""
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        exec(code, {})
    return stream.getvalue()


def listing(code, *outputs, folded=False):
    """A notebook of one cell with its outputs."""
    tags = ["hide-input"] if folded else []
    cell = {
        "cell_type": "code",
        "source": code,
        "metadata": {"tags": tags},
        "outputs": [*outputs],
    }
    return {"cells": [cell]}


def test_a_translated_listing_prints_its_translated_output():
    notebook = listing(LISTING, {"text": printed_by(LISTING)})
    asked = {}
    translate_notebook(copy.deepcopy(notebook), asked.setdefault)
    assert asked.keys() == IN_CHINESE.keys()  # no line of the output is a message of its own
    (cell,) = translate_notebook(notebook, IN_CHINESE.get)["cells"]
    assert cell["outputs"][0]["text"] == printed_by(cell["source"])
    assert (
        "北京       权重 0.50 False\n到        权重 0.25 True\n总和：" in cell["outputs"][0]["text"]
    )
    assert '"""一个词的权重。"""\n    return weights[words.index(word)]  # 查表' in cell["source"]
    comment = re.findall(r"^# .*$", cell["source"], re.MULTILINE)
    assert "".join(line.removeprefix("# ") for line in comment) == "这句话很长，" * 12
    assert max(map(width_of, comment)) <= 92


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ('f"{word:8} weight {{1}}"', "{word:8} weight {{1}}"),
        ("""f'a {", ".join(f"{x}" for x in y)} b'""", 'a {", ".join(f"{x}" for x in y)} b'),
        ("f\"权重 {w['甲']} 个\" \"{x} 词\" f'{n}\\n'", "权重 {w['甲']} 个{{x}} 词{n}\n"),
        ('f"""two\nlines of {x:{wide}}"""\n  rf"{y}: \\d"', "two\nlines of {x:{wide}}{y}: \\d"),
    ],
)
def test_an_f_string_is_read_alike_by_every_python(written, message):
    """From Python 3.12 on, its parts are tokens of their own."""
    assert inside(written) == message


def test_a_comment_behind_a_text_of_several_lines_is_read_alike_by_every_python():
    """The line of its token is one of the text's in some of them."""
    code = 'x = """a\n"""  # one\n       # two\n       # more'
    assert [piece.message for piece in comments_of(code)] == ["one", "two more"]


def test_folded_code_that_prints_is_translated_like_any_listing():
    code = 'for name in ("two words", "more"):\n    print(f"{name:9} {3.5}")  # a comment'
    notebook = listing(code, {"text": "two words 3.5\nmore      3.5\n"}, folded=True)
    known = {"two words": "两个词", "more": "更多", "a comment": "注释"}
    (cell,) = translate_notebook(notebook, known.get)["cells"]
    assert cell["source"].startswith('for name in ("两个词", "更多"):')
    assert cell["source"].endswith("# 注释")
    assert cell["outputs"] == [{"text": printed_by(cell["source"])}]


def test_the_texts_of_folded_code_that_draws_stay():
    code = 'show_table([["two words", 3.5]])'
    table = "<tr><td>two words</td><td>3.5</td></tr>"
    notebook = listing(code, {"data": {"text/html": table}}, folded=True)
    (cell,) = translate_notebook(notebook, {"two words": "两个词"}.get)["cells"]
    assert cell["source"] == code
    assert cell["outputs"] == [{"data": {"text/html": table.replace("two words", "两个词")}}]


def test_a_label_may_say_what_the_code_needs_in_english():
    table = "<tr><td>mode</td></tr>"
    notebook = listing('print("mode", open("mode"))', {"data": {"text/html": table}})
    known, labels = {"mode": "mode"}, {"mode": "模式"}
    (cell,) = translate_notebook(notebook, known.get, labels=labels)["cells"]
    assert cell["source"] == 'print("mode", open("mode"))'
    assert cell["outputs"] == [{"data": {"text/html": table.replace("mode", "模式")}}]


def test_each_such_label_is_shown_by_its_page_and_stays_in_its_code():
    path = catalogs.LOCALE / "zh_CN" / "labels.tsv"
    rows = [row for row in path.read_text(encoding="utf-8").splitlines() if row[0] != "#"]
    for name, english, _ in (row.split("\t") for row in rows):
        page = next(ROOT.glob(f"{name}.*"))
        assert catalogs.translations(page, "zh_CN")[english] == english
        notebook = read_page(page)
        assert english in shown_literals(notebook)
        drawn = [
            output.get("data", {})
            for cell in notebook["cells"]
            for output in cell.get("outputs", [])
        ]
        shown = "".join(
            "".join([*one.get("image/svg+xml", ""), *one.get("text/html", "")]) for one in drawn
        )
        assert f">{english}<" in shown


def test_a_list_of_texts_is_translated_as_a_whole():
    code = 'cities = ["Beijing", "Chengdu"]\nprint(cities[0], {"Beijing": "Wuhan"}["Beijing"][:0])'
    notebook = listing(code, {"text": "Beijing \n"})
    known = {"Beijing": "北京", "Chengdu": "成都", "Wuhan": "武汉"}
    (cell,) = translate_notebook(notebook, known.get)["cells"]
    assert 'cities = ["北京", "成都"]' in cell["source"]
    assert '{"北京": "Wuhan"}["北京"]' in cell["source"]


def test_a_translation_that_is_the_message_leaves_a_text_as_the_code_needs_it():
    notebook = listing('print("mode", open("mode"))', {"text": "mode 1\n"})
    (cell,) = translate_notebook(notebook, {"mode": "mode"}.get)["cells"]
    assert (cell["source"], cell["outputs"][0]["text"]) == (
        'print("mode", open("mode"))',
        "mode 1\n",
    )


def test_numbers_of_outputs_stay_as_they_were_computed():
    known = {"loss {} of {} tokens, [{} {}]": "{} 的损失，{} 个词元，[{} {}]"}
    line = "loss  0.51 of 1,024 tokens, [ 1. -inf]"
    assert outputs.translate_print(line, known.get, {}) == " 0.51 的损失，1,024 个词元，[ 1. -inf]"
    table = "<tr><th>a &lt; loss</th><td>3.50</td></tr>"
    shown = outputs.translate_table(table, {"a < loss": "a < 损失"}.get)
    assert shown == "<tr><th>a &lt; 损失</th><td>3.50</td></tr>"


def test_chinese_counts_in_other_units_with_the_digits_that_are_computed():
    known = {"{} billion, {} % of it, {} million": "{×10} 亿，占 {} %，{×100} 万"}
    table = outputs.translate_words("5.6 billion, 70 % of it, 5 million", known.get)
    assert table == "56 亿，占 70 %，500 万"
    texts = {"work: {x / 1e9:7,.1f} billion": "运算：{x / 1e8:7,.0f} 亿"}
    lines = outputs.translate_print("work: 2,199.0 billion\nwork:     4.3 billion", {}.get, texts)
    assert lines == f"运算：{2199e9 / 1e8:7,.0f} 亿\n运算：{4.3e9 / 1e8:7,.0f} 亿"


@pytest.mark.parametrize(
    ("lines", "anchor", "ends"),
    [
        ([(10.0, "two words"), (10.0, "one")], None, {10.0}),
        ([(10.0, "wwwwwwwwww"), (49.6, "ww")], "middle", {59.5}),
        ([(10.0, "wwwwwwwwww"), (89.2, "ww")], "end", {109.0}),
    ],
)
def test_the_lines_of_a_label_meet_where_they_met(lines, anchor, ends):
    line = '<text style="font-size: 11px" transform="translate({} {})">{}</text>'
    label = "\n".join(line.format(x, 10 + 12 * row, text) for row, (x, text) in enumerate(lines))
    svg = f"<svg><g>{label}</g></svg>"
    shown = outputs.translate_labels(svg, {"\n".join(text for _, text in lines): "两个\n词"}.get)
    assert re.findall(r">([^<>]+)</text>", shown) == ["两个", "词"]
    assert {*re.findall(r"text-anchor: (\w+)", shown)} == ({anchor} if anchor else set())
    assert {round(float(x), 1) for x in re.findall(r"translate\((\S+)", shown)} == ends


def test_a_label_with_a_formula_is_one_message():
    letters = [
        *((x, -0.5, "", letter) for x, letter in enumerate("by ")),
        (3, -0.5, "oblique", "d"),
    ]
    letters += [(4, 1, "oblique; small", "k")]
    written = "".join(
        f'<tspan x="{x}" y="{y}" style="font-style: {look}; '
        f'font-size: {7.7 if "small" in look else 11}px">{letter}</tspan>'
        for x, y, look, letter in letters
    )
    svg = f'<g>\n    <g transform="translate(1 2)">\n<text>{written}</text></g></g>'
    shown = outputs.translate_labels(svg, {"by $d_k$": "按 $d_k$"}.get)
    assert re.findall(r">([^<>\s]+)", shown) == ["按", "d", "k", "\u200b"]
    assert "rotate" not in shown


def test_the_site_says_which_language_a_note_and_its_paragraph_are_in(tmp_path):
    text = "# 标题\n\nWords and $x$. {in-english}`（英文）`\n\n中文。\n"
    (tmp_path / "index.md").write_text(text, encoding="utf-8")
    settings = {
        "extensions": ["myst_parser", "booksite.languages"],
        "language": "zh_CN",
        "html_theme": "basic",
    }
    output = tmp_path / "_build"
    with docutils_namespace():
        Sphinx(
            tmp_path, None, output, output / "doctrees", "html", settings,
            status=None, warningiserror=True,
        ).build()  # fmt: skip
    page = (output / "index.html").read_text(encoding="utf-8")
    note = '<span class="in-english" lang="zh-CN">（英文）</span>'
    assert f'<p lang="en">Words and $x$. {note}</p>' in page
    assert "<p>中文。</p>" in page


MESSAGE = (
    "A token has {value}`3 = len(x)` of 10 $q$ in `code`, see {eq}`eq-one`, {term}`head`, "
    "{cite:p}`su2021` and [there](attention.ipynb#a-place) on 17 May 2026; it is "
    '{value}`larger = "larger" if x else "smaller"` '
    "than {value}`2 million = y` and {value}`three = z`."
)
RIGHT = (
    "词元有 10 个 $q$ 中的 {value}`3 = len(x)` 个，代码是 `code`，见 {eq}`eq-one`、"
    "{term}`头 <head>`、{cite:p}`su2021` 和[那里](attention.ipynb#a-place)，2026 年 5 月 17 日；"
    '它比 {value}`200 万 = y` 和{value}`三 = z`{value}`更大 = "larger" if x else "smaller"`。'
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("$q$", "$k$"),
        ("3 = len(x)", "4 = len(x)"),
        ("3 = len(x)", "3 = len(y)"),
        ("10 个", "12 个"),
        ("5 月", "6 月"),
        ("200 万", "20 万"),
        ("万 =", "亿 ="),
        ("三 =", "五 ="),
        ("`code`", "`other`"),
        ("eq-one", "eq-two"),
        ("<head>", "<key>"),
        ("su2021", "su2022"),
        ("#a-place", "#place"),
        ("词元", "标记"),
    ],
)
def test_what_must_not_change_is_compared(old, new):
    assert [*catalogs.differences(MESSAGE, RIGHT, "zh_CN")] == []
    assert [*catalogs.differences(MESSAGE, RIGHT.replace(old, new), "zh_CN")]


@pytest.mark.parametrize(
    ("message", "translation", "is_wrong"),
    [
        ("Check your understanding", "自测", False),
        ("The next token of the text", "头", False),
        (
            "Next question.",
            "每一行的权重都不小于 0，加起来是 1，所以输出是这些值的加权平均，不会超出。",
            True,
        ),
        ("Each row of weights is positive and sums to one, so it is a mean.", "下一题", True),
    ],
)
def test_a_translation_of_another_length_is_told(message, translation, is_wrong):
    found = [*catalogs.differences(message, translation, "zh_CN")]
    assert any("letters became" in one for one in found) is is_wrong


COUNTED = "{x / 1e9:.1f} billion, {} billion, {value}`5.6 billion = x` and {value}`two = y`"
IN_CHINESE_UNITS = "{x / 1e8:.0f} 亿，{×10} 亿，{value}`56 亿 = x`和{value}`两 = y`"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1e8", "1e9"),
        ("{×10}", "{}"),
        ("{×10}", "{×100}"),
        ("`56 亿 = x`", "`5.6 亿 = x`"),
        ("`56 亿 = x`", "`5.6 = x`十亿"),
        ("{×10} 亿", "{} 十亿"),
        ("和{value}", "和 {value}"),
    ],
)
def test_units_of_ten_thousand_and_of_a_hundred_million_are_compared(old, new):
    assert [*catalogs.differences(COUNTED, IN_CHINESE_UNITS, "zh_CN")] == []
    assert [*catalogs.differences(COUNTED, IN_CHINESE_UNITS.replace(old, new), "zh_CN")]


AMOUNTS = (
    "It takes at least {value}`31 seconds = t`, up to {value}`57 MB = b`, and {value}`two = y`, "
    "no program more than {value}`3 ms = g`, of {value}`1.3 million = p` with {value}`4 times = r`"
)
IN_CHINESE_AMOUNTS = (
    "至少需要 {value}`31 秒 = t`，最多 {value}`57 MB = b`，以及{value}`两个 = y`，"
    "没有程序超过 {value}`3 毫秒 = g`，共 {value}`130 万 = p`，是 {value}`4 倍 = r`"
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("31 秒", "31 分钟"),
        ("57 MB", "57 GB"),
        ("57 MB", "57 MFLOP"),
        ("3 毫秒", "3 微秒"),
        ("130 万", "130 亿"),
        ("4 倍", "4 弧度"),
        ("至少需要", "最多需要"),
        ("最多", "不少于"),
        ("没有程序超过", "程序超过"),
        ("共", "不到"),
    ],
)
def test_units_and_bounds_of_values_are_compared(old, new):
    assert [*catalogs.differences(AMOUNTS, IN_CHINESE_AMOUNTS, "zh_CN")] == []
    assert [*catalogs.differences(AMOUNTS, IN_CHINESE_AMOUNTS.replace(old, new), "zh_CN")]


def test_the_glossary_has_the_words_that_the_pages_use():
    """A Chinese headword is used on other pages at least as often as the English word."""
    page = CHAPTERS / "glossary.md"
    said = catalogs.translations(page, "zh_CN")
    headwords = [span.text for span in spans_of(page.read_text(encoding="utf-8")) if span.stays]
    assert len(headwords) > 120
    elsewhere = [
        catalogs.ROLE.sub(" ", text)
        for other in catalogs.pages()
        if other != page
        for text in catalogs.translations(other, "zh_CN").values()
    ]

    def uses(word):
        pattern = re.compile(rf"(?<![A-Za-z-]){re.escape(word)}(?![A-Za-z-])")
        return sum(bool(pattern.search(text)) for text in elsewhere)

    rare = {}
    for english in headwords:
        counts = [uses(word) for word in said[english].split("；")]
        if said[english] != english and max(counts) < uses(english):
            rare[english] = (said[english], counts, uses(english))
    assert rare == {}


# The rest is slow: who changes a translation hears the same from `booksite.translation status`.
KEPT = [
    page
    if page.stem in ("index", "attention", "glossary")
    else pytest.param(page, marks=pytest.mark.slow)
    for page in catalogs.pages()
]


@pytest.mark.parametrize("page", KEPT, ids=lambda page: page.stem)
def test_translations_keep_what_must_not_change(page):
    found = catalogs.status(page, "zh_CN")
    open_ones = len(found["missing"]) + len(found["outdated"])
    if open_ones:
        print(f"{page.name}: {open_ones} messages are shown in English")
    assert found["wrong"] == []


DRAWN = [page for page in catalogs.pages() if page.suffix == ".ipynb"]


@pytest.mark.parametrize("page", DRAWN, ids=lambda page: page.stem)
def test_labels_of_figures_keep_to_about_the_room_of_the_english_ones(page):
    labels = {}
    for cell in read_page(page)["cells"]:
        for output in cell.get("outputs", []):
            svg = "".join(output.get("data", {}).get("image/svg+xml", ""))
            outputs.translate_labels(svg, labels.setdefault)
    known = catalogs.translations(page, "zh_CN")
    for label in labels.keys() & known.keys():
        room, wide = (
            max(map(outputs.rough_width, text.split("\n"))) for text in (label, known[label])
        )
        assert wide <= 1.5 * room + 1, f"{known[label]} is much wider than {label}"


def test_a_changed_message_keeps_its_old_translation_for_the_translator(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogs, "LOCALE", tmp_path)
    page = catalogs.ROOT / "index.md"
    for text in (
        "An old sentence about tokens and heads.",
        "An old sentence about tokens and keys.",
    ):
        monkeypatch.setattr(catalogs, "messages_of", lambda _, text=text: [text])
        catalogs.update(page, "zh_CN")
        assert catalogs.translations(page, "zh_CN") == {}
        file = catalogs.file_of(page, "zh_CN")
        file.write_text(
            file.read_text(encoding="utf-8").replace('msgstr ""', 'msgstr "旧句"'), encoding="utf-8"
        )
    found = catalogs.status(page, "zh_CN")
    assert (len(found["missing"]), len(found["outdated"])) == (0, 1)


def test_a_label_is_translated_as_on_other_pages_if_they_agree(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogs, "LOCALE", tmp_path)
    first, second, third = (catalogs.ROOT / f"{name}.md" for name in ("one", "two", "three"))
    monkeypatch.setattr(catalogs, "pages", lambda: [first, second, third])
    monkeypatch.setattr(catalogs, "messages_of", lambda _: ["mean loss", "layer", "code"])
    for page, layer in ((first, "层"), (second, "层数")):
        catalogs.update(page, "zh_CN")
        file = catalogs.file_of(page, "zh_CN")
        text = file.read_text(encoding="utf-8")
        for message, other in (("mean loss", "平均损失"), ("layer", layer), ("code", "代码")):
            entry = f'msgid "{message}"\nmsgstr '
            text = re.sub(rf'{entry}".*"', f'{entry}"{other}"', text)
        file.write_text(text.replace("#, fuzzy\n", ""), encoding="utf-8")
    catalogs.update(third, "zh_CN")
    assert catalogs.translations(third, "zh_CN") == {"mean loss": "平均损失"}
    # A single word may mean something else there, so the translator has to look at it.
    filled = catalogs.read_catalog(third, "zh_CN")
    assert [entry.id for entry in filled if entry.id and entry.fuzzy] == ["code"]


def test_the_command_lists_every_message_that_has_to_be_translated(monkeypatch, capsys):
    found = {"missing": ["A new term"], "outdated": ["A changed sentence."], "wrong": []}
    monkeypatch.setattr(command, "pages", lambda: [catalogs.ROOT / "index.md"])
    monkeypatch.setattr(command, "status", lambda _page, _language: found)
    monkeypatch.setattr("sys.argv", ["translation", "status"])
    assert command.main() == 1
    assert capsys.readouterr().out.splitlines() == [
        "index.md: 1 missing, 1 outdated, 0 wrong",
        "  missing: A new term",
        "  outdated: A changed sentence.",
    ]


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory):
    """A copy of the translations, and those of two messages on the opening page that it misses."""
    places = tmp_path_factory.mktemp("spoilt") / "locale"
    shutil.copytree(catalogs.LOCALE, places)
    outdated, missing = [
        message
        for message in catalogs.messages_of(OPENING)
        if message.startswith(("Two sentences go with you", "`make test` checks"))
    ]
    old = catalogs.translations(OPENING, "zh_CN")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogs, "LOCALE", places)
        catalog = catalogs.read_catalog(OPENING, "zh_CN")
        catalog.get(outdated).flags.add("fuzzy")
        catalog.get(missing).string = ""
        with catalogs.file_of(OPENING, "zh_CN").open("wb") as file:
            write_po(file, catalog)
        assert catalogs.status(OPENING, "zh_CN")["outdated"] == [outdated]
    return places, {message: old[message] for message in (outdated, missing)}


@pytest.fixture(scope="module")
def translated(spoilt, tmp_path_factory):
    """The sources of the translated book, written once, after tests that executed one equation."""
    build = tmp_path_factory.mktemp("translated") / "_build"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogs, "LOCALE", spoilt[0])
        patch.setattr(sources, "BUILD", build)
        patch.setattr(sources, "RECORDS", build / "equations")
        write_record(RECORD, sources.RECORDS)
        sources.write_sources(build / "book", "zh_CN")
    return build / "book"


def test_the_translated_sources_keep_the_names_of_headings(translated, monkeypatch):
    monkeypatch.setattr(sources, "BUILD", translated.parent)
    page = (translated / "chapters" / "short-road.ipynb").read_text(encoding="utf-8")
    assert "# 捷径：从注意力到 RoPE" in page
    assert sources.slug("加权平均") == "a-weighted-average"
    assert sources.slug("No such heading") == "no-such-heading"
    contents = (translated / "_toc.yml").read_text(encoding="utf-8")
    assert "注意力" in contents
    # What stays in English is listed in Chinese, and what is translated names itself.
    assert "- file: chapters/api\n    sections:" in contents
    assert "title: 代码库（英文）" in contents
    assert "- file: chapters/attention\n    sections:" in contents
    assert contents.count("title: ") < 30
    page = (translated / "chapters" / "attention.ipynb").read_text(encoding="utf-8")
    assert "](deeper/edge-cases.ipynb" in page
    assert "（英文）](deeper/edge-cases.ipynb" not in page
    page = (translated / "index.md").read_text(encoding="utf-8")
    assert "（英文）](chapters/changelog.md" in page
    assert "（英文）](chapters/ledger.md" not in page


def test_outdated_and_missing_translations_leave_english_on_the_page(spoilt, translated):
    text = (translated / "index.md").read_text(encoding="utf-8")
    for message, old in spoilt[1].items():
        assert f"{message} {{in-english}}`（此段尚未翻译，暂为英文）`\n" in text
        assert old not in text
    assert text.count("{in-english}") == 2
    # Pages that nobody translates have no notes.
    english = translated / "chapters" / "changelog.md"
    assert "{in-english}" not in english.read_text(encoding="utf-8")


def test_the_translated_site_gets_the_record_of_the_tests(translated):
    assert read_records(translated / "_build" / "equations") == {"eq-score": RECORD}


def test_all_that_scripts_say_has_a_translation():
    scripts = [*STATIC.rglob("*.js"), *(SOURCES / "booksite").glob("*/**/*.js")]
    texts = [
        path.read_text(encoding="utf-8") for path in scripts if "node_modules" not in path.parts
    ]
    said = {text for script in texts for text in re.findall(r"phrase`([^`]*)`", script)}
    assert len(said) > 100
    # What the page "Read my model" says of a configuration, with its values by name.
    rules = read_rules()
    sentences = [rules["evidence"], rules["failures"], rules["settings"]["notes"]]
    sentences += [rules["reasons"], rules["models"]["unsupported_models"]]
    sentences += [rules["keys"]["not_a_rotation"], rules["keys"]["described"]]
    said |= {row["note"] for row in rules["table"] if "note" in row} | {"the configuration"}
    said |= {one["text"] for one in rules["remarks"].values()}
    said |= {text for part in sentences for text in part.values()}
    words = (catalogs.LOCALE / "zh_CN" / "words.js").read_text(encoding="utf-8")
    known = dict(re.findall(r'^    "(.*?)": "(.*)",$', words, re.MULTILINE))
    holes = re.compile(r"\{\d\}|\$\{[^}]*\}")
    assert {holes.sub("{}", text) for text in said} == {holes.sub("{}", text) for text in known}
    values = re.compile(r"\{\w+\}")
    assert all(sorted(values.findall(one)) == sorted(values.findall(known[one])) for one in known)
    request = {"widget": "rotation", "call": "picture", "arguments": []}
    (picture,) = run_widgets([request], catalogs.LOCALE / "zh_CN" / "words.js")
    assert "分数" in picture
    assert "score" not in picture


def test_the_dictionary_is_loaded_before_the_scripts_that_need_it(tmp_path):
    # Jupyter Book links scripts in the order in which the file system names them.
    scripts = ["reading.js", "sort.js", "words.js"]
    settings = {
        "extensions": ["booksite.languages"],
        "language": "zh_CN",
        "html_js_files": scripts,
        "html_static_path": ["_static"],
    }
    (tmp_path / "index.rst").write_text("Page\n====\n", encoding="utf-8")
    (tmp_path / "_static").mkdir()
    for name in scripts:
        (tmp_path / "_static" / name).touch()
    folders = (tmp_path, None, tmp_path / "html", tmp_path / "doctrees")
    with docutils_namespace():
        Sphinx(*folders, "html", settings, status=None).build()
    page = (tmp_path / "html" / "index.html").read_text(encoding="utf-8")
    linked = re.findall(r'<script src="_static/([\w.]+)', page)
    assert linked[0] == "words.js"
    assert sorted(name for name in linked if name in scripts) == scripts


CHINESE = BUILD / "html" / "zh"


@pytest.mark.built
@pytest.mark.skipif(not CHINESE.is_dir(), reason="the site was built without LANGUAGE=zh_CN")
def test_scripts_speak_chinese_on_the_chinese_site(open_page):
    page = open_page(CHINESE / "chapters" / "why-sqrt-d.html")
    page.goto((CHINESE / "index.html").as_uri())
    expect(page.locator(".go-on")).to_contain_text("接着读：")
    expect(page.locator(".go-on button")).to_have_text("清除阅读记录")


@pytest.mark.parametrize(
    ("own", "names"),
    [
        (["id3"], ["the-root-or-d-k", "id3", "the-root-or-"]),
        (["the-root-or-d-k"], ["the-root-or-d-k", "the-root-or-"]),
    ],
)
def test_a_translated_section_has_the_english_address_first(own, names, monkeypatch):
    monkeypatch.setattr(languages, "anchors_in_english", lambda: {"the-root-or-": names[0]})
    document = new_document("page")
    section = nodes.section(ids=own, slug="the-root-or-")
    document += section
    document.ids = dict.fromkeys(own, section)
    languages.name_sections(SimpleNamespace(config=SimpleNamespace(language="zh_CN")), document)
    assert section["ids"] == names


@pytest.mark.built
@pytest.mark.skipif(not CHINESE.is_dir(), reason="the site was built without LANGUAGE=zh_CN")
def test_sections_have_the_same_addresses_in_both_languages():
    section = re.compile(r'<section\b[^>]*? id="([^"]+)"')
    for path in CHINESE.glob("**/*.html"):
        english = CHINESE.parent / path.relative_to(CHINESE)
        if "_static" not in path.parts:
            both = [section.findall(one.read_text(encoding="utf-8")) for one in (path, english)]
            assert both[0] == both[1], path.name


@pytest.mark.built
@pytest.mark.skipif(not CHINESE.is_dir(), reason="the site was built without LANGUAGE=zh_CN")
def test_what_others_write_around_the_text_is_chinese():
    pages = {
        path.relative_to(CHINESE).as_posix(): path.read_text(encoding="utf-8")
        for path in (CHINESE / "chapters").glob("**/*.html")
    }
    # A page in English quotes what it likes.
    chinese = {name: text for name, text in pages.items() if '<div lang="en"><' not in text}
    assert 80 < len(chinese) < len(pages)
    titles = re.compile(r'(?:admonition-title"[^>]*|prev-next-title)">(.*?)</(?:p|summary)>')
    for name, text in chinese.items():
        assert "Proof" not in re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL), name
        for title in titles.findall(text):
            words = re.sub(r'<span class="(?:katex|math).*|<[^>]*>', "", title)
            assert re.search("[一-鿿]", words), (name, title)
            assert " (" not in words, (name, title)
    assert "</a>：<a" in pages["chapters/ledger.html"].replace("</span>", "")


@pytest.mark.parametrize(
    ("language", "there_is", "address", "whole"),
    [
        ("en", "zh", "../zh/chapters/x.html", "https://x.org/zh/chapters/x.html"),
        ("en", "", None, None),
        ("zh_CN", "", "../../chapters/x.html", "https://x.org/chapters/x.html"),
    ],
)
def test_a_page_leads_to_itself_in_the_other_language(
    language, there_is, address, whole, monkeypatch
):
    monkeypatch.setenv(languages.VARIABLE, there_is)
    builder = SimpleNamespace(get_target_uri=lambda page: f"{page}.html")
    config = SimpleNamespace(language=language, html_baseurl="https://x.org/")
    app = SimpleNamespace(config=config, builder=builder)
    languages.add_folder(app, config)
    context = {"pageurl": f"{config.html_baseurl}chapters/x.html"}
    languages.offer_other_language(app, "chapters/x", "", context, None)
    offered = context.get("other_language", {})
    assert (offered.get("address"), offered.get("whole_address")) == (address, whole)


@pytest.mark.parametrize(
    ("language", "page", "is_said"),
    [
        ("zh_CN", "chapters/source/rope", True),
        ("zh_CN", "chapters/attention", False),
        ("en", "chapters/source/rope", False),
    ],
)
def test_a_page_that_nobody_translates_says_so_below_its_title(language, page, is_said):
    app = SimpleNamespace(config=SimpleNamespace(language=language))
    context = {"body": "<section><h1>Title</h1><p>Words.</p></section>"}
    languages.say_english(app, page, "", context, object())
    said = '</h1><p class="in-english" lang="zh-CN">' in context["body"]
    assert said is is_said
    assert context["body"].startswith('<div lang="en">') is is_said
    assert context["body"].count("<p>Words.</p>") == 1


def test_links_to_pages_in_english_have_the_titles_of_the_contents(monkeypatch):
    words = {"The workshop's model (NumPy)": "动手写的模型（NumPy）"}
    monkeypatch.setattr(languages, "_", lambda text: words.get(text, text))
    context = {"prev": {"title": "The workshop’s model (NumPy)"}, "next": None}
    languages.name_neighbours(None, "chapters/ledger", "", context, None)
    assert context["prev"]["title"] == "动手写的模型（NumPy）"
    assert languages.title_in_contents("It’s another page") == "It’s another page"


@pytest.mark.browser
def test_the_opening_page_leads_to_the_chosen_language_and_back(open_page, tmp_path):
    early = (SOURCES / "booksite" / "static" / "early.js").as_uri()
    link = '<script src="{}"{}></script><a hreflang="{}" href="{}">other</a>'
    (tmp_path / "zh").mkdir()
    english, other = tmp_path / "index.html", tmp_path / "zh" / "index.html"
    leads = ' data-translated="zh/index.html"'
    english.write_text(link.format(early, leads, "zh-CN", "zh/index.html"), encoding="utf-8")
    other.write_text(link.format(early, "", "en", "../index.html"), encoding="utf-8")
    page = open_page(english)
    page.locator("a").click()
    page.goto(f"{english.as_uri()}#here")
    page.wait_for_url("**/zh/index.html#here")
    page.locator("a").click()
    page.wait_for_url("**/index.html#here")
    page.reload()
    assert page.url == f"{english.as_uri()}#here"


@pytest.mark.browser
def test_the_other_language_opens_at_the_section_that_is_read(open_page, tmp_path):
    early = (SOURCES / "booksite" / "static" / "early.js").as_uri()
    sections = "".join(f'<section id="s{n}" style="height: 2000px"></section>' for n in range(3))
    link = '<a hreflang="zh-CN" href="other.html" style="position: fixed">other</a>'
    english = tmp_path / "page.html"
    english.write_text(f'<script src="{early}"></script>{link}<main>{sections}</main>')
    (tmp_path / "other.html").write_text(sections)
    page = open_page(english)
    page.evaluate("scrollTo(0, 2500)")
    page.locator("a").click()
    page.wait_for_url("**/other.html#s1")
    terms = '<dl><dt id="term-0">词</dt><dt id="term-word">word</dt><dd>Said.</dd></dl>'
    english.write_text(
        english.read_text().replace("</main>", f'{terms}<p style="height: 2000px"></main>')
    )
    page = open_page(english)
    page.evaluate("document.querySelector('#term-0').scrollIntoView()")
    page.locator("a").click()
    page.wait_for_url("**/other.html#term-word")
