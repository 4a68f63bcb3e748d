"""Why does my RoPE not match? Examine any function that rotates, and say what it does.

    python -m attention_to_rope.doctor package.module:function
    python -m attention_to_rope.doctor package.module:function --family "Llama 3.1"
    python -m attention_to_rope.doctor --vectors DIRECTORY

The function takes vectors as f(x, positions), f(q, k, positions), f(q, k, cos, sin), f(x, offset)
or f(x), in either order of heads and positions; the names of its parameters tell which. Anything
else needs an adapter: `def adapter(x, positions): ...`, x (b, h, n, d), positions (n,).
"""

import argparse
import importlib
import math
import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from attention_to_rope.checks import check_count
from attention_to_rope.context_extension import llama3, yarn
from attention_to_rope.rope import rotary_frequencies, rotary_table, rotate
from attention_to_rope.rope_families import FAMILIES, Family, write_vectors
from attention_to_rope.rope_probe import Calling, Measured, find_calling, matrices_at, measure

FAR = (0, 1_000, 4_095, 16_383, 131_071, 1_048_575)
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
CLOSE = 2e-3  # of a frequency: float32 angles are measured far better, other settings miss by more


class Spectrum(NamedTuple):
    """What the frequencies are: base and scaling in words, and exact values to compare with."""

    base: float
    scaling: str
    exact: Tensor | None


class Report(NamedTuple):
    """What was found. `faults` are named; `changes` lead to the family that was asked for."""

    calling: str
    layout: str
    direction: str
    base: str
    turned: str
    scaling: str
    factor: float
    offset: str
    batch: str
    relative: str
    errors: dict[int, float]
    dtype: str
    notes: list[str]
    faults: list[str]
    changes: list[str]
    matches: list[str]

    @property
    def sound(self) -> bool:
        """Whether there is no fault and nothing to change."""
        return not self.faults and not self.changes

    def __str__(self) -> str:
        lines = [
            f"called as    {self.calling}",
            f"layout       {self.layout}",
            f"direction    {self.direction}",
            f"base         {self.base}",
            f"turned       {self.turned}",
            f"scaling      {self.scaling}",
            f"factor       {self.factor:.4f} on the length of turned vectors",
            f"offset       {self.offset}",
            f"batch        {self.batch}",
            f"relative     {self.relative}",
            f"error        largest entry off, in {self.dtype}, vectors of unit variance",
        ]
        lines += [f"             position {m:>9,}: {error:.1e}" for m, error in self.errors.items()]
        lines += [f"matches      {', '.join(self.matches) or 'no family of the list'}"]
        for title, texts in (
            ("note", self.notes),
            ("FAULT", self.faults),
            ("change", self.changes),
        ):
            lines += [f"{title:<12} {text}" for text in texts]
        return "\n".join(lines)


def recognise(theta: Tensor, span: int) -> Spectrum:
    """Base and scaling from the frequencies of the pairs that turn, of `span` dimensions."""
    pairs = span // 2
    if len(theta) < 2 or float(theta[1]) == 0 or float(theta[0]) <= float(theta[1]):
        return Spectrum(math.nan, "not recognised", None)
    # Bases are round numbers in practice, and the fastest pairs are never interpolated in part.
    base = _round(float((theta[0] / theta[1]) ** pairs))
    plain = rotary_frequencies(2 * pairs, base)[: len(theta)]
    still = f"the slowest {pairs - len(theta)} of {pairs} pairs stand still (p-RoPE)"
    rest = torch.zeros(pairs - len(theta))

    def close(other: Tensor) -> bool:
        return bool(((theta - other) / other).abs().max() < CLOSE)

    if close(plain):
        return Spectrum(base, still if len(rest) else "none", torch.cat((plain, rest)))
    slowed = plain / theta
    scale = _round(float(slowed[-1]), digits=3)
    if close(plain / scale):
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
            if close(exact):
                return Spectrum(base, f"{words}: ×{scale:g} from {length}", exact)
    return Spectrum(
        base, f"pairs slowed by {slowed[0]:.3g} … {slowed[-1]:.3g}, by no rule known here", None
    )


def _round(value: float, digits: int = 4) -> float:
    return float(f"{value:.{digits}g}")


