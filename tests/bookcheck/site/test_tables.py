"""Tables of outputs as the page shows them."""

import pytest

from bookcheck.site.tables import aligned_tables, grouped, is_numeric, padded, symbols, typeset


def table(head, *rows, named=True):
    cells = "".join(f'<th scope="col">{name}</th>' if name else "<td></td>" for name in head)
    body = ""
    for first, *others in rows:
        first = f'<th scope="row">{first}</th>' if named else f"<td>{first}</td>"
        body += f"<tr>{first}{''.join(f'<td>{cell}</td>' for cell in others)}</tr>\n"
    return (
        f'<table class="book-table">\n<thead><tr>{cells}</tr></thead>\n'
        f"<tbody>\n{body}</tbody>\n</table>"
    )


def test_words_stay_left_and_numbers_meet_at_the_point():
    page = aligned_tables(table(["", "way", "size"], ["a", "left", "-0.710"], ["b", "right", "12"]))
    assert '<td class="number">−0.710</td>' in page
    assert '<td class="number">12\u2008\u2007\u2007\u2007</td>' in page
    assert "<td>left</td>" in page
    assert '<th scope="col" class="number">size</th>' in page


def test_a_column_with_one_word_is_no_column_of_numbers():
    assert is_numeric(["1", "2.5", "–", "-3e-05", "12%"])
    assert is_numeric(["1", "2", "4", "1,000 / 10"])
    assert not is_numeric(["1", "none"])
    assert not is_numeric(["–", ""])
    assert not is_numeric(["(1, 0)"])


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("-1", "−1"),
        ("(-1, 0)", "(−1,\u00a00)"),
        ("a layer (1, 2) of two words (a, b)", "a layer (1,\u00a02) of two words (a, b)"),
        ("n - m", "n − m"),
        ("pre-norm", "pre-norm"),
        ("GPT-2", "GPT-2"),
        ("131072", "131,072"),
        ("16,384", "16,384"),
        ("config.py@2685705, #25104", "config.py@2685705, #25104"),
        ("0.12345", "0.12345"),
        ("2017", "2017"),
        ("3e-05", "3e-05"),
    ],
)
def test_signs_and_thousands(stored, shown):
    assert typeset(stored) == shown


def test_places_are_filled_only_behind_numbers():
    assert padded("1.5", 3) == "1.5\u2007\u2007"
    assert padded("–", 2) == "–"
    assert grouped("1234567 of 8") == "1,234,567 of 8"


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("d_k", "<i>d</i><sub>k</sub>"),
        ("2^-τ", "2<sup>−τ</sup>"),
        ("q", '<span class="is-q"><i>q</i></span>'),
        ("score", '<span class="is-s">score</span>'),
        ("rotate_half", "rotate_half"),
        ("a head", "a head"),
        ("no root, N = 64", "no root, <i>N</i>\u00a0=\u00a064"),
        ("2 × 16384", "2\u00a0×\u00a016384"),
        ("√(2 ln N)", "√(2\u00a0ln\u00a0<i>N</i>)"),
        ("Llama 2", "Llama 2"),
    ],
)
def test_symbols_are_set_as_symbols(stored, shown):
    assert symbols(stored) == shown


def test_thousands_are_written_one_way_in_a_table():
    page = aligned_tables(
        table(
            ["", "width", "year", "length"],
            ["a", "4096", "2017", "1024"],
            ["b", "16384", "2023", "512"],
        )
    )
    assert ">1,024</td>" in page
    assert ">4,096</td>" in page
    assert ">16,384</td>" in page
    assert ">2017</td>" in page


def test_powers_of_ten_are_written_out():
    page = aligned_tables(table(["", "size"], ["a", "9.2e-07"], ["b", "2.5e+03"]))
    assert ">9.2·10<sup>−7</sup></td>" in page
    assert ">2.5·10<sup>3</sup></td>" in page


def test_tables_of_the_text_are_left_alone():
    page = "<table class='table'><tr><td>-1</td></tr></table>"
    assert aligned_tables(page) == page


def test_a_power_of_0_is_not_written():
    page = aligned_tables(table(["", "size"], ["a", "4.7e+00"], ["b", "2.5e+03"], ["c", "1.0e-10"]))
    assert '<td class="number">4.7</td>' in page
    assert "2.5·10<sup>3</sup>" in page
    assert "1.0·10<sup>−10</sup>" in page


def test_long_texts_are_marked_and_names_and_numbers_are_not():
    long = "steps that look at the mirrored place"
    page = aligned_tables(table(["", "what it is"], [long, "16 key-value heads"], ["to", "one"]))
    assert f'<th scope="row" class="words">{long}</th>' in page
    assert '<td class="words">16 key-value heads</td>' in page
    assert '<th scope="row">to</th><td>one</td>' in page
