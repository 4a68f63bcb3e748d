"""Models where PyTorch works: autocast, meta and fake tensors, tracers, transforms, no waiting."""

import functools
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
import torch
from torch import Tensor
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode

import attention_to_rope as book
from attention_to_rope import checks, layers

pytestmark = pytest.mark.long

TOKENS = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]])
ROTARY = book.Rotary(book.rotary_frequencies(4), layout="half")


PATTERN = {"layers": [book.LayerPattern(window=2, position=ROTARY), book.LayerPattern()]}


def architecture(**changes: Any) -> book.Architecture:
    options = {"d": 16, "heads": 4, "layers": 2, "kv_heads": 2, "bias": False, "norm": "rms"}
    return book.Architecture(**{**options, **changes})


@functools.cache
def model(kind: str = "plain") -> book.Decoder:
    options: dict[str, Any] = {
        "plain": {"position": ROTARY},
        "pattern": PATTERN,
        "everything": PATTERN,
        "bias": {"position": book.ALiBi(4)},
    }.get(kind, {"position": ROTARY})
    hooks = {"qk_norm": True, "soft_cap": 5.0, "sink": True, "gate": True}
    shape = architecture(**(hooks if kind in ("hooks", "everything") else {}))
    return book.Decoder(9, shape, seed=0, **options).requires_grad_(False)


KINDS = ["plain", "pattern", "bias", "hooks"]


