"""Results depend on the arguments alone: not on compile, export, vmap, copies or earlier calls."""

import copy
import pickle
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import attention_to_rope as book
from bookkit.randomness import normal

pytestmark = pytest.mark.long

LAYOUTS = ["half", "interleaved"]


def compiled(function: Callable[..., Tensor], **options: object) -> Callable[..., Tensor]:
    """Traced as one graph, forward and backward, and run without a C++ compiler."""
    torch._dynamo.reset()
    return torch.compile(function, fullgraph=True, backend="aot_eager", **options)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.usefixtures("untraced")
def test_rotate_compiles_with_its_gradient(layout: str, dtype: torch.dtype) -> None:
    frequencies = book.rotary_frequencies(8)

    def run(x: Tensor, positions: Tensor) -> Tensor:
        table = book.rotary_table(positions, frequencies, dtype=x.dtype)
        return book.rotate(x, table, layout=layout)

    fast = compiled(run)
    x = normal(2, 3, 5, 8, seed=0, dtype=dtype).requires_grad_()
    upstream = normal(2, 3, 5, 8, seed=1, dtype=dtype)
    results = []
    for function in (run, fast):
        y = function(x, torch.arange(5) + 1000)
        results.append((y, *torch.autograd.grad(y, x, upstream)))
    for eager, traced in zip(*results, strict=True):
        assert traced.dtype == dtype
        # The eager kernels may fuse a product and a sum: the last bit can differ.
        last_bits = 2 * torch.finfo(dtype).eps * eager.abs().clamp_min(1)
        assert ((eager - traced).abs() <= last_bits).all()


@pytest.mark.usefixtures("untraced")
def test_rotate_does_not_compile_again_for_new_lengths() -> None:
    frequencies = book.rotary_frequencies(8)
    from torch._dynamo.testing import CompileCounter  # seconds, for this test alone

    counter = CompileCounter()
    torch._dynamo.reset()

    @torch.compile(backend=counter, fullgraph=True, dynamic=True)
    def run(x: Tensor, positions: Tensor) -> Tensor:
        return book.rotate(x, book.rotary_table(positions, frequencies), layout="half")

    for length in (5, 6, 17):
        x = normal(2, 3, length, 8, seed=0, dtype=torch.float32)
        expected = book.rotate(
            x, book.rotary_table(torch.arange(length), frequencies), layout="half"
        )
        assert torch.allclose(run(x, torch.arange(length)), expected, atol=1e-6)
    assert counter.frame_count == 1


@pytest.mark.usefixtures("untraced")
def test_attention_compiles() -> None:
    q, k, v = (normal(2, 5, 4, seed=s, dtype=torch.float32) for s in range(3))
    mask = book.causal_mask(5)

    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return book.attention(q, k, v, mask=mask)

    assert torch.allclose(compiled(run)(q, k, v), run(q, k, v), atol=1e-6)


def model(seed: int = 0) -> book.Decoder:
    return book.Decoder(
        9,
        book.Architecture(d=8, heads=2, layers=1, kv_heads=1, norm="rms", activation="swiglu"),
        seed=seed,
        position=book.Rotary(book.rotary_frequencies(4), layout="half"),
    )


TOKENS = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]])


