"""The source of a library function stands where a chapter first uses it, once, if it is short."""

import inspect

from attention_to_rope import MultiHeadAttention, softmax
from bookcheck.site.library_source import LONGEST, sources_to_show

IMPORT = "from attention_to_rope import softmax"


def names(cells):
    return [[name for name, _ in here] for here in sources_to_show(cells)]


def test_the_first_visible_use_shows_the_source_once():
    cells = [(IMPORT, True), ("p = softmax(x)", True), ("q = softmax(y)", True)]
    assert names(cells) == [[], ["softmax"], []]
    assert sources_to_show(cells)[1][0][1] == inspect.getsource(softmax).rstrip()


def test_a_use_in_folded_code_does_not_count():
    cells = [(f"{IMPORT}\nsoftmax(x)", False), ("softmax(x)", True)]
    assert names(cells) == [[], ["softmax"]]


def test_other_names_and_lines_of_ipython_are_left_alone():
    assert names([("import torch\ntorch.ones(2)", True), ("%time x", True)]) == [[], []]
    assert names([("softmax = abs\nsoftmax(1)", True)]) == [[]]


def test_every_way_to_import_is_followed():
    for cell in (
        f"{IMPORT} as weights\nweights(x)",
        "from attention_to_rope.scaled_dot_product import softmax\nsoftmax(x)",
    ):
        [[(_, text)]] = sources_to_show([(cell, True)])
        assert text.startswith("def softmax("), cell
    assert names([("from other import softmax\nsoftmax(x)", True)]) == [[]]


def test_what_is_longer_than_a_screen_is_left_to_the_reference():
    assert len(inspect.getsource(MultiHeadAttention).splitlines()) > LONGEST
    cell = "from attention_to_rope import MultiHeadAttention\nMultiHeadAttention(8, 2)"
    assert names([(cell, True)]) == [[]]
