"""Generation: unequal prompts, end tokens, sampling row by row; a cache changes nothing."""

import copy
import dataclasses
import functools
import math

import pytest
import torch

import attention_to_rope as book
from attention_to_rope.generation import Choice
from attention_to_rope.layers import stream_of
from bookkit.randomness import normal

TINY = book.Architecture(d=8, heads=4, layers=2, kv_heads=2)
TOKENS = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]])
D_K = 2


def scaled(length: int) -> torch.Tensor:
    """Frequencies that fall as the sequence grows beyond 5, as dynamic NTK's do."""
    return book.rotary_frequencies(D_K) / max(1, length / 5)


def stepped(length: int) -> torch.Tensor:
    """Frequencies that change once, behind length 6, as LongRoPE's do."""
    return book.rotary_frequencies(D_K) * (1 if length <= 6 else 2)


@functools.cache
def decoders() -> dict[str, book.Decoder]:
    rotary = book.Rotary(book.rotary_frequencies(D_K), layout="half")
    slow = book.Rotary(book.rotary_frequencies(D_K, 1e6), layout="half")
    schemes = {
        "none": None,
        "sinusoidal": book.Sinusoidal(),
        "learned": book.Learned(32, 8, seed=1, deviation=1.0),
        "t5": book.T5Bias(4, bidirectional=False, seed=1, deviation=1.0),
        "alibi": book.ALiBi(4),
        "rotary": rotary,
        "length": book.LengthScaledRotary(scaled, layout="half", attention_factor=math.sqrt),
        "two lengths": book.LengthScaledRotary(
            stepped, layout="half", attention_factor=lambda length: 1.0 if length <= 6 else 3.0
        ),
    }
    models = {
        name: book.Decoder(9, TINY, seed=2, position=scheme) for name, scheme in schemes.items()
    }
    patterns = {
        "window": [book.LayerPattern(window=2, position=rotary)],
        "local, global, two bases": [
            book.LayerPattern(window=3, position=rotary),
            book.LayerPattern(position=slow),
        ],
        "NoPE among rotary": [book.LayerPattern(position=rotary), book.LayerPattern()],
        "window and bias": [book.LayerPattern(window=2, position=book.ALiBi(4))],
    }
    for name, layers in patterns.items():
        models[name] = book.Decoder(9, TINY, seed=2, layers=layers)
    hooks = book.Architecture(
        d=8, heads=4, layers=2, kv_heads=2, qk_norm=True, soft_cap=2.0, sink=True, gate=True
    )
    models["all hooks"] = book.Decoder(9, hooks, seed=2, position=rotary)
    return {name: model.double().requires_grad_(False) for name, model in models.items()}


@pytest.mark.parametrize("name", decoders())
def test_cached_equals_uncached(name: str) -> None:
    """A batch of one length with sampled tokens; unequal prompts with the likeliest ones."""
    decoder = decoders()[name]
    fast, slow = (
        book.generate(decoder, TOKENS, 7, use_cache=use_cache, temperature=1.3, seed=5)
        for use_cache in (True, False)
    )
    assert torch.equal(fast, slow)
    lengths = torch.tensor([2, 4])
    if decoder.depends_on_length:
        with pytest.raises(ValueError, match="unequal length cannot share a batch"):
            book.generate(decoder, TOKENS, 7, lengths=lengths)
        return
    fast, slow = (
        book.generate(decoder, TOKENS, 7, use_cache=use_cache, lengths=lengths)
        for use_cache in (True, False)
    )
    assert torch.equal(fast, slow)


@pytest.mark.parametrize("name", sorted(set(decoders()) - {"length", "two lengths"}))
@pytest.mark.parametrize("use_cache", [True, False])
def test_unequal_prompts_go_on_as_each_would_alone(name: str, use_cache: bool) -> None:
    decoder = decoders()[name]
    lengths = torch.tensor([2, 4])
    together = book.generate(decoder, TOKENS, 7, lengths=lengths, use_cache=use_cache)
    for b, n in enumerate(lengths.tolist()):
        alone = book.generate(decoder, TOKENS[b : b + 1, :n], 7, use_cache=use_cache)
        assert torch.equal(together[b, : n + 7], alone[0])
        assert (together[b, n + 7 :] == 0).all()


