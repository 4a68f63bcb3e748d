"""Deeper page of chapter 2: the bounds of the softmax gradient and the moments, executed."""

import numpy as np
import torch

from attention_to_rope import (
    gap_bound,
    log_length_factor,
    saturation,
    softmax_jacobian_norm,
)
from attention_to_rope import softmax as library_softmax
from bookcheck.equations.checks import Random, depends, equation, sentences
from shared_02_why_sqrt_d import (
    D_K,
    HEAVY,
    HEAVY_CHANCES,
    SKEWED,
    SKEWED_CHANCES,
    N,
    independent,
    jacobian,
    mixed,
    scores,
    softmax,
)
from shared_02_why_sqrt_d import weights as shared_weights


def rest(p):
    return float(saturation(torch.from_numpy(p)))


def norm(p, kind="spectral"):
    return float(softmax_jacobian_norm(torch.from_numpy(p), kind))


def weights(rng, spread=1.0, length=N):
    values = shared_weights(rng, spread, length)
    return {**values, "r": rest(values["p"])}


test_jacobian_rows = equation("eq-jacobian-rows", first_index=0)(weights)


@equation("eq-jacobian-variance", first_index=0, vectors="row")
def test_jacobian_variance(rng):
    values = weights(rng)
    # A constant vector has variance 0: the inequality is an equality there.
    vectors = (rng.normal(size=N), np.full(N, 1.7))
    return [{**values, "u": u, r"\bar{u}": values["p"] @ u} for u in vectors]


@equation("eq-variance-expanded", first_index=0)
def test_variance_expanded(rng):
    values = weights(rng)
    u = rng.normal(size=N)
    return {**values, "u": u, r"\bar{u}": values["p"] @ u}


@equation("eq-spectral-norm", first_index=0)
def test_spectral_norm(rng):
    values = weights(rng)
    return {**values, r"\lambda": np.linalg.eigvalsh(values["J"])}


test_rest = equation("eq-rest", first_index=0)(weights)


@equation("eq-jacobian-bounds", first_index=0)
def test_jacobian_bounds(rng):
    # Equal weights and two keys: one side is an equality there, up to rounding.
    equal = np.full(7, 1 / 7) + 1e-7 * (np.arange(7) - 3)
    edge = {"p": equal, "J": jacobian(equal), "r": rest(equal), "N": 7}
    return [weights(rng), weights(rng, spread=4.0), weights(rng, length=2), edge]


@equation("eq-largest-diagonal", first_index=0)
def test_largest_diagonal(rng):
    flat = weights(rng, spread=0.3)
    assert flat["r"] > 0.5, "one case must have no weight above one half"
    return [flat, weights(rng, spread=4.0), weights(rng, length=2)]


@equation("eq-gershgorin", first_index=0)
def test_gershgorin(rng):
    # The argument holds for every eigenvector with λ > 0; only some make its inequalities strict.
    cases = []
    for values in (weights(rng), weights(rng, length=2)):
        eigenvalues, vectors = np.linalg.eigh(values["J"])
        for eigenvalue, u in zip(eigenvalues[1:], vectors.T[1:], strict=True):
            place = int(np.abs(u).argmax())
            cases.append({**values, "u": u, "n": place, r"\lambda": eigenvalue})
    return cases


@equation("eq-lower-quadratic", first_index=0, vectors="row")
def test_lower_quadratic(rng):
    values = weights(rng)
    place = int(values["p"].argmax())
    w = np.eye(N)[place] - 1 / N
    return {**values, "w": w, "n": place}


@equation("eq-lower-length", first_index=0)
def test_lower_length(rng):
    size = int(rng.integers(3, 9))
    return {"w": np.eye(size)[1] - 1 / size, "N": size}


def leading_scores(rng, length=N, tied=False):
    """Scores with their gap; `tied` makes all others equal and near, where the bound is reached."""
    x = rng.normal(scale=2.0, size=length)
    if tied:
        x = x.max() - 0.3 * (np.arange(length) != 1) * (1 + 1e-9)
    place = int(x.argmax())
    p = softmax(x)
    gap = x[place] - np.delete(x, place).max()
    bound = gap_bound(float(gap), length)
    values = {"x": x, "p": p, "n": place, "N": length, r"\Delta": gap}
    return {**values, "r": rest(p), r"r_{\max}": bound}


test_gap = equation("eq-gap", first_index=0)(leading_scores)


@equation("eq-rest-ratio", first_index=0)
def test_rest_ratio(rng):
    return [leading_scores(rng), leading_scores(rng, length=2), leading_scores(rng, tied=True)]


