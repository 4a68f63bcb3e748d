"""The translations of the book: what stays the same in them, and how they reach the page."""

import re
import shutil
from types import SimpleNamespace

import pytest
from babel.messages.pofile import write_po
from playwright.sync_api import expect
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from bookformat.paths import BUILD, SOURCES, STATIC
from bookformat.records import Record, read_records, write_record
from booksite import languages
from booksite.translation import __main__ as command
from booksite.translation import catalogs, sources
from booksite.translation.messages import Notes, spans_of, translate_notebook, translate_text
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
    '{value}`larger = "larger" if x else "smaller"` than {value}`2 = y / 1e6` million.'
)
RIGHT = (
    "词元有 10 个 $q$ 中的 {value}`3 = len(x)` 个，代码是 `code`，见 {eq}`eq-one`、"
    "{term}`头 <head>`、{cite:p}`su2021` 和[那里](attention.ipynb#a-place)，2026 年 5 月 17 日；"
    '它比 {value}`200 = y / 1e6` 万{value}`更大 = "larger" if x else "smaller"`。'
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("$q$", "$k$"),
        ("3 = len(x)", "4 = len(x)"),
        ("3 = len(x)", "3 = len(y)"),
        ("10 个", "12 个"),
        ("5 月", "6 月"),
        ("200 =", "20 ="),
        ("` 万", "` 亿"),
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


@pytest.mark.parametrize("page", catalogs.pages(), ids=lambda page: page.stem)
def test_translations_keep_what_must_not_change(page):
    found = catalogs.status(page, "zh_CN")
    open_ones = len(found["missing"]) + len(found["outdated"])
    if open_ones:
        print(f"{page.name}: {open_ones} messages are shown in English")
    assert found["wrong"] == []


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


def test_the_translated_sources_keep_the_names_of_headings(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "BUILD", tmp_path)
    sources.write_sources(tmp_path / "book", "zh_CN")
    page = (tmp_path / "book" / "chapters" / "short-road.ipynb").read_text(encoding="utf-8")
    assert "# 捷径：从注意力到 RoPE" in page
    assert sources.slug("旋转查询和键") == "rotate-the-queries-and-the-keys"
    assert sources.slug("No such heading") == "no-such-heading"
    assert "注意力" in (tmp_path / "book" / "_toc.yml").read_text(encoding="utf-8")
    page = (tmp_path / "book" / "chapters" / "attention.ipynb").read_text(encoding="utf-8")
    assert "（英文）](deeper/edge-cases.ipynb" in page
    assert "（英文）](many-heads.ipynb" not in page


def test_outdated_and_missing_translations_leave_english_on_the_page(tmp_path, monkeypatch):
    places = tmp_path / "locale"
    shutil.copytree(catalogs.LOCALE, places)
    monkeypatch.setattr(catalogs, "LOCALE", places)
    monkeypatch.setattr(sources, "BUILD", tmp_path)
    page = catalogs.ROOT / "index.md"
    outdated, missing = [
        message
        for message in catalogs.messages_of(page)
        if message.startswith(("Two sentences go with you", "`make test` checks"))
    ]
    old = catalogs.translations(page, "zh_CN")
    catalog = catalogs.read_catalog(page, "zh_CN")
    catalog.get(outdated).flags.add("fuzzy")
    catalog.get(missing).string = ""
    with catalogs.file_of(page, "zh_CN").open("wb") as file:
        write_po(file, catalog)
    assert catalogs.status(page, "zh_CN")["outdated"] == [outdated]
    sources.write_sources(tmp_path / "book", "zh_CN")
    text = (tmp_path / "book" / "index.md").read_text(encoding="utf-8")
    for message in (outdated, missing):
        assert f"{message} {{in-english}}`（此段尚未翻译，暂为英文）`\n" in text
        assert old[message] not in text
    assert text.count("{in-english}") == 2
    # Pages that nobody translates have no notes.
    deeper = tmp_path / "book" / "chapters" / "deeper" / "edge-cases.ipynb"
    assert "{in-english}" not in deeper.read_text(encoding="utf-8")


def test_the_translated_site_gets_the_record_of_the_tests(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "BUILD", tmp_path / "_build")
    monkeypatch.setattr(sources, "RECORDS", tmp_path / "_build" / "equations")
    record = Record("eq-score", "a = b")
    write_record(record, sources.RECORDS)
    sources.write_sources(tmp_path / "book", "zh_CN")
    assert read_records(tmp_path / "book" / "_build" / "equations") == {"eq-score": record}


def test_all_that_scripts_say_has_a_translation():
    scripts = [*STATIC.rglob("*.js"), *(SOURCES / "booksite").glob("*/**/*.js")]
    texts = [
        path.read_text(encoding="utf-8") for path in scripts if "node_modules" not in path.parts
    ]
    said = {text for script in texts for text in re.findall(r"phrase`([^`]*)`", script)}
    assert len(said) > 100
    words = (catalogs.LOCALE / "zh_CN" / "words.js").read_text(encoding="utf-8")
    known = dict(re.findall(r'^    "(.*?)": "(.*)",$', words, re.MULTILINE))
    holes = re.compile(r"\{\d\}|\$\{[^}]*\}")
    assert {holes.sub("{}", text) for text in said} == {holes.sub("{}", text) for text in known}
    assert all(sorted(holes.findall(one)) == sorted(holes.findall(known[one])) for one in known)
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
    page.reload()
    assert page.url == english.as_uri()
