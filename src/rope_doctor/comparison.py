"""What would have to change in a measured rotation to be that of a model."""

import math

import torch

from attention_to_rope import rotary_frequencies
from rope_doctor.families import Wanted
from rope_doctor.probe import Measured
from rope_doctor.spectrum import (
    CLOSE_IF_ROUNDED,
    USUAL_BASES,
    Spectrum,
    close,
    held_by,
    length_in_exponent,
    recognise,
)


def same_frequencies(measured: Measured, wanted: Wanted) -> bool:
    """Whether the pairs that rotate have the frequencies of the model."""
    turning = wanted.settings.frequencies[wanted.settings.frequencies > 0]
    theta = torch.tensor(measured.frequencies, dtype=torch.float64)
    if measured.rounded_to is not None:
        return close(theta, turning, CLOSE_IF_ROUNDED)
    return close(theta, turning) or _same_but_rounded(theta, turning)


def _same_but_rounded(theta: torch.Tensor, turning: torch.Tensor) -> bool:
    """Whether frequencies are those of the model in a half type: a fault has said so."""
    held = held_by(theta)
    return held is not None and close(theta, turning.to(held).double(), 1e-3)


def _same_factor(measured: Measured, wanted: Wanted) -> bool:
    rounding = 0.01 if measured.rounded_to else 0.0
    return abs(measured.factor - wanted.settings.attention_factor) <= 1e-4 + rounding


def is_same(wanted: Wanted, measured: Measured, dim: int) -> bool:
    """Whether nothing would have to change; as `differences`, without the words."""
    settings = wanted.settings
    return (
        settings.head_dim == dim
        and settings.rotary_dim == measured.span
        and measured.first_dim == 0
        and measured.forward
        and measured.layout == wanted.layout
        and _same_factor(measured, wanted)
        and same_frequencies(measured, wanted)
    )


def differences(
    wanted: Wanted, measured: Measured, spectrum: Spectrum, dim: int, *, table: bool
) -> list[str]:
    """What would have to change to match a model; without the table if the caller gives it."""
    settings = wanted.settings
    if settings.rotary_dim == 0:
        return [f"rotation: the function rotates, but {wanted.name} does not"]
    if settings.head_dim != dim:
        return [f"examine it with head_dim={settings.head_dim}, that of the model; it had {dim}"]
    first = measured.first_dim
    span = measured.span
    changes = []
    if wanted.layout is not None and measured.layout != wanted.layout:
        changes.append(
            f"layout: {measured.layout} to {wanted.layout}, or permute W_q and W_k "
            "(convert_projection_layout)"
        )
    if not measured.forward:
        changes.append("direction: rotate the other way (change the sign of sin)")
    if 2 * len(measured.pairs) > span:
        changes.append(
            f"layout: pairs (i, i + {span // 2}) in several blocks of {span} dimensions, to pairs "
            f"(i, i + {settings.rotary_dim // 2})"
        )
    elif span != settings.rotary_dim or first != 0:
        changes.append(
            f"rotary dimensions: {span} from {first} on, to the first {settings.rotary_dim}"
        )
    if not table:
        return changes
    if span == settings.rotary_dim and not same_frequencies(measured, wanted):
        changes += _other_frequencies(wanted, spectrum, len(measured.pairs))
        changes += _multiplied(wanted, measured)
    if not _same_factor(measured, wanted):
        factor = settings.attention_factor
        twice = math.isclose(measured.factor, factor**2, rel_tol=1e-3)
        why = " (it is there twice)" if twice else ""
        changes.append(f"factor of the table: {measured.factor:.4f} to {factor:.4f}{why}")
    return changes


def _other_frequencies(wanted: Wanted, spectrum: Spectrum, pairs: int) -> list[str]:
    """What is to be said of frequencies that differ: at least one change."""
    settings = wanted.settings
    turning = settings.frequencies[settings.frequencies > 0]
    known = recognise(turning, settings.rotary_dim).scaling
    if "by no rule" in known:
        known = settings.kind
    if settings.kind == "dynamic":
        known += " up to the trained length (dynamic NTK)"
    changes = [f"frequencies: {doubt}" for doubt in spectrum.doubts]
    if pairs < len(turning):
        changes.append(
            f"frequencies: {pairs} of {settings.rotary_dim // 2} pairs rotate, the slower "
            f"ones stand still; the model rotates {len(turning)}"
        )
    if math.isnan(spectrum.base):
        return changes or ["frequencies: they are not those of the model"]
    other_base = not math.isclose(spectrum.base, settings.base, rel_tol=1e-4)
    if other_base:
        length = length_in_exponent(spectrum.base, settings.rotary_dim // 2, settings.base)
        why = ""
        mistaken = length is not None and length != settings.rotary_dim
        if mistaken and spectrum.base not in USUAL_BASES:
            why = f": base {settings.base:g} with the exponents 2i/{length} in place of 2i/"
            why += f"{settings.rotary_dim}"
        why = why or _power_left_out(spectrum.base, settings.base, settings.rotary_dim // 2)
        changes.append(f"base: {spectrum.base:g} to {settings.base:g}{why}")
    if not other_base or spectrum.scaling != known:
        changes.append(f"scaling: {spectrum.scaling} was measured, the model has {known}")
    return changes


def _multiplied(wanted: Wanted, measured: Measured) -> list[str]:
    """Whether pairs are as much too fast as the scaling makes them slower."""
    settings = wanted.settings
    theta = torch.tensor(measured.frequencies, dtype=torch.float64)
    if len(theta) != settings.rotary_dim // 2 or theta.shape != settings.frequencies.shape:
        return []
    plain = rotary_frequencies(settings.rotary_dim, settings.base)
    if close(plain, settings.frequencies) or not close(theta * settings.frequencies, plain**2):
        return []
    return ["scaling: frequencies are multiplied by its factors, to divided by them"]


def _power_left_out(measured: float, wanted: float, pairs: int) -> str:
    """Whether a base was multiplied by a scale s in place of s^(d / (d − 2))."""
    for usual in USUAL_BASES if pairs > 1 else ():
        scale = measured / usual
        power = pairs / (pairs - 1)
        if scale > 1.1 and math.isclose(usual * scale**power, wanted, rel_tol=1e-4):
            return f": base {usual:g} times {scale:g}, without the power d/(d − 2) of NTK-aware"
    return ""