def _offset(calling: Calling, dim: int) -> tuple[str, list[str]]:
    """Whether later positions alone are turned as they are inside a longer sequence."""
    if not calling.takes_positions:
        return "cannot be given: positions are always 0 … n − 1", []
    whole = matrices_at(calling, torch.arange(16), dim)
    alone = matrices_at(calling, torch.arange(8, 12), dim)
    if (whole[8:12] - alone).abs().max() < 1e-3:
        return "later positions alone are turned as inside the whole sequence", []
    for by in (-2, -1, 1, 2):
        if (whole[8 + by : 12 + by] - alone).abs().max() < 1e-3:
            text = f"position m alone is turned as position m {by:+d} of the whole sequence"
            return text, [f"offset off by {by:+d}: {text}; look at the length given to the cache"]
    text = "positions alone are not turned as inside the whole sequence"
    return text, [f"offset ignored or wrong: {text}"]


def _batch(calling: Calling, dim: int) -> tuple[str, list[str]]:
    """Whether each row of a batch is turned by its own positions."""
    if not calling.takes_batches:
        return "rows share their positions", []
    positions = torch.arange(6).view(2, 3)
    x = torch.ones(2, 1, 3, dim, dtype=torch.float32)
    try:
        both = calling.turn(x, positions)[0]
    except Exception as error:  # whatever a stranger's function raises
        return f"positions (b, n) are refused ({type(error).__name__}); rows share theirs", []
    one = calling.turn(x[1:], positions[1])[0]
    if (both[1] - one[0]).abs().max() < 1e-3:
        return "each row has its own positions", []
    text = "positions (b, n) are taken, but rows are not turned by their own"
    return text, [f"batch: {text}"]


def _relative(calling: Calling, dim: int) -> tuple[str, list[str]]:
    """Whether scores stay when all positions move together."""
    numbers = np.random.Generator(np.random.PCG64(0)).normal(size=(2, 8, dim))
    q, k = torch.from_numpy(numbers).float()[:, None, None]

    def scores(start: int) -> Tensor:
        positions = torch.arange(start, start + 8)
        turned_q, turned_k = calling.turn(q, positions)[0], calling.turn(k, positions)[1]
        product: Tensor = turned_q.double() @ turned_k.double().mT
        return product

    if not calling.takes_positions:
        return "not tested: positions cannot be given", []
    first = scores(0)
    for shift in (1000, 100, 8):
        try:
            moved = scores(shift)
        except Exception:  # a table that ends before this position
            continue
        move = float((moved - first).abs().max() / first.abs().max())
        said = f"a shift by {shift} moves scores by {move:.0e} of the largest"
        if move < 10 * CLOSE:  # a rounded table moves them by 0.003
            return f"yes: {said}", []
        return f"NO: {said}", ["not relative: scores change when all positions move together"]
    return "not tested: no answer at position 8", []


def _errors(
    calling: Calling, measured: Measured, exact: Tensor | None, dim: int, dtype: torch.dtype
) -> dict[int, float]:
    """How far turned vectors are from float64, by position."""
    if exact is None or measured.layout is None or not calling.takes_positions:
        return {}
    numbers = np.random.Generator(np.random.PCG64(1)).normal(size=(2, dim))
    x = torch.from_numpy(numbers).to(dtype)[None, :, None]
    errors = {}
    start, stop = measured.first_dim, measured.first_dim + measured.span
    for m in FAR:
        try:
            got = calling.turn(x, torch.tensor([m]))[0].double()
        except Exception:  # a table that ends before this position, or another dtype
            break
        at = torch.tensor([(m + round(measured.shift)) * (1 if measured.forward else -1)])
        factor = 1.0 if abs(measured.factor - 1) < CLOSE else measured.factor
        table = rotary_table(at, exact, dtype=torch.float64, attention_factor=factor)
        truth = x.double().clone()
        truth[..., start:stop] = rotate(truth[..., start:stop], table, layout=measured.layout)
        if measured.order is not None:
            got = got[..., measured.order]
        errors[m] = float((got - truth).abs().max())
    return errors


