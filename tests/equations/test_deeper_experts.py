"""Mixture of experts: the equations of the page, executed against the library."""

import numpy as np
import torch

from attention_to_rope import MixtureOfExperts, balance_loss, balanced_bias
from bookcheck.equations.checks import equation, sentences
from shared import sizes
from shared_feed_forward import D_F, D, N, counted, listing


def routed(rng, k):
    """A mixture of the library, a token, the scores of its experts, and their gates."""
    mixture = MixtureOfExperts(D, D_F, experts=6, k=k, seed=int(rng.integers(1000))).double()
    x = torch.from_numpy(rng.normal(size=D))
    with torch.no_grad():
        scores = torch.softmax(mixture.router(x), -1).numpy()
        chosen, gates = mixture.route(x)
    # The display speaks of the chosen experts alone: what the others have must not count.
    every = rng.uniform(0.1, 0.9, size=6)
    every[chosen.numpy()] = gates.numpy()
    return mixture, x, chosen.tolist(), {"s": scores, "g": every}


@equation("eq-experts", first_index=0, vectors="row")
def test_experts(rng):
    mixture, x, chosen, values = routed(rng, 3)

    def expert(i, x):
        return mixture.experts[int(i)](torch.as_tensor(x)).detach().numpy()

    values |= {"x": x, "y": mixture(x).detach(), r"\operatorname{FFN}": expert}
    return [{**values, r"\mathcal{T}": set(chosen), "i": i} for i in chosen]


@equation("eq-expert-weights")
def test_expert_weights(rng):
    experts, d, width = (int(rng.integers(4, 9)) for _ in range(3))
    k = int(rng.integers(1, experts))
    mixture = MixtureOfExperts(d, width, experts=experts, k=k, seed=0)
    held, used = counted(mixture.experts), k * counted(mixture.experts[0])
    known = {"E": experts, "k": k, "d": d, "d_g": width}
    return {**known, r"P_{\text{held}}": held, r"P_{\text{used}}": used}


@equation("eq-balance-loss", first_index=0)
def test_balance_loss(rng):
    tokens, E = sizes(rng, 20, 4)
    scores = torch.softmax(torch.from_numpy(rng.normal(size=(tokens, E))), -1)
    chosen = scores.topk(2).indices
    load = np.bincount(chosen.numpy().ravel(), minlength=E) / (2 * tokens)
    loss = balance_loss(scores, chosen).item()
    return {r"\mathcal{L}": loss, "E": E, r"\ell": load, r"\bar{s}": scores.numpy().mean(0)}


@equation("eq-balance-bias", first_index=0)
def test_balance_bias(rng):
    (E,), step = sizes(rng, 4), float(rng.uniform(0.1, 0.6))
    bias, chosen = rng.normal(size=E), rng.integers(0, E, size=(E * E + 1, 1))
    after = balanced_bias(torch.from_numpy(bias), torch.from_numpy(chosen), step=step).numpy()
    load = np.bincount(chosen.ravel(), minlength=E) / len(chosen)
    return {"b": bias, "b'": after, r"\gamma": step, "E": E, r"\ell": load, "i": range(E)}


def test_the_listing_runs_alone_agrees_with_the_library_and_balances():
    with torch.random.fork_rng():
        mine = listing("deeper/experts")["MixtureOfExperts"](D, D_F, 6, 2)
    library = MixtureOfExperts(D, D_F, experts=6, k=2, gate="sigmoid", balanced=True, seed=0)
    library.router.weight.data = mine.router.weight.detach()
    for i, expert in enumerate(library.experts):
        expert.up.W.data.copy_(mine.W_1[i])
        expert.value.W.data.copy_(mine.W_3[i])
        expert.down.W.data.copy_(mine.W_2[i])
    x = torch.linspace(-2, 2, 4 * N * D).view(4, N, D)
    for _ in range(2):  # the second time with a bias
        torch.testing.assert_close(mine(x), library.float()(x))
        library.rebalance(library.route(x).experts, step=0.1)
        mine.rebalance(step=0.1)
        torch.testing.assert_close(mine.bias, library.bias)


def common_part(rng):
    """The library's router, a token, and a vector that is added to it."""
    mixture, x, _, _ = routed(rng, 1)
    return {"W": mixture.router.W.detach().numpy(), "x": x.numpy(), "c": rng.normal(size=D)}


@sentences("deeper/experts", first_index=0, where={"the logits are …": common_part})
def test_sentences(rng):
    """The gate that the library's mixture gives to its one chosen expert, and all scores."""
    _, _, (chosen,), values = routed(rng, 1)
    return {**values, "i": chosen}