@equation("eq-gap-bound", first_index=0)
def test_gap_bound(rng):
    # Two keys reach the bound, and so do ties.
    return [leading_scores(rng), leading_scores(rng, length=2), leading_scores(rng, tied=True)]


@equation("eq-query-spread", first_index=0, draws=2)
def test_query_spread(rng):
    return {"q": rng.normal(size=D_K), "k": independent()["k"], "d_k": D_K}


@equation("eq-query-length", first_index=0, draws=1)
def test_query_length(rng):
    # The keys have the same law: left out, so that they cannot stand for the query.
    values = independent()
    return {"q": values["q"], "d_k": values["d_k"]}


test_general_mean = equation("eq-general-mean", first_index=0)(mixed)


test_general_variance = equation("eq-general-variance", first_index=0, vectors="row")(mixed)


@equation("eq-dot-expanded", first_index=0)
def test_dot_expanded(rng):
    u, w, mu_q, mu_k = rng.normal(size=(4, D_K))
    return {"u": u, "w": w, r"\mu_q": mu_q, r"\mu_k": mu_k, "q": mu_q + u, "k": mu_k + w}


@equation("eq-cross-terms", first_index=0)
def test_cross_terms(rng):
    # The identities need independence alone; means that are not 0 make every factor count.
    values = mixed(rng)
    shift_u, shift_w = rng.normal(size=(2, D_K))
    inner_u, inner_w = values["u"].function, values["w"].function
    values["u"] = depends("z_q", lambda z: inner_u(z) + shift_u)
    values["w"] = depends("z_k", lambda z: inner_w(z) + shift_w)
    return values


test_mean_terms = equation("eq-mean-terms", first_index=0, vectors="row")(mixed)


test_trace_term = equation("eq-trace-term", first_index=0)(mixed)


@equation("eq-equicorrelated")
def test_equicorrelated(rng):
    d_k, rho_q, rho_k = 4, *rng.uniform(0.2, 0.6, size=2)
    tables = {name: (1 - rho) * np.eye(d_k) + rho for name, rho in (("q", rho_q), ("k", rho_k))}
    correlations = {r"\rho_q": rho_q, r"\rho_k": rho_k, "d_k": d_k}
    return {r"\Sigma_q": tables["q"], r"\Sigma_k": tables["k"], **correlations}


def aligned(rng, d_k=2):
    rho = float(rng.uniform(0.2, 0.8))
    q = Random(HEAVY, HEAVY_CHANCES, shape=(d_k,))
    z = Random(SKEWED, SKEWED_CHANCES, shape=(d_k,))
    side = np.sqrt(1 - rho**2)
    k = depends("q", "z", lambda q, z: rho * np.asarray(q) + side * np.asarray(z))
    kappa = float(np.dot(HEAVY_CHANCES, np.power(HEAVY, 4)))
    return {"q": q, "z": z, "k": k, r"\rho": rho, r"\kappa": kappa, "d_k": d_k}


test_aligned = equation("eq-aligned", first_index=0)(lambda rng: aligned(rng, d_k=3))


@equation("eq-aligned-coordinate", first_index=0)
def test_aligned_coordinate(rng):
    # Expanding the square needs no assumption on the moments: give none of them the value 0 or 1.
    values = aligned(rng)
    values["q"], values["z"] = (Random(rng.normal(size=2).tolist(), shape=(2,)) for _ in range(2))
    return {**values, "a": range(2)}


@equation("eq-aligned-second-moment", first_index=0)
def test_aligned_second_moment(rng):
    return {**aligned(rng), "a": range(2)}


KAPPA_SKEWED = float(np.dot(SKEWED_CHANCES, np.power(SKEWED, 4)))
KAPPA_HEAVY = float(np.dot(HEAVY_CHANCES, np.power(HEAVY, 4)))


@equation("eq-excess-kurtosis", first_index=0, draws=1)
def test_excess_kurtosis(rng):
    moments = {r"\kappa_q": KAPPA_SKEWED, r"\kappa_k": KAPPA_HEAVY}
    return [
        {
            "q": Random(SKEWED, SKEWED_CHANCES, shape=(d_k,)),
            "k": Random(HEAVY, HEAVY_CHANCES, shape=(d_k,)),
            **moments,
            "d_k": d_k,
        }
        for d_k in (2, 3)
    ]


