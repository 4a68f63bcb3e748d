"""The texts of a cell's code: what a reader sees, and which names are keys or options."""

import pytest

from bookcheck.cell_texts import descriptions_in, written_by
from bookcheck.numbers import sentences_of


def test_texts_that_code_prints_or_draws_are_read():
    code = (
        '"""What it does."""\n'
        'print("less, in GiB:", f"{size / 2**30:.1f} GiB", end="")\n'
        'axes.set_title(f"$d$ is {d}")\n'
        'show(drawing, colour="b", rows={"the key": K["upper_half"]}, alt=f"It has {d} bars.")\n'
    )
    assert [*written_by(code)] == [
        "less, in GiB:", 'f"{size / 2**30:.1f} GiB"', 'f"$d$ is {d}"',
        '"the key": K["upper_half"]',
    ]  # fmt: skip


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
    ("code", "found"),
    [
        ('frame(rows, columns=["keys", "values"])', ["keys", "values"]),
        ('axes.plot(x, y, "o-", color="blue")', []),
        ('axes.plot(x, y, "o-", label="exact")', ['axes.plot(x, y, "o-", label="exact")']),
        ('(("GELU", gelu, "-"), ("Swish", silu, ":"))',
         ['("GELU", gelu, "-")', '("Swish", silu, ":")']),
        ('(BLUE, "--"), K["head", 2]', []),
        ('axes.annotate("1/4", at, ha="left", arrowprops={"arrowstyle": "->"})', ["1/4"]),
        ('axes.text(0, 1, "exact", **{"fontsize": 8, "va": "top"})', ["exact"]),
        ('rows = {"N": K["keys"], "d": table[:, "values"]}',
         ['"N": K["keys"]', '"d": table[:, "values"]']),
        ('table[["time", "height"]]', ["time", "height"]),
        ('word = "yes" if x["error"] < 1 else "no"', ['"yes" if x["error"] < 1 else "no"']),
        ('word = key if key == "copy" else f"{n} keys"',
         ['key if key == "copy" else f"{n} keys"']),
        ('color = chosen(color="red" if x else "blue")', []),
        ('"✓" in marks; mark(", ".join(recorded("alike.jsonl")), "–")', ["–"]),
        ('{"keys": "first", "values": "second"}',
         ['"keys": "first"', '"values": "second"']),
        ('show(K["Two words"])', ["Two words"]),
    ],
)  # fmt: skip
def test_single_words_are_read_where_they_are_no_keys_and_no_options(code, found):
    assert written_by(code) == found


def test_what_chooses_a_text_is_listed_with_it():
    right = '"yes" if error < 1e-9 else "no"'
    for wrong in ('"no" if error < 1e-9 else "yes"', '"yes" if error > 1e-9 else "no"'):
        assert written_by(right) != written_by(wrong)
