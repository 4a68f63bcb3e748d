"""Which letters are a query, a key, a value, a score."""

import re

from bookcheck.site.roles import bare_symbols


def roles(html):
    shown = html.split('<span class="katex-html"')[1]
    return re.findall(r"\bis-[qkvs]\b", shown)


def test_letters_are_roles_only_where_the_chapter_uses_them_so():
    assert bare_symbols(8) == []
    assert ("k", "is-k") in bare_symbols(10)
    assert "v" not in dict(bare_symbols(10))


def test_a_letter_and_its_coordinates_are_marked(katex):
    symbols = tuple(bare_symbols(2))
    assert roles(katex.render("q \\cdot k = q_a k_a", display=True, symbols=symbols)) == [
        "is-q",
        "is-k",
        "is-q",
        "is-k",
    ]
    # The k of a length is a part of its name, and a decorated letter is another thing.
    named = katex.render("\\hat{q} / \\sqrt{d_k}", display=True, symbols=(("d_k", "sy2"), *symbols))
    assert roles(named) == []


def test_a_symbol_may_have_a_meaning_and_a_role(katex):
    html = katex.render("q_m", display=False, symbols=(("q_m", "sy3 is-q"),))
    assert 'class="enclosing sy3 is-q"' in html