def _differences(
    family: Family, measured: Measured, spectrum: Spectrum, dim: int, base_is_given: bool
) -> list[str]:
    """What would have to change to match a family; a given table is not the function's doing."""
    wanted = family.settings()
    changes = []
    if wanted.head_dim != dim:
        return [f"examine it with head_dim={wanted.head_dim}, that of the family; it had {dim}"]
    if measured.layout != family.layout:
        changes.append(
            f"layout: {measured.layout} to {family.layout}, or permute W_q and W_k "
            "(convert_projection_layout)"
        )
    if not measured.forward:
        changes.append("direction: turn the other way (change the sign of sin)")
    if measured.span != wanted.rotary_dim or measured.first_dim != 0:
        changes.append(
            f"turned part: {measured.span} dimensions from {measured.first_dim} on, to the first "
            f"{wanted.rotary_dim}"
        )
    if base_is_given:
        return changes
    if measured.span == wanted.rotary_dim:
        changes += _spectral_differences(family, measured, spectrum)
    if abs(measured.factor - wanted.attention_factor) > CLOSE:
        changes.append(
            f"factor of the table: {measured.factor:.4f} to {wanted.attention_factor:.4f}"
        )
    return changes


def _spectral_differences(family: Family, measured: Measured, spectrum: Spectrum) -> list[str]:
    """Another base, another scaling, or both: a new base alone does not bring the scaling."""
    wanted = family.settings()
    if _same_frequencies(measured, wanted.frequencies):
        return []
    turning = wanted.frequencies[wanted.frequencies > 0]
    scaling = recognise(turning, wanted.rotary_dim).scaling
    changes = []
    if not math.isclose(spectrum.base, wanted.base, rel_tol=CLOSE):
        changes.append(f"base: {spectrum.base:g} to {wanted.base:g}")
    if not changes or spectrum.scaling != scaling:
        changes.append(f"scaling: {spectrum.scaling} was measured, the family has {scaling}")
    return changes


def _frequencies(measured: Measured) -> Tensor:
    return torch.tensor(measured.frequencies, dtype=torch.float64)


def _same_frequencies(measured: Measured, wanted: Tensor) -> bool:
    turning = wanted[wanted > 0]
    theta = _frequencies(measured)
    return theta.shape == turning.shape and bool(((theta - turning) / turning).abs().max() < CLOSE)


def _measured_keys(calling: Calling, dim: int) -> Measured | None:
    """What the keys show, None if they are not turned."""
    try:
        return measure(calling, dim, which=1)
    except ValueError:
        return None


def _faults_of(measured: Measured, keys: Measured | None) -> list[str]:
    """What is wrong with the matrices themselves, of the queries and of the keys."""
    faults = []
    if measured.layout is None:
        faults.append("no layout: the dimensions do not turn in pairs of one layout")
    elif not measured.pairs_agree:
        faults.append(
            "mixed layouts: the two dimensions of a pair turn by different angles; the table is "
            "laid out for another pairing than the rotation"
        )
    if measured.swapped:
        faults.append("cos and sin swapped: every pair is a quarter of a turn off at position 0")
        return faults  # direction and shift follow from it
    if not measured.forward:
        faults.append("sign: turned by −mθ, the inverse rotation")
    if keys is None:
        faults.append("keys not turned: the second result is the keys as they came")
    elif keys.forward != measured.forward:
        faults.append("sign: queries and keys turn in opposite directions")
    if abs(measured.shift) > 0.01:
        faults.append(
            f"shifted positions: position 0 is turned as position {measured.shift:.2f}; scores "
            "stay, but a cache made elsewhere does not fit"
        )
    if measured.rounded_to is not None:
        faults.append(
            f"rounded table: cos and sin hold {measured.rounded_to} numbers even for float32 "
            "vectors; build the table in float64 and round it once"
        )
    return faults


def _check_request(
    function: Callable[..., Any], head_dim: int, dtype: torch.dtype, family: str | None
) -> None:
    if not callable(function):
        raise TypeError(f"function must be callable, got {type(function).__name__}")
    check_count("head_dim", head_dim)
    if head_dim % 2:
        raise ValueError(f"head_dim must be even: dimensions turn in pairs; got {head_dim}")
    if dtype not in DTYPES.values():
        raise TypeError(f"dtype must be one of {', '.join(DTYPES)}, as torch.dtype; got {dtype!r}")
    if family is not None and family not in FAMILIES:
        raise ValueError(f"family must be one of {', '.join(FAMILIES)}; got {family!r}")


