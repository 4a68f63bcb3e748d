"""The texts of code: which statements say something to a reader, and what stands beside a text."""

import pytest

from bookcheck.cell_texts import descriptions_in, written_by
from bookcheck.numbers import sentences_of


def test_statements_with_texts_are_listed_without_comments_options_and_descriptions():
    code = (
        '"""What it does."""\n'
        'print("less, in GiB:", f"{size / 2**30:.1f} GiB", end="")  # "of both"\n'
        "count = len(rows)\n"
        'show(drawing, colour="b", rows={"the key": K["upper_half"]}, alt=f"It has {d} bars.")\n'
        'axes.tick_params(axis="x", labels=["a b"])\n'
        "axes.text(\n    0.5,\n    1,\n    'exact',\n    ha='left',\n)\n"
    )
    assert written_by(code) == [
        'print("less, in GiB:", f"{size / 2**30:.1f} GiB")',
        'show(drawing, rows={"the key": K["upper_half"]})',
        'axes.tick_params(labels=["a b"])',
        "axes.text(", "0.5,", "1,", "'exact',",
    ]  # fmt: skip


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
    )
    assert written_by(code) == [
        "def told(ratio):", "if ratio > 1:", "say('too large')", "elif ratio == 1:",
        "say('too small')",
    ]  # fmt: skip
    assert "def told(ratio):" not in written_by(code, signatures=False)


def test_signatures_and_fields_are_listed():
    code = (
        'class Cache:\n    size: int = 8\n\n    def keys(self) -> Float[Tensor, "b h n d"]:\n'
        "        found: int = 0\n        return found\n"
    )
    fields = ["size: int = 8", 'def keys(self) -> Float[Tensor, "b h n d"]:']
    assert written_by(code) == fields
    assert written_by(code, words=False, signatures=False) == fields[1:]


def test_descriptions_of_figures_have_what_they_compute():
    code = """show(drawing, alt=f"It rises after {rise} and is below {low[0, 1]:.{digits}f} from "
f"{negative}." + (" So it is." if so else ""))"""
    (description,) = descriptions_in(code)
    (one,) = sentences_of(description)
    assert one.kinds == "prose"
    assert one.text == (
        "It rises after {rise} and is below {low[0, 1]:.{digits}f} from {negative}."
        "{' So it is.' if so else ''}"
    )
    exchanged = code.replace("rise}", "x}").replace("{negative", "{rise").replace("x}", "negative}")
    assert [*descriptions_in(exchanged)] != [description]


@pytest.mark.parametrize(
    "code",
    [
        'frame(rows, columns=["keys", "values"])',
        'axes.plot(x, y, label="exact")',
        'FORMS = (("GELU", gelu, "-"), ("Swish", silu, ":"))',
        'rows = {"N": K["keys"], "d": table[:, "values"]}',
        'table[["time", "height"]]',
        'word = "yes" if x["error"] < 1 else "no"',
        'word = key if key == "copy" else f"{n} keys"',
        'show(K["Two words"])',
        "axes.set_yticks(range(len(names)), list(reversed(names)))",
        "for name, value in zip(names, values):",
        "match f'{kind} keys':",
    ],
)
def test_statements_that_say_something(code):
    case = "\n case 1:" if code.startswith("match") else ""
    body = f"{case}\n  pass" if code.endswith(":") else ""
    assert written_by(f"{code}{body}")[0] == code


@pytest.mark.parametrize(
    "code",
    [
        'axes.plot(x, y, "o-", color="blue")',
        '(BLUE, "--"), K["head", 2]',
        'color = chosen(color="red" if x else "blue")',
        'mark(", ".join(recorded("alike.jsonl")))',
        'found = kind == "copy"',
        'drawing.savefig(**{"fontsize": 8, "va": "top"})',
    ],
)
def test_names_that_are_keys_or_options_say_nothing(code):
    assert written_by(code) == []


def test_in_files_longer_texts_count_and_single_words_and_patterns_do_not():
    code = 'a = ["keys"]\nb = re.compile(r"A b")\nraise ValueError(f"{n} keys are missing")\n'
    assert written_by(code, words=False) == ['raise ValueError(f"{n} keys are missing")']
    assert 'a = ["keys"]' in written_by(code)
    assert written_by("BASE = 1e4\nbase = 1e4", words=False) == ["BASE = 1e4"]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('a = "yes" if error < 1e-9 else "no"', 'a = "no" if error < 1e-9 else "yes"'),
        ('a = "yes" if error < 1e-9 else "no"', 'a = "yes" if error > 1e-9 else "no"'),
        ('set_yticks([K, V], ["keys", "values"])', 'set_yticks([V, K], ["keys", "values"])'),
        ("set_yticks(range(4), reversed(names))", "set_yticks(range(4), names)"),
        ('print("keys:", keys, "values:", values)', 'print("keys:", values, "values:", keys)'),
        ('rows.append([g, keys, size])\nshow_table(rows, columns=["g", "keys", "size"])',
         'rows.append([g, size, keys])\nshow_table(rows, columns=["g", "keys", "size"])'),
        ('rows += [[keys, 2]]\nshow_table(rows, columns=["keys", "size"])',
         'rows += [[2, keys]]\nshow_table(rows, columns=["keys", "size"])'),
        ('call("of 2", LOGITS, 2.0)', 'call("of 2", LOGITS, 0.5)'),
        ("if n > 1:\n  print('several')", "if n < 1:\n  print('several')"),
        ('def f(x: Float[Tensor, "n d"]): pass', 'def f(x: Float[Tensor, "d n"]): pass'),
    ],
)  # fmt: skip
def test_what_is_beside_a_text_is_listed_with_it(right, wrong):
    assert written_by(right) != written_by(wrong)
    assert sorted(written_by(right)) != sorted(written_by(wrong))
