"""What the frequencies of a rotation are: base and scaling by a known rule, or why by none."""

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from attention_to_rope import rotary_frequencies
from attention_to_rope.context_extension import llama3, ntk_by_parts, yarn

CLOSE = 2e-5  # of a frequency: how well float32 tables show it, and how well rules are told apart
CLOSE_IF_ROUNDED = 6e-3  # from a table that holds half numbers
SMALLEST_BASE = 5000.0  # no model of text has a smaller one
USUAL_BASES = (1e4, 5e5, 1e6)
LENGTHS = tuple(2**power for power in range(9, 19))


class Spectrum(NamedTuple):
    """Base and scaling in words; exact frequencies of all pairs, if a rule gives them.

    doubts: why no rule gives them, or why the rule is not one that models use. rounded_to: the half
    type that holds all frequencies. scale: by how much a context is stretched. before: frequencies
    by a rule, where the measured ones are rounded. wrong_pairs: pairs that leave the rule of most.
    too_fast: what makes pairs rotate by more than half a turn per position.
    """

    base: float
    scaling: str
    exact: Tensor | None
    doubts: list[str]
    rounded_to: torch.dtype | None = None
    scale: float = 1.0
    before: Tensor | None = None
    wrong_pairs: tuple[int, ...] = ()
    too_fast: str | None = None


def close(theta: Tensor, exact: Tensor, tolerance: float = CLOSE) -> bool:
    """Whether two lists of frequencies are the same up to this share of each."""
    if theta.shape != exact.shape:
        return False
    return bool(((theta - exact) / exact).abs().max() < tolerance)


def held_by(theta: Tensor) -> torch.dtype | None:
    """The half type that holds all frequencies, to what was measured; None if there is none."""
    powers = theta.log2()
    telling = theta[(powers - powers.round()).abs() > 1e-6]  # every type holds powers of two
    if len(telling) < 3:
        return None
    for dtype in (torch.bfloat16, torch.float16):
        rounded = telling.to(dtype).double()
        normal = rounded > torch.finfo(dtype).tiny
        if bool(normal.any()) and close(telling[normal], rounded[normal], 5e-6):
            return dtype
    return None


