"""Words of a display that no statement has: refused, unless they name a value or have a reason."""

import pytest

from texcheck import RefutedError
from texcheck.formulas import Check
from texcheck.mutate import verdicts_of
from texcheck.remarks import remarks_of, without

BRACES = r"F = \underbrace{2 N^2 d}_{\text{the scores}} + \overbrace{N d}^{\text{the rest}}"
COLUMN = (
    r"\begin{aligned} F &= 2 N^2 d + N d && \text{by counting} \\ &= (2 N + 1) N d \end{aligned}"
)
TAG = r"F = 2 N^2 d + N d \tag{each row}"
PLAIN = "F = 2 N^2 d + N d"


def counts(rng):
    N, d = (int(size) for size in rng.integers(3, 40, size=2))
    return {"N": N, "d": d, "F": 2 * N * N * d + N * d}


def named(rng):
    values = counts(rng)
    scores = 2 * values["N"] ** 2 * values["d"]
    return {**values, r"\text{the scores}": scores, r"\text{the rest}": values["F"] - scores}


def check(binding=counts, **options):
    return Check("words", binding, {}, **options)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BRACES, ["the scores", "the rest"]),
        (COLUMN, ["by counting"]),
        (TAG, ["each row"]),
        (PLAIN, []),
        (PLAIN + r" \tag{3a}", []),
        (PLAIN + r" \quad \text{for} \quad N > 1", []),
    ],
)
def test_words_of_no_statement_are_found(text, words):
    assert [remark.words for remark in remarks_of(text)] == words


def test_a_display_is_read_without_its_words():
    assert without(BRACES) == "F = {2 N^2 d} + {N d}"
    assert without(TAG).strip() == PLAIN


@pytest.mark.parametrize("text", [BRACES, COLUMN, TAG])
def test_words_that_nothing_executes_are_refused_unless_they_have_a_reason(text):
    words = [remark.words for remark in remarks_of(text)]
    with pytest.raises(RefutedError, match=f"nothing executes the words “{words[0]}”") as error:
        check().run(text)
    assert f'remark={{"{words[0]}": "why"}}' in str(error.value)
    excused = check(remark=dict.fromkeys(words, "It is counted so."))
    excused.run(text)
    with pytest.raises(RefutedError, match="nothing executes the words “other words”"):
        excused.run(text.replace(words[0], "other words"))
    assert all(one.caught for one in verdicts_of(excused, text))
    assert all(one.caught for one in verdicts_of(excused, text, everywhere=True))


def test_words_below_a_brace_name_a_value_of_the_draws():
    check(named).run(BRACES)
    with pytest.raises(RefutedError, match=r"the words “the scores”: .* fails"):
        check(named).run(BRACES.replace("{2 N^2 d}", "{3 N^2 d}").replace("N d}^", "N d - N^2 d}^"))
    found = verdicts_of(check(named), BRACES, everywhere=True)
    assert "exchange words everywhere: the scores ↔ the rest" in [
        one.mutant.change for one in found
    ]
    assert all(one.caught for one in found)


def test_two_words_of_one_value_could_be_exchanged():
    """The reader would not see it in the numbers: this needs a reason."""
    text = r"F = \underbrace{N d}_{\text{the scores}} + \underbrace{d N}_{\text{the rest}} + d"

    def values(rng):
        known = counts(rng)
        half = known["N"] * known["d"]
        return {
            **known,
            "F": 2 * half + known["d"],
            r"\text{the scores}": half,
            r"\text{the rest}": half,
        }

    found = verdicts_of(check(values), text, everywhere=True)
    alive = [one.mutant.change for one in found if not one.caught]
    assert alive == ["exchange words everywhere: the scores ↔ the rest"]


def test_a_reason_without_its_words_is_refused():
    with pytest.raises(RefutedError, match="“by counting”, which are not printed"):
        check(remark={"by counting": "why"}).run(PLAIN)
    with pytest.raises(RefutedError, match="“the scores” are executed"):
        check(named, remark={"the scores": "why"}).run(BRACES)
