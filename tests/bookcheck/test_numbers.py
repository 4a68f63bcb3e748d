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
        ("So $q \\cdot k$, with $n = 4$ bytes", ["So $q \\cdot k$ with", "$ bytes"]),
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


TEXT = "It has two heads, from 16 to 512 keys; {value}`3 = x` GB of 1.3 million tokens, by $d_k$."


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("two", "four"),
        ("two", "one"),
        ("two heads", "two tokens"),
        ("16 to 512", "512 to 16"),
        ("GB", "MB"),
        ("million", "billion"),
        ("1.3", "1.8"),
        ("d_k", "d_v"),
    ],
)
def test_a_misprint_is_told(right, wrong):
    known = {one.phrase: one.kind for text in texts_of(TEXT) for one in quantities_of(text)}
    read = [one for text in texts_of(TEXT) for one in quantities_of(text)]
    assert changes("a-page", read, known) == []
    changed = [one for text in texts_of(TEXT.replace(right, wrong)) for one in quantities_of(text)]
    assert changes("a-page", changed, known)


def test_the_command_writes_the_list_of_one_page(tmp_path, monkeypatch, capsys):
    page, file = tmp_path / "a.md", tmp_path / "numbers.tsv"
    page.write_text("It has two heads.", encoding="utf-8")
    file.write_text("a\thas three heads\tword\nb\t5 keys\tconstant\n", encoding="utf-8")
    monkeypatch.setattr(numbers, "pages", lambda: {"a": page, "b": page})
    monkeypatch.setattr(numbers, "listed", lambda: numbers.listed_in(file))
    monkeypatch.setattr(numbers, "NUMBERS", file)
    assert main(["a"]) == 1
    message = capsys.readouterr().out
    assert "a: “has two heads” is not listed: correct it, compute it with {value}" in message
    assert "python -m bookcheck.numbers --list a" in message
    assert "a no longer says “has three heads”" in message
    assert main(["--list", "a"]) == 0
    assert capsys.readouterr().out == "+ a: has two heads\n- a: has three heads\n"
    assert file.read_text(encoding="utf-8") == "a\thas two heads\tword\nb\t5 keys\tconstant\n"
