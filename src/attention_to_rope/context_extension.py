"""Longer contexts: each method is a function from rotary frequencies to rotary frequencies.

Nothing is remembered between calls. All work in float64. `scale` s ≥ 1 says how many times longer
the context is to be; s = 1 changes nothing. Give the result to `rotary_table`.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from attention_to_rope.checks import (
    check_count,
    check_float,
    check_positive,
    check_same_kind,
    values_are_known,
)
from attention_to_rope.rope_checks import check_finite, check_frequencies

# YaRN's α and β, in turns over the trained length.
SLOW_TURNS, FAST_TURNS = 1.0, 32.0


def _check(frequencies: Tensor, scale: float) -> None:
    check_frequencies(frequencies)
    check_positive("scale", scale)
    if scale < 1:
        raise ValueError(f"scale must be at least 1, got {scale}; it is the new length / the old")


def _turns(frequencies: Tensor, length: int) -> Tensor:
    """How many full turns each pair makes over `length` positions."""
    check_count("original_length", length)
    return length * frequencies / (2 * math.pi)


def _check_turns(slow: float, fast: float) -> None:
    check_positive("slow", slow)
    check_positive("fast", fast)
    if slow >= fast:
        raise ValueError(f"slow must be below fast, got slow={slow} and fast={fast} turns")


def _blend(frequencies: Tensor, scale: float, keep: Tensor) -> Tensor:
    """Frequencies between the trained ones (`keep` 1) and the interpolated ones (`keep` 0)."""
    return keep * frequencies + (1 - keep) * (frequencies / scale)


def position_interpolation(frequencies: Tensor, scale: float) -> Tensor:
    r"""Squeeze all positions into the trained range: $\theta_i' = \theta_i / s$."""
    _check(frequencies, scale)
    return frequencies / scale


def ntk_aware(frequencies: Tensor, scale: float) -> Tensor:
    r"""Raise the base: keep the fastest pair, interpolate the slowest, spread the rest between.

    $b' = b\, s^{d/(d-2)}$, which is $\theta_i' = \theta_i\, s^{-i/(d/2-1)}$.
    """
    _check(frequencies, scale)
    pairs = frequencies.shape[0]
    if pairs < 2:
        raise ValueError(f"NTK-aware scaling needs at least 2 pairs (d ≥ 4), got {pairs}")
    share = torch.arange(pairs, dtype=torch.float64, device=frequencies.device) / (pairs - 1)
    return frequencies * torch.pow(scale, -share)


def dynamic_ntk(frequencies: Tensor, scale: float, *, length: int, original_length: int) -> Tensor:
    r"""NTK-aware scaling that grows with the current length L, from the trained length L₀ on.

    $s' = \max(1, s L / L_0 - (s - 1))$. The frequencies depend on L: keys that were cached at
    another length have other angles and must be rotated again.
    """
    _check(frequencies, scale)
    check_count("length", length)
    check_count("original_length", original_length)
    # The formula with the 1 taken out: inside the trained length it is 1 exactly, not nearly.
    grown = 1 + scale * max(length - original_length, 0) / original_length
    return ntk_aware(frequencies, grown)


def ntk_by_parts(
    frequencies: Tensor,
    scale: float,
    *,
    original_length: int,
    slow: float = SLOW_TURNS,
    fast: float = FAST_TURNS,
) -> Tensor:
    r"""Keep pairs that turn often, interpolate pairs that do not complete a turn, blend between.

    $\theta_i' = \gamma_i \theta_i + (1 - \gamma_i)\theta_i / s$ with
    $\gamma_i = (r_i - \alpha) / (\beta - \alpha)$ cut to [0, 1]; $r_i = L_0 \theta_i / (2 \pi)$ is
    the number of turns of pair i over the trained length, α is `slow`, β is `fast`. As the YaRN
    paper prints it. Equal α and β make the ramp a step (Llama 4 Scout).
    """
    _check(frequencies, scale)
    turns = _turns(frequencies, original_length)
    if slow == fast:
        check_positive("slow", slow)
        keep = (turns >= slow).double()
    else:
        _check_turns(slow, fast)
        keep = ((turns - slow) / (fast - slow)).clamp(0, 1)
    return _blend(frequencies, scale, keep)


