"""Bytes and seconds against values computed by hand, and against what tensors hold."""

import math

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from bookkit.models import cache_bytes_per_token, read_model, read_models
from bookkit.seconds import (
    Gpu,
    allocated_cache_bytes,
    cache_bytes,
    causal_attention_operations,
    decode_attention_operations,
    decode_step_seconds,
    decoder_parameters,
    least_seconds,
    measured_bandwidth_bytes_per_second,
    model_parameters,
    multiplied_parameters,
    prefill_seconds,
    read_gpu,
    read_gpus,
    ridge_operations_per_byte,
    weights_bytes,
)
from one_file.llama import Config, Model

# 100 bytes and 1,000 operations per second.
SLOW = Gpu("slow", 100.0, 1e6, {"bfloat16": 1000.0, "float8": 2000.0}, {})
FULL = [{"count": 3, "kv_heads": 4, "head_dim": 8}]
WINDOW = [{"count": 1, "kv_heads": 4, "head_dim": 8, "window": 5}]
LATENT = [{"count": 2, "latent": 16, "rotary": 4}]
NOTHING = [{"count": 9, "recurrent": True}, {"count": 7, "shared": True, "head_dim": 8}]


@pytest.mark.parametrize("name", read_gpus())
def test_every_number_of_a_gpu_has_its_source(name):
    gpu = read_gpu(name)
    assert set(gpu.sources) == {"bandwidth", "memory", *gpu.peak_operations_per_second}
    assert all("/" in source for source in gpu.sources.values())
    # Bytes and operations per second, not gigabytes or teraflops.
    assert 1e11 < gpu.bandwidth_bytes_per_second < 1e14
    assert 1e10 < gpu.memory_bytes < 1e12
    assert all(1e12 < peak < 1e17 for peak in gpu.peak_operations_per_second.values())


def test_known_gpus():
    h200 = read_gpu("H200 SXM")
    assert round(ridge_operations_per_byte(h200)) == 206  # 989 / 4.8
    assert 0.8 < measured_bandwidth_bytes_per_second() / h200.bandwidth_bytes_per_second < 1.0
    with pytest.raises(ValueError, match=r"no GPU 'H300' in .*; it has H200 SXM, "):
        read_gpu("H300")
    with pytest.raises(ValueError, match="MI300X has no recorded peak for float32, only for "):
        read_gpu("MI300X").peak("float32")


def test_the_longer_of_the_two_times_counts():
    assert least_seconds(SLOW, operations=5000, traffic_bytes=400) == 5.0
    assert least_seconds(SLOW, operations=3000, traffic_bytes=400) == 4.0
    assert least_seconds(SLOW, operations=5000, traffic_bytes=100, dtype="float8") == 2.5
    ridge = ridge_operations_per_byte(SLOW)
    assert ridge == 10.0
    both = least_seconds(SLOW, operations=70 * ridge, traffic_bytes=70)
    assert both == 0.7


def test_cache_of_each_kind():
    assert cache_bytes(FULL, 10) == 3 * 10 * (2 * 4 * 8) * 2
    assert cache_bytes(WINDOW, 10) == 5 * 64 * 2
    assert cache_bytes(WINDOW, 4) == 4 * 64 * 2
    assert cache_bytes(LATENT, 10) == 2 * 10 * 20 * 2
    assert cache_bytes(NOTHING, 10) == 0
    assert cache_bytes([*FULL, *WINDOW], 10, bytes_per_number=1) == 1920 + 320
    assert cache_bytes([{"count": 1, "kv_heads": 1, "head_dim": 8}], 10) == 10 * 16 * 2


def test_what_parallelism_divides():
    assert cache_bytes(FULL, 10, tensor_ranks=2) == cache_bytes(FULL, 10) / 2
    # Four heads on eight ranks: each rank holds one head, so the whole is held twice.
    assert cache_bytes(FULL, 10, tensor_ranks=8) == cache_bytes(FULL, 10) / 4
    assert cache_bytes(LATENT, 10, tensor_ranks=8) == cache_bytes(LATENT, 10)
    assert cache_bytes(LATENT, 10, context_ranks=5) == cache_bytes(LATENT, 10) / 5


def test_allocated_is_needed_rounded_up_to_pages():
    assert allocated_cache_bytes(FULL, 17, page_tokens=16) == cache_bytes(FULL, 32)
    assert allocated_cache_bytes(FULL, 16, page_tokens=16) == cache_bytes(FULL, 16)
    assert allocated_cache_bytes(FULL, 17, page_tokens=1000) == cache_bytes(FULL, 1000)
    assert allocated_cache_bytes(WINDOW, 17, page_tokens=1000) == cache_bytes(WINDOW, 5)