@pytest.mark.usefixtures("untraced")
def test_decoder_compiles_and_exports() -> None:
    decoder = model()
    expected = decoder(TOKENS)
    assert torch.allclose(compiled(decoder)(TOKENS), expected, atol=1e-6)
    exported = torch.export.export(decoder, (TOKENS,)).module()
    assert torch.allclose(exported(TOKENS), expected, atol=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.usefixtures("untraced")
def test_rotate_exports(layout: str) -> None:
    class Turn(nn.Module):
        def forward(self, x: Tensor, positions: Tensor) -> Tensor:
            table = book.rotary_table(positions, book.rotary_frequencies(8))
            return book.rotate(x, table, layout=layout)

    x, positions = normal(2, 5, 8, seed=0, dtype=torch.float32), torch.arange(5)
    length = torch.export.Dim("length", min=2, max=100)
    exported = torch.export.export(
        Turn(), (x, positions), dynamic_shapes=({1: length}, {0: length})
    ).module()
    longer = normal(2, 9, 8, seed=1, dtype=torch.float32)
    for vectors in (x, longer):
        positions = torch.arange(vectors.shape[1])
        assert torch.allclose(exported(vectors, positions), Turn()(vectors, positions), atol=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_vmap_over_vectors_tables_and_both(layout: str) -> None:
    x = normal(3, 5, 8, seed=0)
    positions = torch.arange(5) + torch.tensor([[0], [10], [20]])
    frequencies = book.rotary_frequencies(8)

    def run(x: Tensor, positions: Tensor) -> Tensor:
        table = book.rotary_table(positions, frequencies, dtype=torch.float64)
        return book.rotate(x, table, layout=layout)

    alone = torch.stack([run(x[b], positions[b]) for b in range(3)])
    assert torch.allclose(torch.vmap(run)(x, positions), alone, atol=1e-15)
    same_x = torch.stack([run(x[0], positions[b]) for b in range(3)])
    assert torch.allclose(torch.vmap(run, (None, 0))(x[0], positions), same_x, atol=1e-15)
    same_table = torch.stack([run(x[b], positions[1]) for b in range(3)])
    assert torch.allclose(torch.vmap(run, (0, None))(x, positions[1]), same_table, atol=1e-15)
    gradient = torch.func.grad(lambda x: run(x, positions[0]).square().sum())(x[0])
    assert torch.allclose(gradient, 2 * x[0], atol=1e-14)
    _, tangent = torch.func.jvp(lambda x: run(x, positions[0]), (x[0],), (x[1],))
    assert torch.allclose(tangent, run(x[1], positions[0]), atol=1e-14)


def test_vmap_of_attention() -> None:
    q, k, v = (normal(3, 5, 4, seed=s) for s in range(3))
    mask = torch.stack([book.causal_mask(5), book.causal_mask(5) | True, book.causal_mask(5)])
    got = torch.vmap(lambda q, k, v, m: book.attention(q, k, v, mask=m))(q, k, v, mask)
    assert torch.allclose(got, book.attention(q, k, v, mask=mask), atol=1e-15)
    lengths = torch.tensor([1, 2, 5])
    masks = torch.vmap(lambda n: book.padding_mask(n[None], 5)[0])(lengths)
    assert torch.equal(masks, book.padding_mask(lengths, 5))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_there_and_back_to_another_dtype_spoils_no_position(dtype: torch.dtype) -> None:
    """A module with its tables in a floating-point buffer would come back with rounded angles."""
    x = normal(1, 2, 6, 4, seed=0, dtype=torch.float32)
    positions = torch.arange(6) + 50_000
    for scheme in (
        book.Rotary(book.rotary_frequencies(4), layout="half"),
        book.ALiBi(2),
        book.Sinusoidal(),
    ):
        before = scheme.rotate(x, positions), scheme.bias(positions, positions)
        embedded = scheme.embed(x[0], positions)
        back = copy.deepcopy(scheme).to(dtype).float()
        assert torch.equal(back.rotate(x, positions), before[0])
        assert torch.equal(back.embed(x[0], positions), embedded)
        if before[1] is not None:
            assert torch.equal(back.bias(positions, positions), before[1])
        assert not scheme.state_dict()


def test_half_precision_model_is_close_to_the_full_one() -> None:
    full = model().double()
    for dtype, tolerance in ((torch.float16, 0.02), (torch.bfloat16, 0.1)):
        logits = model().to(dtype)(TOKENS)
        assert logits.dtype == dtype
        assert (logits.double() - full(TOKENS)).abs().max() <= tolerance


def test_pickled_and_copied_models_and_values_agree() -> None:
    decoder = model()
    expected = decoder(TOKENS)
    for twin in (pickle.loads(pickle.dumps(decoder)), copy.deepcopy(decoder)):
        assert torch.equal(twin(TOKENS), expected)
    table = book.rotary_table(torch.arange(3), book.rotary_frequencies(4))
    again = pickle.loads(pickle.dumps(table))
    assert isinstance(again, book.RotaryTable)
    assert torch.equal(again.cos, table.cos)
    cache = book.KeyValueCache(normal(1, 1, 2, 4, seed=0), normal(1, 1, 2, 4, seed=1))
    assert torch.equal(pickle.loads(pickle.dumps(cache)).keys, cache.keys)
    architecture = pickle.loads(pickle.dumps(decoder.architecture))
    assert architecture == decoder.architecture


def test_earlier_calls_and_other_rows_leave_no_trace() -> None:
    decoder = model()
    expected = decoder(TOKENS)
    decoder(torch.randint(0, 9, (3, 30)))
    book.generate(decoder, TOKENS[:, :1], 10)
    assert torch.equal(decoder(TOKENS), expected)
    others = torch.cat((TOKENS[:1], torch.zeros(3, 4, dtype=torch.int64)))
    assert torch.allclose(decoder(others)[0], expected[0], atol=1e-6)


def test_a_branched_cache_keeps_its_own_history() -> None:
    decoder = model().double().requires_grad_(False)
    _, stem = decoder.extend(TOKENS[:1, :2], decoder.empty_caches())
    left, _ = decoder.extend(TOKENS[:1, 2:], stem)
    decoder.extend(torch.tensor([[8, 8]]), stem)
    again, _ = decoder.extend(TOKENS[:1, 2:], stem)
    assert torch.equal(left, again)
    assert stem[0].length == 2


def test_results_stay_on_the_device_of_the_arguments() -> None:
    """The "meta" device has shapes and no values: what is made on the CPU beside it fails."""
    positions = torch.arange(4, device="meta")
    frequencies = book.rotary_frequencies(8, device="meta")
    x = torch.zeros(2, 3, 4, 8, device="meta")
    tokens = torch.zeros(2, 4, dtype=torch.int64, device="meta")
    table = book.rotary_table(positions, frequencies)
    results = [
        *table,
        *(book.rotate(x, table, layout=layout) for layout in LAYOUTS),
        book.rotation_matrix(positions, frequencies, layout="half"),
        book.rotate_complex(x, positions, frequencies, layout="half"),
        book.convert_layout(x, source="half", target="interleaved"),
        book.ntk_aware(frequencies, 2.0),
        book.sinusoidal(positions, 8),
        book.t5_bucket(positions, bidirectional=True),
        book.ALiBi(2).bias(positions, positions),
        book.Rotary(book.rotary_frequencies(8), layout="half").rotate(x, positions),
        book.padding_mask(positions, 9),
        book.global_mask(9, positions),
        book.attention(x, x, x, mask=book.causal_mask(4, device="meta")),
        book.blockwise_attention(x, x, x, causal=True, q_block=3),
        model().to("meta")(tokens),
    ]
    assert {result.device.type for result in results} == {"meta"}
