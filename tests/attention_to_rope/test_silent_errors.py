"""What once gave a wrong answer without a word: now it is right, or an error says what to do.

Types are not checked here, as in a program that uses the library without the tests' hook.
"""

import pytest
import torch

import attention_to_rope as book
from attention_to_rope import context_extension
from attention_to_rope.experts import MixtureOfExperts
from attention_to_rope.fast import attention_triton, blockwise_attention
from bookkit.randomness import normal

pytestmark = pytest.mark.usefixtures("unchecked")
SMALL = book.Architecture(d=16, heads=2, layers=2)


def rotary() -> book.Rotary:
    return book.Rotary(book.rotary_frequencies(8), layout="half")


def decoder() -> book.Decoder:
    return book.Decoder(11, SMALL, seed=0, scheme=rotary())


@pytest.mark.parametrize("assign", [False, True])
def test_a_model_from_meta_has_its_frequencies(assign):
    tokens = torch.tensor([[1, 2, 3, 4]])
    trained = decoder()
    with torch.device("meta"):
        empty = decoder()
    if not assign:
        empty = empty.to_empty(device="cpu")
    empty.load_state_dict(trained.state_dict(), assign=assign)
    assert torch.equal(empty(tokens), trained(tokens))


@pytest.mark.parametrize(
    "change",
    [
        lambda scheme: scheme.half(),
        lambda scheme: scheme.bfloat16().float(),
        lambda scheme: scheme.to(torch.float32),
        lambda scheme: scheme.to("meta").to_empty(device="cpu"),
        lambda scheme: torch.nn.ModuleList([scheme]).half()[0],
    ],
)
def test_frequencies_survive_every_change_of_a_module(change):
    assert torch.equal(change(rotary()).frequencies, book.rotary_frequencies(8))
    assert change(rotary()).frequencies.dtype == torch.float64


def test_a_scheme_that_was_left_on_another_device():
    positions = torch.arange(3)
    expected = rotary().angles(positions, torch.float32)
    left = rotary().to("meta")
    assert torch.equal(left.angles(positions, torch.float32).sin, expected.sin)


def test_frequencies_that_rotary_cannot_keep_are_refused():
    frequencies = book.rotary_frequencies(8)
    for rounded in (frequencies.float(), frequencies.half()):
        with pytest.raises(TypeError, match="must be float64"):
            book.Rotary(rounded, layout="half")
    with pytest.raises(ValueError, match="learned"):
        book.Rotary(frequencies.requires_grad_(), layout="half")
    with pytest.raises(ValueError, match="no numbers"):
        book.Rotary(torch.empty(4, dtype=torch.float64, device="meta"), layout="half")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_angles_in_half_precision_are_refused(dtype):
    with pytest.raises(TypeError, match="neighbouring positions"):
        book.rotary_table(torch.arange(4), book.rotary_frequencies(8).to(dtype))


def test_the_mask_of_a_tokenizer_is_not_taken_as_lengths():
    mask = torch.tensor([[1, 1, 0], [1, 1, 1]])
    for wrong in (mask, mask.bool()[0], mask[0].float()):
        with pytest.raises(ValueError, match="one integer per sequence"):
            book.padding_mask(wrong, 3)
    assert torch.equal(mask.bool().unsqueeze(1), book.padding_mask(torch.tensor([2, 3]), 3))


@pytest.mark.parametrize("wrong", [{"placement": "pre-norm"}, {"norm": "RMS"}])
def test_misspelt_parts_of_an_architecture(wrong):
    with pytest.raises(ValueError, match="must be one of"):
        book.Architecture(d=16, heads=2, layers=1, **wrong)


@pytest.mark.parametrize("change", ["half", "bfloat16"])
def test_the_bias_of_a_router_keeps_its_digits(change):
    mixture = MixtureOfExperts(4, 8, experts=4, k=2, seed=0, balanced=True)
    assert mixture.bias is not None
    mixture.bias += 0.4
    model = torch.nn.Sequential(mixture)
    getattr(model, change)()
    assert torch.equal(mixture.bias, torch.full((4,), 0.4))
    assert mixture.router.weight.dtype == getattr(torch, {"half": "float16"}.get(change, change))
    without = MixtureOfExperts(4, 8, experts=4, k=2, seed=0)
    assert getattr(without, change)().bias is None
    assert mixture.to("meta").to_empty(device="cpu").bias.dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_router_in_half_precision_chooses_by_its_exact_logits(dtype):
    """Logits rounded to bfloat16 choose other experts for two of these tokens."""
    mixture = MixtureOfExperts(32, 8, experts=16, k=2, gate="sigmoid", seed=0).to(dtype)
    x = normal(500, 32, seed=1).to(dtype)
    experts, gates = mixture.route(x)
    logits = x.double() @ mixture.router.W.double()
    exact = book.route(logits, 2, gate="sigmoid")
    assert torch.equal(experts, exact.experts)
    assert gates.dtype == torch.float32
    torch.testing.assert_close(gates, exact.gates.float(), rtol=1e-5, atol=0)
    assert mixture(x).dtype == dtype