def yarn(
    frequencies: Tensor,
    scale: float,
    *,
    original_length: int,
    slow: float = SLOW_TURNS,
    fast: float = FAST_TURNS,
    truncate: bool = True,
) -> Tensor:
    r"""YaRN as its authors released it: the blend is linear in the pair's index, not in its turns.

    The ramp runs from the index where a pair makes `fast` turns (rounded down with `truncate`) to
    the index where it makes `slow` turns (rounded up). Use it with `yarn_attention_factor`.
    Frequencies must be geometric, $\theta_i = b^{-2i/d}$.
    """
    _check(frequencies, scale)
    _check_turns(slow, fast)
    pairs = frequencies.shape[0]
    if pairs < 2:
        raise ValueError(f"YaRN needs at least 2 pairs (d ≥ 4), got {pairs}")
    logarithms = frequencies.log()
    steps = logarithms[:-1] - logarithms[1:]
    step = float(steps.mean())
    if not (step > 0 and torch.allclose(steps, steps.mean(), rtol=1e-6, atol=0)):
        raise ValueError("frequencies must be geometric and falling, as rotary_frequencies gives")
    first_turns = float(_turns(frequencies, original_length)[0])
    start = math.log(first_turns / fast) / step
    stop = math.log(first_turns / slow) / step
    if truncate:
        start, stop = math.floor(start), math.ceil(stop)
    if start >= pairs:  # even the slowest pair makes `fast` turns: nothing to interpolate
        return frequencies.clone()
    if stop < 0:  # even the fastest pair makes fewer than `slow` turns
        return frequencies / scale
    start, stop = max(start, 0), min(stop, 2 * pairs - 1)
    if start == stop:
        stop += 0.001  # as released: a ramp of no width becomes a step
    index = torch.arange(pairs, dtype=torch.float64, device=frequencies.device)
    keep = 1 - ((index - start) / (stop - start)).clamp(0, 1)
    return _blend(frequencies, scale, keep)


def yarn_attention_factor(scale: float, weight: float = 1.0) -> float:
    r"""YaRN's factor on the table: $0.1\, w \ln s + 1$; scores grow by its square. w is 1 in YaRN.

    >>> yarn_attention_factor(1.0)
    1.0
    """
    check_positive("scale", scale)
    check_positive("weight", weight)
    return 1.0 if scale <= 1 else 0.1 * weight * math.log(scale) + 1


class YarnFactors(NamedTuple):
    """The factor of the table, and the factor of all scores, of dimensions that stand still too."""

    table: float
    scores: float


def yarn_factors(scale: float, *, mscale: float, mscale_all_dim: float) -> YarnFactors:
    r"""DeepSeek's split of YaRN's factor $m_w = 0.1\, w \ln s + 1$ between table and scores.

    The table gets $m_{w_1} / m_{w_2}$ with $w_1$ = `mscale`, $w_2$ = `mscale_all_dim`; the scale of
    the softmax is multiplied by $m_{w_2}^2$, which dimensions that do not turn feel as well. So the
    scores of turned dimensions grow by $m_{w_1}^2$ in all.

    >>> yarn_factors(40.0, mscale=1.0, mscale_all_dim=1.0)  # DeepSeek-V3
    YarnFactors(table=1.0, scores=1.8738542070926265)
    """
    everywhere = yarn_attention_factor(scale, mscale_all_dim)
    return YarnFactors(yarn_attention_factor(scale, mscale) / everywhere, everywhere**2)


def llama3(
    frequencies: Tensor,
    scale: float = 8.0,
    *,
    original_length: int = 8192,
    slow: float = 1.0,
    fast: float = 4.0,
) -> Tensor:
    r"""Llama 3.1: as `ntk_by_parts`, with its own limits of the number of turns.

    Pairs with more than `fast` turns stay, pairs with fewer than `slow` are divided by s.
    """
    return ntk_by_parts(frequencies, scale, original_length=original_length, slow=slow, fast=fast)


def longrope(frequencies: Tensor, factors: Tensor) -> Tensor:
    r"""LongRoPE: divide each pair by its own factor, $\theta_i' = \theta_i / \kappa_i$."""
    check_frequencies(frequencies)
    check_float("factors", factors)
    check_same_kind("frequencies", frequencies, "factors", factors)
    if factors.shape != frequencies.shape:
        raise ValueError(
            f"factors must have one entry per pair, {frequencies.shape[0]}; "
            f"got shape {tuple(factors.shape)}"
        )
    if factors.device.type == "cpu" and values_are_known(factors):
        check_finite("factors", factors.tolist())
        if not bool((factors > 0).all()):
            raise ValueError(f"factors must be above 0, got a smallest of {float(factors.min())}")
    return frequencies / factors


def longrope_attention_factor(scale: float, original_length: int) -> float:
    r"""LongRoPE's factor on the table: $\sqrt{1 + \ln(s) / \ln(L_0)}$."""
    check_positive("scale", scale)
    check_count("original_length", original_length, at_least=2)
    return 1.0 if scale <= 1 else math.sqrt(1 + math.log(scale) / math.log(original_length))
