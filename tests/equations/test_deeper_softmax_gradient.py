"""The page of depth of the chapter: its bounds, its moments and its training steps, executed."""

import numpy as np
import torch

from attention_to_rope import gap_bound, log_length_factor
from attention_to_rope import softmax as library_softmax
from bookcheck.equations.checks import Random, depends, equation, sentences
from shared import sizes as shapes
from shared_why_sqrt_d import D_K, SKEWED, N, mixed, of_weights, scores, softmax, weights

COVARIANCE = "A covariance is symmetric."
JACOBIAN = {"J": "The Jacobian of softmax is symmetric."}
COVARIANCES = {r"\Sigma_q": COVARIANCE, r"\Sigma_k": COVARIANCE}
test_general_variance = equation("eq-general-variance", first_index=0, fixed=COVARIANCES)(mixed)
test_rest = equation("eq-rest", first_index=0)(weights)


@equation("eq-jacobian-variance", first_index=0, fixed=JACOBIAN, symbols=r"p, J, N, u, \bar{u}")
def test_jacobian_variance(rng):
    values = weights(rng)
    N = values["N"]
    # A constant vector has variance 0: the inequality is an equality there.
    vectors = (rng.normal(size=N), np.full(N, 1.7))
    return [{**values, "u": u, r"\bar{u}": values["p"] @ u} for u in vectors]


@equation("eq-jacobian-bounds", first_index=0, fixed=JACOBIAN, symbols="J, r")
def test_jacobian_bounds(rng):
    # Two keys reach the upper bound; many equal weights come near the lower one, one key meets it.
    edges = [of_weights(np.full(90, 1 / 90)), of_weights(np.eye(N)[2])]
    return [weights(rng), weights(rng, spread=4.0), weights(rng, length=2), *edges]


@equation(
    "eq-gershgorin",
    first_index=0,
    fixed={"abs": "Beside its diagonal the matrix has no positive entry.", **JACOBIAN},
    symbols=r"p, J, N, n, u, \lambda",
)
def test_gershgorin(rng):
    # The argument holds for every eigenvector with λ > 0; only some make its inequalities strict.
    cases = []
    for values in (weights(rng), weights(rng, length=2)):
        eigenvalues, vectors = np.linalg.eigh(values["J"])
        for eigenvalue, u in zip(eigenvalues[1:], vectors.T[1:], strict=True):
            place = int(np.abs(u).argmax())
            # With a negative entry the bars count. The display binds l in its sums alone.
            u = -np.sign(u[place]) * u
            case = {**values, "u": u, "n": place, r"\lambda": eigenvalue}
            del case["l"]
            cases.append(case)
    return cases


def leading_scores(rng, length=N, tied=False):
    """Scores with their gap; `tied` makes all others equal and near, where the bound is reached."""
    x = rng.normal(scale=2.0, size=length)
    if tied:
        x = x.max() - 0.3 * (np.arange(length) != 1) * (1 + 1e-9)
    place = int(x.argmax())
    gap = x[place] - np.delete(x, place).max()
    lead = {"s": x, "n": place, r"\Delta": gap, r"r_{\max}": gap_bound(float(gap), length)}
    return {**of_weights(softmax(x)), **lead}


def some_gaps(rng):
    lengths = [leading_scores(rng, length=length) for length in (N, 2, 4)]
    return [*lengths, leading_scores(rng, tied=True)]


test_rest_ratio = equation("eq-rest-ratio", first_index=0, symbols=r"p, r, N, n, s, \Delta")(
    some_gaps
)
test_gap_bound = equation("eq-gap-bound", first_index=0, symbols=r"r, N, \Delta, r_{\max}")(
    some_gaps
)


def query_and_keys(rng):
    """A query, its scores s = q k / D, and a loss that is linear in their softmax."""
    N, d_k = shapes(rng, 5, 3)
    q, k, g = rng.normal(size=d_k), rng.normal(size=(N, d_k)), rng.normal(size=N)
    divisor, eta = rng.uniform(1.5, 4), rng.uniform(0.1, 0.5)
    loss = depends("s", lambda s: float(g @ softmax(s)))
    sizes = {"N": N, "d_k": d_k}
    return q, g, {"k": k, "D": float(divisor), r"\eta": float(eta), r"\mathcal{L}": loss, **sizes}


def query_gradient(q, g, values):
    """PyTorch's gradient of the loss by the query."""
    free = torch.tensor(q, requires_grad=True)
    scores = torch.tensor(values["k"]) @ free / values["D"]
    (torch.tensor(g) @ library_softmax(scores)).backward()
    return free.grad.numpy()


