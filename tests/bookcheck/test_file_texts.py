"""The texts of Python files: which statements say something to a reader, with all their lines."""

import pytest

from bookcheck.file_texts import lines_with_texts


def lines(code):
    return [*lines_with_texts(code)]


def test_statements_with_texts_are_listed_with_all_of_their_lines():
    code = (
        '"""What it does."""\n'
        'print("less, in GiB:", f"{size / 2**30:.1f} GiB", end="")  # of both\n'
        "count = len(rows)\n"
        "say(\n    0.5,  # half\n    'exactly so',\n)\n"
    )
    first = 'print("less, in GiB:", f"{size / 2**30:.1f} GiB", end="")  # of both'
    assert lines(code) == [first, "say(", "    0.5,  # half", "    'exactly so',", ")"]


def test_what_a_statement_stands_in_is_listed_with_it():
    code = (
        "def told(ratio):\n"
        "    for key in keys:\n"
        "        if ratio > 1:\n"
        "            total = 2\n"
        "            say('too large')\n"
        "        elif ratio == 1:\n"
        "            return True\n"
        "        else:\n"
        "            say('too small')\n"
        "    match ratio:\n"
        "        case 1:\n"
        "            say('as large')\n"
        "    if not ratio: say('no ratio')\n"
    )
    assert lines(code) == [
        "        if ratio > 1:", "            say('too large')", "        elif ratio == 1:",
        "            say('too small')", "    match ratio:", "        case 1:",
        "            say('as large')", "    if not ratio: say('no ratio')",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "code",
    ['a = ["keys"]', "b = x['upper_half']", 'c = ", ".join(d)', "class A:\n    '''Of b.'''"],
)
def test_single_words_and_docstrings_do_not_count(code):
    assert lines(code) == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('a = "It is." if error < 1e-9 else "No"', 'a = "No" if error < 1e-9 else "It is."'),
        ('a = "It is." if error < 1e-9 else "No"', 'a = "It is." if error > 1e-9 else "No"'),
        ('print("keys: ", keys, "values: ", values)', 'print("keys: ", values, "values: ", keys)'),
        ('call("of 2", LOGITS, 2.0)', 'call("of 2", LOGITS, 0.5)'),
        ("if n > 1:\n  print('several keys')", "if n < 1:\n  print('several keys')"),
    ],
)
def test_what_is_beside_a_text_is_listed_with_it(right, wrong):
    assert lines(right) != lines(wrong)
