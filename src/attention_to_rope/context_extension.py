"""Longer contexts: each method is a function from rotary frequencies to rotary frequencies.

`scale` s ≥ 1 says how many times longer the context is to be; s = 1 changes nothing. Give the
result to `rotary_table` or `Rotary`. All frequencies are float64, and all shapes are (d/2,): one
number per pair.

Beyond its training length L₀, a model meets angles that it has never seen. Only slow pairs do: a
pair that made whole rotations in training has seen the whole circle (`eq-pair-turns`). So the
methods differ in how they divide the work: all pairs alike, or slow pairs more than fast ones
(`eq-stretch`).
"""

import math

import torch
from jaxtyping import Float64
from torch import Tensor

from attention_to_rope.layers import check_at_least, check_positive

Frequencies = Float64[Tensor, " pairs"]

# YaRN's α and β, in full rotations over the trained length.
SLOW_TURNS = 1.0
FAST_TURNS = 32.0


def position_interpolation(frequencies: Frequencies, scale: float) -> Frequencies:
    r"""Squeeze all positions into the trained range: $\theta_i' = \theta_i / s$, `eq-pi`.

    No angle is new, but neighbours are s times closer together, which the fast pairs must resolve.

    >>> position_interpolation(torch.tensor([1.0, 0.1]).double(), 2.0)
    tensor([0.5000, 0.0500], dtype=torch.float64)
    """
    check_positive("scale", scale)
    return frequencies / scale


def ntk_aware(frequencies: Frequencies, scale: float) -> Frequencies:
    r"""Raise the base: keep the fastest pair, interpolate the slowest, spread the rest between.

    $b' = b\, s^{d/(d-2)}$ (`eq-ntk-base`), which is $\theta_i' = \theta_i\, s^{-i/(d/2-1)}$
    (`eq-ntk-stretch`).

    >>> ntk_aware(torch.tensor([1.0, 0.1]).double(), 2.0)
    tensor([1.0000, 0.0500], dtype=torch.float64)
    """
    check_positive("scale", scale)
    pairs = frequencies.shape[0]
    if pairs < 2:
        raise ValueError(
            "ntk_aware keeps the first and slows down the last of two or more pairs, got "
            f"{pairs}: for one pair use position_interpolation"
        )
    # From 0 for the fastest pair to 1 for the slowest: s^0 = 1 keeps, s^−1 interpolates.
    share = torch.arange(pairs, dtype=torch.float64, device=frequencies.device) / (pairs - 1)
    return frequencies * torch.pow(scale, -share)


def dynamic_ntk(
    frequencies: Frequencies, scale: float, *, length: int, original_length: int
) -> Frequencies:
    r"""NTK-aware scaling that grows with the current length L, from the trained length L₀ on.

    $s' = \max(1, s L / L_0 - (s - 1))$. The frequencies depend on L: keys that were cached at
    another length have other angles, and so have the keys of all deeper layers.

    >>> dynamic_ntk(torch.tensor([1.0, 0.1]).double(), 2.0, length=8, original_length=8)
    tensor([1.0000, 0.1000], dtype=torch.float64)
    """
    check_positive("scale", scale)
    check_at_least("length", length, 0)
    check_at_least("original_length", original_length, 1)
    # The formula with the 1 taken out: inside the trained length it is 1 exactly, not nearly.
    grown = 1 + scale * max(length - original_length, 0) / original_length
    return ntk_aware(frequencies, grown)


def ntk_by_parts(
    frequencies: Frequencies,
    scale: float,
    *,
    original_length: int,
    slow: float = SLOW_TURNS,
    fast: float = FAST_TURNS,
) -> Frequencies:
    r"""Keep fast pairs, interpolate pairs that do not complete a rotation, blend between.

    $\theta_i' = \gamma_i \theta_i + (1 - \gamma_i)\theta_i / s$ with
    $\gamma_i = (r_i - \alpha) / (\beta - \alpha)$ cut to [0, 1]; $r_i = L_0 \theta_i / (2 \pi)$ is
    the number of rotations of pair i over the trained length, α is `slow`, β is `fast`
    (`eq-by-parts`). As the YaRN paper prints it. Equal α and β make the ramp a step (Llama 4
    Scout).

    >>> ntk_by_parts(torch.tensor([1.0, 1e-4]).double(), 2.0, original_length=4096)
    tensor([1.0000e+00, 5.0000e-05], dtype=torch.float64)
    """
    check_positive("scale", scale)
    check_at_least("original_length", original_length, 1)
    _check_limits(slow, fast)
    turns = original_length * frequencies / (2 * math.pi)  # r_i
    # γ: 1 for pairs that turned often in training, 0 for those that hardly did.
    if slow == fast:
        keep = (turns >= slow).double()
    else:
        keep = ((turns - slow) / (fast - slow)).clamp(0, 1)
    return _blend(frequencies, scale, keep)