@equation("eq-fourth-moment", first_index=0, draws=1)
def test_fourth_moment(rng):
    # y = q k of one coordinate: every product of a value of q and a value of k.
    products = np.outer(SKEWED, HEAVY).ravel().tolist()
    chances = np.outer(SKEWED_CHANCES, HEAVY_CHANCES).ravel().tolist()
    moments = {r"\kappa_q": KAPPA_SKEWED, r"\kappa_k": KAPPA_HEAVY}
    return [{"Y": Random(products, chances, shape=(d,)), **moments, "d_k": d} for d in (2, 3)]


@equation("eq-kurtosis-algebra")
def test_kurtosis_algebra(rng):
    kappa_q, kappa_k = rng.uniform(1.5, 9, size=2)
    return {r"\kappa_q": kappa_q, r"\kappa_k": kappa_k, "d_k": int(rng.integers(3, 90))}


@equation("eq-frobenius", first_index=0)
def test_frobenius(rng):
    values = weights(rng)
    assert np.isclose(norm(values["p"], "frobenius"), np.linalg.norm(values["J"]))
    return values


@equation("eq-mean-of-exponential")
def test_mean_of_exponential(rng):
    return {r"\tau": float(rng.uniform(0.5, 6))}


def query_and_keys(rng):
    """Scores x = q K / s of one query, and a loss that is linear in their softmax."""
    q, k, g = rng.normal(size=D_K), rng.normal(size=(N, D_K)), rng.normal(size=N)
    s = float(rng.uniform(1.5, 4))
    common = {"k": k, "s": s, "N": N, "n": range(N), "d_k": D_K}
    return q, g, common


@equation("eq-query-gradient", first_index=0)
def test_query_gradient(rng):
    q, g, common = query_and_keys(rng)
    del common["n"]
    scores_of = depends("q", lambda q: common["k"] @ np.asarray(q) / common["s"])
    loss = depends("x", lambda x: float(g @ softmax(x)))
    return {**common, "q": q, "x": scores_of, r"\mathcal{L}": loss}


@equation("eq-gradient-step", first_index=0)
def test_gradient_step(rng):
    q, g, common = query_and_keys(rng)
    k, s, eta = common["k"], common["s"], float(rng.uniform(0.1, 0.5))
    # PyTorch's gradient at q gives the step; the page gives what it does to the scores.
    free = torch.tensor(q, requires_grad=True)
    (torch.tensor(g) @ library_softmax(torch.tensor(k) @ free / s)).backward()
    after = k @ (q - eta * free.grad.numpy()) / s
    loss = depends("x", lambda x: float(g @ softmax(x)))
    return {**common, r"\eta": eta, "x": k @ q / s, "x'": after, r"\mathcal{L}": loss}


@equation("eq-adam-step", first_index=0)
def test_adam_step(rng):
    k, eta, s = rng.normal(size=(N, D_K)), rng.uniform(0.1, 0.5), rng.uniform(1.5, 4)
    q = rng.normal(size=D_K)
    after = [k[n] @ (q + eta * np.sign(k[n])) / s for n in range(N)]
    values = {"x": k @ q / s, "x'": np.array(after), r"\eta": eta, "s": s}
    return {**values, "k": k, "n": range(N), "d_k": D_K}


@equation("eq-cross-entropy-gradient", first_index=0)
def test_cross_entropy_gradient(rng):
    values = scores(rng)
    place = int(rng.integers(N))
    return {
        **values,
        "y": place,
        r"\mathcal{L}": depends("x", lambda x: -np.log(softmax(x)[place])),
    }


@equation("eq-needed-gap")
def test_needed_gap(rng):
    size, gap = int(rng.integers(3, 50)), float(rng.uniform(1, 6))
    return {r"\Delta": gap, "N": size, r"\varepsilon": gap_bound(gap, size)}


@equation("eq-log-length", first_index=0)
def test_log_length(rng):
    s, x = float(rng.uniform(0.2, 0.9)), rng.normal(size=N)
    factor = float(log_length_factor(torch.tensor(N), s))
    return {"x": x, "p": softmax(factor * x), "s": s, "N": N, "n": range(N)}


def of_weights(p):
    J = jacobian(p)
    rest = float(saturation(torch.from_numpy(p)))
    identity, ones = np.eye(len(p)), np.ones(len(p))
    return {"p": p, "J": J, "r": rest, "N": len(p), "I": identity, r"\mathbf{1}": ones}


