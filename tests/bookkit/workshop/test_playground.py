"""The playground computes what the model in one file computes with the same part changed."""

import numpy as np
import pytest
import torch

from attention_to_rope import context_extension
from bookkit import book_model
from bookkit.trained import STORED, TRAINED_LENGTH, held_out, stretching, trace, without
from bookkit.workshop import playground, solution
from bookkit.workshop.playground import Playground, Switches, look, read, with_switches
from one_file import llama

TOKENS = held_out(48)
HALF = TOKENS.shape[1] // 2
HEADS = ((0, 1), (3, 4))


@pytest.fixture(scope="module")
def weights():
    return solution.read_weights(STORED.read_bytes())


def looked(weights, **switches):
    return look(TOKENS[0].tolist(), with_switches(weights, Switches(**switches)))


def assert_same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    "switches",
    [{}, {"heads": HEADS}, {"shift": 700}, {"shift": 700, "half": True}, {"shift": -3}],
    ids=str,
)
def test_weights_and_logits_are_those_of_the_model_in_one_file(weights, switches):
    model = without(book_model(), switches.get("heads", ()))
    positions = torch.arange(TOKENS.shape[1])
    first = HALF if switches.get("half") else 0
    positions[first:] += switches.get("shift", 0)
    expected = trace(model, TOKENS, positions)
    logits, attention = looked(weights, **switches)
    assert_same(attention, expected.weights[:, 0].numpy())
    assert_same(logits, expected.logits[0].numpy())


def logits_of_one_file(model=None):
    with torch.no_grad():
        return (model or book_model())(TOKENS)[0][0].numpy()


def test_a_head_that_is_off_and_a_shifted_half_change_something(weights):
    logits, _ = looked(weights)
    for switches in ({"heads": HEADS[:1]}, {"shift": 5, "half": True}):
        assert np.abs(looked(weights, **switches)[0] - logits).max() > 0.1


def test_shifting_all_positions_changes_nothing(weights):
    assert_same(looked(weights, shift=12_345)[0], looked(weights)[0])


def test_without_a_mask_every_token_sees_all(weights, monkeypatch):
    attend = llama.scaled_dot_product_attention

    def unmasked(q, k, v, _visible, **options):
        return attend(q, k, v, None, **{**options, "is_causal": False})

    monkeypatch.setattr(llama, "scaled_dot_product_attention", unmasked)
    logits, attention = looked(weights, mask=False)
    assert_same(logits, logits_of_one_file())
    assert (attention[0, :, 0, 1:].sum(-1) > 0.01).any()


def test_without_the_rotation_queries_and_keys_stay_as_they_are(weights, monkeypatch):
    monkeypatch.setattr(llama, "rotate", lambda x, _table: x)
    assert_same(looked(weights, rotation=False)[0], logits_of_one_file())


# The book's own name of each rule.
NAMES = {
    "none": "none",
    "linear": "PI",
    "ntk": "NTK-aware",
    "parts": "by parts",
    "llama3": "Llama 3",
}


@pytest.mark.parametrize("length", playground.LENGTHS)
@pytest.mark.parametrize("rule", playground.RULES)
def test_the_rules_are_those_of_the_library(rule, length):
    frequencies = solution.rope_frequencies(32)
    given = torch.from_numpy(frequencies)
    scale = max(length / TRAINED_LENGTH, 1.0)
    expected_factor = 1.0
    if rule == "dynamic":
        expected = context_extension.dynamic_ntk(
            given, scale, length=length, original_length=TRAINED_LENGTH
        )
    elif rule == "yarn":  # as its paper prints it
        expected = context_extension.ntk_by_parts(given, scale, original_length=TRAINED_LENGTH)
        expected_factor = context_extension.yarn_attention_factor(scale)
    else:
        expected, expected_factor = stretching.stretched(given, NAMES[rule], scale)
    found, factor = playground.stretched(frequencies, rule, length)
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-12)
    assert factor == pytest.approx(expected_factor)


