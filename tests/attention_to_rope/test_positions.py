"""Positional schemes: formulas against the reference, and the one interface they share."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import attention_to_rope as book
from attention_to_rope import reference
from attention_to_rope.positions import _t5_thresholds
from bookkit.randomness import normal


class TestSinusoidal:
    @given(st.integers(1, 6), st.lists(st.integers(-100, 10**6), min_size=1, max_size=4))
    def test_equals_the_reference(self, pairs: int, positions: list[int]) -> None:
        got = book.sinusoidal(torch.tensor(positions), 2 * pairs, 5000.0, dtype=torch.float64)
        for row, position in zip(got.numpy(), positions, strict=True):
            expected = reference.sinusoidal(position, 2 * pairs, 5000.0)
            assert np.abs(row - expected).max() <= 1e-9

    def test_is_rounded_once(self) -> None:
        positions = torch.arange(1000) + 10**6
        exact = book.sinusoidal(positions, 64, dtype=torch.float64)
        assert torch.equal(book.sinusoidal(positions, 64), exact.float())
        assert torch.equal(book.sinusoidal(positions, 64, dtype=torch.bfloat16), exact.bfloat16())

    def test_scheme_adds_it_to_the_input(self) -> None:
        x = normal(2, 3, 4, seed=0)
        scheme = book.Sinusoidal(base=100.0)
        positions = torch.tensor([[0, 1, 2], [7, 8, 9]])
        expected = x + book.sinusoidal(positions, 4, 100.0, dtype=torch.float64)
        assert torch.equal(scheme.embed(x, positions), expected)
        assert torch.equal(scheme.embed(x, positions[1])[1], expected[1])
        default = book.Sinusoidal().embed(x, positions[0]) - x
        assert (default[0] - book.sinusoidal(positions[0], 4)).abs().max() <= 1e-6


class TestLearned:
    def test_adds_its_rows(self) -> None:
        scheme = book.Learned(5, 4, seed=0).double()
        x = normal(2, 3, 4, seed=0)
        positions = torch.tensor([4, 0, 2])
        assert torch.equal(scheme.embed(x, positions), x + scheme.table.rows[positions])
        assert float(book.Learned(100, 100, seed=0).table.rows.detach().std()) == pytest.approx(
            0.02, rel=0.05
        )
        wide = book.Learned(5, 4, seed=0, deviation=1.0).table.rows
        assert torch.allclose(wide * 0.02, scheme.table.rows.float())

    def test_positions_end_at_its_length(self) -> None:
        """A slice past the end would return fewer rows in silence (erratum 38)."""
        scheme = book.Learned(5, 4, seed=0)
        x = torch.zeros(1, 1, 4)
        for bad in (5, -1):
            with pytest.raises(
                ValueError, match=rf"positions must lie in 0…4, got values from {bad}"
            ):
                scheme.embed(x, torch.tensor([bad]))
        with pytest.raises(TypeError, match=r"positions must have an integer dtype"):
            scheme.embed(x, torch.tensor([1.0]))


class TestT5:
    @given(
        st.booleans(),
        st.sampled_from([(32, 128), (32, 256), (8, 20), (4, 9), (16, 1000)]),
        st.lists(st.integers(-2000, 2000), min_size=1, max_size=30),
    )
    def test_bucket_equals_the_reference(
        self, bidirectional: bool, shape: tuple[int, int], relative: list[int]
    ) -> None:
        buckets, max_distance = shape
        got = book.t5_bucket(
            torch.tensor(relative),
            bidirectional=bidirectional,
            buckets=buckets,
            max_distance=max_distance,
        )
        expected = [reference.t5_bucket(r, bidirectional, *shape) for r in relative]
        assert got.tolist() == expected

    @pytest.mark.parametrize("bidirectional", [False, True])
    def test_every_distance_of_the_default(self, bidirectional: bool) -> None:
        relative = torch.arange(-300, 301)
        got = book.t5_bucket(relative, bidirectional=bidirectional)
        assert got.tolist() == [
            reference.t5_bucket(int(r), bidirectional, 32, 128) for r in relative
        ]
        assert set(got.tolist()) == set(range(32)) - ({16} if bidirectional else set())

    def test_thresholds_sit_on_whole_powers(self) -> None:
        """8, 8√2, 16, 16√2, 32, …: the whole ones must not fall into the bucket below."""
        assert _t5_thresholds(8, 8, 128) == [8, 12, 16, 23, 32, 46, 64, 91]

    def test_small_integers_do_not_overflow(self) -> None:
        for relative in (
            torch.tensor([-128, 100], dtype=torch.int8),
            torch.tensor([1, 200], dtype=torch.uint8),
        ):
            for bidirectional in (False, True):
                wide = book.t5_bucket(relative.long(), bidirectional=bidirectional)
                assert torch.equal(book.t5_bucket(relative, bidirectional=bidirectional), wide)

    @pytest.mark.parametrize("bidirectional", [False, True])
    def test_bias(self, bidirectional: bool) -> None:
        scheme = book.T5Bias(
            3, bidirectional=bidirectional, seed=0, buckets=8, max_distance=20, deviation=1.0
        )
        q_positions, k_positions = torch.tensor([4, 30]), torch.tensor([0, 4, 9])
        bias = scheme.bias(q_positions, k_positions)
        assert bias.shape == (3, 2, 3)
        for m in range(2):
            for n in range(3):
                relative = int(k_positions[n] - q_positions[m])
                bucket = reference.t5_bucket(relative, bidirectional, 8, 20)
                assert torch.equal(bias[:, m, n], scheme.table.rows[bucket])

    def test_defaults(self) -> None:
        scheme = book.T5Bias(50, bidirectional=True, seed=0)
        assert scheme.table.rows.shape == (32, 50)
        assert float(scheme.table.rows.detach().std()) == pytest.approx(0.02, rel=0.1)
        assert scheme.max_distance == 128


class TestALiBi:
    @pytest.mark.parametrize("heads", range(1, 41))
    def test_slopes(self, heads: int) -> None:
        slopes = book.alibi_slopes(heads)
        assert slopes.dtype == torch.float64
        assert slopes.tolist() == reference.alibi_slopes(heads)
        assert len(slopes) == heads

    def test_slopes_of_twelve_heads(self) -> None:
        """As the authors' code gives them; 2^{−8i/12} would be off by up to 0.13 here."""
        eight = [2.0**-i for i in range(1, 9)]
        four = [2.0 ** (-(i + 0.5)) for i in range(4)]
        assert book.alibi_slopes(12).tolist() == pytest.approx(eight + four)

    def test_bias(self) -> None:
        q_positions, k_positions = torch.tensor([3, 5]), torch.tensor([0, 4, 9])
        slopes = book.alibi_slopes(2)
        bias = book.alibi_bias(slopes, q_positions, k_positions)
        assert torch.equal(bias, book.ALiBi(2).bias(q_positions, k_positions))
        assert bias.shape == (2, 2, 3)
        for h in range(2):
            for m in range(2):
                for n in range(3):
                    expected = reference.alibi_bias(
                        float(slopes[h]), int(q_positions[m]), int(k_positions[n])
                    )
                    assert float(bias[h, m, n]) == expected

    def test_batched(self) -> None:
        positions = torch.tensor([[0, 1], [0, 9]])
        bias = book.ALiBi(3).bias(positions, positions)
        assert bias.shape == (2, 3, 2, 2)
        assert torch.equal(bias[1], book.ALiBi(3).bias(positions[1], positions[1]))


