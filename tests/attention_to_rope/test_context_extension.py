"""Context extension: each method against its formula, its identities, its errors."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import attention_to_rope as book
from attention_to_rope import reference

dims = st.integers(2, 64).map(lambda pairs: 2 * pairs)
scales = st.floats(1, 64)
bases = st.sampled_from([10000.0, 500000.0])
lengths = st.sampled_from([512, 4096, 8192])


def close(got: torch.Tensor, expected: object) -> bool:
    return bool(np.allclose(got.numpy(), expected, rtol=1e-12, atol=0))


@given(dims, bases, scales, lengths)
def test_equal_the_reference(dim: int, base: float, scale: float, length: int) -> None:
    theta = book.rotary_frequencies(dim, base)
    assert close(book.position_interpolation(theta, scale), theta.numpy() / scale)
    assert close(book.ntk_aware(theta, scale), reference.ntk_aware(dim, base, scale))
    for current in (length // 2, length, 3 * length):
        got = book.dynamic_ntk(theta, scale, length=current, original_length=length)
        assert close(got, reference.dynamic_ntk(dim, base, scale, current, length))
    for slow, fast in ((1.0, 32.0), (2.0, 5.0)):
        options = {"original_length": length, "slow": slow, "fast": fast}
        expected = [reference.ntk_by_parts(float(t), scale, length, slow, fast) for t in theta]
        assert close(book.ntk_by_parts(theta, scale, **options), expected)
        assert close(book.llama3(theta, scale, **options), expected)
        expected = reference.yarn(dim, base, scale, length, slow, fast)
        assert close(book.yarn(theta, scale, **options), expected)


@given(dims, bases)
def test_scale_one_changes_nothing(dim: int, base: float) -> None:
    theta = book.rotary_frequencies(dim, base)
    for changed in (
        book.position_interpolation(theta, 1.0),
        book.ntk_aware(theta, 1.0),
        book.dynamic_ntk(theta, 1.0, length=512, original_length=512),
        book.ntk_by_parts(theta, 1.0, original_length=512),
        book.yarn(theta, 1.0, original_length=512),
        book.llama3(theta, 1.0),
        book.longrope(theta, torch.ones_like(theta)),
    ):
        assert torch.allclose(changed, theta, rtol=1e-15, atol=0)
        assert changed.dtype == torch.float64
    assert book.yarn_attention_factor(1.0) == book.longrope_attention_factor(1.0, 512) == 1.0


@given(dims, scales)
def test_ntk_keeps_the_first_and_interpolates_the_last(dim: int, scale: float) -> None:
    theta = book.rotary_frequencies(dim)
    changed = book.ntk_aware(theta, scale)
    assert float(changed[0]) == 1.0
    assert float(changed[-1]) == pytest.approx(float(theta[-1]) / scale, rel=1e-14)


def test_defaults() -> None:
    theta = book.rotary_frequencies(128, 500000.0)
    named = {"original_length": 8192, "slow": 1.0, "fast": 4.0}
    assert torch.equal(book.llama3(theta), book.llama3(theta, 8.0, **named))
    named = {"original_length": 4096, "slow": 1.0, "fast": 32.0}
    short = {"original_length": 4096}
    assert torch.equal(book.yarn(theta, 4.0, **short), book.yarn(theta, 4.0, **named))
    assert torch.equal(
        book.ntk_by_parts(theta, 4.0, **short), book.ntk_by_parts(theta, 4.0, **named)
    )


def test_yarn_limits() -> None:
    """Fast pairs stay as they are, slow pairs are interpolated, the blend lies between."""
    theta = book.rotary_frequencies(128)
    ratio = theta / book.yarn(theta, 8.0, original_length=4096)
    assert torch.equal(ratio[:20], torch.ones(20).double())
    assert torch.allclose(ratio[-18:], torch.full((18,), 8.0).double())
    assert (ratio.diff() >= -1e-12).all()


def test_yarn_without_truncation_starts_its_ramp_between_pairs() -> None:
    theta = book.rotary_frequencies(64)
    L, scale = 4096, 4.0
    start, stop = (
        32 * math.log(L / (turns * 2 * math.pi)) / math.log(10000.0) for turns in (32, 1)
    )
    got = book.yarn(theta, scale, original_length=L, truncate=False)
    for i in range(32):
        keep = 1 - min(max((i - start) / (stop - start), 0), 1)
        expected = float(theta[i]) * (keep + (1 - keep) / scale)
        assert float(got[i]) == pytest.approx(expected, rel=1e-12)
    assert not torch.allclose(got, book.yarn(theta, scale, original_length=L), rtol=1e-3)


def test_yarn_ramp_without_width_is_a_step() -> None:
    """At length 4 no pair makes a turn: the ramp ends at 0 and all but pair 0 are interpolated."""
    theta = book.rotary_frequencies(8)
    got = book.yarn(theta, 2.0, original_length=4)
    assert torch.allclose(theta / got, torch.tensor([1.0, 2.0, 2.0, 2.0]).double())


@pytest.mark.parametrize("scale", [1.1, 2.3, 3.7, 6.1])
def test_dynamic_ntk_changes_nothing_up_to_the_trained_length(scale: float) -> None:
    theta = book.rotary_frequencies(8)
    for length in (1, 7, 8):
        same = book.dynamic_ntk(theta, scale, length=length, original_length=8)
        assert torch.equal(same, theta)


@pytest.mark.parametrize("original_length", [100, 1257])
def test_yarn_ramp_is_cut_to_the_dimensions(original_length: int) -> None:
    """Before index 0 and after the last dimension d − 1 (not the last pair), as released."""
    pairs, base, scale, slow, fast = 4, 10.0, 4.0, 1.0, 100.0
    frequencies = book.rotary_frequencies(2 * pairs, base)
    turns, step = original_length / (2 * math.pi), math.log(base) / pairs
    start = max(math.floor(math.log(turns / fast) / step), 0)
    stop = min(math.ceil(math.log(turns / slow) / step), 2 * pairs - 1)
    assert (start, stop) == {100: (0, 5), 1257: (1, 7)}[original_length]
    keep = [1 - min(max((i - start) / (stop - start), 0), 1) for i in range(pairs)]
    expected = [
        float(theta) * (share + (1 - share) / scale)
        for theta, share in zip(frequencies, keep, strict=True)
    ]
    result = book.yarn(frequencies, scale, original_length=original_length, slow=slow, fast=fast)
    assert result.tolist() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("step", "fault"), [(0.5, 0.005), (0.5, 2.5e-6), (1e-3, 5e-9), (0.0, 0.0)])
def test_yarn_refuses_what_is_not_geometric(step: float, fault: float) -> None:
    logarithms = -step * torch.arange(4, dtype=torch.float64)
    book.yarn(torch.exp(logarithms - torch.arange(4) * 1e-3), 2.0, original_length=64)
    logarithms[-1] += fault
    with pytest.raises(ValueError, match="frequencies must be geometric and falling"):
        book.yarn(torch.exp(logarithms), 2.0, original_length=64)


def test_dynamic_ntk_depends_on_the_length() -> None:
    """The known mistake: keys cached at another length have other angles."""
    theta = book.rotary_frequencies(8)
    options = {"original_length": 100}
    same = book.dynamic_ntk(theta, 2.0, length=100, **options)
    longer = book.dynamic_ntk(theta, 2.0, length=101, **options)
    assert torch.equal(same, theta)
    assert not torch.equal(longer, theta)
    assert torch.equal(longer, book.ntk_aware(theta, 2 * 101 / 100 - 1))


def test_attention_factors_between_one_and_two() -> None:
    assert book.yarn_attention_factor(1.5) == pytest.approx(1 + 0.1 * math.log(1.5))
    expected = math.sqrt(1 + math.log(1.5) / math.log(4096))
    assert book.longrope_attention_factor(1.5, 4096) == pytest.approx(expected)


def test_attention_factors() -> None:
    assert book.yarn_attention_factor(math.e**10) == pytest.approx(2.0)
    assert book.yarn_attention_factor(0.5) == 1.0
    assert book.longrope_attention_factor(8.0, 2) == pytest.approx(2.0)
    assert book.longrope_attention_factor(0.5, 4096) == 1.0


def test_longrope() -> None:
    theta = book.rotary_frequencies(6)
    factors = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
    assert torch.equal(book.longrope(theta, factors), theta / factors)


THETA = book.rotary_frequencies(8)


@pytest.mark.parametrize(
    "method",
    [
        book.position_interpolation,
        book.ntk_aware,
        lambda theta, s: book.dynamic_ntk(theta, s, length=8, original_length=8),
        lambda theta, s: book.ntk_by_parts(theta, s, original_length=8),
        lambda theta, s: book.yarn(theta, s, original_length=8),
        book.llama3,
    ],
)
def test_shared_errors(method) -> None:
    with pytest.raises(ValueError, match=r"scale must be at least 1, got 0\.5"):
        method(THETA, 0.5)
    with pytest.raises(ValueError, match=r"scale must be finite and above 0, got inf"):
        method(THETA, math.inf)
    with pytest.raises(TypeError, match=r"frequencies must be float64, got torch.float32"):
        method(THETA.float(), 2.0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: book.ntk_aware(THETA[:1], 2.0), ValueError, r"at least 2 pairs \(d ≥ 4\), got 1"),
        (
            lambda: book.yarn(THETA[:1], 2.0, original_length=8),
            ValueError,
            r"YaRN needs at least 2 pairs \(d ≥ 4\), got 1",
        ),
        (
            lambda: book.dynamic_ntk(THETA, 2.0, length=0, original_length=8),
            ValueError,
            r"^length must be at least 1, got 0",
        ),
        (
            lambda: book.dynamic_ntk(THETA, 2.0, length=8, original_length=0),
            ValueError,
            r"original_length must be at least 1, got 0",
        ),
        (
            lambda: book.ntk_by_parts(THETA, 2.0, original_length=0),
            ValueError,
            r"original_length must be at least 1, got 0",
        ),
        (
            lambda: book.yarn(THETA, 2.0, original_length=8, slow=3.0, fast=3.0),
            ValueError,
            r"slow must be below fast, got slow=3\.0 and fast=3\.0",
        ),
        (
            lambda: book.ntk_by_parts(THETA, 2.0, original_length=8, slow=0.0),
            ValueError,
            r"slow must be finite and above 0",
        ),
        (
            lambda: book.ntk_by_parts(THETA, 2.0, original_length=8, fast=math.nan),
            ValueError,
            r"fast must be finite and above 0",
        ),
        (
            lambda: book.yarn(THETA.flip(0), 2.0, original_length=8),
            ValueError,
            r"frequencies must be geometric and falling",
        ),
        (
            lambda: book.yarn(book.llama3(THETA), 2.0, original_length=8),
            ValueError,
            r"frequencies must be geometric and falling",
        ),
        (
            lambda: book.longrope(THETA, torch.ones(3).double()),
            ValueError,
            r"factors must have one entry per pair, 4; got shape \(3,\)",
        ),
        (
            lambda: book.longrope(THETA, torch.ones(4)),
            TypeError,
            r"frequencies and factors must have the same dtype",
        ),
        (
            lambda: book.longrope(THETA, torch.tensor([1.0, 1, 1, 0]).double()),
            ValueError,
            r"factors must be above 0, got a smallest of 0\.0",
        ),
        (
            lambda: book.longrope(THETA.float(), torch.ones(4)),
            TypeError,
            r"frequencies must be float64",
        ),
        (lambda: book.yarn_attention_factor(-1.0), ValueError, r"scale must be finite and above 0"),
        (
            lambda: book.longrope_attention_factor(-1.0, 8),
            ValueError,
            r"scale must be finite and above 0",
        ),
        (
            lambda: book.longrope_attention_factor(2.0, 1),
            ValueError,
            r"original_length must be at least 2, got 1",
        ),
    ],
)
def test_errors(call, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("length", [2, 10**9])
@pytest.mark.parametrize("truncate", [True, False])
def test_yarn_keeps_or_interpolates_all_pairs_at_the_ends(length: int, truncate: bool) -> None:
    """All pairs turn often in 10⁹ positions, none turns once in two: the ramp is not inverted."""
    frequencies = book.rotary_frequencies(8, 3.0)
    got = book.yarn(frequencies, 4.0, original_length=length, truncate=truncate)
    kept = length > 100
    assert torch.equal(got, frequencies if kept else frequencies / 4)
    expected = reference.yarn(8, 3.0, 4.0, length, 1.0, 32.0)
    assert np.allclose(got.numpy(), expected, rtol=1e-14)
    assert got.data_ptr() != frequencies.data_ptr()


@pytest.mark.parametrize("weights", [(1.0, 1.0), (0.707, 0.707), (1.0, 0.5)])
def test_yarn_factors_split_one_factor(weights: tuple[float, float]) -> None:
    mscale, everywhere = weights
    got = book.yarn_factors(40.0, mscale=mscale, mscale_all_dim=everywhere)
    assert got == pytest.approx(reference.yarn_factors(40.0, *weights), rel=1e-14)
    total = got.table**2 * got.scores  # what the scores of turned dimensions feel
    assert total == pytest.approx(book.yarn_attention_factor(40.0, mscale) ** 2, rel=1e-14)
    assert book.yarn_factors(1.0, mscale=mscale, mscale_all_dim=everywhere) == (1.0, 1.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_frequencies_and_factors_must_be_finite(bad: float) -> None:
    frequencies = torch.tensor([1.0, bad], dtype=torch.float64)
    ones = torch.ones(2, dtype=torch.float64)
    for call in (
        lambda: book.position_interpolation(frequencies, 2.0),
        lambda: book.rotary_table(torch.arange(2), frequencies),
        lambda: book.Rotary(frequencies, layout="half"),
    ):
        with pytest.raises(ValueError, match=r"frequencies must be finite, got .* at index 1"):
            call()
    with pytest.raises(ValueError, match=r"factors must be finite"):
        book.longrope(ones, frequencies)
    with pytest.raises(TypeError, match=r"factors must be a torch.Tensor, got list"):
        book.longrope(ones, [1.0, 1.0])
    with pytest.raises(ValueError, match=r"weight must be finite and above 0"):
        book.yarn_attention_factor(2.0, -1.0)
    assert book.longrope(ones.to("meta"), ones.to("meta")).is_meta


def test_equal_limits_make_a_step() -> None:
    """Llama 4 Scout: ×16 with both limits 1 divides the 29 of 64 pairs that turn less than once."""
    theta = book.rotary_frequencies(128, 500000.0)
    got = book.llama3(theta, 16.0, original_length=8192, slow=1.0, fast=1.0)
    expected = [reference.ntk_by_parts(t, 16.0, 8192, 1.0, 1.0) for t in theta.tolist()]
    assert got.tolist() == expected
    assert int((got != theta).sum()) == 29
    # Pair 0 makes exactly so many turns: it is kept.
    turns = 8192 / (2 * math.pi)
    edge = book.llama3(theta, 16.0, original_length=8192, slow=turns, fast=turns)
    assert edge[0] == theta[0]
    assert edge[1] == theta[1] / 16
    with pytest.raises(ValueError, match=r"slow must be finite and above 0"):
        book.llama3(theta, 16.0, original_length=8192, slow=0.0, fast=0.0)


def test_longrope_where_no_values_are_known() -> None:
    theta, factors = book.rotary_frequencies(4), torch.tensor([[1.0, 2.0], [4.0, 8.0]]).double()
    mapped = torch.func.vmap(book.longrope, in_dims=(None, 0))(theta, factors)
    assert torch.equal(mapped, theta / factors)
