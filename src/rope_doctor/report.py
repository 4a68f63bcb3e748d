"""What a function that rotates does, what is wrong with it, and what a model family would need."""

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attention_to_rope import rotary_frequencies, rotary_table, rotate
from attention_to_rope.context_extension import llama3, yarn
from rope_doctor.families import FAMILIES, Family
from rope_doctor.probe import TABLES, Calling, Measured, NoRotationError, find_calling, measure

WIDTH = 100  # columns of a report
MEASURED = ("layout", "direction", "base", "turned", "scaling")
TESTED = ("offset", "batch", "relative")
FAR = (0, 1_000, 4_095, 16_383, 131_071, 1_048_575)
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
CLOSE = 2e-3  # of a frequency: float32 angles are measured far better, other settings miss by more


class Spectrum(NamedTuple):
    """What the frequencies are: base and scaling in words, and exact values to compare with."""

    base: float
    scaling: str
    exact: Tensor | None


@dataclass(frozen=True)
class Report:
    """What was found. `faults` are named; `changes` lead to the family that was asked for."""

    calling: str
    faults: list[str]
    layout: str = "not measured"
    direction: str = "not measured"
    base: str = "not measured"
    turned: str = "not measured"
    scaling: str = "not measured"
    factor: float = math.nan
    offset: str = "not tested"
    batch: str = "not tested"
    relative: str = "not tested"
    errors: dict[int, float] = field(default_factory=dict)
    dtype: str = "float32"
    notes: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    matches: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether there is no fault and nothing to change."""
        return not self.faults and not self.changes

    def __str__(self) -> str:
        lines = [("called as", self.calling), *(("FAULT", text) for text in self.faults)]
        lines += [(name, getattr(self, name)) for name in MEASURED]
        lines += [("factor", f"{self.factor:.4f} on the length of rotated vectors")]
        lines += [(name, getattr(self, name)) for name in TESTED]
        lines += [("error", f"largest entry off, in {self.dtype}, vectors of unit variance")]
        lines += [("", f"position {m:>9,}: {error:.1e}") for m, error in self.errors.items()]
        lines += [("matches", ", ".join(self.matches) or "no family of the list")]
        lines += [("note", text) for text in self.notes]
        lines += [("change", text) for text in self.changes]
        return "\n".join(
            textwrap.fill(f"{title:<12} {text}", WIDTH, subsequent_indent=" " * 13)
            for title, text in lines
        )


def _close(theta: Tensor, exact: Tensor) -> bool:
    return bool(((theta - exact) / exact).abs().max() < CLOSE)


def recognise(theta: Tensor, span: int) -> Spectrum:
    """Base and scaling from the frequencies of the pairs that rotate, of `span` dimensions."""
    pairs = span // 2
    if len(theta) < 2 or float(theta[1]) == 0 or float(theta[0]) <= float(theta[1]):
        return Spectrum(math.nan, "not recognised", None)
    # The fastest pairs are never interpolated in part, and most bases are round numbers.
    measured = float((theta[0] / theta[1]) ** pairs)
    base = float(f"{measured:.4g}")
    is_round = math.isclose(base, measured, rel_tol=2e-5)
    base = base if is_round else float(f"{measured:.6g}")
    plain = rotary_frequencies(2 * pairs, base)[: len(theta)]
    rest = torch.zeros(pairs - len(theta))
    if _close(theta, plain):
        scaling = "none"
        for usual in () if is_round or len(rest) or pairs < 2 else (1e4, 5e5, 1e6):
            scale = (measured / usual) ** ((pairs - 1) / pairs)
            if scale > 1.1 and math.isclose(scale, round(2 * scale) / 2, rel_tol=1e-4):
                scaling = f"NTK-aware: ×{scale:.3g} on the base {usual:g}"
        if len(rest):
            scaling = f"the slowest {len(rest)} of {pairs} pairs do not rotate (p-RoPE)"
        return Spectrum(base, scaling, torch.cat((plain, rest)))
    slowed = plain / theta
    scale = float(f"{slowed[-1]:.3g}")
    if _close(theta, plain / scale):
        exact = torch.cat((plain / scale, rest))
        return Spectrum(base, f"linear: every angle divided by {scale:g}", exact)
    lengths = [2**power for power in range(9, 19)] if scale > 1 and not len(rest) else []
    for length in lengths:
        candidates = {
            "llama3": llama3(plain, scale, original_length=length),
            "yarn": yarn(plain, scale, original_length=length),
            "yarn, not truncated": yarn(plain, scale, original_length=length, truncate=False),
        }
        for words, exact in candidates.items():
            if _close(theta, exact):
                return Spectrum(base, f"{words}: ×{scale:g} from {length}", exact)
    scaling = f"pairs slowed by {slowed[0]:.3g} … {slowed[-1]:.3g}, by no rule known here"
    return Spectrum(base, scaling, None)


def _offset(calling: Calling, dim: int) -> tuple[str, list[str]]:
    """Whether later positions alone are rotated as they are inside a longer sequence."""
    if calling.kind == "none":
        return "cannot be given: positions are always 0 … n − 1", []
    whole = calling.matrices(torch.arange(16), dim)
    alone = calling.matrices(torch.arange(8, 12), dim)
    if (whole[8:12] - alone).abs().max() < 1e-3:
        return "later positions alone are rotated as inside the whole sequence", []
    for by in (-8, -2, -1, 1, 2):
        if (whole[8 + by : 12 + by] - alone).abs().max() < 1e-3:
            text = f"position m alone is rotated as position m {by:+d} of the whole sequence"
            if by == -8:
                return text, ["positions ignored: they are always counted from 0"]
            return text, [f"offset off by {by:+d}: {text}; look at the length given to the cache"]
    text = "positions alone are not rotated as inside the whole sequence"
    return text, [f"offset ignored or wrong: {text}"]


def _batch(calling: Calling, dim: int) -> tuple[str, list[str]]:
    """Whether each row of a batch is rotated by its own positions."""
    if calling.kind != "positions":
        return "rows share their positions", []
    x = torch.ones(2, 1, 3, dim, dtype=torch.float32)
    positions = torch.arange(6).view(2, 3)
    try:
        both = calling.turn(x, positions)[0]
    except Exception as error:  # whatever somebody else's function raises
        return f"positions (b, n) are refused ({type(error).__name__}); rows share theirs", []
    one = calling.turn(x[1:], positions[1])[0]
    if (both[1] - one[0]).abs().max() < 1e-3:
        return "each row has its own positions", []
    text = "positions (b, n) are taken, but rows are not rotated by their own"
    return text, [f"batch: {text}"]


def _vectors(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float32)


def _relative(calling: Calling, dim: int) -> tuple[str, list[str]]:
    """Whether scores stay when all positions move together."""
    if calling.kind == "none":
        return "not tested: positions cannot be given", []
    q, k = _vectors(2, 1, 1, 8, dim, seed=0)
    scores: dict[int, Tensor] = {}
    for shift in (0, 1000, 100, 8):
        at = torch.arange(shift, shift + 8)
        try:
            scores[shift] = calling.turn(q, at)[0].double() @ calling.turn(k, at)[1].double().mT
        except Exception:  # a table that ends before this position
            continue
        move = float((scores[shift] - scores[0]).abs().max() / scores[0].abs().max())
        said = f"a shift by {shift} moves scores by {move:.0e} of the largest"
        if move >= 10 * CLOSE:  # a rounded table moves them by 0.003
            return f"NO: {said}", ["not relative: scores change when all positions move together"]
        if shift:
            return f"yes: {said}", []
    return "not tested: no answer at position 8", []


def _check_steady(calling: Calling, dim: int) -> None:
    """Raise if equal calls give different results, or equal vectors in different heads."""
    x = _vectors(1, 1, 4, dim, seed=2).repeat(1, 4, 1, 1)
    positions = torch.arange(4)
    once, again = (calling.turn(x, positions) for _ in range(2))
    if not all(torch.equal(a, b) for a, b in zip(once, again, strict=True)):
        raise NoRotationError("noise: two equal calls give different results")
    if any((y - y[:, :1]).abs().max() > 1e-5 for y in once):
        raise NoRotationError("heads differ: equal vectors in different heads rotate differently")


def _misplaced(measured: Measured) -> list[str]:
    """What the positions by which was rotated have to do with those that were asked for."""
    wrong = {m: p for m, p in measured.effective.items() if abs(p - m) > 0.02 + 1e-4 * m}
    if not wrong or measured.rounded_to is not None:  # a rounded table is a fault of its own
        return []
    first = min(wrong)
    last = max(measured.effective)
    seen = f"position {first} is rotated as position {wrong[first]:.4g}"
    for dtype in (torch.bfloat16, torch.float16):
        rounded = {m: float(torch.tensor(m).to(dtype)) for m in measured.effective}
        if all(abs(rounded[m] - p) < 0.02 + 1e-4 * m for m, p in measured.effective.items()):
            return [f"half positions: they are rounded to {dtype}; {seen}"]
    limit = round(measured.effective[last])
    if all(abs(p - limit) < 0.1 for p in wrong.values()) and first > limit:
        return [f"clamped positions: none is beyond {limit}; {seen}"]
    period = first - round(wrong[first])
    for size in range(max(period // 8, 2), period + 1):
        if all(abs(m % size - p) < 0.1 for m, p in measured.effective.items()):
            return [f"positions modulo {size}: {seen}"]
    return [f"wrong positions: {seen}"]


def _errors(
    calling: Calling, measured: Measured, exact: Tensor | None, dim: int, dtype: torch.dtype
) -> dict[int, float]:
    """How far rotated vectors are from float64, by position."""
    if exact is None or measured.layout is None or calling.kind == "none":
        return {}
    x = _vectors(1, 2, 1, dim, seed=1).to(dtype)
    errors = {}
    part = slice(measured.first_dim, measured.first_dim + measured.span)
    for m in FAR:
        try:
            got = calling.turn(x, torch.tensor([m]))[0].double()
        except Exception:  # a table that ends before this position, or another dtype
            break
        at = torch.tensor([(m + round(measured.shift)) * (1 if measured.forward else -1)])
        factor = 1.0 if abs(measured.factor - 1) < CLOSE else measured.factor
        table = rotary_table(at, exact, dtype=torch.float64, attention_factor=factor)
        truth = x.double().clone()
        truth[..., part] = rotate(truth[..., part], table, layout=measured.layout)
        errors[m] = float((got[..., measured.order] - truth).abs().max())
    return errors


def _differences(
    family: Family, measured: Measured, spectrum: Spectrum, dim: int, *, table: bool
) -> list[str]:
    """What would have to change to match a family; without the table if the caller gives it."""
    wanted = family.settings()
    if wanted.head_dim != dim:
        return [f"examine it with head_dim={wanted.head_dim}, that of the family; it had {dim}"]
    first = measured.first_dim
    span = measured.span
    factor = wanted.attention_factor
    changes = {
        f"layout: {measured.layout} to {family.layout}, or permute W_q and W_k "
        "(convert_projection_layout)": measured.layout != family.layout,
        "direction: rotate the other way (change the sign of sin)": not measured.forward,
        f"rotary dimensions: {span} from {first} on, to the first {wanted.rotary_dim}": (
            span != wanted.rotary_dim or first != 0
        ),
    }
    if table:
        turning = wanted.frequencies[wanted.frequencies > 0]
        theta = torch.tensor(measured.frequencies, dtype=torch.float64)
        same = theta.shape == turning.shape and _close(theta, turning)
        differ = span == wanted.rotary_dim and not same
        known = recognise(turning, wanted.rotary_dim).scaling
        other_base = not math.isclose(spectrum.base, wanted.base, rel_tol=CLOSE)
        changes |= {
            f"base: {spectrum.base:g} to {wanted.base:g}": differ and other_base,
            f"scaling: {spectrum.scaling} was measured, the family has {known}": (
                differ and (not other_base or spectrum.scaling != known)
            ),
            f"factor of the table: {measured.factor:.4f} to {factor:.4f}": (
                abs(measured.factor - factor) > CLOSE
            ),
        }
    return [text for text, needed in changes.items() if needed]


def _faults_of(measured: Measured, keys: Measured | None) -> list[str]:
    """What is wrong with the matrices themselves, of the queries and of the keys."""
    paired = measured.layout is not None
    agree = measured.pairs_agree
    faults = {
        "no layout: the dimensions do not rotate in pairs of one layout": not paired,
        "mixed layouts: the two dimensions of a pair rotate by different angles; the table is "
        "laid out for another pairing than the rotation": paired and not agree,
        "no rotation: lengths of vectors change with the position; a sign is missing, such as "
        "the minus in rotate_half": paired and agree and not measured.orthogonal,
        "cos and sin swapped: every pair is a quarter of a turn off at position 0": (
            measured.swapped
        ),
    }
    if not measured.swapped:  # direction and shift follow from it
        faults |= {
            "sign: rotated by −mθ, the inverse rotation": not measured.forward,
            "keys not rotated: the second result is the keys as they came": keys is None,
            "sign: queries and keys rotate in opposite directions": (
                keys is not None and keys.forward != measured.forward
            ),
            f"shifted positions: position 0 is rotated as position {measured.shift:.2f}; scores "
            "stay, but a cache made elsewhere does not fit": abs(measured.shift) > 0.01,
            f"rounded table: cos and sin hold {measured.rounded_to} numbers even for float32 "
            "vectors; build the table in float64 and round it once": (
                measured.rounded_to is not None
            ),
            **dict.fromkeys(_misplaced(measured), True),
        }
    return [text for text, holds in faults.items() if holds]


def _length_of_vectors(head_dim: int, family: str | None) -> int:
    """The head dim that is examined: that of the family, if one is named."""
    if head_dim % 2 or head_dim < 2:
        raise ValueError(f"head_dim must be even, because dimensions form pairs; got {head_dim}")
    if family is None:
        return head_dim
    if family not in FAMILIES:
        raise ValueError(f"family must be one of {', '.join(FAMILIES)}; got {family!r}")
    return FAMILIES[family].settings().head_dim


def _measured_keys(calling: Calling, dim: int) -> Measured | None:
    """What the function does to keys; None if it does not rotate them."""
    try:
        return measure(calling, dim, which=1)
    except ValueError:
        return None


def _notes(
    calling: Calling,
    measured: Measured,
    spectrum: Spectrum,
    errors: dict[int, float],
    dtype: torch.dtype,
) -> list[str]:
    """What is no fault, but good to know."""
    notes = []
    if measured.order != sorted(measured.order):
        notes.append(
            "rotated vectors come back in another order of dimensions: scores stay, but compare "
            "vectors after reordering"
        )
    if calling.kind != "none" and spectrum.exact is not None and FAR[-1] not in errors:
        last = f"the last is {max(errors):,}" if errors else "and at none before it"
        notes.append(f"no answer in {dtype} at position {FAR[len(errors)]:,}, {last}")
    largest = max(errors.values(), default=0.0)
    if dtype == torch.float32 and largest > 1e-4 > errors[0]:
        notes.append("the error grows with the position: angles are computed in float32")
    return notes


def examine(
    function: Callable[..., Any],
    *,
    head_dim: int = 128,
    dtype: torch.dtype = torch.float32,
    family: str | None = None,
) -> Report:
    """Examine a function that rotates: what it does, what is wrong, what a family would need.

    head_dim: the length of the vectors it is given. dtype: in which its error is measured. family:
    a name from `FAMILIES` to compare with; its head dim is used then.
    """
    dim = _length_of_vectors(head_dim, family)
    calling = find_calling(function, dim)
    try:
        _check_steady(calling, dim)
        measured = measure(calling, dim)
    except NoRotationError as error:
        return Report(calling.words, [str(error)])
    keys = _measured_keys(calling, dim)
    spectrum = recognise(torch.tensor(measured.frequencies, dtype=torch.float64), measured.span)
    checks = zip(TESTED, (_offset, _batch, _relative), strict=True)
    tried = {name: check(calling, dim) for name, check in checks}
    errors = _errors(calling, measured, spectrum.exact, dim, dtype)
    faults = _faults_of(measured, keys)
    for _, found in tried.values():
        faults += found
    if dtype != torch.float32 and max(errors.values(), default=0.0) > 0.5:
        faults.append(f"half angles: positions or angles are computed in {dtype}, and collapse")
    given = " (of the table that was given)" if calling.kind in TABLES else ""
    changes = {
        name: _differences(known, measured, spectrum, dim, table=not given)
        for name, known in FAMILIES.items()
    }
    pairs = len(measured.frequencies)
    return Report(
        calling=calling.words,
        faults=faults,
        layout=str(measured.layout or "none that is known"),
        direction="forward, by +mθ" if measured.forward else "backward, by −mθ",
        base=f"{spectrum.base:.10g}{given}",
        turned=f"{2 * pairs} of {dim} dimensions ({2 * pairs / dim:.0%}), "
        f"from dimension {measured.first_dim} on",
        scaling=spectrum.scaling + given,
        factor=measured.factor,
        **{name: text for name, (text, _) in tried.items()},
        errors=errors,
        dtype=str(dtype).removeprefix("torch."),
        notes=_notes(calling, measured, spectrum, errors, dtype),
        changes=changes[family] if family else [],
        matches=[name for name in changes if not (changes[name] or given or faults)],
    )
