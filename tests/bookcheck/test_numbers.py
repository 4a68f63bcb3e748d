"""Numbers that nothing computes: what is listed, and which misprints the list shows."""

import pytest

from bookcheck import numbers
from bookcheck.numbers import changes, listings_of, main, quantities_of, remarks_of, texts_of


def phrases(markdown):
    return [one.phrase for text in texts_of(markdown) for one in quantities_of(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It has two heads.", ["has two heads"]),
        ("Two thirds of 1.3 million tokens.", ["two thirds of", "of 1.3 million tokens"]),
        ("A two-dimensional *and* **8-bit** one", ["A two-dimensional and", "and 8-bit one"]),
        ("From 16 to 512 (twice).", ["From 16 to", "to 512 twice"]),
        (
            "{value}`3 = x` layers and {value}`4 = y` of $n$ bytes",
            ["{value} layers", "of $n$ bytes"],
        ),
        ("It is $0.30$ in `a[3, 4]`.", ["is 0.30 in", "in `a[3, 4]`"]),
        (
            "So $q \\cdot k$, with $n = 4$ bytes",
            ["So $q \\cdot k$ with", "with $n = 4$ bytes"],
        ),
        ("| Symbol (chapters) |\n|---|\n| the width (21) |", ["width 21"]),
        ("| Llama 3 8B | 8 heads |\n|---|---|\n| a | 17 |", ["Llama 3 8B 8 heads", "a 17"]),
        ("[3, Heads](heads.ipynb) and [chapter 4](x.ipynb)", []),
        ("One head, the first of both, is no number.", []),
        ("```{quiz}\nWhy?\n\n- [x] Two\n  > It is 0.7.\n```", ["two", "is 0.7"]),
        ("```python\nx = 8\n```", []),
        (":::{figure} a.png\n:alt: x\n\nAll 19 of them.\n:::", ["All 19 of"]),
    ],
)
def test_numbers_are_found_with_their_neighbours(text, found):
    assert phrases(text) == found


def test_kinds():
    (text,) = texts_of("In float32, 2017 texts of 8 heads have two lengths, {value}`1 = x` nats.")
    kinds = ["name", "constant", "word", "unit"]
    assert [one.kind for one in quantities_of(text)] == kinds


def test_comments_docstrings_and_listings_are_read():
    code = 'x = "#8"  # (B, 2, N)\n"""Of four heads.\n\nAll 5."""\ny = 7'
    assert [*remarks_of(code)] == ["(B, 2, N)", "Of four heads.\n\nAll 5."]
    assert [*listings_of("```bash\nhint 1 2\n```\n\nAnd `x`.")] == ["hint 1 2"]


TEXT = (
    "It has two heads, from 16 to 512 keys; {value}`3 = x` GB of 1.3 million tokens, by $d_k$. "
    "So $a = b$ for $d_k$ of two heads, and then $c = d$ at last; {value}`4 = x` GB."
)


def of(markdown, place="cell [1]"):
    return [one for text in texts_of(markdown) for one in quantities_of(text, place)]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("has two", "has four"),
        ("has two", "has one"),
        ("two heads, from", "two tokens, from"),
        ("16 to 512", "512 to 16"),
        ("x` GB of", "x` MB of"),
        ("million", "billion"),
        ("1.3", "1.8"),
        ("by $d_k$", "by $d_v$"),
        # What the text has elsewhere too, and what changes places.
        ("for $d_k$ of", "for $d$ of"),
        ("x` GB.", "x` tokens."),
        ("$c = d$", "$a = b$"),
        ("So $a = b$ for $d_k$ of two heads, and then $c = d$",
         "So $c = d$ for $d_k$ of two heads, and then $a = b$"),
    ],
)  # fmt: skip
def test_a_misprint_is_told(right, wrong):
    known = [(one.phrase, one.kind) for one in of(TEXT)]
    assert [*changes("a-page", of(TEXT), known)] == []
    assert TEXT.count(right) == 1
    assert [*changes("a-page", of(TEXT.replace(right, wrong)), known)]


def test_a_message_names_the_cell_and_the_phrase():
    texts = ["From 16 keys. So $a = b$ here.", "And $c = d$ there. From 16 keys."]
    read = [one for n, text in enumerate(texts, start=1) for one in of(text, f"cell [{n}]")]
    known = [(one.phrase, one.kind) for one in read]
    gone, new = changes("a-page", of("From 16 keys. So $c = d$ here.") + read[2:], known)
    assert gone.startswith("a-page, cell [1]: “So $a = b$ here” is no longer said here: ")
    assert new.startswith("a-page, cell [1]: “So $c = d$ here” is not listed at this place: ")
    (gone,) = changes("a-page", read[:-1], known)
    assert gone.startswith("a-page, cell [2]: “From 16 keys” is no longer said here: ")


def test_the_command_writes_the_list_of_one_page(tmp_path, monkeypatch, capsys):
    page, file = tmp_path / "a.md", tmp_path / "numbers.tsv"
    page.write_text("It has two heads. It has 5 keys. It has two heads.", encoding="utf-8")
    file.write_text("a\thas three heads\tword\nb\t5 keys\tconstant\n", encoding="utf-8")
    monkeypatch.setattr(numbers, "pages", lambda: {"a": page, "b": page})
    monkeypatch.setattr(numbers, "listed", lambda: numbers.listed_in(file))
    monkeypatch.setattr(numbers, "NUMBERS", file)
    assert main(["a"]) == 1
    message = capsys.readouterr().out
    assert (
        "a: “has two heads” is not listed at this place: correct it, compute it with {" in message
    )
    assert "python -m bookcheck.numbers --list a" in message
    assert "a: “has three heads” is no longer said here" in message
    assert main(["--list", "a"]) == 0
    shown = "- a: has three heads\n+ a: has two heads\n+ a: has 5 keys\n+ a: has two heads\n"
    assert capsys.readouterr().out == shown
    two = "a\thas two heads\tword\n"
    stored = two + "a\thas 5 keys\tconstant\n" + two + "b\t5 keys\tconstant\n"
    assert file.read_text(encoding="utf-8") == stored
    assert main(["a"]) == 0
    assert "4 listed: 2 constant" in capsys.readouterr().out
