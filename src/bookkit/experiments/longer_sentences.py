"""Do position codes that pass the tests of chapter 6 work beyond the training length?

Small encoders learn to name the first of two cities in a sentence of 4 to 10 words and are then
asked about longer ones. `python -m bookkit.experiments.longer_sentences` trains all runs and writes
the record that the deeper page of chapter 6 plots. It takes a few minutes on a CPU.

Each code is tried at several scales. All runs are trained side by side: each weight has a first
axis for case (code and scale) and run. Every run has its own initial weights, training data and
test sentences; the cases share them.
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from attention_to_rope import sinusoidal
from bookkit.adam import adam
from bookkit.experiments.record import Row, main
from bookkit.randomness import generator, normal

CITIES, FILLER, ASK = 8, 8, 16  # numbers below 8 are cities
D = 16
LENGTHS = [10, 20, 40]
SHORTEST, LONGEST = 4, 10  # in training
CODES = ("between 0 and 1", "integers", "sinusoidal")
SCALES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
CASES = [(code, scale) for code in CODES for scale in SCALES]
SEEDS = {"weights": 1, "data": 2, "tests": 9}


def codes(N: int) -> Tensor:
    """The code of each position in a sentence of N words. (cases, N, D)

    At scale 1, the step of the integers and a code of the sinusoids are as long as a new word.
    """
    direction, m = normal(D, seed=1), torch.arange(N)
    numbers = torch.stack([m / (N - 1), m.double()])[..., None] * direction / direction.norm()
    waves = sinusoidal(m, D, dtype=torch.float64) / (D / 2) ** 0.5
    scales = torch.tensor(SCALES)[:, None, None]
    return (torch.cat([numbers, waves[None]])[:, None] * scales).flatten(0, 1).float()


def sentences(rng: np.random.Generator, B: int, N: int) -> tuple[Tensor, Tensor]:
    """Sentences with two cities, (B, N), and the first of the two, (B,)."""
    words = rng.integers(FILLER, FILLER + 8, size=(B, N))
    words[:, -1] = ASK
    places = np.sort(rng.random((B, N - 1)).argsort(1)[:, :2], axis=1)
    cities = rng.random((B, CITIES)).argsort(1)[:, :2]  # two different ones
    np.put_along_axis(words, places, cities, axis=1)
    return torch.from_numpy(words), torch.from_numpy(cities[:, 0].copy())


def start(rng: np.random.Generator, runs: int) -> dict[str, Tensor]:
    """Weights of all cases and runs; every case starts from the same ones."""
    square = {name: (D, D) for name in ("Q", "K", "V", "O")}
    shapes = {"E": (17, D), **square, "up": (D, 4 * D), "down": (4 * D, D), "head": (D, CITIES)}
    draws = {name: rng.normal(size=(runs, *shape)) for name, shape in shapes.items()}
    scales = {name: shape[0] ** -0.5 for name, shape in shapes.items()} | {"E": 0.25}
    weights = {name: torch.tensor(x * scales[name]).float() for name, x in draws.items()}
    return {name: torch.cat([x] * len(CASES)).requires_grad_() for name, x in weights.items()}


def logits(w: dict[str, Tensor], words: Tensor) -> Tensor:
    """One block with one head, read at the last word. (runs, B, N) → (cases · runs, B, CITIES)"""
    P = codes(words.shape[-1]).repeat_interleave(len(words), 0)[:, None]
    words = functional.one_hot(words, ASK + 1).float().flatten(1, 2).repeat(len(CASES), 1, 1)
    X = (words @ w["E"]).unflatten(1, (-1, P.shape[-2])) + P
    Y = functional.layer_norm(X, (D,))  # (cases · runs, B, N, D)
    q = Y[:, :, -1] @ w["Q"]  # one query for each sentence
    S = (Y * (q @ w["K"].mT)[:, :, None]).sum(-1) / D**0.5  # the keys are Y @ K
    read = (Y * S.softmax(-1)[..., None]).sum(-2) @ w["V"]
    x = X[:, :, -1] + read @ w["O"]
    x = x + torch.relu(functional.layer_norm(x, (D,)) @ w["up"]) @ w["down"]
    return functional.layer_norm(x, (D,)) @ w["head"]


def train(runs: int, steps: int, B: int = 32) -> dict[str, Tensor]:
    """The weights of all cases and runs after training."""
    w, data = start(generator(SEEDS["weights"]), runs), generator(SEEDS["data"])

    def loss(step: int) -> Tensor:
        words, first = sentences(data, runs * B, int(data.integers(SHORTEST, LONGEST + 1)))
        guess = logits(w, words.reshape(runs, B, -1)).flatten(0, 1)
        mean = functional.cross_entropy(guess, first.repeat(len(CASES)))
        return len(CASES) * runs * mean  # each run as if it were alone

    adam(w.values(), loss, steps, lambda step: 0.02 * min((step + 1) / 20, 1 - step / steps))
    return w


def rows(runs: int, steps: int, tests: int = 300) -> list[Row]:
    """Train, and for each case and run give the share of right answers at every length."""
    w, rng, found = train(runs, steps), generator(SEEDS["tests"]), []
    for N in LENGTHS:
        words, first = sentences(rng, runs * tests, N)
        with torch.no_grad():
            said = logits(w, words.reshape(runs, tests, N)).argmax(-1)
        right = said == first.reshape(runs, tests).repeat(len(CASES), 1)
        found.append(right.double().mean(-1))
    table = torch.stack(found, dim=1).reshape(len(CASES), runs, len(LENGTHS))
    settings = {"steps": steps, "tests": tests, "seeds": SEEDS}
    return [
        {"code": code, "scale": scale, "run": run, "shares": shares[run].tolist(), **settings}
        for (code, scale), shares in zip(CASES, table, strict=True)
        for run in range(runs)
    ]


if __name__ == "__main__":
    main("longer_sentences", rows, seeds=8, steps=800)
