"""The search without a browser: the scripts of the site on a few sections."""

import json
import shutil

import pytest

from bookformat.paths import NODE_ROOM
from booksite.find import find, main, place, read_queries
from booksite.node.packages import ensure_packages
from booksite.search import LIBRARY, as_script

SEARCH = NODE_ROOM.parent / "static" / "search.js"
STATE = "A running maximum corrects the sums of the softmax, which is online."
HOW = "repeat_kv;how to share"
SECTIONS = {
    "chapters/blocks": [
        "Attention in blocks",
        [
            ["one-state", "One state, one merge", "section", STATE, "tiles"],
            ["memory", "What it saves", "section", "No scores are stored.", "sram bandwidth"],
        ],
    ],
    "chapters/glossary": [
        "Glossary",
        [
            ["term-*", "online softmax", "entry", "Softmax over scores that arrive.", ""],
            ["term-*", "paged cache", "entry", "A cache in small pages.", ""],
        ],
    ],
    "chapters/api": ["The library", [["lib.online", "online_softmax()", "reference", "It.", ""]]],
    "chapters/cache": [
        "The cache",
        [
            ["", "The cache", "page", "Keys and values are kept.", ""],
            ["*", "Share: grouped queries", "section", "Heads share keys.", "", HOW],
            ["what-to-remember", "What to remember", "summary", "A plain cache. Heads.", ""],
            ["plain", "Code to take away", "section", "A plain cache. Heads.", ""],
        ],
    ],
    "chapters/clocks": ["Clocks", [["*", "Does it repeat?", "section", "It does not.", ""]]],
    "chapters/serving": [
        "Serving",
        [
            ["*", "One server", "section", "Readers come.", ""],
            ["slow", "When is it slow?", "section", "It waits.", "", "why is the saturation high"],
            ["*", "Why share?", "section", "All come first.", ""],
        ],
    ],
    "chapters/keys": [
        "Keys",
        [["key-*", "attn_logit_softcapping", "key", "the soft cap of the scores", ""]],
    ],
}
TERMS = {
    "online softmax": ["chapters/blocks", "one-state"],
    "paged cache": ["chapters/serving", "one-server"],
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site of a few sections, with the scripts of the real one."""
    ensure_packages(NODE_ROOM)
    folder = tmp_path_factory.mktemp("site")
    static = folder / "_static"
    static.mkdir()
    shutil.copy(SEARCH, static)
    shutil.copy(LIBRARY, static / "minisearch.js")
    data = {"bookSections": SECTIONS, "bookTerms": TERMS}
    lines = [f"globalThis.{name} = {as_script(value)};" for name, value in data.items()]
    (static / "search-data.js").write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_the_section_of_a_term_comes_before_its_entry(site):
    (found,) = find(["online softmax"], site)
    assert [place(one) for one in found[:2]] == [
        "chapters/blocks.html#one-state",
        "chapters/glossary.html#term-online-softmax",
    ]


def test_a_section_without_the_term_comes_after_the_entry_that_names_it(site):
    (found,) = find(["Paged caches"], site)
    assert [place(one) for one in found[:2]] == [
        "chapters/glossary.html#term-paged-cache",
        "chapters/serving.html#one-server",
    ]


def test_a_part_of_a_name_in_code_finds_the_name(site):
    found = find(["softcapping", "logit softcapping", "softcaping"], site)
    firsts = {place(one[0]) for one in found}
    assert firsts == {"chapters/keys.html#key-attn-logit-softcapping"}


def test_what_readers_call_a_thing_finds_it_alone(site):
    # The word is one name, so its parts, "repeat" and "kv", do not count.
    (found,) = find(["repeat_kv"], site)
    assert [place(one) for one in found] == ["chapters/cache.html#share-grouped-queries"]


def test_what_readers_call_a_section_comes_first_and_is_shown(site):
    ((first, *_),) = find(["saturated"], site)
    assert place(first) == "chapters/serving.html#slow"
    assert first["shown"] == "It waits. … saturation"


def test_a_question_leads_to_what_answers_it_so(site):
    found = find(["why share", "how to share"], site)
    firsts = [one[0]["anchor"] for one in found]
    assert firsts == ["why-share", "share-grouped-queries"]


def test_a_section_comes_before_the_summary_that_repeats_it(site):
    (found,) = find(["plain"], site)
    assert [one["kind"] for one in found] == ["section", "summary"]


@pytest.mark.parametrize("query", ["gqa", "grouped-query attention", "Grouped Queries"])
def test_a_name_is_found_and_marked_in_every_writing(site, query):
    ((first, *_),) = find([query], site)
    assert place(first) == "chapters/cache.html#share-grouped-queries"
    assert "grouped queries" in first["marked"]


@pytest.mark.parametrize("query", ["bandwid", "batch bandwidthin"])
def test_an_unfinished_last_word_finds_what_it_begins(site, query):
    ((first, *_),) = find([query], site)
    assert place(first) == "chapters/blocks.html#memory"


def test_words_that_the_shown_text_lacks_are_shown_behind_it(site):
    ((first, *_),) = find(["bandwidth"], site)
    assert first["shown"] == "No scores are stored. … bandwidth"
    assert first["marked"] == ["bandwidth"]


def test_a_word_that_no_section_has_finds_nothing(site):
    assert find(["zeppelin"], site) == [[]]


def test_a_mistyped_word_finds_what_was_meant(site):
    ((first, *_),) = find(["bandwith"], site)
    assert place(first) == "chapters/blocks.html#memory"


def test_the_command_prints_the_first_results_as_text_or_json(site, tmp_path, capsys):
    file = tmp_path / "queries.json"
    file.write_text(json.dumps(["keys and values"]), encoding="utf-8")
    given = ["--queries", str(file), "--top", "1", "--site", str(site)]
    main(given)
    assert capsys.readouterr().out == "keys and values\n  1. The cache  chapters/cache.html\n"
    main([*given, "--json"])
    (row,) = json.loads(capsys.readouterr().out)
    assert row["query"] == "keys and values"
    assert [one["place"] for one in row["results"]] == ["chapters/cache.html"]


def test_queries_are_a_list_in_json_or_lines(tmp_path):
    file = tmp_path / "queries.txt"
    file.write_text("kv cache\n\nwhy √d\n", encoding="utf-8")
    assert read_queries(file) == ["kv cache", "why √d"]
    file.write_text('["kv cache", 3]', encoding="utf-8")
    with pytest.raises(ValueError, match="list of texts"):
        read_queries(file)


def test_without_a_built_site_the_command_says_what_to_do(tmp_path):
    with pytest.raises(SystemExit, match="make book"):
        main(["cache", "--site", str(tmp_path)])


def test_a_script_that_fails_is_said(site, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(site, broken)
    (broken / "_static" / "search.js").write_text("throw new Error('broken')", encoding="utf-8")
    with pytest.raises(RuntimeError, match="broken"):
        find(["cache"], broken)
