"""What the formulas in the docstrings of `context_extension` are compared with."""

import math

import numpy as np
from formulas import RESULT, tensor

import attention_to_rope as book

D, PAIRS = 8, 4
INDEX = range(PAIRS)


def interpolated(rng):
    theta, s = book.rotary_frequencies(D, 40.0), float(rng.uniform(2, 5))
    changed = book.position_interpolation(theta, s)
    return {r"\theta": theta.numpy(), r"\theta'": changed.numpy(), "s": s, "i": INDEX}


def ntk_aware(rng):
    base, s = float(rng.uniform(20, 50)), float(rng.uniform(2, 5))
    theta = book.rotary_frequencies(D, base)
    changed = book.ntk_aware(theta, s)
    new_base = float(changed[1]) ** (-D / 2)
    symbols = {"b": base, "b'": new_base, "s": s, "d": D, "i": INDEX}
    return {r"\theta": theta.numpy(), r"\theta'": changed.numpy(), **symbols}


def dynamic_ntk(rng):
    """The scale that the slowest pair shows; texts shorter than trained ones too."""
    theta, s = book.rotary_frequencies(D), float(rng.uniform(1.5, 5))
    trained = int(rng.integers(50, 200))
    for length in (trained // 2, trained, 2 * trained + 1, 7 * trained):
        changed = book.dynamic_ntk(theta, s, length=length, original_length=trained)
        yield {"s'": float(theta[-1] / changed[-1]), "s": s, "L": length, "L_0": trained}


def by_parts(rng):
    """The share of each pair on the ramp, read from the frequencies, and what turns it means."""
    theta, s, trained = book.rotary_frequencies(16, 200.0), float(rng.uniform(2, 5)), 300
    slow, fast = 1.5, 20.0
    changed = book.ntk_by_parts(theta, s, original_length=trained, slow=slow, fast=fast)
    share = ((changed * s / theta - 1) / (s - 1)).numpy()
    on_ramp = np.flatnonzero((share > 1e-9) & (share < 1 - 1e-9))
    return {
        r"\theta": theta.numpy(),
        r"\theta'": changed.numpy(),
        r"\gamma": share,
        "r": slow + share * (fast - slow),
        "s": s,
        r"\alpha": slow,
        r"\beta": fast,
        "L_0": trained,
        "i": range(on_ramp[0], on_ramp[-1] + 1),
    }


def geometric(rng):
    """Frequencies that YaRN takes; it refuses others."""
    base = float(rng.uniform(20, 50))
    theta = book.rotary_frequencies(D, base)
    book.yarn(theta, 2.0, original_length=64)
    return {r"\theta": theta.numpy(), "b": base, "d": D, "i": INDEX}


def attention_factor(rng):
    s, w = rng.uniform(1.5, 40), rng.uniform(0.5, 2)
    return {"s": s, "w": w, RESULT: book.yarn_attention_factor(s, w)}


def split_factors(rng):
    s, first, second = float(rng.uniform(2, 40)), *rng.uniform(0.5, 2, size=2)

    def factor(w):
        return math.sqrt(book.yarn_factors(s, mscale=1.0, mscale_all_dim=float(w)).scores)

    return s, first, second, {"m": factor, "s": s, "w": 0.7, "w_1": first, "w_2": second}


def split(of_factors):
    def bindings(rng):
        s, first, second, symbols = split_factors(rng)
        factors = book.yarn_factors(s, mscale=first, mscale_all_dim=second)
        return {**symbols, RESULT: of_factors(factors)}

    return bindings


def longrope(rng):
    theta, factors = book.rotary_frequencies(D, 40.0), rng.uniform(1.2, 4, size=PAIRS)
    changed = book.longrope(theta, tensor(factors)).numpy()
    return {r"\theta": theta.numpy(), r"\theta'": changed, r"\kappa": factors, "i": INDEX}


def longrope_factor(rng):
    s, trained = rng.uniform(1.5, 40), int(rng.integers(100, 5000))
    return {"s": s, "L_0": trained, RESULT: book.longrope_attention_factor(s, trained)}


BINDINGS = {
    "position_interpolation": interpolated,
    "ntk_aware": ntk_aware,
    "dynamic_ntk": dynamic_ntk,
    "ntk_by_parts": by_parts,
    "yarn": geometric,
    "yarn_attention_factor": attention_factor,
    "yarn_factors": {
        r"m_w = 0.1\, w \ln s + 1": lambda rng: split_factors(rng)[-1],
        r"m_{w_1} / m_{w_2}": split(lambda factors: factors.table),
        r"m_{w_2}^2": split(lambda factors: factors.scores),
        r"m_{w_1}^2": split(lambda factors: factors.table**2 * factors.scores),
    },
    "longrope": longrope,
    "longrope_attention_factor": longrope_factor,
}
