"""Long sequences go block by block inside the heads: the same results, memory linear in N."""

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import attention_to_rope as book
from attention_to_rope import heads as heads_module
from bookkit.randomness import normal

N = 11
POSITIONS = torch.tensor([0, 1, 2, 4, 5, 9, 10, 11, 13, 14, 20])
PADDING = book.padding_mask(torch.tensor([7, N]), N)
ROTARY = book.Rotary(book.rotary_frequencies(4), layout="half")
CASES: dict[str, dict[str, Any]] = {
    "everything": {},
    "causal": {"causal": True},
    "window": {"causal": True, "window": 3},
    "window on both sides": {"window": 3},
    "window wider than all": {"causal": True, "window": 100},
    "padding": {"mask": PADDING},
    "causal padding": {"mask": PADDING, "causal": True, "window": 5},
    "a mask per head": {"mask": normal(2, 4, N, N, seed=3) > -1, "causal": True},
    "a mask for all": {"mask": normal(N, N, seed=4) > -1},
    "rotary": {"position": ROTARY, "causal": True},
    "ALiBi": {"position": book.ALiBi(4), "causal": True, "window": 4},
    "positions": {"position": ROTARY, "positions": POSITIONS, "causal": True, "window": 4},
}


@pytest.fixture
def small_blocks() -> Iterator[mock.Mock]:
    """Blocks of 4, and a count of the calls that use them."""
    with (
        mock.patch.object(heads_module, "BLOCK", 4),
        mock.patch.object(
            heads_module, "blockwise_attention", wraps=book.blockwise_attention
        ) as used,
    ):
        yield used


def layer(**options: Any) -> book.MultiHeadAttention:
    return book.MultiHeadAttention(16, 4, seed=0, kv_heads=2, **options).double()


def with_gradient(mha: book.MultiHeadAttention, x: Tensor, **options: Any) -> list[Tensor]:
    x = x.clone().requires_grad_()
    output = mha(x, **options)
    grads = torch.autograd.grad(output.square().sum(), (x, *mha.parameters()))
    return [output, *grads]


def as_mask(options: dict[str, Any]) -> dict[str, Any]:
    """The same call with all of its sight in one mask (2, 4, N, N), asked for its weights."""
    options = dict(options)
    causal, window = options.pop("causal", False), options.pop("window", None)
    at = options.get("positions", torch.arange(N))
    distance = at[:, None] - at
    seen = torch.ones(N, N, dtype=torch.bool) if window is None else distance.abs() < window
    seen = seen & book.causal_mask(N) if causal else seen
    mask = options.pop("mask", torch.ones(1, 1, dtype=torch.bool))
    mask = mask.unsqueeze(1) if mask.ndim == 3 else mask
    return options | {"mask": (seen & mask).expand(2, 4, N, N)}


@pytest.mark.parametrize("name", CASES)
def test_blocks_give_what_the_formula_gives(name: str, small_blocks: mock.Mock) -> None:
    mha, x = layer(), normal(2, N, 16, seed=1)
    got = with_gradient(mha, x, **CASES[name])
    assert small_blocks.call_count == 1
    expected, weights = mha(x, **as_mask(CASES[name]), return_weights=True)
    assert small_blocks.call_count == 1
    assert weights.shape == (2, 4, N, N)
    assert torch.allclose(got[0], expected, atol=1e-12)
    with mock.patch.object(heads_module, "BLOCK", N):
        for one, other in zip(got, with_gradient(mha, x, **CASES[name]), strict=True):
            assert torch.allclose(one, other, atol=1e-11)
    assert small_blocks.call_count == 1


@pytest.mark.parametrize("options", [{"sink": True}, {"soft_cap": 3.0}])
def test_what_blocks_do_not_know_takes_the_formula(
    options: dict[str, Any], small_blocks: mock.Mock
) -> None:
    mha, x = layer(**options), normal(2, N, 16, seed=1)
    got = mha(x, causal=True)
    assert small_blocks.call_count == 0
    assert torch.allclose(got, mha(x, mask=book.causal_mask(N)), atol=1e-13)


@pytest.mark.parametrize("lengths", [(4, N), (N, 4)])
def test_what_fits_into_one_block_takes_the_formula(
    lengths: tuple[int, int], small_blocks: mock.Mock
) -> None:
    q_len, k_len = lengths
    layer()(normal(2, q_len, 16, seed=1), normal(2, k_len, 16, seed=2))
    assert small_blocks.call_count == 0


