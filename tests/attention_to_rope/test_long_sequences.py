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

pytestmark = pytest.mark.long

N = 11
POSITIONS = torch.tensor([0, 1, 2, 4, 5, 9, 10, 11, 13, 14, 20])
OF_ROWS = torch.stack((POSITIONS, torch.arange(N) - 3))
PADDING = book.padding_mask(torch.tensor([7, N]), N)
ROTARY = book.Rotary(book.rotary_frequencies(4), layout="half")
T5 = book.T5Bias(4, bidirectional=False, seed=5).double()


class Fire(book.PositionalScheme):
    """A learned function of the distance, not relative: what a reader may write."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = book.Linear(1, 4, seed=6)

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        seen = book.fire_bias(q_positions, k_positions, lambda x: x.unsqueeze(-1), threshold=2.0)
        of_heads: Tensor = self.weights(seen.to(self.weights.W.dtype))
        return of_heads.movedim(-1, -3)


FIRE = Fire().double()
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
    "positions on both sides": {"positions": POSITIONS, "window": 4},
    "positions of each row": {"positions": OF_ROWS, "causal": True, "window": 3, "mask": PADDING},
    "ALiBi at positions": {"position": book.ALiBi(4), "positions": OF_ROWS, "window": 4},
    "positions in any order": {"positions": POSITIONS.flip(0), "causal": True, "window": 100},
    "T5": {"position": T5, "causal": True},
    "T5 at positions of each row": {
        "position": T5,
        "positions": torch.stack((POSITIONS, POSITIONS * 3)),
        "causal": True,
    },
    "FIRE": {"position": FIRE, "mask": PADDING, "causal": True},
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
    scheme = options.get("position") or book.PositionalScheme()
    learned = (x, *mha.parameters(), *scheme.parameters())
    return [output, *torch.autograd.grad(output.square().sum(), learned)]


def as_mask(options: dict[str, Any]) -> dict[str, Any]:
    """The same call with all of its sight in one mask (2, 4, N, N), asked for its weights."""
    options = dict(options)
    causal, window = options.pop("causal", False), options.pop("window", None)
    at = options.get("positions", torch.arange(N))
    distance = at[..., :, None] - at[..., None, :]  # (N, N) or (2, N, N)
    distance = distance.unsqueeze(1) if distance.ndim == 3 else distance
    seen = torch.ones(N, N, dtype=torch.bool) if window is None else distance.abs() < window
    seen = seen & book.causal_mask(N) if causal else seen
    mask = options.pop("mask", torch.ones(1, 1, dtype=torch.bool))
    mask = mask.unsqueeze(1) if mask.ndim == 3 else mask
    return options | {"mask": (seen & mask).expand(2, 4, N, N)}


SHAPED: dict[str, Any] = {"sink": True, "soft_cap": 0.5, "qk_norm": True, "gate": True}


@pytest.mark.parametrize("options", [{}, SHAPED])
@pytest.mark.parametrize("name", CASES)
def test_blocks_give_what_the_formula_gives(
    name: str, options: dict[str, Any], small_blocks: mock.Mock
) -> None:
    mha, x = layer(**options), normal(2, N, 16, seed=1)
    if mha.sink is not None:
        mha.sink.data = normal(4, seed=2)
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


@pytest.mark.parametrize("lengths", [(4, N), (N, 4)])
def test_what_fits_into_one_block_takes_the_formula(
    lengths: tuple[int, int], small_blocks: mock.Mock
) -> None:
    q_len, k_len = lengths
    layer()(normal(2, q_len, 16, seed=1), normal(2, k_len, 16, seed=2))
    assert small_blocks.call_count == 0


@pytest.mark.parametrize(
    "name", ["causal", "window", "rotary", "ALiBi", "positions", "positions of each row"]
)
@pytest.mark.parametrize("start", [0, 3, 6, 10])
def test_extend_in_blocks(name: str, start: int, small_blocks: mock.Mock) -> None:
    """With and without blocks, with gaps between positions, new positions are as in `forward`."""
    options = {key: value for key, value in CASES[name].items() if key != "causal"}
    positions, mask = options.pop("positions", None), options.pop("mask", None)
    mha, x = layer(), normal(2, N, 16, seed=1)
    expected = mha(x, causal=True, mask=mask, positions=positions, **options)
    cache = book.KeyValueCache()
    small_blocks.reset_mock()
    if start:
        held = None if positions is None else positions[..., :start]
        seen = None if mask is None else mask[..., :start]
        _, cache = mha.extend(x[:, :start], cache, mask=seen, positions=held, **options)
    got, _ = mha.extend(x[:, start:], cache, mask=mask, positions=positions, **options)
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

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for each in result if isinstance(result, tuple) else (result,):
            if isinstance(each, Tensor):
                self.numel = max(self.numel, each.numel())
        return result


def largest_of_a_step(
    length: int, hooks: dict[str, Any], *, given_positions: bool = False, **options: Any
) -> int:
    """The largest tensor of a training step of a small decoder."""
    shape = book.Architecture(d=8, heads=2, layers=1, hidden=8, kv_heads=1, **hooks)
    decoder = book.Decoder(9, shape, seed=0, **options)
    tokens = torch.zeros(1, length, dtype=torch.int64)
    mask = book.padding_mask(torch.tensor([length - 1]), length)
    positions = torch.arange(length).view(1, length) * 2 if given_positions else None
    with LargestTensor() as seen:
        decoder(tokens, mask=mask, positions=positions).square().mean().backward()
    return seen.numel


def assert_linear(options: dict[str, Any]) -> None:
    with mock.patch.object(heads_module, "BLOCK", 16):
        short, long = (largest_of_a_step(length, **options) for length in (32, 128))
    assert long <= 4 * short
    assert long < 128 * 128 / 4
    assert largest_of_a_step(128, **options) >= 128 * 128  # one block: the formula, all scores


def schemes() -> dict[str, book.PositionalScheme | None]:
    """All places where a position acts on scores, for two heads."""
    return {
        "none": None,
        "rotary": ROTARY,
        "ALiBi": book.ALiBi(2),
        "T5": book.T5Bias(2, bidirectional=False, seed=0),
    }


@pytest.mark.parametrize("scheme", schemes())
@pytest.mark.parametrize("window", [None, 5])
@pytest.mark.parametrize("hooks", [{}, {"sink": True, "soft_cap": 5.0}])
def test_memory_of_training_is_linear(
    window: int | None, scheme: str, hooks: dict[str, Any]
) -> None:
    pattern = book.LayerPattern(window=window, position=schemes()[scheme])
    options = {"layers": [pattern], "hooks": hooks}
    assert_linear(options)


@pytest.mark.parametrize("scheme", ["none", "T5"])
def test_memory_of_a_window_by_positions_is_linear(scheme: str) -> None:
    pattern = book.LayerPattern(window=5, position=schemes()[scheme])
    options = {"layers": [pattern], "hooks": {}, "given_positions": True}
    assert_linear(options)


@pytest.mark.parametrize("form", ["naive", "absorbed"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("n_q", "blocks"), [(9, 1), (6, 1), (4, 0), (1, 0)])
def test_latents_in_blocks_give_what_the_formula_gives(
    form: str, causal: bool, masked: bool, n_q: int, blocks: int, small_blocks: mock.Mock
) -> None:
    shapes = [(2, 3, n_q, 4), (2, 3, n_q, 2), (2, 9, 5), (2, 9, 2), (3, 5, 4), (3, 5, 6)]
    tensors = [normal(*shape, seed=i).requires_grad_() for i, shape in enumerate(shapes)]
    mask = normal(2, 1, n_q, 9, seed=7) > -1 if masked else None
    got = book.attend_to_latents(*tensors, form=form, causal=causal, mask=mask)
    assert small_blocks.call_count == blocks
    seen = torch.ones(n_q, 9, dtype=torch.bool) if mask is None else mask
    seen = seen & book.causal_mask(n_q, 9) if causal else seen
    with mock.patch.object(heads_module, "BLOCK", 9):
        expected = book.attend_to_latents(*tensors, form=form, mask=seen)
    assert small_blocks.call_count == blocks
    assert (got - expected).abs().max() <= 1e-12
    gradients = (torch.autograd.grad(x.square().sum(), tensors) for x in (got, expected))
    for one, other in zip(*gradients, strict=True):
        assert (one - other).abs().max() <= 1e-10


@pytest.mark.parametrize("form", ["naive", "absorbed"])
def test_memory_of_training_on_latents_is_linear(form: str, small_blocks: mock.Mock) -> None:
    latent = book.LatentAttention(8, 2, head_dim=4, rotary_dim=4, latent_dim=5, seed=0)

    def largest(length: int) -> int:
        x = normal(1, length, 8, seed=1, dtype=torch.float32)
        with LargestTensor() as seen:
            latent(x, form=form, position=ROTARY)[0].sum().backward()
        return seen.numel

    with mock.patch.object(heads_module, "BLOCK", 8):
        short, long = largest(20), largest(80)
    assert small_blocks.call_count == 2
    assert long <= 4 * short
    assert long < 80 * 80 / 4
    with mock.patch.object(heads_module, "BLOCK", 80):
        assert largest(80) >= 80 * 80  # one block: the formula, all scores


@pytest.mark.parametrize("name", ["ALiBi", "T5", "FIRE", "positions"])
@pytest.mark.usefixtures("untraced")
def test_transforms_and_compiler_take_a_bias_or_window_in_blocks(name: str) -> None:
    options = {key: value for key, value in CASES[name].items() if key != "mask"}
    mha, x = layer(sink=True, soft_cap=2.0).requires_grad_(False), normal(3, 1, N, 16, seed=1)

    def run(x: Tensor) -> Tensor:
        return mha(x, **options)

    tangent = normal(1, N, 16, seed=2)
    results = []
    for block in (4, N):
        with mock.patch.object(heads_module, "BLOCK", block):
            pushed = torch.func.jvp(run, (x[0],), (tangent,))[1]
            results.append((torch.vmap(run)(x), pushed, torch.func.jacrev(run)(x[0])))
    for blocks, formula in zip(*results, strict=True):
        assert torch.allclose(blocks, formula, atol=1e-12)
    torch._dynamo.reset()
    # Two blocks a side: the compiler traces each for itself.
    with mock.patch.object(heads_module, "BLOCK", 8):
        if name in ("ALiBi", "FIRE"):
            # Compiled heads get a table from every scheme: what T5 shows of them holds for these.
            table = torch.compile(heads_module.placed_bias, fullgraph=True, backend="eager")
            position = options["position"]
            made = table(position, POSITIONS, POSITIONS, torch.float64)
            assert torch.equal(made, position.bias(POSITIONS, POSITIONS)[None])
            return
        # What compiling asks of blocks is shown in fast/test_blockwise: here of a bias or window.
        backend = "aot_eager" if name == "positions" else "eager"
        compiled = torch.compile(run, fullgraph=True, backend=backend)
        assert torch.allclose(compiled(x[0]), results[0][0][0], atol=1e-12)


@pytest.mark.parametrize("name", ["T5", "FIRE"])
def test_learned_tables_may_be_many(name: str, small_blocks: mock.Mock) -> None:
    """`vmap` and `grad` over the parameters of a scheme, as for an ensemble."""
    position, mha, x = CASES[name]["position"], layer(), normal(2, N, 16, seed=1)
    both = torch.nn.ModuleDict({"heads": mha, "scheme": position})
    names = [name for name, _ in position.named_parameters()]
    several = [torch.stack((p, 2 * p, p + 1)) for p in position.parameters()]

    class Run(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.both = both

        def forward(self) -> Tensor:
            return mha(x, causal=True, position=position)

    def run(*values: Tensor) -> Tensor:
        given = {f"both.scheme.{name}": v for name, v in zip(names, values, strict=True)}
        output: Tensor = torch.func.functional_call(Run(), given, ())
        return output

    together = torch.vmap(run)(*several)
    for i in range(3):
        assert torch.allclose(together[i], run(*(p[i] for p in several)), atol=1e-13)
    first = tuple(p[0].detach() for p in several)
    jacobian = torch.func.jacrev(run)(*first)
    with mock.patch.object(heads_module, "BLOCK", N):
        assert torch.allclose(jacobian, torch.func.jacrev(run)(*first), atol=1e-12)
    assert small_blocks.call_count == 5


def test_a_bias_for_other_heads_is_refused_in_blocks_too(small_blocks: mock.Mock) -> None:
    with pytest.raises(ValueError, match=r"built for 4 heads, got a bias for 2"):
        layer()(normal(2, N, 16, seed=1), position=book.ALiBi(2))
    decoder = book.Decoder(
        9, book.Architecture(d=16, heads=4, layers=1), seed=0, position=book.ALiBi(2)
    )
    for length in (3, N):
        with pytest.raises(ValueError, match=r"built for 4 heads, got a bias for 2"):
            decoder(torch.zeros(1, length, dtype=torch.int64))
    assert small_blocks.call_count == 0


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
        for positions in (None, torch.arange(N), torch.arange(N)[None] * 2):
            with pytest.raises(ValueError, match=r"polarity looks inverted"):
                layer().extend(
                    normal(1, 3, 16, seed=2),
                    cache,
                    mask=early[None, None],
                    window=window,
                    positions=positions,
                )


@pytest.mark.parametrize("window", [3, 2**63, 2**70])
def test_a_key_near_one_query_is_something_to_see(window: int) -> None:
    """Positions in any order: the mask leaves one key, near the first of three queries alone."""
    mha, x = layer(), normal(1, N, 16, seed=1)
    positions = torch.tensor([0, 40, 41, 42, 43, 44, 45, 46, 2, 60, 61])
    cache = mha.extend(x[:, :8], book.KeyValueCache())[1]
    only = (torch.arange(N) == 0)[None, None]
    got = mha.extend(x[:, 8:], cache, mask=only, window=window, positions=positions)[0]
    mask = only & (torch.tensor([[True], [window > 3], [window > 3]]))
    assert torch.equal(got, mha.extend(x[:, 8:], cache, mask=mask)[0])
    with pytest.raises(ValueError, match=r"polarity looks inverted"):
        mha.extend(x[:, 8:], cache, mask=only, window=2, positions=positions)


def test_blocks_have_the_size_and_the_scale_of_the_heads(small_blocks: mock.Mock) -> None:
    layer(scale=0.3)(normal(1, N, 16, seed=1))
    q, k, v = (normal(1, 2, N, 4, seed=s) for s in range(3))
    attend = {"mask": None, "causal": True, "scale": 0.3}
    heads_module.attend_at_any_length(q, k, v, **attend)
    sizes = {"q_block": 4, "k_block": 4, "scale": 0.3}
    for call in small_blocks.call_args_list:
        assert {name: call.kwargs.get(name) for name in sizes} == sizes
    assert small_blocks.call_count == 2