def test_stretched_logits_are_those_of_the_model_in_one_file(weights):
    model = book_model()
    model.frequencies, model.factor = stretching.stretched(model.frequencies, "Llama 3", 4.0)
    logits, _ = looked(weights, rule="llama3", length=4096)
    assert_same(logits, logits_of_one_file(model))


def test_a_text_that_is_read_in_pieces_has_the_logits_of_the_whole(weights):
    model = with_switches(weights, Switches(shift=9, half=True))
    tokens = TOKENS[0].tolist()
    cache = solution.new_cache(solution.CONFIG)
    pieces = [read(tokens[start : start + 20], model, cache, HALF) for start in (0, 20, 40)]
    assert_same(np.concatenate(pieces), look(tokens, model)[0])


def test_what_a_page_gets(weights):
    """The loss, the next bytes and the text, computed here with the solution alone."""
    page = Playground(STORED.read_bytes())
    rope = (solution.rope_frequencies(32), 1.0)
    prompt = "import numpy as n"
    (found,) = page.looks(prompt, {"heads": [[0, 1]]})
    logits = solution.forward(solution.encode(prompt), weights, solution.CONFIG, rope)
    chances = solution.probabilities(logits[-1])
    assert found["tokens"] == solution.encode(prompt)
    for token, chance, chance_as_trained in found["next"]:
        assert chance_as_trained == pytest.approx(chances[token], abs=1e-5)
        assert 0 < chance < 1
    chances_shown = [chance for _, chance, _ in found["next"]]
    assert chances_shown == sorted(chances_shown, reverse=True)
    maps = np.frombuffer(found["maps"], "<f4").reshape(6, 6, 18, 18)
    np.testing.assert_allclose(maps.sum(-1), 1, atol=1e-5)

    *steps, measured = page.measures({"rotation": False})
    assert [(step["trained"], step["done"]) for step in steps] == [
        (True, 256), (True, 512), (False, 256), (False, 512),
    ]  # fmt: skip
    text = [solution.START, *playground.FIXED_TEXT[:512]]
    logits = solution.forward(text[:-1], weights, solution.CONFIG, rope)[256:]
    logarithms = np.log(solution.softmax(logits.astype(np.float64)))
    expected = -logarithms[np.arange(256), text[257:]].mean()
    assert measured["trained"] == pytest.approx(expected, abs=1e-4)
    assert measured["changed"] > measured["trained"] + 1
    *steps, again = page.measures({})
    assert steps == []  # it is known already
    assert again["changed"] == again["trained"] == measured["trained"]

    written = [event["token"] for event in page.writes(prompt, {}, 20, seed=3)]
    settings = {"temperature": 0.7, "top_p": 0.95}
    random = np.random.default_rng(3)
    tokens = solution.encode(prompt)
    made = solution.generate(tokens, 20, weights, solution.CONFIG, rope, random, **settings)
    assert written == list(made)
    both = [event["trained"] for event in page.writes(prompt, {"mask": False}, 3, seed=3)]
    assert both == [True] * 3 + [False] * 3


def test_a_long_prompt_is_read_from_its_end():
    tokens = playground.tokens_of("a" * 50 + "é" * 100)
    assert len(tokens) == 1 + playground.LONGEST_PROMPT
    assert tokens[0] == solution.START
    assert tokens[-1] == "é".encode()[-1]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"rule": "longrope"}, "rule: expected one of none, linear"),
        ({"length": 3000}, "length: expected one of"),
        ({"shift": 10**9}, "shift: expected at most 100000, got 1000000000"),
    ],
)
def test_what_the_model_does_not_have_is_refused(asked, message):
    with pytest.raises(ValueError, match=message):
        playground.switches_of(asked)


def test_a_head_that_does_not_exist_is_refused(weights):
    with pytest.raises(ValueError, match="the model has no head 6 in a layer 0"):
        with_switches(weights, Switches(heads=((0, 6),)))