@equation("eq-query-gradient", first_index=0, names={1: "G"})
def test_query_gradient(rng):
    q, g, values = query_and_keys(rng)
    del values[r"\eta"]
    s = depends("q", lambda q: values["k"] @ np.asarray(q) / values["D"])
    return {**values, "q": q, "s": s, "G": query_gradient(q, g, values)}


@equation("eq-gradient-step", first_index=0)
def test_gradient_step(rng):
    q, g, values = query_and_keys(rng)
    k, divisor = values["k"], values["D"]
    # PyTorch's gradient at q gives the step; the page gives what it does to the scores.
    after = k @ (q - values[r"\eta"] * query_gradient(q, g, values)) / divisor
    return {**values, "s": k @ q / divisor, "s'": after, "n": range(values["N"])}


@equation("eq-adam-step", first_index=0)
def test_adam_step(rng):
    q, _, values = query_and_keys(rng)
    k, divisor, eta, N = (values[name] for name in ("k", "D", r"\eta", "N"))
    after = np.array([k[n] @ (q + eta * np.sign(k[n])) / divisor for n in range(N)])
    before = k @ q / divisor
    sizes = {"D": divisor, r"\eta": eta, "d_k": values["d_k"], "n": range(N)}
    return {**sizes, "k": k, "s": before, "s'": after}


@equation("eq-cross-entropy-gradient", first_index=0, names={1: "G_l"})
def test_cross_entropy_gradient(rng):
    """G is the gradient of PyTorch's cross entropy."""
    given = scores(rng)
    y = int(rng.integers(given["N"]))
    loss = depends("s", lambda s: -np.log(softmax(s)[y]))
    free = torch.tensor(given["s"], requires_grad=True)
    torch.nn.functional.cross_entropy(free, torch.tensor(y)).backward()
    return {**given, "y": y, r"\mathcal{L}": loss, "G": free.grad.numpy()}


@equation("eq-log-length", first_index=0)
def test_log_length(rng):
    (N,) = shapes(rng, 4)
    xi, s = float(rng.uniform(0.2, 0.9)), rng.normal(size=N)
    factor = float(log_length_factor(torch.tensor(N), xi))
    return {"s": s, "p": softmax(factor * s), r"\xi": xi, "N": N, "n": range(N)}


def equicorrelated(rng):
    """Covariance matrices of variances 1, with one correlation for all pairs."""
    d_k, rho_q, rho_k = int(rng.integers(3, 8)), *rng.uniform(0.2, 0.6, size=2)
    tables = [(1 - rho) * np.eye(d_k) + rho for rho in (rho_q, rho_k)]
    correlations = {r"\rho_q": rho_q, r"\rho_k": rho_k, "d_k": d_k}
    return {r"\Sigma_q": tables[0], r"\Sigma_k": tables[1], **correlations}


def one_query(rng):
    return {"q": rng.normal(size=D_K), "k": Random(*SKEWED, shape=(D_K,))}


def outcomes(rng):
    """One outcome of the deviations from the means."""
    u, w, mu_q, mu_k = rng.normal(size=(4, D_K))
    return {"u": u, "w": w, r"\mu_q": mu_q, r"\mu_k": mu_k, "q": mu_q + u, "k": mu_k + w}


def largest_eigenvalue(rng):
    values = weights(rng)
    eigenvalues, vectors = np.linalg.eigh(values["J"])
    return {**values, "u": vectors[:, -1], r"\lambda": float(eigenvalues[-1])}


def equal_weights(rng):
    N = int(rng.integers(3, 9))
    return of_weights(np.full(N, 1 / N))


def needed_gap(rng):
    """A gap at which the bound for r is 0.01, by bisection."""
    low, high, length = 0.0, 50.0, int(rng.integers(3, 50))
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if gap_bound(middle, length) > 0.01 else (low, middle)
    return {r"\Delta": low, "N": length}


@sentences(
    "deeper/softmax-gradient",
    first_index=0,
    fixed=JACOBIAN | COVARIANCES,
    where={
        "four terms, …": outcomes,
        "Row $ of …": largest_eigenvalue,
        "then …": equicorrelated,
        "row have …": one_query,
        "weights have …": equal_weights,
        "for the gap: …": needed_gap,
    },
    equivalent={
        "sums to 0, … ,": {
            "drop factor: n → ∅": "The matrix is symmetric: its columns sum to 0 too.",
            "turn difference: N-1 → 1-N": "A sum without terms is 0 as well.",
        },
    },
)
def test_sentences(rng):
    """Weights with their derivatives, and independent vectors with means and correlations."""
    parabola = {"f": lambda t: t * (1 - t), "t": float(rng.uniform(0.1, 0.9))}
    return {**weights(rng), **mixed(rng), **parabola}
