"""What checks say in another language: sentences with parts, and what the table lacks."""

import json
import re

import pytest
from tests.bookkit.test_exercises import SPOILT, function_of

from bookkit import saying
from bookkit.saying import said
from bookkit.workshop.checking import NO_LIST, PLAIN, SEVERAL_ARRAYS, report
from bookkit.workshop.checking import Verdict as Told
from bookkit.workshop.errors import MEANINGS
from bookkit.workshop.probes import STEPS, probes_of
from bookkit.workshop.signatures import all_stored
from bookkit.workshop.steps import CHAPTERS, HINTS

TABLE = {
    "Tried: {}. {}": "试的是：{}。{}",
    "{} rows": "{} 行",
    "{} of {} rows": "{1} 行中的 {0} 行",
    "It is {}.": "是 {}。",
    "red": "红",
}


@pytest.fixture
def language(tmp_path, monkeypatch):
    (tmp_path / "xx.json").write_text(json.dumps(TABLE), encoding="utf-8")
    monkeypatch.setattr(saying, "__file__", str(tmp_path / "saying.py"))
    monkeypatch.setenv(saying.VARIABLE, "xx")
    saying.table_of.cache_clear()
    yield
    saying.table_of.cache_clear()


@pytest.mark.parametrize(
    ("sentence", "other"),
    [
        ("red", "红"),
        ("Tried: 3 rows. It is red.", "试的是：3 行。是 红。"),
        ("Tried: 2 of 3 rows. It is 1.5.", "试的是：3 行中的 2 行。是 1.5。"),
        ("It is green.", "是 green。"),
        ("Another sentence", "Another sentence"),
    ],
)
@pytest.mark.usefixtures("language")
def test_a_sentence_is_looked_up_with_its_parts(sentence, other):
    assert said(sentence) == other


@pytest.mark.parametrize("name", ["", "en", "../xx", "yy"])
@pytest.mark.usefixtures("language")
def test_without_a_table_a_sentence_stays_as_it_is(name, monkeypatch):
    monkeypatch.setenv(saying.VARIABLE, name)
    assert said("Tried: 3 rows. It is red.") == "Tried: 3 rows. It is red."


@pytest.fixture
def _chinese(monkeypatch):
    monkeypatch.setenv(saying.VARIABLE, "zh_CN")


def sentences_of_the_workshop():
    """All that its checks and hints can say about a mistake, apart from names and numbers."""
    for function, numbers in all_stored().items():
        for mistake in numbers["mistakes"]:
            yield f"Not right yet: {mistake['says']}."
            yield mistake["look"]
        yield from HINTS[function]
        yield from (probe.words for probe in probes_of(function))
    yield from (f"Not right yet: {says}" for says in PLAIN.values())
    yield from (f"Not right yet: {says}." for says in (NO_LIST, SEVERAL_ARRAYS))
    yield from (f"Not right yet: {says}." for _, _, says in MEANINGS)
    yield from (f"the chapter “{title}” explains it ({file})." for title, file in CHAPTERS)


# Names, and settings such as d_k = 8 and top_p = 0.6.
NOT_ENGLISH = re.compile(r"`[^`]*`|\"[^\"]*\"|\([^()]*\)|\w+ = [\d.]+")
# Two words of English in a row: one may be the name of a function.
ENGLISH = re.compile(r"\b[A-Za-z]{2,} [a-z]{2,}\b")


@pytest.mark.slow  # who adds a mistake to the workshop adds its words to zh_CN.json
@pytest.mark.usefixtures("_chinese")
def test_the_workshop_says_everything_in_chinese():
    left = []
    for sentence in sentences_of_the_workshop():
        english = NOT_ENGLISH.sub("", said(sentence))
        if english == NOT_ENGLISH.sub("", sentence) != "" or ENGLISH.search(english):
            left.append(sentence)
    assert left == []


@pytest.mark.usefixtures("_chinese")
def test_a_report_is_in_chinese():
    told = Told("attend", "wrong", "Not right yet: k is not transposed.", "Tried: two heads. No.")
    lines = report(2, [Told("softmax", "right", "Right: all 9 trials agree."), told])
    assert lines == [
        "第 2 步：注意力",
        "  ✓ softmax：正确，全部 9 次测试都一致。",
        "  ✗ attend：还不对：k is not transposed。",
        "      测试：两个头。No.",
    ]
    assert len(STEPS) == len({report(step, [])[0] for step in range(1, len(STEPS) + 1)})


@pytest.mark.slow
@pytest.mark.usefixtures("_chinese")
@pytest.mark.parametrize("name", SPOILT)
def test_the_exercises_say_everything_in_chinese(name):
    from bookkit.exercises import verdict

    for old, new, _word in SPOILT[name]:
        told = verdict(name, function_of(name, old, new))
        raised = re.search(r"出错：", told)
        words = NOT_ENGLISH.sub("", told[: raised.start()] if raised else told)
        assert not ENGLISH.search(words), told