@pytest.mark.parametrize("model", read_models(), ids=lambda model: model["name"])
def test_the_table_of_models_uses_the_same_count(model):
    per_token = cache_bytes_per_token(model)
    if per_token is not None:
        length = model.get("context", 1)
        assert per_token == cache_bytes(model["layers"], length) / length


def test_parameters_of_a_model_in_one_file():
    config = Config(
        vocab_size=50,
        hidden_size=24,
        intermediate_size=40,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        tie_word_embeddings=True,
    )
    model = Model(config)
    counted = sum(parameter.numel() for parameter in model.parameters())
    sizes = {"width": 24, "heads": 4, "kv_heads": 2, "head_dim": 8, "hidden": 40}
    assert decoder_parameters(**sizes, layers=3, vocabulary=50, tied=True) == counted
    # Published as 8.03 billion.
    assert model_parameters(read_model("Llama 3.1-8B")) == 8_030_261_248
    assert weights_bytes(8_030_261_248) == 16_060_522_496


def attention_operations(queries, keys):
    q = torch.zeros(1, 6, queries, 8)
    k = torch.zeros(1, 6, keys, 8)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        torch.nn.functional.scaled_dot_product_attention(q, k, k)
    return counter.get_total_flops()


def test_operations_of_attention():
    assert decode_attention_operations(FULL, 6, 10) == 3 * attention_operations(1, 10)
    assert decode_attention_operations(WINDOW, 6, 10) == attention_operations(1, 5)
    # Two products: with latent and rotary part for the scores, with the latent for the values.
    assert decode_attention_operations(LATENT, 6, 10) == 2 * 10 * 6 * (2 * 20 + 2 * 16)
    assert decode_attention_operations(NOTHING[:1], 6, 10) == 0
    # A layer that stores nothing still attends.
    assert decode_attention_operations(NOTHING[1:], 6, 10) == 7 * attention_operations(1, 10)


@pytest.mark.parametrize("layers", [FULL, WINDOW, LATENT, NOTHING])
@pytest.mark.parametrize("tokens", [1, 4, 5, 12])
def test_a_causal_text_costs_as_much_as_its_tokens_one_by_one(layers, tokens):
    one_by_one = [decode_attention_operations(layers, 6, seen + 1) for seen in range(tokens)]
    assert causal_attention_operations(layers, 6, tokens) == sum(one_by_one)


def test_seconds_of_a_step():
    sizes = {"parameters": 1000, "layers": FULL, "heads": 6, "tokens": 10}
    # Weights 2,000 bytes and a cache of 3,840 at 100 bytes per second.
    assert decode_step_seconds(SLOW, **sizes) == 58.4
    assert decode_step_seconds(SLOW, **sizes, batch=3) == (3 * 3840 + 2000) / 100
    # One byte per number halves the traffic, not the arithmetic.
    assert decode_step_seconds(SLOW, **sizes, bytes_per_number=1) == 29.2
    # Without attention the weights are read once for the batch, and arithmetic takes over where
    # the batch exceeds the ridge: 10 operations per byte, 2 per weight of 2 bytes.
    dense = {"parameters": 1000, "layers": NOTHING[:1], "heads": 6, "tokens": 10}
    assert decode_step_seconds(SLOW, **dense, batch=9) == 20.0
    assert decode_step_seconds(SLOW, **dense, batch=11) == 22.0


def test_seconds_of_a_prompt():
    sizes = {"parameters": 1000, "layers": FULL, "heads": 6}
    # 20 tokens: 40,000 operations of the weights and 3 · 4 · 6 · 8 · 210 of the attention.
    assert prefill_seconds(SLOW, **sizes, tokens=20) == (40_000 + 120_960) / 1000
    # One token: 2,000 bytes of weights are read and 384 bytes are written.
    assert prefill_seconds(SLOW, **sizes, tokens=1) == 23.84


def test_a_named_model_on_a_named_gpu():
    llama = read_model("Llama 3.1-8B")
    sizes = {"parameters": multiplied_parameters(llama), "layers": llama["layers"], "heads": 32}
    step = decode_step_seconds(read_gpu("H200 SXM"), **sizes, tokens=131_072)
    # 15.01 GB of weights without the input embedding, 17.18 GB of keys and values, 4.8 TB/s.
    weights = 16_060_522_496 - 2 * 128_256 * 4096
    assert math.isclose(step, (weights + 2 * 32 * 8 * 128 * 131_072 * 2) / 4.8e12)
    assert 0.0067 < step < 0.0068