class TestRotary:
    def test_rotates_with_a_fresh_table(self) -> None:
        x = normal(2, 3, 4, 6, seed=0)
        frequencies = book.rotary_frequencies(4)
        scheme = book.Rotary(frequencies, layout="half", rotary_dim=4, attention_factor=1.5)
        positions = torch.arange(4) + 9
        table = book.rotary_table(positions, frequencies, dtype=torch.float64, attention_factor=1.5)
        expected = book.rotate(x, table, layout="half", rotary_dim=4)
        assert torch.equal(scheme.rotate(x, positions), expected)

    def test_conversion_of_the_module_cannot_spoil_it(self) -> None:
        x = normal(1, 1, 4, 8, seed=0, dtype=torch.float32)
        positions = torch.arange(4) + 100_000
        for convert in ("half", "bfloat16", "float"):
            scheme = book.Rotary(book.rotary_frequencies(8), layout="half")
            expected = scheme.rotate(x, positions)
            assert torch.equal(getattr(scheme, convert)().rotate(x, positions), expected)

    def test_order_of_calls_does_not_matter(self) -> None:
        scheme = book.Rotary(book.rotary_frequencies(8), layout="interleaved")
        x = normal(1, 1, 4, 8, seed=0, dtype=torch.float32)
        first = scheme.rotate(x, torch.arange(4))
        scheme.rotate(x.bfloat16(), torch.arange(4) + 5000)
        scheme.rotate(normal(1, 1, 90, 8, seed=1), torch.arange(90))
        assert torch.equal(scheme.rotate(x, torch.arange(4)), first)