@pytest.mark.parametrize("window", [0, -1])
def test_a_window_without_positions(window):
    q = torch.zeros(1, 4, 8)
    for call in (
        lambda: book.sliding_window_mask(4, window=window),
        lambda: book.dilated_mask(4, window=2, dilation=window),
        lambda: blockwise_attention(q, q, q, window=window),
        lambda: book.MultiHeadAttention(8, 2, seed=0)(q, causal=True, window=window),
    ):
        with pytest.raises(ValueError, match="at least 1"):
            call()


@pytest.mark.parametrize("lengths", [[5, 2], [0, 2], [-1, 2]])
def test_lengths_that_prompts_do_not_have(lengths):
    prompt = torch.tensor([[1, 2, 3], [4, 5, 6]])
    with pytest.raises(ValueError, match="lengths must lie between 1 and 3"):
        book.generate(decoder(), prompt, 2, lengths=torch.tensor(lengths))


def test_what_is_no_bias_and_what_are_no_logits():
    q = torch.zeros(1, 4, 8)
    seen = torch.ones(4, 4, dtype=torch.bool)
    for call in (book.attention, blockwise_attention):
        with pytest.raises(TypeError, match="bias is added"):
            call(q, q, q, bias=seen)
    with pytest.raises(TypeError, match="floating point"):
        book.softmax(torch.tensor([1, 2]))


@pytest.mark.parametrize("scaled", [context_extension.yarn, context_extension.ntk_by_parts])
def test_limits_of_rotations_in_the_wrong_order(scaled):
    with pytest.raises(ValueError, match="slow must be positive and at most fast"):
        scaled(book.rotary_frequencies(8), 4.0, original_length=64, slow=32.0, fast=1.0)


def test_a_matrix_needs_the_axis_of_its_heads():
    options = {"source": "half", "target": "interleaved"}
    for shape in ((8, 8), (4, 8)):
        with pytest.raises(ValueError, match="needs the axis"):
            book.convert_projection_layout(torch.zeros(shape), 2, **options)


@pytest.mark.parametrize("tokens", [[-1], [0, 4]])
def test_global_positions_that_do_not_exist(tokens):
    with pytest.raises(ValueError, match="tokens must lie between 0 and 3"):
        book.global_mask(4, torch.tensor(tokens))


@pytest.mark.parametrize("compiling", ["compiled", "meta", "empty"])
def test_positions_whose_numbers_are_not_known_are_not_looked_at(compiling):
    tokens = torch.tensor([1])
    if compiling == "compiled":
        compiled = torch.compile(book.global_mask, fullgraph=True, backend="eager")
        assert torch.equal(compiled(4, tokens), book.global_mask(4, tokens))
    elif compiling == "meta":
        assert book.global_mask(4, tokens.to("meta")).is_meta
    else:
        assert not book.global_mask(4, tokens[:0]).any()


def test_nothing_is_repeated_unseen():
    x = torch.randn(2, 4, 8)
    layer = book.MultiHeadAttention(8, 2, seed=0)
    one = torch.tensor([3])
    for scheme in (book.Sinusoidal(), book.Learned(8, 8, seed=0)):
        with pytest.raises(ValueError, match="positions of x"):
            scheme.embed(x, one)
    for scheme in (book.ALiBi(2), book.T5Bias(2, bidirectional=True, seed=0)):
        with pytest.raises(ValueError, match="positions must be"):
            layer(x, scheme=scheme, positions=one)
    with pytest.raises(ValueError, match="for the heads"):
        layer(x, scheme=book.ALiBi(1))
    for context in (x[:1], layer.remember(x[:1])):
        with pytest.raises(ValueError, match="2 sequences and the context 1"):
            layer(x, context)


@pytest.mark.parametrize("shape", [(2, 0), (0, 3)])
@pytest.mark.parametrize("scheme", [None, rotary(), book.ALiBi(2), book.Sinusoidal()])
def test_models_of_nothing(shape, scheme):
    tokens = torch.zeros(shape, dtype=torch.long)
    model = book.Decoder(11, SMALL, seed=0, scheme=scheme)
    assert model(tokens).shape == (*shape, 11)
    assert model.extend(tokens, model.empty_caches())[0].shape == (*shape, 11)
    assert book.Encoder(11, SMALL, seed=0, scheme=scheme)(tokens).shape == (*shape, 16)
    if shape[1] == 0:
        with pytest.raises(ValueError, match="at least one token"):
            book.generate(model, tokens, 2)
    else:
        assert book.generate(model, tokens, 2).shape == (0, 5)


def test_attention_to_nothing():
    some = torch.ones(1, 3, 8)
    none = some[:, :0]
    for call in (book.attention, blockwise_attention):
        assert torch.equal(call(some, none, none), torch.zeros(1, 3, 8))
        assert call(none, some, some).shape == (1, 0, 8)
    layer = book.MultiHeadAttention(8, 2, seed=0)
    layer.output.bias.data.fill_(0.5)
    assert torch.equal(layer(some, none), torch.full((1, 3, 8), 0.5))


def test_the_kernel_to_read_has_no_gradient(monkeypatch):
    monkeypatch.setattr(attention_triton, "is_available", lambda q: True)
    q = torch.zeros(1, 1, 16, 16, requires_grad=True)
    with pytest.raises(ValueError, match="no backward"):
        attention_triton.triton_attention(q, q, q)