def yarn(
    frequencies: Frequencies,
    scale: float,
    *,
    original_length: int,
    slow: float = SLOW_TURNS,
    fast: float = FAST_TURNS,
    truncate: bool = True,
) -> Frequencies:
    r"""YaRN as its authors released it: the blend is linear in the pair's index.

    The ramp runs from the index where a pair makes `fast` rotations (rounded down with `truncate`)
    to the index where it makes `slow` rotations (rounded up). Use it with `yarn_attention_factor`.
    Frequencies must be geometric, $\theta_i = b^{-2i/d}$.

    >>> yarn(torch.tensor([1.0, 1e-4]).double(), 2.0, original_length=4096)
    tensor([1.0000e+00, 5.0000e-05], dtype=torch.float64)
    """
    check_positive("scale", scale)
    check_at_least("original_length", original_length, 1)
    _check_limits(slow, fast)
    # In a geometric series, the number of rotations falls by the same factor from pair to pair. So
    # the pair that makes a given number of rotations is found by a logarithm.
    pairs = frequencies.shape[0]
    steps = frequencies[:-1].log() - frequencies[1:].log()
    if not torch.allclose(steps, steps[:1], rtol=1e-6, atol=0):
        raise ValueError("frequencies must be geometric, as rotary_frequencies gives them")
    step = float(steps.mean())  # the logarithm of the frequency falls by this, pair by pair
    first_turns = original_length * float(frequencies[0]) / (2 * math.pi)
    start = math.log(first_turns / fast) / step  # the index of a pair that makes `fast` rotations
    stop = math.log(first_turns / slow) / step
    if truncate:
        start = math.floor(start)
        stop = math.ceil(stop)
    if stop < 0:  # even the fastest pair makes fewer than `slow` rotations
        return frequencies / scale
    # If even the slowest pair makes `fast` rotations, the ramp starts after it and changes nothing.
    start = min(max(start, 0), pairs)
    stop = min(stop, 2 * pairs - 1)
    if start == stop:
        stop += 0.001  # as released: a ramp of no width becomes a step
    index = torch.arange(pairs, dtype=torch.float64, device=frequencies.device)
    ramp = ((index - start) / (stop - start)).clamp(0, 1)
    return _blend(frequencies, scale, keep=1 - ramp)


def _check_limits(slow: float, fast: float) -> None:
    if not 0 < slow <= fast:
        raise ValueError(
            f"slow must be positive and at most fast, got slow={slow} and fast={fast}: pairs with "
            "fewer rotations than slow are interpolated, those with more than fast are kept"
        )


def _blend(frequencies: Frequencies, scale: float, keep: Frequencies) -> Frequencies:
    """Frequencies between the trained ones (`keep` 1) and the interpolated ones (`keep` 0)."""
    return keep * frequencies + (1 - keep) * (frequencies / scale)


def yarn_attention_factor(scale: float, weight: float = 1.0) -> float:
    r"""YaRN's factor on the table: $0.1\, w \ln s + 1$; scores grow by its square. w is 1 in YaRN.

    A softmax over more keys is flatter, and larger scores sharpen it: `eq-yarn-temperature`.

    DeepSeek divides the table's factor by that with w = `mscale_all_dim` and multiplies the scale
    of the softmax by the square of the latter, which also acts on dimensions that do not rotate.

    >>> yarn_attention_factor(1.0)
    1.0
    """
    check_positive("scale", scale)
    if scale <= 1:
        return 1.0
    return 0.1 * weight * math.log(scale) + 1


def llama3(
    frequencies: Frequencies,
    scale: float = 8.0,
    *,
    original_length: int = 8192,
    slow: float = 1.0,
    fast: float = 4.0,
) -> Frequencies:
    r"""Llama 3.1: `ntk_by_parts` with its own limits of the number of rotations.

    Pairs with more than `fast` rotations stay, pairs with fewer than `slow` are divided by s.

    >>> llama3(torch.tensor([1.0, 1e-4]).double())
    tensor([1.0000e+00, 1.2500e-05], dtype=torch.float64)
    """
    return ntk_by_parts(frequencies, scale, original_length=original_length, slow=slow, fast=fast)


def longrope(frequencies: Frequencies, factors: Frequencies) -> Frequencies:
    r"""LongRoPE: divide each pair by its own factor, $\theta_i' = \theta_i / \kappa_i$.

    The factors are found by a search and come with the checkpoint.

    >>> longrope(torch.tensor([1.0, 0.1]).double(), torch.tensor([1.0, 4.0]).double())
    tensor([1.0000, 0.0250], dtype=torch.float64)
    """
    pairs = frequencies.shape[0]
    if factors.shape != (pairs,):
        raise ValueError(
            f"factors must have one for each of the {pairs} pairs, got {factors.numel()}"
        )
    if not bool(((factors > 0) & factors.isfinite()).all()):
        raise ValueError(f"factors must be positive and finite, got {factors.tolist()}")
    return frequencies / factors


def longrope_attention_factor(scale: float, original_length: int) -> float:
    r"""LongRoPE's factor on the table: $\sqrt{1 + \ln(s) / \ln(L_0)}$, `eq-longrope-factor`.

    >>> round(longrope_attention_factor(32.0, 4096), 4)
    1.1902
    """
    check_positive("scale", scale)
    if scale <= 1:
        return 1.0
    return math.sqrt(1 + math.log(scale) / math.log(original_length))