@pytest.mark.parametrize("name", ["causal", "window", "rotary", "ALiBi", "positions"])
@pytest.mark.parametrize("start", [0, 3, 6, 10])
def test_extend_in_blocks(name: str, start: int, small_blocks: mock.Mock) -> None:
    """With and without blocks, with gaps between positions, new positions are as in `forward`."""
    options = {key: value for key, value in CASES[name].items() if key != "causal"}
    positions = options.pop("positions", None)
    mha, x = layer(), normal(2, N, 16, seed=1)
    expected = mha(x, causal=True, positions=positions, **options)
    cache = book.KeyValueCache()
    small_blocks.reset_mock()
    if start:
        held = None if positions is None else positions[:start]
        _, cache = mha.extend(x[:, :start], cache, positions=held, **options)
    got, _ = mha.extend(x[:, start:], cache, positions=positions, **options)
    assert torch.allclose(got, expected[:, start:], atol=1e-12)
    assert small_blocks.call_count == (start > 4) + (N - start > 4)


@pytest.mark.parametrize("window", [None, 3])
def test_models_count_a_window_by_positions_cached_or_not(window: int | None) -> None:
    shape = book.Architecture(d=16, heads=4, layers=2, kv_heads=2)
    pattern = [book.LayerPattern(window=window, position=ROTARY)]
    decoder = book.Decoder(9, shape, seed=0, layers=pattern).double().requires_grad_(False)
    tokens = torch.arange(N).view(1, N) % 9
    whole = decoder(tokens, positions=POSITIONS)
    _, caches = decoder.extend(tokens[:, :8], decoder.empty_caches(), positions=POSITIONS[:8])
    last, _ = decoder.extend(tokens[:, 8:], caches, positions=POSITIONS)
    assert torch.allclose(last, whole[:, 8:], atol=1e-12)
    same = torch.allclose(whole, decoder(tokens, positions=torch.arange(N)), atol=1e-3)
    assert not same


class LargestTensor(TorchDispatchMode):
    """The numbers of the largest tensor that any operation makes."""

    def __init__(self) -> None:
        super().__init__()
        self.numel = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        result = function(*args, **(kwargs or {}))
        for each in result if isinstance(result, tuple) else (result,):
            if isinstance(each, Tensor):
                self.numel = max(self.numel, each.numel())
        return result


def largest_of_a_step(length: int, **options: Any) -> int:
    """The largest tensor of a training step of a small decoder."""
    shape = book.Architecture(d=8, heads=2, layers=1, hidden=8, kv_heads=1)
    decoder = book.Decoder(9, shape, seed=0, **options)
    tokens = torch.zeros(1, length, dtype=torch.int64)
    mask = book.padding_mask(torch.tensor([length - 1]), length)
    with LargestTensor() as seen:
        decoder(tokens, mask=mask).square().mean().backward()
    return seen.numel


@pytest.mark.parametrize("window", [None, 5])
def test_memory_of_training_is_linear(window: int | None) -> None:
    options = {"layers": [book.LayerPattern(window=window, position=ROTARY)]}
    with mock.patch.object(heads_module, "BLOCK", 16):
        short, long = (largest_of_a_step(length, **options) for length in (100, 400))
    assert long <= 4 * short
    assert long < 400 * 400 / 4
    assert largest_of_a_step(400, **options) >= 400 * 400  # one block: the formula, all scores


def test_the_largest_tensor_is_seen() -> None:
    with LargestTensor() as seen:
        torch.zeros(3, 5).t().contiguous()
    assert seen.numel == 15


def test_order_between_two_sequences_is_not_known() -> None:
    mha, x = layer(), normal(2, 3, 16, seed=1)
    for options in ({"causal": True}, {"window": 2}, {"positions": torch.arange(3)}):
        with pytest.raises(ValueError, match=r"belong to self-attention: the positions of two"):
            mha(x, x, **options)


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("rows", [1, N])
def test_a_mask_of_the_other_polarity_is_refused(rows: int, window: int | None) -> None:
    """A padding mask that hides all, or a mask of the later positions under a causal one."""
    later = ~book.causal_mask(N)
    mask = later[:rows] & False if rows == 1 else later
    with pytest.raises(ValueError, match=r"polarity looks inverted"):
        layer()(normal(1, N, 16, seed=1), mask=mask[None], causal=True, window=window)
    if rows == 1 and window is not None:  # all that is allowed lies before the window
        early = torch.arange(N) < 2
        cache = layer().extend(normal(1, 8, 16, seed=1), book.KeyValueCache())[1]
        with pytest.raises(ValueError, match=r"polarity looks inverted"):
            layer().extend(normal(1, 3, 16, seed=2), cache, mask=early[None, None], window=window)