def recognise(
    theta: Tensor,
    span: int,
    *,
    rounded_table: bool = False,
    known_bases: frozenset[float] = frozenset(),
) -> Spectrum:
    """Base and scaling from the frequencies of the pairs that rotate, of `span` dimensions."""
    tolerance = CLOSE_IF_ROUNDED if rounded_table else CLOSE
    if len(theta) == 1:
        return Spectrum(math.nan, "one pair only", None, [_why_one_pair(theta, span // 2)])
    if len(theta) > span // 2:
        return Spectrum(
            math.nan, "not recognised", None, [f"pairs lie in several blocks of {span} dimensions"]
        )
    rounded_to = None if rounded_table or bool((theta == 0).any()) else held_by(theta)
    if rounded_to is not None:
        return _rounded(theta, span, rounded_to, known_bases)
    wrong = wrong_pairs(theta, span // 2, tolerance, known_bases)
    if wrong is not None:
        return wrong
    if bool((theta == 0).any()) or not bool((theta[:-1] > theta[1:]).all()):
        mistaken = _mistaken_scaling(theta, pairs=span // 2, bases=known_bases)
        if mistaken is not None:
            return mistaken
        return Spectrum(math.nan, "not recognised", None, [_why_not_falling(theta)])
    pairs = span // 2
    index = torch.arange(len(theta), dtype=torch.float64)
    slope = float(-(theta[0] / theta[-1]).log() / index[-1])
    if close(theta, theta[0] * (slope * index).exp(), tolerance):
        return _geometric(theta, pairs, math.exp(-slope * pairs), tolerance, known_bases)
    return _scaled(theta, pairs, tolerance, known_bases)


def wrong_pairs(
    theta: Tensor, pairs: int, tolerance: float, known_bases: frozenset[float]
) -> Spectrum | None:
    """A rule that most pairs follow, the last one too, and the pairs between that do not."""
    if len(theta) < 8 or len(theta) != pairs:
        return None
    steps = theta[:-1].log() - theta[1:].log()
    base = round_base(math.exp(float(steps.median()) * pairs), known_bases, 1e-3)
    if base is None:
        return None
    plain = rotary_frequencies(2 * pairs, base)
    off = ((theta - plain) / plain).abs() > tolerance
    places = off.nonzero().flatten().tolist()
    if not places or bool(off[-1]) or 2 * len(places) >= pairs:
        return None
    return Spectrum(base, "none, but for some pairs", None, [], wrong_pairs=tuple(places))


def too_fast(signed: Tensor, pairs: int, known_bases: frozenset[float]) -> Spectrum | None:
    """A rule under which pairs rotate by more than half a turn per position, and seem slower.

    Only the angle up to whole turns can be measured. The slow pairs show base and factor, and the
    others must follow: the last pairs are slow, or the first if the exponent lacks its minus.
    """
    if len(signed) < 16 or len(signed) != pairs:
        return None
    index = torch.arange(pairs, dtype=torch.float64)
    for place, other in ((-1, -4), (0, 3)):
        if signed[place] * signed[other] <= 0:
            continue
        slope = float((signed[other] / signed[place]).log() / (index[other] - index[place]))
        base = round_base(math.exp(abs(slope) * pairs), known_bases, 1e-3)
        if base is None:
            continue
        powers = base ** (math.copysign(1.0, slope) * index / pairs)
        factor = _round_scale(float(signed[place] / powers[place]), 1e-4)
        predicted = factor * powers
        turns = (predicted - signed) / (2 * math.pi)
        left = (turns - turns.round()).abs().max()
        if float(left) < 2e-3 and float(predicted.abs().max()) > math.pi:
            why = _why_this_fast(factor, slope)
            return Spectrum(base, "none, but too fast", None, [], too_fast=why)
    return None


def _why_this_fast(factor: float, slope: float) -> str:
    if slope > 0:
        return "frequencies are base^(+2i/d): the minus of the exponent is missing"
    if math.isclose(factor, 180 / math.pi, rel_tol=1e-3):
        return "angles are 180/π = 57.3 times too large: in degrees, but cos and sin take radians"
    if math.isclose(factor, 2 * math.pi, rel_tol=1e-3):
        return "angles are multiplied by 2π, but θ_i is in radians per position, not in turns"
    return f"angles are multiplied by {factor:.6g}; scaling divides them"


def decimals_of(theta: Tensor) -> int | None:
    """The number of decimals that all frequencies have, to what was measured; or None."""
    powers = theta.log10()
    telling = theta[(powers - powers.round()).abs() > 1e-6]  # powers of ten have few decimals
    if len(telling) < 3:
        return None
    for decimals in (2, 3, 4, 5):
        steps = telling * 10**decimals
        if bool(((steps - steps.round()).abs() < 0.02).all()):
            return decimals
    return None


def _why_one_pair(theta: Tensor, pairs: int) -> str:
    """Why one pair proves no rule: θ_0 is 1 for every base."""
    if pairs > 1 and close(theta, torch.ones_like(theta)):
        return (
            f"only the fastest of {pairs} pairs rotates, so there is no base: an infinite one does "
            "that, as a base above 65,504 becomes in float16"
        )
    return "only one pair rotates: one frequency shows no base, because θ_0 is 1 for all of them"


def _why_not_falling(theta: Tensor) -> str:
    if close(theta, torch.full_like(theta, float(theta[0])), 1e-4):
        return (
            f"all pairs have the frequency {float(theta[0]):.6g}: the exponents are equal, as from "
            "a division of integers; θ_i = base^(−2i/d) falls"
        )
    if bool((theta[:-1] < theta[1:]).all()):
        return (
            "the frequencies rise from pair to pair: the exponent lacks its minus, or their order "
            "is reversed; θ_i = base^(−2i/d) falls"
        )
    for count in range(1, len(theta) // 2 + 1):
        if len(theta) % count:
            continue
        if close(theta, theta[:count].repeat(len(theta) // count), 1e-4):
            return (
                f"the frequencies repeat: the first {count} come {len(theta) // count} times, as "
                f"those of {2 * count} dimensions in place of {2 * len(theta)}; θ_i = base^(−2i/d) "
                "falls to the last pair"
            )
        times = len(theta) // count
        if times > 1 and close(theta, theta[::times].repeat_interleave(times), 1e-4):
            return (
                f"each frequency comes {times} times in a row: there are {count} in place of "
                f"{len(theta)}, as from a table with neighbours alike that is used for halves; "
                "θ_i = base^(−2i/d) falls from pair to pair"
            )
    return "the frequencies do not fall from pair to pair; θ_i = base^(−2i/d) does"


def round_base(base: float, known_bases: frozenset[float], tolerance: float) -> float | None:
    """The base that models use and that this one is, up to the measurement."""
    for known in sorted(known_bases):
        if math.isclose(base, known, rel_tol=min(tolerance, 1e-3)):
            return known
    candidate = float(f"{base:.3g}")
    usual = candidate >= SMALLEST_BASE
    return candidate if usual and math.isclose(base, candidate, rel_tol=tolerance) else None


def _geometric(
    theta: Tensor, pairs: int, measured: float, tolerance: float, known: frozenset[float]
) -> Spectrum:
    """Frequencies that fall by one factor: plain, linear, NTK-aware, p-RoPE, or a wrong formula."""
    first = float(theta[0])
    base = round_base(measured, known, 3 * tolerance)
    doubts = []
    scaling = "none"
    if base is None:
        ntk = _ntk_aware(measured, pairs)
        base = float(f"{measured:.6g}")
        if ntk:
            scaling = ntk
            base = measured
        else:
            doubts.append(_why_this_base(measured, pairs))
    rest = pairs - len(theta)
    scale = 1.0
    if abs(first - 1) > tolerance:
        scale = _round_scale(1 / first, tolerance)
        scaling = f"linear: every angle divided by {scale:g}"
        doubts += _why_this_first(first, base, pairs)
    if rest:
        scaling = f"the slowest {rest} of {pairs} pairs do not rotate (p-RoPE)"
        if 4 * rest % pairs:
            doubts.append(
                f"the slowest {rest} of {pairs} pairs stand still; models with p-RoPE leave out "
                "quarters of them"
            )
    plain = rotary_frequencies(2 * pairs, base)[: len(theta)] / scale
    exact = torch.cat((plain, torch.zeros(rest)))
    return Spectrum(base, scaling, exact, doubts, scale=scale)


def _round_scale(scale: float, tolerance: float) -> float:
    """The whole number, or the number of three digits, that a scale is up to the measurement."""
    for rounded in (float(round(scale)), float(f"{scale:.3g}")):
        if math.isclose(rounded, scale, rel_tol=tolerance):
            return rounded
    return scale


def _ntk_aware(measured: float, pairs: int) -> str | None:
    """NTK-aware scaling of a usual base by a whole or half number, in words."""
    for usual in USUAL_BASES if pairs > 1 else ():
        scale = (measured / usual) ** ((pairs - 1) / pairs)
        if scale > 1.1 and math.isclose(scale, round(2 * scale) / 2, rel_tol=1e-4):
            return f"NTK-aware: ×{round(2 * scale) / 2:g} on the base {usual:g}"
    return None


def length_in_exponent(measured: float, pairs: int, base: float) -> int | None:
    """The whole number L for which base^(−2i/L) are the frequencies of this measured base."""
    if min(measured, base) <= 1:
        return None
    length = 2 * pairs * math.log(base) / math.log(measured)
    whole = round(length)
    return whole if whole and math.isclose(length, whole, rel_tol=2e-5) else None


def _why_this_base(measured: float, pairs: int) -> str:
    """Why a base is none that models use, and which mistake in the formula gives it."""
    text = f"base {measured:.6g} is neither a round number of this size nor that of a known model"
    for usual in USUAL_BASES:
        guesses = {
            usual**0.5: f"{usual:g} with the exponent i/d in place of 2i/d, or over the whole "
            "head in place of its rotary dimensions",
            usual**0.25: f"{usual:g} with the head's length in the exponent, of which a quarter "
            "rotates",
            usual**2: f"{usual:g} with twice the exponent",
            usual ** (pairs / (pairs - 1)) if pairs > 1 else 0.0: f"{usual:g} with exponents "
            "that reach 1 (a linspace with its end, or i/(d/2 − 1))",
            math.exp(math.log10(usual)): f"{usual:g} with log10 in place of ln",
        }
        for base, words in guesses.items():
            if math.isclose(base, measured, rel_tol=1e-4):
                return f"{text}: it is what {words} gives; θ_i = base^(−2i/d), i = 0 … d/2 − 1"
        for dtype in (torch.bfloat16, torch.float16):
            ratio = float(torch.tensor(usual ** (-1 / pairs)).to(dtype))
            if math.isclose(ratio ** (-pairs), measured, rel_tol=1e-4):
                return (
                    f"{text}: it is what {usual:g} gives with the ratio of neighbouring "
                    f"frequencies rounded to {ratio:.6g}, a {dtype} number; errors of a ratio grow "
                    "from pair to pair: θ_i = base^(−2i/d)"
                )
    for usual in USUAL_BASES:
        length = length_in_exponent(measured, pairs, usual)
        if length is not None and length <= 8 * pairs:
            odd = "; an odd number of dimensions does not rotate in pairs" if length % 2 else ""
            return (
                f"{text}: it is what {usual:g} with 2i/{length} in place of 2i/{2 * pairs} gives"
                + odd
            )
    return text


def _why_this_first(first: float, base: float, pairs: int) -> list[str]:
    """What is wrong if the fastest pair does not rotate by 1 per position; nothing if linear."""
    scale = 1 / first
    if scale < 1:
        times = f"angles are multiplied by {first:.6g}"
        if math.isclose(first, 2, rel_tol=1e-4):
            return [f"{times}: rotated twice? No scaling does that"]
        return [f"{times}; scaling divides them"]
    if math.isclose(scale, 180 / math.pi, rel_tol=1e-4):
        return ["angles are π/180 of what they should be: degrees are converted, but are radians"]
    if math.isclose(scale, 2 * math.pi, rel_tol=1e-4):
        return ["angles are divided by 2π, but θ_i is in radians per position"]
    if not math.isclose(scale, round(4 * scale) / 4, rel_tol=1e-4):
        skipped = math.log(scale) / math.log(base) * pairs
        text = f"the fastest pair rotates by {first:.6g} per position, by no rule"
        if math.isclose(skipped, round(2 * skipped) / 2, abs_tol=1e-3):
            text += f": the exponents start at {2 * skipped:.3g}/d in place of 0"
        return [text]
    return []


def rules(plain: Tensor, scale: float) -> Iterator[tuple[str, Tensor]]:
    """Scalings that slow pairs down one by one, with the lengths that models were trained with."""
    for length in LENGTHS:
        words = f"×{scale:g} from {length}"
        yield f"llama3: {words}", llama3(plain, scale, original_length=length)
        yield f"yarn: {words}", yarn(plain, scale, original_length=length)
        released = yarn(plain, scale, original_length=length, truncate=False)
        yield f"yarn, not truncated: {words}", released
        step = llama3(plain, scale, original_length=length, slow=1.0, fast=1.0)
        yield f"llama3 with a step: {words}", step
        by_parts = ntk_by_parts(plain, scale, original_length=length)
        yield f"NTK by parts, as YaRN's paper prints it: {words}", by_parts


def wrong_rules(plain: Tensor, first: float, last: float) -> Iterator[tuple[str, Tensor]]:
    """Mistakes in a scaling that slows pairs one by one; by how much the first and the last are."""
    if first > 1 + CLOSE and abs(last - 1) < CLOSE:
        for words, exact in rules(plain, first):
            yield (
                f"{words}, with its ramp reversed: fast pairs are slowed and slow ones kept, as "
                "with the two limits exchanged",
                plain + plain / first - exact,
            )
    if last > 1 + CLOSE and abs(first - 1) < CLOSE:
        yield from _yarn_of_other_length(plain, last)
        for words, exact in rules(plain, last):
            kept = (exact / plain - 1 / last) / (1 - 1 / last)
            yield (
                f"{words}, but between its limits wavelengths are mixed in place of frequencies",
                plain / (kept + (1 - kept) * last),
            )
            mixed = (kept > CLOSE) & (kept < 1 - CLOSE)
            exchanged = torch.where(mixed, plain + plain / last - exact, exact)
            yield f"{words}, but between its limits the weights of the mix are exchanged", exchanged


def _yarn_of_other_length(plain: Tensor, scale: float) -> Iterator[tuple[str, Tensor]]:
    """YaRN whose limits are computed with half or twice the number of rotary dimensions."""
    pairs = len(plain)
    base = float(plain[0] / plain[1]) ** pairs
    index = torch.arange(pairs, dtype=torch.float64)
    for length, times in itertools.product(LENGTHS, (0.5, 2.0)):
        low, high = (
            times * pairs * math.log(length / (turns * 2 * math.pi)) / math.log(base)
            for turns in (32, 1)
        )
        for below, above in ((math.floor(low), math.ceil(high)), (low, high)):
            ramp = ((index - max(below, 0)) / (above - max(below, 0))).clamp(0, 1)
            yield (
                f"yarn: ×{scale:g} from {length}, but with the limits of {2 * times * pairs:g} "
                f"dimensions in place of {2 * pairs}",
                plain / scale * ramp + plain * (1 - ramp),
            )


def _mistaken_scaling(theta: Tensor, *, pairs: int, bases: frozenset[float]) -> Spectrum | None:
    """A mistake in a scaling after which frequencies do not fall, with one of these bases."""
    if len(theta) != pairs or bool((theta == 0).any()):
        return None
    for base in sorted(bases):
        plain = rotary_frequencies(2 * pairs, base)
        ends = [_round_scale(float(plain[place] / theta[place]), CLOSE) for place in (0, -1)]
        for words, wrong in wrong_rules(plain, *ends):
            if close(theta, wrong):
                doubt = f"a mistake in the scaling: {words}"
                return Spectrum(base, words, None, [doubt], scale=max(ends))
    return None


def _scaled(theta: Tensor, pairs: int, tolerance: float, known_bases: frozenset[float]) -> Spectrum:
    """Frequencies that a known rule slows down pair by pair, or no rule known."""
    # The fastest pairs are not slowed down.
    measured = float((theta[0] / theta[1]) ** pairs)
    base = round_base(measured, known_bases, max(tolerance, 1e-3)) or float(f"{measured:.6g}")
    plain = rotary_frequencies(2 * pairs, base)[: len(theta)]
    slowed = plain / theta
    scale = _round_scale(float(slowed[-1]), tolerance)
    if scale > 1 and len(theta) == pairs:
        for words, exact in rules(plain, scale):
            if close(theta, exact, tolerance):
                return Spectrum(base, words, exact, [], scale=scale)
    ends = [_round_scale(float(slowed[place]), tolerance) for place in (0, -1)]
    for words, wrong in wrong_rules(plain, *ends) if len(theta) == pairs else ():
        if close(theta, wrong, tolerance):
            doubt = f"a mistake in the scaling: {words}"
            return Spectrum(base, words, None, [doubt], scale=max(ends))
    scaling = f"pairs slowed by {slowed[0]:.3g} … {slowed[-1]:.3g}, by no rule known here"
    off = [i for i in range(len(theta)) if abs(float(slowed[i]) - 1) > tolerance]
    doubt = (
        f"no rule gives these frequencies: {len(off)} of {len(theta)} pairs, from pair {off[0]} "
        f"on, differ from base {base:g}"
    )
    return Spectrum(base, scaling, None, [doubt])


def _rounded(
    theta: Tensor, span: int, dtype: torch.dtype, known_bases: frozenset[float]
) -> Spectrum:
    """Frequencies that a half type holds: the rule is looked for within its rounding."""
    spacing = float(torch.finfo(dtype).eps)
    pairs = span // 2
    index = torch.arange(len(theta), dtype=torch.float64)
    centred = index - index.mean()
    slope = float((theta.log() * centred).sum() / (centred * centred).sum())
    base = math.exp(-slope * pairs)
    nearest = round_base(base, known_bases, 2 * spacing)
    before = rotary_frequencies(2 * pairs, nearest)[: len(theta)] if nearest else None
    if before is None or not close(theta, before, spacing):
        unknown = "not recognised, because the frequencies are rounded"
        return Spectrum(math.nan, unknown, None, [], rounded_to=dtype)
    return Spectrum(nearest or base, "none", None, [], rounded_to=dtype, before=before)
