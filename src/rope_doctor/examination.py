"""Examine a function or a model: measure, judge, compare, and write the report."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attention_to_rope import rotary_frequencies
from attention_to_rope.context_extension import yarn_attention_factor
from rope_doctor import adapters, behaviour, demands, faults, positions, steadiness
from rope_doctor.calling import TABLES, Calling, find_calling
from rope_doctor.comparison import differences, is_same
from rope_doctor.configuration import read_config, softmax_notes
from rope_doctor.families import Wanted, all_rotations, known_bases, named_rotation
from rope_doctor.faults import Fault
from rope_doctor.mistaken import mistaken_setting
from rope_doctor.probe import (
    SIDES,
    Measured,
    NoRotationError,
    Samples,
    errors,
    measure,
    sample,
    vectors,
)
from rope_doctor.report import Report
from rope_doctor.spectrum import USUAL_BASES, Spectrum, close, recognise, too_fast

FAR = (0, 1_000, 4_095, 16_383, 131_071, 1_048_575)
NEAR = FAR[:4]  # where vectors in a half type are judged
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


# Faults of one side that explain why the other has other frequencies, factors or dimensions.
EXPLAIN_ALL = {
    "half angles",
    "length and angle swapped",
    "mixed layouts",
    "more than a rotation",
    "no layout",
    "no rotation",
    "order of dimensions",
    "overwritten",
    "rounded table",
    "vectors vanish",
}
# Faults after which frequencies of some pairs tell nothing.
EXPLAIN_PAIRS = {
    "half angles",
    "no rotation",
    "rounded table",
    "short π",
    "sign of the cosine",
    "sign of the sine",
    "table drifts",
}
NEIGHBOURS = "neighbours alike"  # how a table is laid out, in the words of the call
# How the changes begin that follow from frequencies and lengths.
OF_FREQUENCIES = ("frequencies:", "base:", "scaling:", "factor of the table:", "factor:")


class Case(NamedTuple):
    """What was measured of queries and keys, and the rule of their frequencies."""

    calling: Calling
    dim: int
    queries: Measured
    keys: Measured
    spectrum: Spectrum
    infinite_from: int | None = None

    @property
    def exact(self) -> Tensor | None:
        """The exact frequencies, if a rule that models use gives them."""
        return None if self.spectrum.doubts else self.spectrum.exact


def _theta(measured: Measured) -> Tensor:
    return torch.tensor(measured.frequencies, dtype=torch.float64)


def _measured_sides(
    calling: Calling, samples: Samples
) -> tuple[Measured | Fault, Measured | Fault]:
    """What queries and keys show, or the fault of a side that is no rotation."""
    found: list[Measured | Fault] = []
    for side in SIDES if calling.both else SIDES[:1]:
        try:
            found.append(measure(samples, side))
        except NoRotationError as error:
            found.append(_fault_of(error))
    return found[0], found[-1]


def _fault_of(error: NoRotationError) -> Fault:
    name, _, rest = error.found.partition(": ")
    return Fault(name, rest, error.repair)


def _faults_of_sides(case: Case) -> list[Fault]:
    """What is wrong with the matrices of queries and keys, and where the two differ."""
    found = []
    for side, measured in enumerate((case.queries, case.keys)):
        own = faults.structure(measured)
        names = {fault.name for fault in own}
        own += faults.rounding(measured, _held_vectors(case.calling, measured, side))
        if case.spectrum.too_fast:  # half a turn and more looks like the other direction
            own = [fault for fault in own if fault.name != "sign of some pairs"]
            names.add("too fast")
        regular = not names - {"shifted positions", "other dimensions"} and not measured.coarse
        if regular:
            alike = close(_theta(measured), _theta(case.queries), 5e-5)
            exact = _given(case, measured) if case.calling.given else None
            if exact is None and alike:
                exact = case.exact
            own += positions.misplaced(measured, exact, _before(case, measured) if alike else [])
        found.append(own)
    both = faults.both_sides(found[0], found[1])
    one_sided = {fault.name for fault in both if fault.found.startswith("only the ")}
    if case.calling.both and not one_sided & EXPLAIN_ALL:
        both += faults.compared(case.queries, case.keys, case.dim)
    return both


def _held_vectors(calling: Calling, measured: Measured, side: int) -> torch.dtype | None:
    """The half type to which vectors are cast before or after the rotation, though float32 came."""
    x = vectors(1, 2, 1, measured.matrices.shape[-1], seed=16)
    result = calling.turn(x, x, torch.arange(1))[side]
    if measured.rounded_to is not None:
        held = bool((result.to(measured.rounded_to).to(result.dtype) == result).all())
        return measured.rounded_to if held else None
    kept = result[..., measured.order].float()  # at position 0 nothing has rotated
    for dtype in faults.HALF_TYPES:
        cast = x.to(dtype).float()
        if float((kept - cast).abs().max()) < 1e-6 < float((x - cast).abs().max()):
            return dtype
    return None


def _given(case: Case, measured: Measured) -> Tensor | None:
    """The frequencies that the doctor gave, if these are what was measured."""
    theta = rotary_frequencies(case.calling.width)[: len(measured.signed)]
    tolerance = 5e-5 if measured.rounded_to is None else 1e-2
    return theta if close(_theta(measured), theta, tolerance) else None


def _before(case: Case, measured: Measured) -> list[Tensor]:
    """Frequencies by a rule, which the measured ones may be after some rounding."""
    if case.spectrum.before is not None:
        return [case.spectrum.before]
    near = []
    if measured.rounded_to is not None and not math.isnan(case.spectrum.base):
        known = known_bases()
        near = [base for base in known if math.isclose(base, case.spectrum.base, rel_tol=1e-2)]
    near += [case.spectrum.base] if case.spectrum.wrong_pairs else []
    return [rotary_frequencies(measured.span, base)[: len(measured.signed)] for base in near]


def _half_faults(case: Case, own_dtype: torch.dtype) -> tuple[list[Fault], list[str]]:
    """Whether vectors in half types are rotated by angles that are not."""
    sides = (case.queries, case.keys)
    found = []
    notes = []
    changes_at = positions.dynamic(case.queries, case.exact) or FAR[-1]
    near = tuple(m for m in NEAR if m < changes_at)
    for dtype in (torch.bfloat16, torch.float16):
        gaps = errors(case.calling, sides, case.exact, near, dtype)
        if not gaps and own_dtype == torch.float32:
            notes.append(f"no answer for vectors in {dtype}")
        bad = [m for m, gap in gaps.items() if not gap < 0.1 * max(1.0, case.queries.factor)]
        if bad:
            found.append(
                Fault(
                    "half angles",
                    f"vectors in {dtype} are off by {gaps[bad[0]]:.2g} at position {bad[0]:,}: "
                    + _what_is_rounded(case, tuple(gaps), dtype),
                    "compute the angles in float32, whatever the type of the vectors",
                )
            )
    return found[:1], notes


def _float32_products(frequencies: Tensor, positions: Tensor) -> Tensor:
    return positions.float() * frequencies


def _what_is_rounded(case: Case, near: tuple[int, ...], dtype: torch.dtype) -> str:
    """What takes the type of the vectors, so that their angles are wrong, in words."""
    theta = _theta(case.queries)
    if case.exact is not None:
        theta = case.exact[: len(theta)]
    for words, angles in positions.rounded_ways(theta, dtype).items():
        gaps = errors(
            case.calling, (case.queries,), case.exact, near, dtype, other_angles=angles
        ).values()
        if all(gap < 0.1 * max(1.0, case.queries.factor) for gap in gaps):
            return f"{words} take the type of the vectors: they are rounded to {dtype}"
    return "positions, frequencies or angles take the type of the vectors, and collapse"


def _precision(case: Case, gaps: dict[int, float]) -> str:
    """In which type angles are computed, from the error at the farthest position that tells."""
    far = [m for m in gaps if 4000 < m <= 200_000]
    if case.exact is None or not far:
        return "not measured: it takes a known rule and positions beyond 4,000"
    m = far[-1]
    if gaps[m] < 3e-6 * max(1.0, case.queries.factor):
        return f"angles are exact: off by {gaps[m]:.0e} at position {m:,}, as from float64"
    pairs = len(case.queries.signed)
    exponents = torch.arange(0, case.queries.span, 2).float() / case.queries.span
    powers = 1.0 / case.spectrum.base ** exponents[:pairs] / case.spectrum.scale
    nearest = min(
        errors(
            case.calling,
            (case.queries,),
            case.exact,
            (m,),
            torch.float32,
            other_angles=partial(_float32_products, frequencies),
        )[m]
        for frequencies in (case.exact[:pairs].float(), powers)
    )
    if nearest < gaps[m] / 3:
        told = f"they equal products of float32 numbers to {nearest:.0e}"
    else:
        told = "the error grows as float32 products let it grow"
    return f"angles are computed in float32: off by {gaps[m]:.0e} at position {m:,}; {told}"


def _factor_doubts(case: Case) -> list[str]:
    """Why the factor of rotated vectors is that of no rule."""
    factor = case.queries.factor
    tolerance = 1e-4 + (0.01 if case.queries.rounded_to else 0.0)
    scale = case.spectrum.scale
    explained = [1.0, case.dim**-0.5, case.dim**-0.25]
    if "yarn" in case.spectrum.scaling or "YaRN" in case.spectrum.scaling:
        explained.append(yarn_attention_factor(scale))
    if any(abs(factor - value) < tolerance for value in explained):
        return []
    return [
        f"factor {factor:.4f} on the length of rotated vectors: the rule of the frequencies does "
        "not give it; cos² + sin² is 1 without YaRN or LongRoPE"
    ]


def _notes(case: Case, gaps: dict[int, float], dtype: torch.dtype) -> list[str]:
    """What is no fault, but good to know."""
    notes = []
    measured = case.queries
    if not measured.forward:
        notes.append(
            "backward: queries and keys rotate by −mθ. Scores are relative, and right for a model "
            "that was trained so (nanochat); weights of other models need +mθ: change the sign of "
            "the sine"
        )
    if "in place" in case.calling.remarks:
        notes.append(
            "the input is changed in place: the vectors that are given come back rotated, so who "
            "calls twice with the same tensor, as recomputation of a block does, rotates twice"
        )
    if case.calling.kind == "none":
        notes.append(
            "the axis of the tokens was found out, not told: with vectors in another order of axes "
            "the function would take heads for tokens"
        )
    twice = [usual for usual in USUAL_BASES if math.isclose(case.spectrum.base, usual**2)]
    if twice and case.spectrum.base not in known_bases():
        notes.append(
            f"base {case.spectrum.base:g} is that of no model of the list, and {twice[0]:g} with "
            "twice the exponent gives it too: compare it with your configuration"
        )
    if measured.order != sorted(measured.order):
        notes.append(
            "rotated vectors come back in another order of dimensions: scores stay, but compare "
            "vectors after reordering"
        )
    if case.calling.kind != "none" and FAR[-1] not in gaps:
        last = f"the last is {max(gaps):,}" if gaps else "and at none before it"
        notes.append(f"no answer in {dtype} at position {FAR[len(gaps)]:,}, {last}")
    changes_at = positions.dynamic(measured, case.exact)
    if changes_at is not None:
        notes.append(
            f"from position {changes_at:,} on the frequencies fall with the length (dynamic NTK "
            "scaling): keys that were cached for a shorter text have other angles"
        )
    scale = case.spectrum.scale
    factor = measured.factor
    if "yarn" in case.spectrum.scaling and abs(factor - 1) < 1e-4:
        notes.append(
            f"YaRN's factor {yarn_attention_factor(scale):.4f} is not on the table: models that "
            "leave it out have it elsewhere (DeepSeek: in the scale of the softmax)"
        )
    if abs(factor - case.dim**-0.5) < 1e-4 or abs(factor - case.dim**-0.25) < 1e-4:
        alone = _factors(case)
        notes.append(
            f"{alone or f'vectors are also multiplied by {factor:.4f}'}: do not scale the scores "
            "again"
        )
    return notes


def _wanted(
    family: str | None, config: Mapping[str, Any] | None, layer_type: str | None
) -> tuple[list[Wanted], list[str], list[str]]:
    """The rotations to compare with: of a family, or of the layers of a configuration."""
    if family is not None:
        return [named_rotation(family)], [], []
    if config is None:
        return [], [], []
    reading = read_config(config, layer_type=layer_type)
    turning = [wanted for wanted in reading.wanted if wanted.settings.rotary_dim]
    return turning or reading.wanted, reading.faults, reading.notes


def _compare(case: Case, wanted: list[Wanted]) -> tuple[list[str], list[str], list[str]]:
    """Changes to the nearest of the rotations that are wanted, models that match, and notes."""
    table = not case.calling.given
    words = case.calling.words

    def changes_to(one: Wanted) -> list[str]:
        found = differences(one, case.queries, case.spectrum, case.dim, table=table)
        if one.layout == "half" and case.queries.layout == "interleaved" and NEIGHBOURS in words:
            found.append(
                "table: it rotates with neighbours alike (repeat_interleave(2)); with halves alike "
                "(cat((θ, θ)), as transformers makes them) both dimensions of a pair get different "
                "angles"
            )
        return found

    changes: list[str] = []
    notes: list[str] = []
    if wanted:
        nearest = min(wanted, key=lambda one: len(changes_to(one)))
        changes = changes_to(nearest)
        if len(wanted) > 1 and not changes:
            notes.append(f"of the configuration's rotations, it is that of {nearest.name}")
        notes += softmax_notes(nearest)
    matches = []
    if table:
        known = all_rotations().items()
        matches = [name for name, one in known if is_same(one, case.queries, case.dim)]
    return changes, matches, notes


def _length_of_vectors(head_dim: int | None, wanted: list[Wanted]) -> int:
    """The head dim that is examined: that of the model, if one is named."""
    if wanted:
        return wanted[0].settings.head_dim
    length = 128 if head_dim is None else head_dim
    if length % 2 or length < 2:
        raise ValueError(f"head_dim must be even, because dimensions form pairs; got {length}")
    return length


def examine(
    function: Callable[..., Any] | nn.Module,
    *,
    head_dim: int | None = None,
    dtype: torch.dtype = torch.float32,
    family: str | None = None,
    config: Mapping[str, Any] | None = None,
    layer_type: str | None = None,
) -> Report:
    """Examine a function that rotates, or a model: what it does, what is wrong, what has to change.

    head_dim: the length of the vectors it is given (128, or that of family or configuration).
    dtype: in which its error is measured. family: the name of a family or model to compare with.
    config: a configuration to compare with, as in `config.json`; a model brings its own.
    layer_type: which kind of layer of the configuration.
    """
    own_notes: list[str] = []
    score_factor: float | None = None
    if isinstance(function, nn.Module):
        adapted = adapters.adapt(function, layer_type)
        function = adapted.function
        own_notes = adapted.notes
        score_factor = adapted.score_factor
        head_dim = head_dim or adapted.head_dim
        if config is None and family is None and adapted.config is not None:
            try:
                read_config(adapted.config, layer_type=layer_type)
                config = adapted.config
            except ValueError as error:
                own_notes.append(f"its configuration proves nothing: {error}")
    wanted, config_faults, config_notes = _wanted(family, config, layer_type)
    dim = _length_of_vectors(head_dim, wanted)
    calling = find_calling(function, dim, wanted[0].settings.rotary_dim if wanted else None)
    try:
        steadiness.check_steady(calling, dim)
    except NoRotationError as error:
        return Report(calling.words, [str(_fault_of(error))])
    samples = sample(calling, dim)
    queries, keys = _measured_sides(calling, samples)
    if isinstance(queries, Fault) or isinstance(keys, Fault):
        found = [side for side in (queries, keys) if isinstance(side, Fault)]
        if any("not rotated" in fault.name for fault in found):  # alone; and in a sequence?
            found = behaviour.offsets(calling, dim)[1] or found
        if any(fault.name.startswith("offset") for fault in found):  # of calls of one token
            moved = behaviour.offsets(calling, dim)[1]
            found = moved if moved and "moved by the length" in moved[0].name else found
        return Report(calling.words, list(dict.fromkeys(map(str, found[: 1 + calling.both]))))
    signed = torch.tensor(queries.signed, dtype=torch.float64)
    spectrum = too_fast(signed, queries.span // 2, known_bases()) or recognise(
        _theta(queries),
        queries.span,
        rounded_table=queries.rounded_to is not None or queries.coarse is not None,
        known_bases=known_bases(),
    )
    case = Case(calling, dim, queries, keys, spectrum, samples.infinite_from)
    report = _report(case, dtype, wanted)
    if config is not None:
        report = _by_configuration(report, case, config, layer_type, wanted)
    config_faults += _softmax_faults(score_factor, wanted)
    notes = [*report.notes, *own_notes, *config_notes]
    return _with(report, faults=[*report.faults, *config_faults], notes=list(dict.fromkeys(notes)))


def _by_configuration(
    report: Report,
    case: Case,
    config: Mapping[str, Any],
    layer_type: str | None,
    wanted: list[Wanted],
) -> Report:
    """The report with what a configuration demands beyond the frequencies of a short text."""
    calling = case.calling
    changes = list(report.changes)
    found = report.faults
    if len(wanted) == 1 and wanted[0].settings.kind in demands.BY_LENGTH and case.queries.alone:
        others = demands.other_lengths(case.queries, config, layer_type)
        if not others or not changes:
            # What changes with the length is measured against the configuration here.
            found = [text for text in found if not text.startswith("wrong beyond a position")]
        changes += others if not changes else []
    doubts = report.doubts
    if any(text.startswith("frequencies: ") for text in changes):
        mistake = mistaken_setting(case.queries, config, layer_type)
        if mistake:  # it says what no rule could
            changes = [text for text in changes if not text.startswith(OF_FREQUENCIES[:3])]
            changes = mistake + changes
            doubts = []
    if not changes and not found:
        changes += demands.other_sections(calling, case.queries, case.dim, config)
    notes = [*report.notes, *demands.short_table(calling, case.dim, config)]
    return _with(report, changes=changes, faults=found, notes=notes, doubts=doubts)


def _softmax_faults(score_factor: float | None, wanted: list[Wanted]) -> list[str]:
    """Whether latent attention multiplies the scale of the softmax as the configuration says."""
    if score_factor is None or not wanted or not wanted[0].latent:
        return []
    needed = wanted[0].settings.score_factor
    if abs(score_factor - needed) < 1e-4:
        return []
    return [
        str(
            Fault(
                "softmax scale",
                f"the attention multiplies 1/√d by {score_factor:.6g}, the configuration says "
                f"{needed:.6g}",
                "multiply the scale by the square of 0.1 · mscale_all_dim · ln(factor) + 1",
            )
        )
    ]


def _with(report: Report, **changed: Any) -> Report:
    return Report(**{**report.__dict__, **changed})


def _report(case: Case, dtype: torch.dtype, wanted: list[Wanted]) -> Report:
    """The report of a function whose queries and keys have been measured."""
    calling = case.calling
    dim = case.dim
    sides = (case.queries, case.keys)
    found = _faults_of_sides(case)
    found += faults.infinite(case.infinite_from) if not found else []
    changes_at = positions.dynamic(case.queries, case.exact)
    tests = {
        "offset": behaviour.offsets(calling, dim, longest=changes_at or FAR[-1]),
        "batch": behaviour.rows(calling, dim),
        "relative": behaviour.shifts(calling, dim),
        "scores": behaviour.scores(calling, sides, case.exact),
    }
    paired = case.queries.layout is not None and case.queries.orthogonal
    gaps = errors(calling, sides, case.exact, FAR, dtype) if paired else {}
    by_length = changes_at is not None
    for name, (_, more) in tests.items():
        # A mistake that has a name already, or frequencies that depend on the length on purpose.
        explained = name in ("relative", "scores") and (found or by_length)
        found += [] if explained else more
    found += behaviour.grouped(calling, dim)
    if calling.given and not found:
        found += faults.other_angles(case.queries, calling.width)
    wrong_gradients, more_notes = behaviour.gradients(calling, dim)
    names = {fault.name for fault in found}
    # Rounded numbers have rounded gradients.
    found += [] if names & {"rounded vectors", "rounded table"} else wrong_gradients
    more_notes += behaviour.autocast_notes(calling, dim)
    half, half_notes = _half_faults(case, dtype) if paired and not found else ([], [])
    found += half
    found += [] if names & EXPLAIN_PAIRS else faults.outliers(case.spectrum)
    found += faults.too_fast(case.spectrum)
    found += [] if calling.given else faults.few_decimals(case.queries, case.spectrum)
    if not calling.given and "half angles" not in {fault.name for fault in found}:
        found += faults.rounded_frequencies(case.spectrum.rounded_to)
    changes, matches, notes = _compare(case, wanted)
    if _factors(case):
        changes = [
            f"factor: {_factors(case)}: leave the scale of the scores to the attention"
            if text.startswith("factor of the table")
            else text
            for text in changes
        ]
    too_coarse = case.queries.coarse is not None and bool(case.spectrum.doubts)
    by_fault = bool(case.spectrum.wrong_pairs and names & EXPLAIN_PAIRS)
    if not paired or too_coarse or by_fault:  # such frequencies tell nothing
        changes = [text for text in changes if not text.startswith(OF_FREQUENCIES)]
    scaling = case.spectrum.scaling
    if by_length:
        scaling = "dynamic NTK: frequencies fall with the length"
        matches = []
        if wanted and "dynamic" not in {one.settings.kind for one in wanted}:
            changes.append(f"scaling: {scaling}, which the model does not have")
    doubts = [] if calling.given else [*case.spectrum.doubts, *_factor_doubts(case)]
    if found and (not paired or too_coarse):
        doubts = []
    proved_by_model = bool(wanted and not changes) or bool(matches)
    given = " (of the table that was given)" if calling.kind in TABLES else ""
    pairs = len(case.queries.signed)
    return Report(
        calling=calling.words,
        faults=[str(fault) for fault in found],
        layout=str(case.queries.layout or "none that is known"),
        direction="forward, by +mθ" if case.queries.forward else "backward, by −mθ",
        base=f"{case.spectrum.base:.10g}{given}",
        turned=f"{2 * pairs} of {dim} dimensions ({2 * pairs / dim:.0%}), "
        f"from dimension {case.queries.first_dim} on",
        scaling=scaling + given,
        factor=case.queries.factor,
        keys=_keys(case, found),
        **{name: text for name, (text, _) in tests.items()},
        errors=gaps,
        precision=_precision(case, gaps) if dtype == torch.float32 else "see float32",
        dtype=str(dtype).removeprefix("torch."),
        doubts=[] if proved_by_model else doubts,
        notes=[*_notes(case, gaps, dtype), *half_notes, *more_notes, *notes],
        changes=changes,
        matches=[] if found else matches,
    )


def _factors(case: Case) -> str:
    """By what queries and keys are multiplied, if not by the same."""
    factors = case.queries.factor, case.keys.factor
    if math.isclose(*factors, rel_tol=1e-3):
        return ""
    root = f" = 1/√{case.dim}" if math.isclose(factors[0], case.dim**-0.5, rel_tol=1e-3) else ""
    return f"queries are multiplied by {factors[0]:.4f}{root}, keys by {factors[1]:.4f}"


def _keys(case: Case, found: list[Fault]) -> str:
    if not case.calling.both:
        return "rotated by the same function as the queries"
    if found:
        return "not as the queries: see the fault"
    factors = _factors(case)
    return "measured too: as the queries" + (f", but {factors}" if factors else "")
