"""The texts of scripts: what a reader sees, and what stands beside it."""

import pytest

from bookcheck.scripts import lines_with_phrases


def texts(code):
    return [*lines_with_phrases(code)]


@pytest.mark.parametrize(
    "code",
    [
        'const TICKS = [[20, "1 MiB"], [30, "1 GiB"], [0, "4"]];',
        "show(`${j}: 1/${2 ** j}`, phrase`score`)",
        'text(x, y, "n − m");',
        'const MODELS = { "Llama 2-7B": 32, "two": 2 };',
        'const MODELS = { h200: "H200" };',
        'a / "b c".length / 2;',
        "say(`${good ? phrase`Right.` : phrase`No.`} ${x({ a: 1 })} so`);",
        "draw('it\\'s less');",
        "say(phrase`none`);",
    ],
)
def test_lines_with_texts_that_a_reader_may_see(code):
    assert texts(code) == [code]


@pytest.mark.parametrize(
    "code",
    [
        '"use strict";',
        'tag("path", { d: `M${x} 7L0 ${y}Z`, class: "is-q", fill: "none" })',
        'if (way === "latent" || state["keys"]) colour("blue"); box.join(", ");',
        'const KEYS = ["rope_theta"]; // "Three" `Four`',
    ],
)
def test_names_are_for_the_program(code):
    assert texts(code) == []


SCRIPT = """
const WAYS = {
  pre: ["x + f(norm(x))", 1], // the usual one
  post: ["norm(x + f(x))", 2],
};
const limit = 5;
function told(value) {
  const size = 2 * value;
  if (value > limit) {
    count += 1;
    say(
      size,
      phrase`too large`,
    );
  }
  return value === 1
    ? phrase`one`
    : phrase`several`;
}
define({
  name: "base",
  values: [100, 10000],
  label: phrase`b, base`,
});
"""


def test_a_text_comes_with_its_statement_and_what_opens_it():
    assert texts(SCRIPT) == [
        "const WAYS = {", 'pre: ["x + f(norm(x))", 1],', 'post: ["norm(x + f(x))", 2],',
        "function told(value) {", "if (value > limit) {", "say(", "size,", "phrase`too large`,",
        "return value === 1", "? phrase`one`", ": phrase`several`;",
        "define({", 'name: "base",', "values: [100, 10000],", "label: phrase`b, base`,",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('pre: ["x + f(norm(x))", 1], // the usual one\n  post',
         'post: ["x + f(norm(x))", 1],\n  pre'),
        ("value > limit", "value < limit"),
        ("value === 1", "value !== 1"),
        ("size,\n", "value,\n"),
        ("[100, 10000]", "[100, 1000]"),
        ('name: "base"', 'name: "length"'),
        ("? phrase`one`\n    : phrase`several`", "? phrase`several`\n    : phrase`one`"),
    ],
)  # fmt: skip
def test_what_is_beside_a_text_is_seen(right, wrong):
    assert SCRIPT.count(right) == 1
    assert texts(SCRIPT.replace(right, wrong)) != texts(SCRIPT)


def test_a_break_of_lines_between_words_is_kept_and_other_spaces_are_not():
    assert texts("say(phrase`one`,   // first\n    2);") == ["say(phrase`one`,", "2);"]
