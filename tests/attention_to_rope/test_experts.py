"""Routers, their balance and the mixture layer, against the reference and dense sums."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import attention_to_rope as book
from attention_to_rope import reference
from bookkit.randomness import normal

GATES = ["softmax", "sigmoid"]


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(0, 99),
    st.sampled_from(GATES),
    st.booleans(),
    st.booleans(),
)
def test_route_equals_the_reference(
    a: int, b: int, seed: int, gate: str, normalise: bool, biased: bool
) -> None:
    k, count = sorted((a, b))
    logits = 3 * normal(4, count, seed=seed)
    bias = normal(count, seed=seed + 1) if biased else None
    experts, gates = book.route(logits, k, gate=gate, normalise=normalise, bias=bias)
    assert experts.shape == gates.shape == (4, k)
    for row in range(4):
        expected = reference.route(
            logits[row].numpy(), k, gate, normalise, None if bias is None else bias.numpy()
        )
        assert experts[row].tolist() == list(expected)
        assert np.abs(gates[row].numpy() - list(expected.values())).max() <= 1e-14


def test_softmax_renormalised_is_softmax_over_the_chosen_logits() -> None:
    logits = normal(5, 8, seed=0)
    experts, gates = book.route(logits, 3)
    assert (gates - logits.gather(-1, experts).softmax(-1)).abs().max() <= 1e-15
    assert (gates.sum(-1) - 1).abs().max() <= 1e-15


def test_the_bias_changes_the_choice_and_no_weight() -> None:
    logits = torch.tensor([2.0, 1.0, 0.0], dtype=torch.float64)
    bias = torch.tensor([0.0, 0.0, 5.0], dtype=torch.float64)
    experts, gates = book.route(logits, 2, gate="sigmoid", normalise=False, bias=bias)
    assert experts.tolist() == [2, 0]
    assert torch.equal(gates, torch.sigmoid(logits)[[2, 0]])


def test_half_types_are_rounded_once() -> None:
    logits = normal(6, 5, seed=0, dtype=torch.bfloat16)
    experts, gates = book.route(logits, 2, gate="sigmoid")
    exact = book.route(logits.float(), 2, gate="sigmoid")
    assert gates.dtype == torch.bfloat16
    assert torch.equal(experts, exact.experts)
    assert torch.equal(gates, exact.gates.bfloat16())


def test_load_and_loss_equal_the_reference() -> None:
    logits = normal(2, 10, 4, seed=0)
    experts, _ = book.route(logits, 2)
    load = book.expert_load(experts, 4)
    assert float(load.sum()) == pytest.approx(1, abs=1e-15)
    assert load.tolist() == [experts.flatten().tolist().count(i) / 40 for i in range(4)]
    scores = logits.softmax(-1)
    expected = reference.balance_loss(scores.reshape(20, 4).numpy(), experts.reshape(20, 2).numpy())
    assert float(book.balance_loss(scores, experts)) == pytest.approx(expected, rel=1e-14)


def test_loss_is_one_where_uniform_and_can_be_smaller() -> None:
    uniform = torch.full((4, 4), 0.25, dtype=torch.float64)
    assert float(book.balance_loss(uniform, torch.arange(4)[:, None])) == 1.0
    # 60 % of the tokens at (1/2, 1/2) choose expert 0, 40 % at (0, 1) choose expert 1.
    scores = torch.tensor([[0.5, 0.5]] * 6 + [[0.0, 1.0]] * 4, dtype=torch.float64)
    experts = torch.tensor([[0]] * 6 + [[1]] * 4)
    assert float(book.balance_loss(scores, experts)) == pytest.approx(0.92, abs=1e-12)


@given(st.integers(1, 5), st.integers(0, 50))
def test_balanced_bias_equals_the_reference(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    experts, bias = rng.integers(0, count, (6, 2)), rng.normal(size=count)
    moved = book.balanced_bias(torch.from_numpy(bias), torch.from_numpy(experts), step=0.01)
    assert np.array_equal(moved.numpy(), reference.balanced_bias(bias, experts, 0.01))


def test_an_expert_with_its_share_keeps_its_bias() -> None:
    experts = torch.tensor([0, 1, 2, 0, 1, 2])
    assert torch.equal(book.balanced_bias(torch.ones(3), experts, step=0.1), torch.ones(3))


def mixture(**options: object) -> book.MixtureOfExperts:
    settings: dict[str, object] = {"experts": 5, "k": 2, "seed": 0} | options
    return book.MixtureOfExperts(4, 6, **settings).double().requires_grad_(False)


def expert_by_hand(layer: book.FeedForward) -> Callable[[np.ndarray], np.ndarray]:
    assert layer.value is not None
    W_1, W_2, W_3 = (part.W.numpy() for part in (layer.up, layer.down, layer.value))
    return lambda x: reference.feed_forward(x, W_1, W_2, reference.silu, W_3)


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("shared", [0, 2])
@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("k", [1, 2])
def test_layer_equals_the_reference(gate: str, shared: int, balanced: bool, k: int) -> None:
    layer = mixture(k=k, gate=gate, shared=shared, balanced=balanced)
    if layer.bias is not None:
        layer.bias.copy_(normal(5, seed=3))
    x = normal(2, 7, 4, seed=1)
    y = layer(x)
    assert y.shape == x.shape
    experts = [expert_by_hand(expert) for expert in layer.experts]
    others = [expert_by_hand(expert) for expert in layer.shared]
    bias = None if layer.bias is None else layer.bias.numpy()
    for row, got in zip(x.reshape(-1, 4).numpy(), y.reshape(-1, 4).numpy(), strict=True):
        gates = reference.route(row @ layer.router.W.numpy(), k, gate, k > 1, bias)
        expected = reference.mixture_of_experts(row, gates, experts, others)
        assert np.abs(got - expected).max() <= 1e-12


def test_with_all_experts_it_is_the_weighted_sum() -> None:
    layer = mixture(k=5)
    x = normal(3, 4, seed=1)
    weights = layer.router(x).softmax(-1)
    dense = torch.stack([expert(x) for expert in layer.experts], dim=-1)
    assert (layer(x) - (dense * weights[:, None]).sum(-1)).abs().max() <= 1e-13


def test_gradients_reach_router_and_chosen_experts_only() -> None:
    layer = mixture(experts=4, k=1, gate="sigmoid").requires_grad_()
    x = normal(1, 4, seed=1)
    chosen = int(layer.route(x).experts)
    layer(x).sum().backward()
    for index, expert in enumerate(layer.experts):
        assert bool(expert.up.W.grad.any()) == (index == chosen)
    # Normalised, the weight of one expert is 1 whatever the router says: nothing to learn from.
    assert layer.router.W.grad.any()
    logits = layer.router(x).detach().requires_grad_()
    book.route(logits, 1, gate="sigmoid").gates.sum().backward()
    assert logits.grad is not None
    assert float(logits.grad.abs().max()) <= 1e-15
    layer = mixture().requires_grad_()
    layer(x).sum().backward()
    assert layer.router.W.grad.any()


def test_rebalancing_evens_the_load_without_touching_gates() -> None:
    layer = mixture(experts=8, gate="sigmoid", balanced=True)
    x = normal(512, 4, seed=2) + torch.tensor([2.0, 0.0, 0.0, 0.0])  # a mean that skews the router
    before = book.expert_load(layer.route(x).experts, 8).max()
    for _ in range(300):
        layer.rebalance(layer.route(x).experts, step=0.005)
    experts, gates = layer.route(x)
    assert before > 0.2
    assert book.expert_load(experts, 8).max() < 0.16
    chosen = torch.sigmoid(layer.router(x)).gather(-1, experts)
    assert (gates - chosen / chosen.sum(-1, keepdim=True)).abs().max() <= 1e-15
    assert "bias" in layer.state_dict()
    assert "bias" not in dict(layer.named_parameters())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: book.route(torch.zeros(3), 4), ValueError, r"got k=4 of 3"),
        (lambda: book.route(torch.zeros(3), 0), ValueError, r"k must be at least 1"),
        (lambda: book.route(torch.tensor(1.0), 1), ValueError, r"got k=1 of 0"),
        (lambda: book.route(torch.arange(3), 1), TypeError, r"logits must be floating point"),
        (lambda: book.route(torch.zeros(3), 1, gate="max"), ValueError, r"gate must be one of"),
        (
            lambda: book.route(torch.zeros(3), 1, bias=torch.zeros(2)),
            ValueError,
            r"bias must have shape \(3,\), got \(2,\)",
        ),
        (
            lambda: book.route(torch.zeros(3), 1, bias=torch.zeros(3).double()),
            TypeError,
            r"logits and bias must have the same dtype",
        ),
        (lambda: book.expert_load(torch.tensor([3]), 3), ValueError, r"experts must lie in 0…2"),
        (lambda: book.expert_load(torch.tensor([0]), 0), ValueError, r"count must be at least 1"),
        (
            lambda: book.expert_load(torch.zeros(0, 2, dtype=torch.int64), 3),
            ValueError,
            r"at least one choice, got an empty tensor",
        ),
        (
            lambda: book.balance_loss(torch.arange(3), torch.tensor([0])),
            TypeError,
            r"scores must be floating",
        ),
        (
            lambda: book.balance_loss(torch.ones(3, 2), torch.zeros(2, 1, dtype=torch.int64)),
            ValueError,
            r"must have the same tokens, got \(3, 2\) and torch.Size\(\[2, 1\]\)",
        ),
        (
            lambda: book.balance_loss(torch.ones(2), None),
            ValueError,
            r"got \(2,\) and NoneType",
        ),
        (
            lambda: book.balance_loss(torch.tensor(1.0), torch.tensor([0])),
            ValueError,
            r"got \(\) and",
        ),
        (lambda: mixture()(None), TypeError, r"x must be a torch.Tensor, got NoneType"),
        (lambda: mixture()(torch.tensor(1.0).double()), ValueError, r"got a single number"),
        (
            lambda: mixture()(torch.ones(2, 3).double()),
            ValueError,
            r"4 entries .* got shape \(2, 3\)",
        ),
        (
            lambda: book.balanced_bias(torch.zeros(2, 2), torch.tensor([0]), step=0.1),
            ValueError,
            r"bias must have shape \(E,\), got \(2, 2\)",
        ),
        (
            lambda: book.balanced_bias(torch.zeros(2), torch.tensor([0]), step=0.0),
            ValueError,
            r"step must be finite and above 0",
        ),
        (
            lambda: book.balanced_bias(torch.arange(2), torch.tensor([0]), step=0.1),
            TypeError,
            r"bias must be floating",
        ),
        (lambda: mixture(k=6), ValueError, r"got k=6 of 5"),
        (lambda: mixture(k=0), ValueError, r"k must be at least 1"),
        (lambda: mixture(experts=0), ValueError, r"experts must be at least 1"),
        (lambda: mixture(shared=-1), ValueError, r"shared must be at least 0"),
        (lambda: mixture(gate="max"), ValueError, r"gate must be one of"),
        (
            lambda: mixture().rebalance(torch.tensor([0])),
            ValueError,
            r"no bias to move: build it with balanced=True",
        ),
    ],
)
def test_errors(call, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_each_expert_computes_its_own_tokens_only() -> None:
    layer, x = mixture(), normal(2, 7, 4, seed=1)
    rows = []
    for expert in layer.experts:
        expert.register_forward_pre_hook(lambda _, given: rows.append(len(given[0])))
    layer(x)
    chosen = layer.route(x).experts
    assert rows == [int((chosen == index).sum()) for index in range(5)]


def test_one_step_of_rebalancing_moves_by_a_thousandth() -> None:
    layer = mixture(balanced=True)
    layer.rebalance(torch.tensor([0, 0, 0, 1, 2]))
    assert layer.bias.tolist() == [-0.001, 0.0, 0.0, 0.001, 0.001]


def test_neither_router_nor_experts_add_a_bias() -> None:
    assert all(name.endswith("W") for name, _ in mixture(shared=1).named_parameters())