@pytest.mark.parametrize("kind", KINDS)
def test_autocast(kind: str) -> None:
    expected = model(kind)(TOKENS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(kind)(TOKENS)
        stepped, _ = model(kind).extend(TOKENS, model(kind).empty_caches(capacity=8))
    assert (logits.float() - expected).abs().max() <= 0.1
    assert (stepped.float() - expected).abs().max() <= 0.1


@pytest.mark.parametrize("bias", [True, False])
def test_heads_under_autocast_with_gradient(bias: bool) -> None:
    heads = book.MultiHeadAttention(8, 2, seed=0, bias=bias)
    x = torch.ones(1, 3, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        heads(x).float().sum().backward()
    assert heads.query.W.grad is not None
    assert heads.query.W.grad.dtype == torch.float32


def test_parameters_go_to_the_default_device() -> None:
    with torch.device("meta"):
        decoder = book.Decoder(9, architecture(sink=True), seed=0)
    assert {p.device.type for p in decoder.parameters()} == {"meta"}
    assert decoder(TOKENS.to("meta")).shape == (2, 4, 9)


def test_on_meta_nothing_is_drawn() -> None:
    class Refuses:
        def __getattr__(self, name: str) -> None:
            raise AssertionError("numbers were drawn")

    with (
        torch.device("meta"),
        mock.patch.object(layers, "stream_of", return_value=Refuses()),
    ):
        assert book.Linear(10**6, 10**6, seed=0).W.shape == (10**6, 10**6)
        assert book.Embedding(10**7, 10**5, seed=0).rows.device.type == "meta"


@pytest.mark.parametrize("kind", KINDS)
def test_fake_tensors(kind: str) -> None:
    with FakeTensorMode(allow_non_fake_inputs=True):
        tokens = torch.zeros(2, 4, dtype=torch.int64)
        assert model(kind)(tokens).shape == (2, 4, 9)
        _, caches = model(kind).extend(tokens, model(kind).empty_caches())
        assert model(kind).extend(tokens[:, :1], caches)[0].shape == (2, 1, 9)


@pytest.mark.usefixtures("untraced")
def test_make_fx() -> None:
    decoder = model("everything")
    traced = make_fx(lambda tokens: decoder(tokens))(TOKENS)
    other = TOKENS.flip(0)
    assert torch.allclose(traced(other), decoder(other), atol=1e-6)


@pytest.mark.usefixtures("untraced")
def test_compile_in_one_graph() -> None:
    """All options at once: tracing is slow, and one that breaks the graph breaks it here."""
    torch._dynamo.reset()
    decoder = model("everything")
    fast = torch.compile(decoder, fullgraph=True, backend="eager")
    assert torch.allclose(fast(TOKENS), decoder(TOKENS), atol=1e-6)
    step = torch.compile(decoder.extend, fullgraph=True, backend="eager")
    with torch.no_grad():
        _, caches = decoder.extend(TOKENS, decoder.empty_caches())
        expected, _ = decoder.extend(TOKENS[:, :1], caches)
        got, longer = step(TOKENS[:, :1], caches)
    assert torch.allclose(got, expected, atol=1e-6)
    assert [cache.length for cache in longer] == [5, 5]


@pytest.mark.usefixtures("untraced")
def test_export_with_a_free_length() -> None:
    """With a fixed one, a small model is exported in test_state, and all options traced above."""
    decoder = model("everything")
    free = {0: torch.export.Dim("batch", max=64), 1: torch.export.Dim("length", max=4096)}
    exported = torch.export.export(
        decoder,
        (TOKENS,),
        dynamic_shapes={"tokens": free},
        # Guards on strides that hold for every length are beyond the prover; they run instead.
        prefer_deferred_runtime_asserts_over_guards=True,
    ).module()
    for tokens in (TOKENS, torch.arange(21).view(3, 7) % 9):
        assert torch.allclose(exported(tokens), decoder(tokens), atol=1e-6)


def test_compiled_checks_do_not_vanish() -> None:
    """A negative token must not read the last row, in whatever way the model runs."""
    table = book.Embedding(3, 2, seed=0)
    torch._dynamo.reset()
    compiled = torch.compile(table, fullgraph=True, backend="aot_eager")
    for tokens in (torch.tensor([-1]), torch.tensor([3])):
        with pytest.raises(ValueError, match=r"tokens must lie in 0…2"):
            table(tokens)
        with pytest.raises(IndexError):
            compiled(tokens)
        with pytest.raises((IndexError, ValueError)):
            torch.vmap(table)(tokens.unsqueeze(0))


@pytest.mark.parametrize("kind", KINDS)
def test_transforms_of_heads(kind: str) -> None:
    heads = model(kind).blocks[0].attention
    position = book.ALiBi(4) if kind == "bias" else ROTARY
    x, tangent = torch.randn(3, 1, 5, 16), torch.randn(1, 5, 16)

    def run(x: Tensor) -> Tensor:
        return heads(x, mask=book.causal_mask(5), position=position)

    with torch.enable_grad():
        alone = torch.stack([run(row) for row in x])
        assert torch.allclose(torch.vmap(run)(x), alone, atol=1e-6)
        _, pushed = torch.func.jvp(run, (x[0],), (tangent,))
        full = torch.func.jacrev(run)(x[0])
    product = torch.einsum("abcdef,def->abc", full, tangent)
    assert torch.allclose(pushed, product, atol=1e-4)


class CountLooks(TorchDispatchMode):
    """Counts what makes the host wait for the device: numbers read, indices found."""

    waits = ("aten._local_scalar_dense", "aten.nonzero", "aten.equal", "aten.is_nonzero")

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if str(function).startswith(self.waits):
            self.seen.append(str(function))
        return function(*args, **(kwargs or {}))


@pytest.fixture
def as_on_an_accelerator() -> Iterator[None]:
    """Values on the CPU may be looked at for free; this test acts as if they could not."""
    with mock.patch.object(checks, "extremes", return_value=None):
        yield


def test_the_counter_sees_a_look() -> None:
    with CountLooks() as counter:
        int(TOKENS.max())
        checks.extremes(TOKENS)
    assert len(counter.seen) == 3


@pytest.mark.usefixtures("as_on_an_accelerator")
@pytest.mark.parametrize("kind", KINDS)
def test_a_decode_step_never_waits(kind: str) -> None:
    decoder = model(kind)
    with torch.no_grad():
        _, caches = decoder.extend(TOKENS, decoder.empty_caches(capacity=8))
        with CountLooks() as counter:
            logits, caches = decoder.extend(TOKENS[:, :1], caches)
            decoder.extend(logits[:, -1:].argmax(-1), caches)
    assert counter.seen == []


@pytest.mark.usefixtures("as_on_an_accelerator")
@pytest.mark.parametrize("options", [{}, {"temperature": 1.0, "seed": 0, "top_k": 3, "top_p": 0.9}])
def test_generation_waits_once_at_the_end(options: dict) -> None:
    with CountLooks() as counter:
        book.generate(model(), TOKENS, 6, **options)
    assert len(counter.seen) == 1


class BytesWritten(TorchDispatchMode):
    """Sums the bytes of all new tensors and of all that is written in place."""

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        view = function.is_view
        for each in result if isinstance(result, tuple) else (result,):
            if isinstance(each, Tensor) and not view:
                self.total += each.numel() * each.element_size()
        return result


@pytest.mark.parametrize("kv_heads", [8, 1])
def test_a_decode_step_does_not_copy_the_cache(kv_heads: int) -> None:
    shape = book.Architecture(d=64, heads=8, layers=1, kv_heads=kv_heads, hidden=8, bias=False)
    rotary = book.Rotary(book.rotary_frequencies(8), layout="half")
    decoder = book.Decoder(9, shape, seed=0, position=rotary)
    decoder.requires_grad_(False)
    tokens = torch.zeros(1, 1000, dtype=torch.int64)
    with torch.no_grad():
        _, caches = decoder.extend(tokens, decoder.empty_caches(capacity=1010))
        held = sum(c.keys.numel() + c.values.numel() for c in caches) * 4
        with BytesWritten() as written:
            decoder.extend(tokens[:, :1], caches)
    # The scores of 8 heads are 8 numbers per position; the cache holds 2 · 8 · kv_heads of them.
    assert written.total < 0.5 * held + 4 * 1000 * 4 * 8


@pytest.mark.parametrize("layers", [1, 6])
def test_the_table_is_built_once_per_call(layers: int) -> None:
    decoder = book.Decoder(9, architecture(layers=layers), seed=0, position=ROTARY)
    with mock.patch("attention_to_rope.positions.rotary_table", wraps=book.rotary_table) as built:
        decoder(TOKENS)
        assert built.call_count == 1
        decoder.extend(TOKENS, decoder.empty_caches())
        assert built.call_count == 2


def test_cross_keys_and_values_are_computed_once() -> None:
    decoder = book.Decoder(9, architecture(), seed=0, cross=True).double().requires_grad_(False)
    memory = torch.ones(2, 3, 16).double()
    projected = []
    for block in decoder.blocks:
        block.cross_attention.key.register_forward_hook(lambda *_: projected.append(1))
    book.generate(decoder, TOKENS, 5, memory=memory)
    assert len(projected) == 2
    remembered = decoder.remember(memory)
    assert torch.equal(decoder(TOKENS, memory=remembered), decoder(TOKENS, memory=memory))


def test_weights_are_not_kept_unless_asked_for() -> None:
    kept: list[Any] = []
    decoder = model()
    with mock.patch("attention_to_rope.transformer.BlockWeights", side_effect=kept.append):
        decoder(TOKENS)
    assert kept == []
    _, weights = decoder(TOKENS, return_weights=True)
    assert [w.own.shape for w in weights] == [(2, 4, 4, 4)] * 2


def test_no_numbers_are_known_where_there_are_none() -> None:
    assert checks.values_are_known(torch.ones(1))
    assert not checks.values_are_known(torch.ones(0))
    assert not checks.values_are_known(torch.ones(1, device="meta"))
