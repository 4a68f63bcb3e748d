"""The texts of scripts: what a reader sees, and what is for the program."""

import pytest

from bookcheck.scripts import texts_of_script


def texts(code, is_figure=True):
    return [*texts_of_script(code, is_figure)]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('"use strict"; const TICKS = [[20, "1 MiB"], [30, "1 GiB"], [0, "4"]];',
         ["1 MiB", "1 GiB", "4"]),
        ("show(`${j}: 1/${2 ** j}`, phrase`score`)", ["${j}: 1/${2 ** j}", "score"]),
        ('tag("path", { d: `M${x} 7L0 ${y}Z`, class: "is-q", fill: "none" })', []),
        ('text(x, y, "exp"); text(x, y, "n − m");', ["exp", "n − m"]),
        ('if (way === "latent" || state["keys"]) colour("blue"); box.join(", ");', []),
        ('const MODELS = { "Llama 2-7B": 32, "two": 2, h200: "H200" };', ["Llama 2-7B", "H200"]),
        ('a / "b c".length / 2; x.replace(/"one"/g, two) // "three" `four`', ["b c"]),
        ("`${good ? phrase`Right.` : phrase`No.`} ${x({ a: 1 })} so`; `next one`",
         ["${good ? phrase`Right.` : phrase`No.`} ${x({ a: 1 })} so", "next one"]),
        ("draw('it\\'s less');", ["it\\'s less"]),
    ],
)  # fmt: skip
def test_texts_that_a_reader_may_see(code, found):
    assert texts(code) == found


def test_of_other_scripts_names_are_left_out():
    code = 'const KEYS = ["rope_theta", "one word"]; say(phrase`none`);'
    assert texts(code, is_figure=False) == ["one word", "none"]
    assert texts(code) == ["rope_theta", "one word", "none"]


def test_texts_that_changed_places_are_seen():
    labels = '["score", phrase`score of the key`], ["offset", phrase`offset of the key`]'
    exchanged = '["score", phrase`offset of the key`], ["offset", phrase`score of the key`]'
    assert sorted(texts(labels)) == sorted(texts(exchanged))
    assert texts(labels) != texts(exchanged)