def test_schemes_do_nothing_but_their_part() -> None:
    x, vectors, positions = normal(1, 2, 4, seed=0), normal(1, 2, 2, 4, seed=1), torch.arange(2)
    schemes = {
        "none": book.PositionalScheme(),
        "embed": book.Sinusoidal(),
        "rotate": book.Rotary(book.rotary_frequencies(4), layout="half"),
        "bias": book.ALiBi(2),
    }
    for place, scheme in schemes.items():
        assert torch.equal(scheme.embed(x, positions), x) == (place != "embed")
        assert torch.equal(scheme.rotate(vectors, positions), vectors) == (place != "rotate")
        assert (scheme.bias(positions, positions) is None) == (place != "bias")


def test_relative_positions() -> None:
    got = book.relative_positions(torch.tensor([3], dtype=torch.uint8), torch.tensor([1, 5]))
    assert got.tolist() == [[-2, 2]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: book.sinusoidal(torch.arange(2), 3), ValueError, r"must be even, got 3"),
        (lambda: book.sinusoidal(torch.arange(2.0), 4), TypeError, r"integer dtype"),
        (lambda: book.Sinusoidal(0.0), ValueError, r"base must be finite and above 0"),
        (
            lambda: book.relative_positions(torch.arange(2.0), torch.arange(2)),
            TypeError,
            r"q_positions must have an integer dtype",
        ),
        (
            lambda: book.relative_positions(torch.arange(2), torch.arange(2.0)),
            TypeError,
            r"k_positions must have an integer dtype",
        ),
        (
            lambda: book.t5_bucket(torch.tensor([1]), bidirectional=True, buckets=5),
            ValueError,
            r"buckets must be even when bidirectional, got 5",
        ),
        (
            lambda: book.t5_bucket(torch.tensor([1]), bidirectional=True, buckets=2),
            ValueError,
            r"buckets must be at least 4, got 2",
        ),
        (
            lambda: book.t5_bucket(torch.tensor([1]), bidirectional=False, buckets=1),
            ValueError,
            r"buckets must be at least 2, got 1",
        ),
        (
            lambda: book.t5_bucket(torch.tensor([1]), bidirectional=True, max_distance=8),
            ValueError,
            r"max_distance must be at least 9, got 8",
        ),
        (
            lambda: book.t5_bucket(torch.tensor([1.0]), bidirectional=True),
            TypeError,
            r"relative must have an integer dtype",
        ),
        (lambda: book.alibi_slopes(0), ValueError, r"heads must be at least 1, got 0"),
        (lambda: book.ALiBi(0), ValueError, r"heads must be at least 1, got 0"),
        (
            lambda: book.alibi_bias(torch.ones(1, 1), torch.arange(2), torch.arange(2)),
            ValueError,
            r"slopes must have shape \(H,\), got \(1, 1\)",
        ),
        (
            lambda: book.alibi_bias(torch.tensor([1]), torch.arange(2), torch.arange(2)),
            TypeError,
            r"slopes must be floating point",
        ),
        (
            lambda: book.Rotary(book.rotary_frequencies(4), layout="neox"),
            ValueError,
            r"layout must be one of 'half', 'interleaved'; got 'neox'",
        ),
        (
            lambda: book.Rotary(book.rotary_frequencies(4).float(), layout="half"),
            TypeError,
            r"frequencies must be float64",
        ),
        (
            lambda: book.Rotary(book.rotary_frequencies(4), layout="half", attention_factor=-1.0),
            ValueError,
            r"attention_factor must be finite and above 0",
        ),
    ],
)
def test_errors(call, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_t5_smallest_sizes_work() -> None:
    assert (
        book.t5_bucket(torch.tensor([1]), bidirectional=False, buckets=2, max_distance=2).item()
        == 0
    )
    assert (
        book.t5_bucket(torch.tensor([2]), bidirectional=True, buckets=4, max_distance=2).item() == 3
    )


def test_default_base_and_factor() -> None:
    positions, x = torch.arange(7), normal(1, 1, 7, 8, seed=0)
    assert torch.equal(book.sinusoidal(positions, 6), book.sinusoidal(positions, 6, 10000.0))
    assert book.Sinusoidal().base == 10000.0
    rotary = book.Rotary(book.rotary_frequencies(8), layout="half")
    assert rotary.attention_factor == 1.0
    lengths = rotary.rotate(x, positions).norm(dim=-1)
    assert torch.allclose(lengths, x.norm(dim=-1), rtol=1e-12)


@pytest.mark.parametrize("scheme", [book.Sinusoidal(), book.ALiBi(2)])
def test_schemes_without_parameters_are_modules_too(scheme: book.PositionalScheme) -> None:
    assert scheme.double() is scheme
    assert not list(scheme.parameters())


@pytest.mark.parametrize(
    "scheme", [book.PositionalScheme(), book.Sinusoidal(), book.Learned(9, 4, seed=0)]
)
@pytest.mark.parametrize("shape", [(1,), (3, 1), (1, 3), (2,), (4, 3), (1, 1, 3), (3, 3)])
def test_positions_are_never_repeated(
    scheme: book.PositionalScheme, shape: tuple[int, ...]
) -> None:
    x = torch.zeros(2, 3, 4)
    with pytest.raises(ValueError, match=r"positions must have shape \(3,\) or \(2, 3\)"):
        scheme.embed(x, torch.zeros(shape, dtype=torch.int64))


def test_positions_are_looked_at_without_a_scheme_too() -> None:
    nothing, x = book.PositionalScheme(), torch.zeros(2, 5, 3, 4)
    assert nothing.rotate(x, torch.arange(3)) is x
    with pytest.raises(ValueError, match=r"positions must have shape \(3,\) or \(2, 3\)"):
        nothing.rotate(x, torch.arange(5))
    with pytest.raises(TypeError, match=r"x must be a torch.Tensor, got list"):
        book.Sinusoidal().embed([1.0], torch.arange(1))


def test_batches_of_positions_are_not_repeated_in_distances() -> None:
    one, two = torch.zeros(1, 3, dtype=torch.int64), torch.zeros(2, 3, dtype=torch.int64)
    with pytest.raises(ValueError, match=r"same batch axes, got \(1,\) and \(2,\)"):
        book.relative_positions(one, two)
    assert book.relative_positions(two[0], two).shape == (2, 3, 3)
    assert book.relative_positions(two, two[0]).shape == (2, 3, 3)


def test_sinusoids_are_not_cut_to_integers() -> None:
    with pytest.raises(TypeError, match=r"dtype must be floating point .* got torch.int64"):
        book.sinusoidal(torch.arange(2), 4, dtype=torch.int64)


def test_many_buckets_are_found_quickly() -> None:
    """The borders need some hundred comparisons, not one for every distance of every bucket."""
    _t5_thresholds.cache_clear()
    powers = 0

    class Counted(int):
        def __pow__(self, exponent: int) -> int:
            nonlocal powers
            powers += 1
            return int(self) ** exponent

    assert _t5_thresholds(Counted(64), 64, Counted(8192))[-1] == 7594
    assert powers < 1000


def test_t5_buckets_compile() -> None:
    def buckets(distances: torch.Tensor) -> torch.Tensor:
        return book.t5_bucket(distances, bidirectional=True)

    distances = torch.arange(-300, 300, 7)
    compiled = torch.compile(buckets, fullgraph=True, backend="eager")
    assert torch.equal(compiled(distances), buckets(distances))


@pytest.mark.parametrize(
    ("options", "least"), [({"bidirectional": True}, 9), ({"bidirectional": False}, 17)]
)
def test_the_least_and_the_largest_distance_of_buckets(options: dict, least: int) -> None:
    distances = torch.tensor([0])
    for distance in (least, 2**31):
        assert book.t5_bucket(distances, max_distance=distance, **options).item() == 0
    with pytest.raises(ValueError, match=rf"max_distance must be at least {least}"):
        book.t5_bucket(distances, max_distance=least - 1, **options)
    with pytest.raises(ValueError, match=r"max_distance must be at most 2³¹"):
        book.t5_bucket(distances, max_distance=2**31 + 1, **options)


def test_defaults_of_learned_tables() -> None:
    table = book.Learned(100, 100, seed=0).table.rows.detach()
    assert 0.019 < float(table.std()) < 0.021
    t5 = book.T5Bias(100, bidirectional=True, seed=0)
    assert 0.019 < float(t5.table.rows.detach().std()) < 0.021
    assert (t5.buckets, t5.max_distance) == (32, 128)


def test_a_scheme_without_heads_takes_positions_of_the_last_axis_but_one() -> None:
    x = normal(2, 3, 4, seed=0)
    assert book.PositionalScheme().rotate(x, torch.arange(3)) is x


def test_rotary_refuses_what_is_no_vector_and_no_whole_number() -> None:
    scheme = book.Rotary(book.rotary_frequencies(4), layout="half")
    with pytest.raises(TypeError, match=r"x must be a torch.Tensor, got list"):
        scheme.rotate([1.0], torch.arange(1))
    with pytest.raises(TypeError, match=r"rotary dim must be an int, got float"):
        book.Rotary(book.rotary_frequencies(4), layout="half", rotary_dim=4.0)


def test_frequencies_of_a_length_turn_the_first_dimensions_only() -> None:
    asked = []

    def frequencies(length: int) -> torch.Tensor:
        asked.append(length)
        return book.rotary_frequencies(4)

    scheme = book.LengthScaledRotary(frequencies, layout="half", rotary_dim=4)
    assert asked == [1]  # whatever is wrong with the function is said when the scheme is built
    x, positions = normal(1, 1, 3, 6, seed=0), torch.arange(3)
    got = scheme.turn(x, scheme.angles(positions, x.dtype, length=3))
    assert torch.equal(got, scheme.rotate(x, positions))
    assert torch.equal(got[..., 4:], x[..., 4:])


def test_keys_wait_unturned_only_where_the_length_decides() -> None:
    frequencies = book.rotary_frequencies(4)
    assert not book.Rotary(frequencies, layout="half").depends_on_length
    assert book.LengthScaledRotary(lambda _: frequencies, layout="half").depends_on_length