def examine(
    function: Callable[..., Any],
    *,
    head_dim: int = 128,
    dtype: torch.dtype = torch.float32,
    family: str | None = None,
) -> Report:
    """Examine a function that rotates: what it does, what is wrong, what a family would need.

    head_dim: the length of the vectors it is given. dtype: in which its error is measured. family:
    a name from `rope_families.FAMILIES` to compare with; its head dim is used then.
    """
    _check_request(function, head_dim, dtype, family)
    dim = head_dim if family is None else FAMILIES[family].settings().head_dim
    calling = find_calling(function, dim)
    measured, keys = measure(calling, dim), _measured_keys(calling, dim)
    spectrum = recognise(_frequencies(measured), measured.span)
    notes = []
    if measured.order is not None:
        notes.append(
            "turned vectors come back in another order of dimensions: scores stay, but compare "
            "vectors after reordering"
        )
    tried = [check(calling, dim) for check in (_offset, _batch, _relative)]
    texts = [text for text, _ in tried]
    faults = [*_faults_of(measured, keys), *(fault for _, found in tried for fault in found)]
    errors = _errors(calling, measured, spectrum.exact, dim, dtype)
    if calling.takes_positions and spectrum.exact is not None and FAR[-1] not in errors:
        last = f"the last is {max(errors):,}" if errors else "and at none before it"
        notes.append(f"no answer in {dtype} at position {FAR[len(errors)]:,}, {last}")
    if dtype == torch.float32 and errors and max(errors.values()) > 1e-4 > errors[0]:
        notes.append("the error grows with the position: angles are computed in float32")
    if dtype != torch.float32 and errors and max(errors.values()) > 0.5:
        faults.append(f"half angles: positions or angles are computed in {dtype}, and collapse")
    same = {
        name: _differences(known, measured, spectrum, dim, calling.base_is_given)
        for name, known in FAMILIES.items()
    }
    given = " (of the table that was given)" if calling.base_is_given else ""
    pairs = len(measured.frequencies)
    return Report(
        calling=calling.words,
        layout=str(measured.layout or "none that is known"),
        direction="forward, by +mθ" if measured.forward else "backward, by −mθ",
        base=f"{spectrum.base:g}{given}",
        turned=f"{2 * pairs} of {dim} dimensions ({2 * pairs / dim:.0%}), "
        f"from dimension {measured.first_dim} on",
        scaling=spectrum.scaling + given,
        factor=measured.factor,
        offset=texts[0],
        batch=texts[1],
        relative=texts[2],
        errors=errors,
        dtype=str(dtype).removeprefix("torch."),
        notes=notes,
        faults=faults,
        changes=same[family] if family else [],
        matches=[] if calling.base_is_given else [name for name in same if not same[name]],
    )


def load(name: str) -> Callable[..., Any]:
    """The function named `package.module:function`; attributes may follow with dots."""
    if not isinstance(name, str):
        raise TypeError(f"name must be package.module:function, got {type(name).__name__}")
    module, colon, path = name.partition(":")
    if not colon or not module or not path:
        raise ValueError(f"name the function as package.module:function, got {name!r}")
    sys.path.insert(0, os.getcwd())
    try:
        thing: Any = importlib.import_module(module)
        for part in path.split("."):
            thing = getattr(thing, part)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"nothing has the name {name}: {error}") from error
    if not callable(thing):
        raise TypeError(f"the name {name} is no function but of type {type(thing).__name__}")
    function: Callable[..., Any] = thing
    return function


def main(arguments: list[str] | None = None) -> int:
    """0: sound; 1: a fault, or a difference to the family; 2: it could not be examined."""
    parser = argparse.ArgumentParser(
        prog="python -m attention_to_rope.doctor",
        description=__doc__,
        epilog="Exit code: 0 sound, 1 a fault or a difference to the family, 2 not examined.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("function", nargs="?", help="package.module:function")
    parser.add_argument("--head-dim", type=int, default=128, help="length of a vector (128)")
    parser.add_argument("--dtype", choices=DTYPES, default="float32", help="to measure errors in")
    parser.add_argument("--family", choices=FAMILIES, help="compare with this model family")
    parser.add_argument("--vectors", metavar="DIRECTORY", help="write test vectors as JSON")
    options = parser.parse_args(arguments)
    if options.vectors:
        print(f"{len(write_vectors(options.vectors))} files in {options.vectors}")
        return 0
    if not options.function:
        parser.print_usage()
        return 2
    try:
        function = load(options.function)
        report = examine(
            function,
            head_dim=options.head_dim,
            dtype=DTYPES[options.dtype],
            family=options.family,
        )
    except (TypeError, ValueError) as error:
        print(f"not examined: {error}", file=sys.stderr)
        return 2
    print(report)
    return 0 if report.sound else 1


if __name__ == "__main__":
    sys.exit(main())