def test_logits_of_unequal_prompts_do_not_see_the_padding() -> None:
    decoder = decoders()["rotary"]
    lengths = torch.tensor([2, 4])
    other = TOKENS.clone()
    other[0, 2:] = 0
    one, two = (book.generate(decoder, p, 7, lengths=lengths) for p in (TOKENS, other))
    assert torch.equal(one, two)


def test_a_scheme_that_changes_with_the_length_really_changes() -> None:
    """The cached run would differ if the cache were kept over a change."""
    decoder = decoders()["length"]
    assert decoder.depends_on_length
    assert decoder.changes(5, 6)
    plain = book.LengthScaledRotary(scaled, layout="half")
    assert not plain.changes(3, 5)
    assert plain.changes(5, 6)
    with pytest.raises(TypeError, match=r"frequencies must be a function .* got Tensor.*Rotary"):
        book.LengthScaledRotary(book.rotary_frequencies(4), layout="half")


def test_a_whole_sequence_is_turned_with_the_frequencies_of_its_length() -> None:
    scheme = book.LengthScaledRotary(scaled, layout="half")
    x, places = torch.from_numpy(stream_of(1, "x").normal(size=(1, 1, 9, D_K))), torch.arange(9)
    fixed = book.Rotary(scaled(9), layout="half")
    assert torch.equal(scheme.rotate(x, places), fixed.rotate(x, places))
    assert not torch.allclose(
        scheme.rotate(x, places)[:, :, :5], scheme.rotate(x[:, :, :5], places[:5])
    )


def test_one_layer_extends_a_cache_of_unturned_keys() -> None:
    """In one layer the cache alone is enough: all keys are turned for the new length."""
    heads = book.MultiHeadAttention(8, 4, seed=0).double().requires_grad_(False)
    scheme = book.LengthScaledRotary(scaled, layout="half")
    x = torch.from_numpy(stream_of(0, "x").normal(size=(1, 9, 8)))
    cache = book.KeyValueCache()
    for n in range(9):
        output, cache = heads.extend(x[:, n : n + 1], cache, position=scheme)
    whole = heads(x, mask=book.causal_mask(9), position=scheme)
    assert (output[:, -1] - whole[:, -1]).abs().max() <= 1e-14


class TestEnd:
    def test_a_row_that_has_ended_writes_nothing_else(self) -> None:
        decoder = decoders()["rotary"]
        free = book.generate(decoder, TOKENS, 8)
        end = int(free[0, 6])
        ended = book.generate(decoder, TOKENS, 8, end=end)
        for row, freely in zip(ended[:, 4:].tolist(), free[:, 4:].tolist(), strict=True):
            stop = freely.index(end) + 1 if end in freely else len(freely)
            assert row == freely[:stop] + [end] * (len(row) - stop)

    def test_stops_when_all_rows_have_ended(self) -> None:
        decoder = decoders()["rotary"]
        end = int(book.generate(decoder, TOKENS[:1], 1)[0, -1])
        calls = []
        hook = decoder.register_forward_hook(lambda *_: calls.append(1))
        result = book.generate(decoder, TOKENS[:1], 30, end=end, use_cache=False)
        hook.remove()
        assert result.shape == (1, 34)
        assert (result[0, 4:] == end).all()
        assert len(calls) == 1

    @pytest.mark.parametrize(
        ("end", "error"), [(9, ValueError), (-1, ValueError), (1.0, TypeError)]
    )
    def test_errors(self, end: object, error: type) -> None:
        with pytest.raises(error, match="end must be"):
            book.generate(decoders()["none"], TOKENS, 1, end=end)


class TestRows:
    def test_a_sample_does_not_depend_on_its_neighbours(self) -> None:
        decoder = decoders()["rotary"]
        options = {"temperature": 1.5, "seed": 3}
        both = book.generate(decoder, TOKENS, 12, **options)
        alone = book.generate(decoder, TOKENS[:1], 12, **options)
        swapped = book.generate(decoder, torch.stack((TOKENS[0], TOKENS[0] * 0)), 12, **options)
        assert torch.equal(both[:1], alone)
        assert torch.equal(both[0], swapped[0])

    def test_equal_prompts_are_continued_differently(self) -> None:
        decoder = decoders()["rotary"]
        twins = book.generate(decoder, TOKENS[:1].repeat(2, 1), 12, temperature=2.0, seed=0)
        assert not torch.equal(twins[0], twins[1])


