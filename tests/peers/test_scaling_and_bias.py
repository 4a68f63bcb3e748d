"""Context extension, T5 buckets and ALiBi against the libraries that made them common."""

import pytest
import torch
from torchtune_file import torchtune_file
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.models.t5.modeling_t5 import T5Attention

import attention_to_rope as book
from attention_to_rope import context_extension as extend

Llama3ScaledRoPE = torchtune_file("models/llama3_1/_position_embeddings.py").Llama3ScaledRoPE
ORIGINAL = 4096
HEAD_DIM = 128
# float32 on their side: a few units in the seventh digit.
CLOSE = {"rtol": 2e-6, "atol": 0.0}


def config(base: float, **parameters: object) -> LlamaConfig:
    return LlamaConfig(
        hidden_size=HEAD_DIM,
        num_attention_heads=1,
        head_dim=HEAD_DIM,
        max_position_embeddings=ORIGINAL,
        rope_parameters={"rope_theta": base, **parameters},
    )


def theirs(
    kind: str, base: float, length: int | None = None, **parameters: object
) -> tuple[torch.Tensor, float]:
    settings = config(base, rope_type=kind, **parameters)
    frequencies, factor = ROPE_INIT_FUNCTIONS[kind](settings, torch.device("cpu"), seq_len=length)
    return frequencies.double(), factor


@pytest.mark.parametrize("base", [10000.0, 500000.0])
@pytest.mark.parametrize("scale", [1.5, 4.0, 32.0])
class TestScaling:
    def test_linear(self, base: float, scale: float) -> None:
        expected, _ = theirs("linear", base, factor=scale)
        got = extend.position_interpolation(book.rotary_frequencies(HEAD_DIM, base), scale)
        assert torch.allclose(got, expected, **CLOSE)

    @pytest.mark.parametrize("length", [100, ORIGINAL, 3 * ORIGINAL])
    def test_dynamic(self, base: float, scale: float, length: int) -> None:
        expected, _ = theirs("dynamic", base, length, factor=scale)
        got = extend.dynamic_ntk(
            book.rotary_frequencies(HEAD_DIM, base), scale, length=length, original_length=ORIGINAL
        )
        assert torch.allclose(got, expected, **CLOSE)

    @pytest.mark.parametrize("truncate", [True, False])
    @pytest.mark.parametrize("turns", [(1.0, 32.0), (2.0, 16.0)])
    def test_yarn(
        self, base: float, scale: float, truncate: bool, turns: tuple[float, float]
    ) -> None:
        slow, fast = turns
        expected, factor = theirs(
            "yarn",
            base,
            factor=scale,
            original_max_position_embeddings=ORIGINAL,
            beta_slow=slow,
            beta_fast=fast,
            truncate=truncate,
        )
        got = extend.yarn(
            book.rotary_frequencies(HEAD_DIM, base),
            scale,
            original_length=ORIGINAL,
            slow=slow,
            fast=fast,
            truncate=truncate,
        )
        assert torch.allclose(got, expected, **CLOSE)
        assert extend.yarn_attention_factor(scale) == pytest.approx(factor, rel=1e-12)

    def test_llama3(self, base: float, scale: float) -> None:
        expected, _ = theirs(
            "llama3",
            base,
            factor=scale,
            low_freq_factor=1.0,
            high_freq_factor=4.0,
            original_max_position_embeddings=ORIGINAL,
        )
        got = extend.llama3(
            book.rotary_frequencies(HEAD_DIM, base), scale, original_length=ORIGINAL
        )
        assert torch.allclose(got, expected, **CLOSE)

    def test_longrope(self, base: float, scale: float) -> None:
        factors = torch.linspace(1, scale, HEAD_DIM // 2, dtype=torch.float64)
        expected, factor = theirs(
            "longrope",
            base,
            2 * ORIGINAL,
            factor=scale,
            short_factor=[1.0] * (HEAD_DIM // 2),
            long_factor=factors.tolist(),
            original_max_position_embeddings=ORIGINAL,
        )
        got = extend.longrope(book.rotary_frequencies(HEAD_DIM, base), factors)
        assert torch.allclose(got, expected, **CLOSE)
        assert extend.longrope_attention_factor(scale, ORIGINAL) == pytest.approx(factor, rel=1e-12)


def test_torchtune_llama3() -> None:
    rope = Llama3ScaledRoPE(HEAD_DIM, max_seq_len=8, base=500000.0, scale_factor=8)
    frequencies = extend.llama3(book.rotary_frequencies(HEAD_DIM, 500000.0))
    table = book.rotary_table(torch.arange(8), frequencies)
    assert (rope.cache[..., 0] - table.cos).abs().max() <= 3e-6
    assert (rope.cache[..., 1] - table.sin).abs().max() <= 3e-6


def test_dynamic_scaling_of_transformers_depends_on_earlier_calls_and_ours_does_not() -> None:
    """At 6000 positions, alone or after a call with 9000: two different tables there."""
    x = torch.zeros(1)
    short, long = torch.arange(6000)[None], torch.arange(9000)[None]
    settings = config(10000.0, rope_type="dynamic", factor=2.0)
    fresh = LlamaRotaryEmbedding(settings)(x, short)[0]
    used = LlamaRotaryEmbedding(settings)
    used(x, long)
    assert (used(x, short)[0] - fresh).abs().max() > 0.1

    def ours(length: int) -> torch.Tensor:
        theta = book.rotary_frequencies(HEAD_DIM)
        options = {"length": length, "original_length": ORIGINAL}
        return book.rotary_table(short[0], extend.dynamic_ntk(theta, 2.0, **options)).cos

    first = ours(6000)
    ours(9000)
    assert torch.equal(ours(6000), first)
    assert (first[:, : HEAD_DIM // 2] - fresh[0, :, : HEAD_DIM // 2]).abs().max() <= 3e-3


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("shape", [(32, 128), (32, 256), (16, 64), (64, 1000)])
def test_t5_buckets(bidirectional: bool, shape: tuple[int, int]) -> None:
    buckets, max_distance = shape
    relative = torch.arange(-3000, 3001)
    expected = T5Attention._relative_position_bucket(
        relative, bidirectional=bidirectional, num_buckets=buckets, max_distance=max_distance
    )
    got = book.t5_bucket(
        relative, bidirectional=bidirectional, buckets=buckets, max_distance=max_distance
    )
    assert torch.equal(got, expected)


@pytest.mark.parametrize("heads", [1, 2, 3, 5, 8, 12, 16, 20, 32, 40, 71])
def test_bloom_alibi(heads: int) -> None:
    """BLOOM adds slope · n, ALiBi −slope · (m − n): the difference is constant in a row."""
    N = 7
    bloom = build_alibi_tensor(torch.ones(1, N), heads, torch.float32)  # (heads, 1, N)
    slopes = bloom[:, 0, 1].double()
    assert torch.allclose(book.alibi_slopes(heads), slopes, rtol=1e-6, atol=0)
    positions = torch.arange(N)
    scores = torch.zeros(heads, N, N, dtype=torch.float64)
    hidden = ~book.causal_mask(N)
    ours = scores + book.alibi_bias(book.alibi_slopes(heads), positions, positions)
    weights = [
        torch.softmax(bias.masked_fill(hidden, -torch.inf), -1)
        for bias in (ours, scores + bloom.double())
    ]
    assert (weights[0] - weights[1]).abs().max() <= 1e-6