def bindings(rng):
    """Weights with their derivatives, the top eigenvector, and independent random vectors."""
    values = of_weights(softmax(rng.normal(size=N)))
    eigenvalues, vectors = np.linalg.eigh(values["J"])
    q = Random(SKEWED, SKEWED_CHANCES, shape=(D_K,))
    k = Random(SKEWED, SKEWED_CHANCES, shape=(D_K,))
    return {
        **values,
        r"\lambda": float(eigenvalues[-1]),
        "u": vectors[:, -1],
        "w": rng.normal(size=N),
        "f": lambda t: t * (1 - t),
        "t": float(rng.uniform(0.1, 0.9)),
        r"\delta": np.eye(N),
        "n": range(N),
        "l": range(N),
        "q": q,
        "k": k,
        "d_k": D_K,
        r"\pi": float(rng.uniform(0.1, 0.6)),
    }


def largest_stretch(rng):
    """Two keys, and the vector that their derivatives stretch most: bounds are met."""
    first = float(rng.uniform(0.1, 0.9))
    values = of_weights(np.array([first, 1 - first]))
    eigenvalues, vectors = np.linalg.eigh(values["J"])
    return [{}, {**values, r"\lambda": float(eigenvalues[-1]), "w": vectors[:, -1]}]


def one_other(rng):
    """All weight on the first key and on another one, each in turn."""
    rest = float(rng.uniform(0.1, 0.4))
    return [of_weights((1 - rest) * np.eye(N)[0] + rest * np.eye(N)[n]) for n in range(1, N)]


def equal_weights(rng):
    return of_weights(np.full(N, 1 / N))


def one_coordinate(rng):
    """Two independent coordinates of different kurtosis, and their product."""
    kappa_q, kappa_k = (
        float(np.dot(chances, np.power(values, 4)))
        for values, chances in ((SKEWED, SKEWED_CHANCES), (HEAVY, HEAVY_CHANCES))
    )
    products = np.outer(SKEWED, HEAVY).ravel().tolist()
    chances = np.outer(SKEWED_CHANCES, HEAVY_CHANCES).ravel().tolist()
    return {
        "Y": Random(products, chances, shape=(1,)),
        "q": Random(SKEWED, SKEWED_CHANCES, shape=(1,)),
        "k": Random(HEAVY, HEAVY_CHANCES, shape=(1,)),
        r"\kappa_q": kappa_q,
        r"\kappa_k": kappa_k,
        "a": range(1),
    }


def one_outcome(rng):
    """A query and an independent part; the key is made of both."""
    rho, (q, z) = rng.uniform(0.2, 0.8), rng.normal(size=(2, 1))
    return {"a": range(1), r"\rho": rho, "q": q, "z": z, "k": rho * q + np.sqrt(1 - rho**2) * z}


def aligned_key(rng):
    """A query's coordinate, its fourth moment, and the independent part of the key."""
    kappa = float(np.dot(SKEWED_CHANCES, np.power(SKEWED, 4)))
    part = Random(HEAVY, HEAVY_CHANCES, shape=(1,))
    return {"a": range(1), "z": part, r"\kappa": kappa}


def variance_of_a_term(rng):
    """The product of one coordinate of a query with that of its key, by all outcomes."""
    rho = rng.uniform(0.2, 0.8)
    pairs = [(q, z) for q in SKEWED for z in HEAVY]
    products = [q * (rho * q + np.sqrt(1 - rho**2) * z) for q, z in pairs]
    chances = np.outer(SKEWED_CHANCES, HEAVY_CHANCES).ravel().tolist()
    kappa = float(np.dot(SKEWED_CHANCES, np.power(SKEWED, 4)))
    product = Random(products, chances, shape=(1,))
    return {"a": range(1), "q": product, "k": np.ones(1), r"\rho": rho, r"\kappa": kappa}


test_sentences = sentences(
    "deeper/02-softmax-gradient",
    first_index=0,
    where={
        "weights $ of …": lambda rng: [{"N": 2}, {"N": 3}],
        "this one, and …": one_other,
        "$ and use : …": largest_stretch,
        "by the norm: …": largest_stretch,
        "weights $, …": equal_weights,
        "So … ,": equal_weights,
        "weights have …": equal_weights,
        "product is …": one_outcome,
        "Here … ,": aligned_key,
        "Here $, … ,": aligned_key,
        "of the mean: …": variance_of_a_term,
        "0, because …": lambda rng: {"q": rng.choice([-1.0, 1.0], size=D_K)},
        "independent, with …": one_coordinate,
        "independent, with $, …": one_coordinate,
        "with $, $ and …": one_coordinate,
    },
    unchecked={
        "equal weights …": "Not executed yet.",
        "correlated, up to …": "Not executed yet.",
        "to guarantee …": "Not executed yet.",
    },
)(bindings)
