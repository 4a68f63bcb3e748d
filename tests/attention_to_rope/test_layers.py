"""Linear maps, embeddings, norms, activations, feed-forward layers and experts."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import attention_to_rope as book
from attention_to_rope.activations import GATED, PLAIN
from attention_to_rope.layers import Embedding, deepnorm_pair, stream_of


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape)).to(dtype)


def test_linear_is_a_product_from_the_right_with_xavier_weights():
    state = torch.get_rng_state()
    layer = book.Linear(300, 200, seed=3, gain=2.0).double()
    assert torch.equal(torch.get_rng_state(), state)  # it draws nothing from torch
    x = normal(4, 300)
    torch.testing.assert_close(layer(x), x @ layer.W + layer.bias)
    assert math.isclose(float(layer.W.detach().std()), 2 * math.sqrt(2 / 500), rel_tol=0.02)
    assert torch.equal(layer.bias, torch.zeros(200))
    assert book.Linear(2, 2, seed=0, bias=False).bias is None


def test_equal_seeds_give_equal_weights_and_parts_their_own_streams():
    assert torch.equal(book.Linear(3, 3, seed=1).W, book.Linear(3, 3, seed=1).W)
    assert not torch.equal(book.Linear(3, 3, seed=1).W, book.Linear(3, 3, seed=2).W)
    assert stream_of(1, "Decoder").random() != stream_of(1, "Encoder").random()
    rng = np.random.default_rng(0)
    assert stream_of(rng, "Decoder") is rng


def test_modules_on_meta_have_shapes_alone():
    with torch.device("meta"):
        assert book.Linear(10**6, 10**6, seed=0).W.is_meta


def test_embedding_takes_rows():
    table = Embedding(5, 3, seed=0, deviation=0.5)
    tokens = torch.tensor([[4, 0]], dtype=torch.uint8)
    assert torch.equal(table(tokens)[0], table.rows[[4, 0]])
    shape = book.Architecture(d=64, heads=2, layers=1)
    words, learned = book.Decoder(400, shape, seed=0).embedding, book.Learned(400, 64, seed=0).table
    assert math.isclose(words.rows.detach().std(), 1 / 8, rel_tol=0.02)
    assert math.isclose(learned.rows.detach().std(), 0.02, rel_tol=0.02)


@given(st.integers(1, 9), st.floats(1e-8, 1), st.integers(0, 50))
def test_norms_are_their_formulas(d, eps, seed):
    x, gain, bias = normal(d, seed=seed) * 5, normal(d, seed=seed + 1), normal(d, seed=seed + 2)
    mean = math.fsum(x) / d
    variance = math.fsum((x - mean) ** 2) / d
    expected = gain * (x - mean) / math.sqrt(variance + eps) + bias
    torch.testing.assert_close(book.layer_norm(x, gain, bias, eps=eps), expected)
    torch.testing.assert_close(book.layer_norm(x, eps=eps), (expected - bias) / gain)
    rms = math.sqrt(math.fsum(x**2) / d + eps)
    torch.testing.assert_close(book.rms_norm(x, gain, eps=eps), gain * x / rms)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_norms_and_activations_of_half_types_are_rounded_once(dtype):
    x = normal(3, 64, dtype=dtype)
    for f in (book.layer_norm, book.rms_norm, book.silu, book.gelu, book.gelu_tanh):
        assert torch.equal(f(x), f(x.float()).to(dtype))
    assert book.LayerNorm(64).to(dtype)(x).dtype == book.RMSNorm(64).to(dtype)(x).dtype == dtype


def test_placements_of_the_norm():
    x, W = normal(2, 4), normal(4, 4, seed=1)
    norm, other = book.RMSNorm(4).double(), book.LayerNorm(4).double()

    def f(y):
        return y @ W

    torch.testing.assert_close(book.pre_norm(x, f, norm), x + norm(x) @ W)
    torch.testing.assert_close(book.post_norm(x, f, norm), norm(x + x @ W))
    torch.testing.assert_close(book.sandwich_norm(x, f, norm, other), x + other(norm(x) @ W))
    torch.testing.assert_close(book.deep_norm(x, f, norm, alpha=3.0), norm(3 * x + x @ W))
    assert book.deepnorm_constants(32) == (64**0.25, 256**-0.25)
    encoder, decoder = deepnorm_pair(3, 5)
    size = (81 * 5) ** (1 / 16)
    assert encoder == pytest.approx((0.81 * size, 0.87 / size))
    assert decoder == pytest.approx((15**0.25, 60**-0.25))


@given(st.floats(-30, 30))
def test_activations_are_their_formulas(x):
    def of(f):
        return f(torch.tensor(x, dtype=torch.float64)).item()

    sigmoid = 1 / (1 + math.exp(-x))
    assert of(book.relu) == max(0.0, x)
    assert of(book.silu) == pytest.approx(x * sigmoid, rel=1e-12, abs=1e-300)
    assert of(book.gelu) == pytest.approx(
        x / 2 * math.erfc(-x / math.sqrt(2)), rel=1e-9, abs=1e-300
    )
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    assert of(book.gelu_tanh) == pytest.approx(x / 2 * (1 + math.tanh(inner)), abs=1e-12)


@pytest.mark.parametrize("name", [*PLAIN, *GATED])
def test_feed_forward_is_its_formula(name):
    layer = book.FeedForward(6, activation=name, seed=1).double()
    x = normal(2, 3, 6)
    hidden = (PLAIN | GATED)[name](x @ layer.up.W + layer.up.bias)
    if name in GATED:
        hidden = hidden * (x @ layer.value.W + layer.value.bias)
    torch.testing.assert_close(layer(x), hidden @ layer.down.W + layer.down.bias)
    assert layer.up.W.shape[1] == (16 if name in GATED else 24)
    assert book.FeedForward(6, 5, activation=name, seed=1).up.W.shape == (6, 5)
    wide = book.FeedForward(200, 300, activation=name, seed=1).up.W.detach()
    assert math.isclose(wide.std(), math.sqrt(2 / 500), rel_tol=0.02)


def test_an_activation_that_does_not_exist_is_named_beside_those_that_do():
    with pytest.raises(ValueError, match=r"one of relu, .*, geglu_tanh; got 'mish'"):
        book.FeedForward(6, activation="mish", seed=1)


def routed_by_hand(logits, k, gate, normalise, bias):
    s = np.exp(logits) / np.exp(logits).sum() if gate == "softmax" else 1 / (1 + np.exp(-logits))
    chosen = sorted(range(len(s)), key=lambda i: -(s + bias)[i])[:k]
    total = sum(s[i] for i in chosen) if normalise else 1.0
    return {i: s[i] / total for i in chosen}


@given(
    count=st.integers(2, 8),
    seed=st.integers(0, 99),
    gate=st.sampled_from(["softmax", "sigmoid"]),
    normalise=st.booleans(),
    biased=st.booleans(),
)
def test_route_chooses_by_score_and_bias_and_weighs_by_score(count, seed, gate, normalise, biased):
    rng = np.random.default_rng(seed)
    logits, k = rng.normal(size=count), int(rng.integers(1, count + 1))
    bias = rng.normal(size=count) if biased else np.zeros(count)
    given = torch.from_numpy(bias) if biased else None
    got = book.route(torch.from_numpy(logits), k, gate=gate, normalise=normalise, bias=given)
    expected = routed_by_hand(logits, k, gate, normalise, bias)
    assert got.experts.tolist() == list(expected)
    np.testing.assert_allclose(got.gates, list(expected.values()), rtol=1e-12)


@given(
    seed=st.integers(0, 99),
    kept=st.integers(1, 3),
    gate=st.sampled_from(["softmax", "sigmoid"]),
    biased=st.booleans(),
)
def test_experts_are_chosen_in_the_best_groups_and_scaled(seed, kept, gate, biased):
    rng = np.random.default_rng(seed)
    logits, k = rng.normal(size=9), int(rng.integers(1, 3 * kept + 1))
    bias = rng.normal(size=9) if biased else np.zeros(9)
    s = np.exp(logits) / np.exp(logits).sum() if gate == "softmax" else 1 / (1 + np.exp(-logits))
    groups = (s + bias).reshape(3, 3)
    order = np.argsort(-np.sort(groups, axis=1)[:, 1:].sum(1))  # by the sum of the best two
    outside = np.zeros(9)
    for group in order[kept:]:
        outside[3 * group : 3 * group + 3] = -np.inf
    expected = routed_by_hand(logits, k, gate, True, bias + outside)
    got = book.route(
        torch.from_numpy(logits),
        k,
        gate=gate,
        bias=torch.from_numpy(bias) if biased else None,
        scaling=2.5,
        groups=3,
        kept_groups=kept,
    )
    assert got.experts.tolist() == list(expected)
    np.testing.assert_allclose(got.gates, [2.5 * g for g in expected.values()], rtol=1e-12)


def test_groups_that_do_not_fit_are_refused():
    for wrong in ((4, 1, 2), (9, 2, 2), (3, 1, 4), (3, 4, 2)):
        groups, kept, k = wrong
        with pytest.raises(ValueError, match="must divide 9 experts"):
            book.route(torch.zeros(9), k, groups=groups, kept_groups=kept)
    layer = book.MixtureOfExperts(
        4, 6, experts=4, k=2, scaling=2.5, groups=2, kept_groups=1, seed=0
    )
    experts, gates = layer.route(normal(20, 4).float())
    assert (experts // 2 == experts[:, :1] // 2).all()  # both in one group
    torch.testing.assert_close(gates.sum(-1), torch.full((20,), 2.5))


def test_gates_of_scores_that_underflow_are_numbers():
    logits = torch.tensor([-110.0, -111.0, -120.0])  # a sigmoid of −110 is 0 in float32
    gates = book.route(logits, 2, gate="sigmoid").gates
    np.testing.assert_allclose(gates, [1 / (1 + math.exp(-1)), 1 / (1 + math.e)], rtol=1e-6)
    with pytest.raises((KeyError, TypeError)):
        book.route(logits, 2, gate="tanh")


@pytest.mark.parametrize(("k", "shared", "gate"), [(2, 1, "softmax"), (1, 0, "sigmoid")])
def test_a_mixture_is_the_weighted_sum_of_its_experts(k, shared, gate):
    layer = book.MixtureOfExperts(4, 6, experts=5, k=k, shared=shared, gate=gate, seed=0).double()
    x = normal(2, 3, 4)
    routing = layer.route(x)
    expected = sum(expert(x) for expert in layer.shared)
    for place in range(k):
        every = torch.stack([expert(x) for expert in layer.experts], dim=-2)
        index = routing.experts[..., place, None, None].expand(2, 3, 1, 4)
        expected = expected + every.gather(-2, index)[..., 0, :] * routing.gates[..., place, None]
    torch.testing.assert_close(layer(x), expected)
    assert {name.split(".")[-1] for name, _ in layer.named_parameters()} == {"weight"}  # no biases
    assert (len(layer.experts), len(layer.shared)) == (5, shared)


def test_balance():
    experts = torch.tensor([[0, 1], [0, 2], [0, 1], [0, 2]])
    assert book.expert_load(experts, 4).tolist() == [0.5, 0.25, 0.25, 0.0]
    scores = torch.full((4, 4), 0.25)
    assert book.balance_loss(scores, experts) == 1
    assert book.balance_loss(scores[:, :2] * 2, experts[:, :1] % 2) == 1
    assert book.balanced_bias(torch.zeros(4), experts, step=0.1).tolist() == pytest.approx(
        [-0.1, 0.0, 0.0, 0.1]
    )
    layer = book.MixtureOfExperts(4, 6, experts=4, k=2, balanced=True, seed=0)
    assert not layer.shared
    layer.rebalance(experts, step=0.1)
    assert layer.bias.tolist() == pytest.approx([-0.1, 0.0, 0.0, 0.1])
    with pytest.raises(ValueError, match="balanced=True"):
        book.MixtureOfExperts(4, 6, experts=4, k=2, seed=0).rebalance(experts)


def test_an_absurd_number_of_experts_fails_at_once():
    with pytest.raises((ValueError, OverflowError, MemoryError)):
        book.MixtureOfExperts(4, 6, experts=2**70, k=2, seed=0)