class TestFewTokens:
    def test_top_k(self) -> None:
        logits = torch.tensor([[0.0, 3.0, 1.0, 2.0], [5.0, 5.0, 5.0, 0.0]])
        kept = book.keep_top_k(logits, 2).isfinite()
        assert kept.tolist() == [[False, True, False, True], [True, True, True, False]]
        assert torch.equal(book.keep_top_k(logits, 99), logits)

    def test_top_p(self) -> None:
        weights = torch.tensor([[0.1, 0.5, 0.4], [0.2, 0.2, 0.6]]).double()
        for p, expected in (
            (0.3, [[False, True, False], [False, False, True]]),
            (0.55, [[False, True, True], [False, False, True]]),
            (1.0, [[True, True, True], [True, True, True]]),
        ):
            assert book.keep_top_p(weights.log(), p).isfinite().tolist() == expected

    def test_p_is_reached_by_tokens_that_sum_to_it(self) -> None:
        """One of two equal tokens sums to a half: it is enough, and it is the first."""
        kept = book.keep_top_p(torch.zeros(1, 2), 0.5).isfinite()
        assert kept.tolist() == [[True, False]]

    def test_sampling_keeps_to_them(self) -> None:
        logits = torch.tensor([[2.0, 1.0, 0.0]]).expand(500, 3)
        rng = stream_of(0, "test")
        assert set(book.sample_token(logits, 1.0, rng, top_k=1).tolist()) == {0}
        assert set(book.sample_token(logits, 1.0, rng, top_k=2).tolist()) == {0, 1}
        assert set(book.sample_token(logits, 1.0, rng, top_p=0.5).tolist()) == {0}
        assert set(book.sample_token(logits, 1.0, rng, top_p=1.0).tolist()) == {0, 1, 2}

    def test_top_1_is_greedy(self) -> None:
        decoder = decoders()["rotary"]
        greedy = book.generate(decoder, TOKENS, 8)
        options = {"temperature": 3.0, "seed": 0}
        assert torch.equal(book.generate(decoder, TOKENS, 8, top_k=1, **options), greedy)
        assert torch.equal(book.generate(decoder, TOKENS, 8, top_p=1e-9, **options), greedy)
        assert not torch.equal(book.generate(decoder, TOKENS, 8, **options), greedy)


@pytest.mark.parametrize("bad", [[math.nan, 0.0], [-math.inf, -math.inf], [math.inf, 0.0]])
def test_logits_that_allow_no_choice_are_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="there is no token to choose"):
        book.sample_token(torch.tensor([[0.0, 1.0], bad]), 1.0, stream_of(0, "test"))


def test_a_model_that_computes_nan_is_noticed() -> None:
    decoder = copy.deepcopy(decoders()["none"])
    decoder.head.W.fill_(math.nan)
    for options in ({}, {"temperature": 1.0, "seed": 0}):
        with pytest.raises(ValueError, match="there is no token to choose"):
            book.generate(decoder, TOKENS, 2, **options)


def test_an_empty_batch_is_continued() -> None:
    empty = torch.zeros(0, 3, dtype=torch.int64)
    assert book.generate(decoders()["rotary"], empty, 2).shape == (0, 5)
    assert book.generate(decoders()["rotary"], empty, 2, temperature=1.0, seed=0).shape == (0, 5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda d: book.generate(
                book.EncoderDecoder(
                    book.Encoder(9, TINY, seed=0), book.Decoder(9, TINY, seed=0, cross=True)
                ),
                TOKENS,
                1,
            ),
            TypeError,
            r"must be a Decoder, got EncoderDecoder; .*memory=model\.encoder\(source\)",
        ),
        (
            lambda d: book.generate(d, TOKENS, 1, top_k=2),
            ValueError,
            r"top_k and top_p belong to sampling.*top_k=2",
        ),
        (
            lambda d: book.generate(d, TOKENS, 1, lengths=torch.tensor([0, 4])),
            ValueError,
            r"lengths must lie in 1…4, got values from 0 to 4",
        ),
        (
            lambda d: book.generate(d, TOKENS, 1, lengths=torch.tensor([3])),
            ValueError,
            r"lengths must have shape \(2,\), one per prompt; got \(1,\)",
        ),
        (
            lambda d: book.sample_token(torch.zeros(2, 2, 3), 1.0, stream_of(0, "test")),
            ValueError,
            r"logits must have shape \(B, V\).*got \(2, 2, 3\); .*logits\[:, -1\]",
        ),
        (
            lambda d: book.generate(d, TOKENS, 1, temperature=1.0, seed=0, top_p=0.0),
            ValueError,
            r"top_p must be finite and above 0",
        ),
        (lambda d: book.keep_top_p(torch.zeros(1, 2), 1.5), ValueError, r"p must be at most 1"),
        (lambda d: book.keep_top_k(torch.zeros(1, 2), 0), ValueError, r"k must be at least 1"),
    ],
)
def test_errors(call, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call(decoders()["none"])


def test_padding_does_not_come_back() -> None:
    tokens = book.generate(decoders()["rotary"], TOKENS, 1, lengths=torch.tensor([1, 4]))
    assert tokens[0, 2:].tolist() == [0, 0, 0]
    assert tokens[1, :4].tolist() == TOKENS[1].tolist()


def test_frequencies_that_come_back_after_two_steps_spoil_the_cache_too() -> None:
    def turns(length: int) -> torch.Tensor:
        return book.rotary_frequencies(D_K) * (1 if length % 2 else 3)

    scheme = book.LengthScaledRotary(turns, layout="half")
    for seed in range(4):
        decoder = book.Decoder(9, TINY, seed=seed, position=scheme).requires_grad_(False)
        fast, slow = (
            book.generate(decoder, TOKENS, 12, use_cache=use_cache) for use_cache in (True, False)
        )
        assert torch.equal(fast, slow)


def test_without_a_choice_among_one_token() -> None:
    decoder = book.Decoder(1, TINY, seed=0).requires_grad_(False)
    decoder.embedding.rows.fill_(torch.nan)
    with pytest.raises(ValueError, match="logits must have a finite largest entry"):
        book.generate(decoder, torch.zeros(1, 1).long(), 2, temperature=1.0, seed=0)


def test_how_to_choose_cannot_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Choice().top_k = 3


def test_the_largest_uniform_number_finds_a_token_that_exists() -> None:
    """In rows whose summed weights end a little below 1, and a little above."""
    logits = normal(64, 50, seed=0)
    summed = book.softmax(logits).cumsum(-1)[:, -1]
    assert (summed < 1).any()
    assert (summed > 1).any()
    uniform = torch.full((64, 1), math.nextafter(1, 0), dtype=torch.float64)
    tokens, sound = Choice(temperature=1.0).draw(logits, uniform)
    assert sound.all()
    assert int(tokens.max()) == 49


def test_by_default_a_cache_with_room_for_all_tokens_sees_each_of_them_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoder = book.Decoder(9, TINY, seed=0)
    capacities, seen = [], []
    empty, extend = decoder.empty_caches, decoder.extend

    def empty_caches(*, capacity: int = 0) -> list[book.KeyValueCache]:
        capacities.append(capacity)
        return empty(capacity=capacity)

    def extended(tokens: torch.Tensor, *rest: object, **options: object) -> object:
        seen.append(tokens.shape[-1])
        return extend(tokens, *rest, **options)

    monkeypatch.setattr(decoder, "empty_caches", empty_caches)
    monkeypatch.setattr(decoder, "extend", extended)
    book.generate(decoder, TOKENS, 3)
    assert capacities == [4 + 3]
    assert seen == [4, 1, 1]


def test_a_cache_changes_no_sample_of_unequal_prompts() -> None:
    options = {"lengths": torch.tensor([4, 2]), "temperature": 1.0, "seed": 3}
    for name in ("rotary", "window", "all hooks"):
        decoder = decoders()[name]
        cached = book.generate(decoder, TOKENS, 5, **options)
        assert torch.equal(cached, book.generate(decoder, TOKENS, 5, use_cache=False, **options))
