"""Loading checkpoints, against the three models written out in plain torch; every refusal.

`tests/peers/test_hugging_face.py` compares with `transformers` itself.
"""

import dataclasses
import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

import attention_to_rope as book
from attention_to_rope.hugging_face_config import FAMILIES, layer_types, rotary_scheme, some
from bookkit.randomness import generator

LOCAL, GLOBAL = "sliding_attention", "full_attention"
VOCABULARY, WIDTH, HIDDEN, HEADS, KV_HEADS = 11, 12, 10, 4, 2
SHARED: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": WIDTH,
    "intermediate_size": HIDDEN,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "num_hidden_layers": 3,
    "rms_norm_eps": 1e-3,
    "use_cache": True,
}
LLAMA = SHARED | {"model_type": "llama", "hidden_act": "silu", "head_dim": 4, "rope_theta": 100.0}
QWEN3 = SHARED | {"model_type": "qwen3", "hidden_act": "silu", "head_dim": 6, "rope_theta": 100.0}
GEMMA3 = SHARED | {
    "model_type": "gemma3_text",
    "hidden_activation": "gelu_pytorch_tanh",
    "head_dim": 6,
    "query_pre_attn_scalar": 9,
    "sliding_window": 3,
    "rope_theta": 1000.0,
    "rope_local_base_freq": 10.0,
    "sliding_window_pattern": 2,
}
NORMS = ["input_layernorm", "post_attention_layernorm"]
GEMMA_NORMS = [*NORMS, "pre_feedforward_layernorm", "post_feedforward_layernorm"]


def weights(config: dict[str, Any]) -> dict[str, Tensor]:
    """Random tensors with the names and shapes of a checkpoint."""
    rng = generator(0)
    gemma = config["model_type"] == "gemma3_text"
    d_k = config["head_dim"]
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (VOCABULARY, WIDTH),
        "model.norm.weight": (WIDTH,),
        "lm_head.weight": (VOCABULARY, WIDTH),
    }
    for i in range(config["num_hidden_layers"]):
        start = f"model.layers.{i}."
        shapes |= {f"{start}{norm}.weight": (WIDTH,) for norm in (GEMMA_NORMS if gemma else NORMS)}
        for letter, rows in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS)):
            shapes[f"{start}self_attn.{letter}_proj.weight"] = (rows * d_k, WIDTH)
            if config.get("attention_bias"):
                shapes[f"{start}self_attn.{letter}_proj.bias"] = (rows * d_k,)
        shapes[f"{start}self_attn.o_proj.weight"] = (WIDTH, HEADS * d_k)
        if config.get("attention_bias"):
            shapes[f"{start}self_attn.o_proj.bias"] = (WIDTH,)
        if config["model_type"] != "llama":
            shapes |= {f"{start}self_attn.{letter}_norm.weight": (d_k,) for letter in "qk"}
        for name, shape in (
            ("gate", (HIDDEN, WIDTH)),
            ("up", (HIDDEN, WIDTH)),
            ("down", (WIDTH, HIDDEN)),
        ):
            shapes[f"{start}mlp.{name}_proj.weight"] = shape
            if config.get("mlp_bias"):
                shapes[f"{start}mlp.{name}_proj.bias"] = shape[:1]
    tensors = {name: torch.from_numpy(rng.normal(size=shape)) for name, shape in shapes.items()}
    if config.get("tie_word_embeddings", gemma):
        tensors.pop("lm_head.weight")
    return tensors


def written_out(
    config: dict[str, Any],
    tensors: dict[str, Tensor],
    tokens: Tensor,
    frequencies: dict[str, Tensor],
    kinds: list[str],
) -> Tensor:
    """The logits of one sequence, as the models' own code computes them."""
    gemma, d_k = config["model_type"] == "gemma3_text", config["head_dim"]

    def norm(x: Tensor, name: str) -> Tensor:
        gain = tensors[name + ".weight"] + (1 if gemma else 0)
        return gain * x / (x.square().mean(-1, keepdim=True) + config["rms_norm_eps"]).sqrt()

    def linear(x: Tensor, name: str) -> Tensor:
        return functional.linear(x, tensors[name + ".weight"], tensors.get(name + ".bias"))

    def turned(x: Tensor, theta: Tensor) -> Tensor:
        angles = torch.arange(len(tokens))[:, None] * torch.cat((theta, theta))
        half = torch.cat((-x[..., d_k // 2 :], x[..., : d_k // 2]), dim=-1)
        return x * angles.cos() + half * angles.sin()

    def attend(x: Tensor, start: str, kind: str) -> Tensor:
        parts = []
        for letter in "qkv":
            part = linear(x, f"{start}self_attn.{letter}_proj")
            part = part.reshape(len(tokens), -1, d_k).transpose(0, 1)
            if letter != "v":
                if config["model_type"] != "llama":
                    part = norm(part, f"{start}self_attn.{letter}_norm")
                part = turned(part, frequencies[kind])
            parts.append(part if letter == "q" else part.repeat_interleave(HEADS // KV_HEADS, 0))
        m, n = torch.arange(len(tokens))[:, None], torch.arange(len(tokens))
        seen = (n <= m) & (n > m - (config["sliding_window"] if kind == LOCAL else 10**6))
        scores = parts[0] @ parts[1].mT / math.sqrt(config.get("query_pre_attn_scalar", d_k))
        mixed = scores.masked_fill(~seen, -torch.inf).softmax(-1) @ parts[2]
        return linear(mixed.transpose(0, 1).flatten(1), f"{start}self_attn.o_proj")

    def feed(x: Tensor, start: str) -> Tensor:
        gate = linear(x, f"{start}mlp.gate_proj")
        gate = functional.gelu(gate, approximate="tanh") if gemma else functional.silu(gate)
        return linear(gate * linear(x, f"{start}mlp.up_proj"), f"{start}mlp.down_proj")

    embedding = tensors["model.embed_tokens.weight"]
    x = embedding[tokens] * (math.sqrt(WIDTH) if gemma else 1)
    for i, kind in enumerate(kinds):
        start = f"model.layers.{i}."
        y = attend(norm(x, start + "input_layernorm"), start, kind)
        if gemma:
            x = x + norm(y, start + "post_attention_layernorm")
            y = feed(norm(x, start + "pre_feedforward_layernorm"), start)
            x = x + norm(y, start + "post_feedforward_layernorm")
        else:
            x = x + y
            x = x + feed(norm(x, start + "post_attention_layernorm"), start)
    return norm(x, "model.norm") @ tensors.get("lm_head.weight", embedding).T


def powers(d: int, base: float) -> Tensor:
    return base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)


LLAMA3 = {
    "rope_type": "llama3",
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
LLAMA3_TURNS = book.llama3(powers(4, 100.0), 4.0, original_length=16)
THREE_GLOBAL = [GLOBAL] * 3
PLAIN = {GLOBAL: powers(6, 100.0), LOCAL: powers(6, 100.0)}
TWO_BASES = {GLOBAL: powers(6, 1000.0), LOCAL: powers(6, 10.0)}
CASES: dict[str, tuple[dict[str, Any], dict[str, Tensor], list[str]]] = {
    "Llama": (LLAMA, {GLOBAL: powers(4, 100.0)}, THREE_GLOBAL),
    "Llama, tied": (
        LLAMA | {"tie_word_embeddings": True},
        {GLOBAL: powers(4, 100.0)},
        THREE_GLOBAL,
    ),
    "Llama, biases": (
        LLAMA | {"attention_bias": True, "mlp_bias": True},
        {GLOBAL: powers(4, 100.0)},
        THREE_GLOBAL,
    ),
    "Llama, half of the biases": (
        LLAMA | {"attention_bias": True},
        {GLOBAL: powers(4, 100.0)},
        THREE_GLOBAL,
    ),
    "Llama 3.1, older format": (
        LLAMA | {"rope_scaling": LLAMA3},
        {GLOBAL: LLAMA3_TURNS},
        THREE_GLOBAL,
    ),
    "Llama 3.1": (
        LLAMA | {"rope_parameters": LLAMA3 | {"rope_theta": 100.0}},
        {GLOBAL: LLAMA3_TURNS},
        THREE_GLOBAL,
    ),
    "Qwen 3": (QWEN3, PLAIN, THREE_GLOBAL),
    "Qwen 3, window from layer 1 on": (
        QWEN3 | {"use_sliding_window": True, "sliding_window": 2, "max_window_layers": 1},
        PLAIN,
        [GLOBAL, LOCAL, LOCAL],
    ),
    "Qwen 3, unused window": (
        QWEN3 | {"use_sliding_window": False, "sliding_window": 2, "max_window_layers": 1},
        PLAIN,
        THREE_GLOBAL,
    ),
    "Gemma 3": (GEMMA3, TWO_BASES, [LOCAL, GLOBAL, LOCAL]),
    "Gemma 3, layers named, untied": (
        GEMMA3 | {"layer_types": [GLOBAL, LOCAL, LOCAL], "tie_word_embeddings": False},
        TWO_BASES,
        [GLOBAL, LOCAL, LOCAL],
    ),
    "Gemma 3, scaled": (
        GEMMA3
        | {
            "rope_parameters": {
                GLOBAL: {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000.0},
                LOCAL: {"rope_theta": 10.0},
            }
        },
        {GLOBAL: powers(6, 1000.0) / 8, LOCAL: powers(6, 10.0)},
        [LOCAL, GLOBAL, LOCAL],
    ),
    "Gemma 3, scaled, older format": (
        GEMMA3 | {"rope_scaling": {"rope_type": "linear", "factor": 8.0}},
        {GLOBAL: powers(6, 1000.0) / 8, LOCAL: powers(6, 10.0)},
        [LOCAL, GLOBAL, LOCAL],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_logits(name: str) -> None:
    config, frequencies, kinds = CASES[name]
    tensors = weights(config)
    decoder = book.load_hugging_face(config, tensors)
    tokens = torch.from_numpy(generator(1).integers(0, VOCABULARY, (2, 8)))
    with torch.no_grad():
        got = decoder(tokens)
        expected = [written_out(config, tensors, row, frequencies, kinds) for row in tokens]
    assert got.dtype == torch.float64
    assert (got - torch.stack(expected)).abs().max() <= 1e-9
    assert got.std() > 0.1


def test_stored_frequencies_and_an_equal_head_are_no_surprise() -> None:
    config = LLAMA | {"tie_word_embeddings": True}
    tensors = weights(config)
    more = tensors | {
        "lm_head.weight": tensors["model.embed_tokens.weight"].clone(),
        "model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(2, dtype=torch.float64),
    }
    one, two = (book.load_hugging_face(config, t).state_dict() for t in (tensors, more))
    assert one.keys() == two.keys()
    assert all(torch.equal(one[key], two[key]) for key in one)
    assert not any(name.startswith("head.") for name in one)


def test_the_state_dict_stays_as_it_is() -> None:
    tensors = weights(QWEN3)
    before = {name: tensor.clone() for name, tensor in tensors.items()}
    decoder = book.load_hugging_face(QWEN3, tensors)
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.zero_()
    assert all(torch.equal(tensors[name], before[name]) for name in before)


def test_rotations() -> None:
    """What `rotary_settings` reads reaches the scheme; `test_rotary_config` holds the reading."""
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
    scheme = rotary_scheme(QWEN3 | {"rope_parameters": yarn}, GLOBAL)
    assert isinstance(scheme, book.Rotary)
    expected = book.yarn(book.rotary_frequencies(6, 100.0), 4.0, original_length=16)
    assert torch.equal(scheme.frequencies, expected)
    assert scheme.attention_factor == book.yarn_attention_factor(4.0)
    assert scheme.layout == "half"
    half = {"rope_theta": 100.0, "partial_rotary_factor": 0.5}
    partial = rotary_scheme(QWEN3 | {"head_dim": 12, "rope_parameters": half}, GLOBAL)
    assert isinstance(partial, book.Rotary)
    assert torch.equal(partial.frequencies, book.rotary_frequencies(6, 100.0))
    assert partial.rotary_dim == 6


def test_a_rotation_that_depends_on_the_length() -> None:
    given = {
        "rope_type": "longrope",
        "short_factor": [1.0, 1.0, 1.0],
        "long_factor": [1.0, 2.0, 4.0],
        "original_max_position_embeddings": 16,
    }
    config = QWEN3 | {"rope_parameters": given, "max_position_embeddings": 64}
    scheme = rotary_scheme(config, GLOBAL)
    assert isinstance(scheme, book.LengthScaledRotary)
    theta = book.rotary_frequencies(6, 100.0)
    assert torch.equal(scheme.at(16).frequencies, theta)
    assert torch.equal(scheme.at(17).frequencies, theta / torch.tensor([1.0, 2.0, 4.0]))
    assert scheme.at(17).attention_factor == book.longrope_attention_factor(4.0, 16)
    assert scheme.layout == "half"
    assert scheme.rotary_dim == 6
    layers = {LOCAL: {"rope_theta": 10.0}, GLOBAL: given | {"rope_theta": 100.0}}
    nested = rotary_scheme(config | {"rope_parameters": layers}, GLOBAL)
    assert isinstance(nested, book.LengthScaledRotary)
    assert torch.equal(nested.at(17).frequencies, scheme.at(17).frequencies)


def test_gemma_has_five_local_layers_to_one_global() -> None:
    config = {"model_type": "gemma3_text", "num_hidden_layers": 14}
    assert layer_types(config) == 2 * ([LOCAL] * 5 + [GLOBAL]) + [LOCAL] * 2


def test_biases_are_there_if_the_config_has_them() -> None:
    decoder = book.load_hugging_face(LLAMA, weights(LLAMA))
    assert not [name for name in decoder.state_dict() if name.endswith(".b")]


def test_a_family_is_a_constant() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        FAMILIES["llama"].tied = True


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("", "nothing"),
        ("dbca", "a, b, c, d"),
        ("edcba", "a, b, c, d and 1 more"),
        ("edbcafg", "a, b, c, d and 3 more"),
    ],
)
def test_a_message_names_a_few(names: str, words: str) -> None:
    assert some(names) == words


def without(config: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name != key}


class NotAMapping:
    """What `transformers` gives before `to_dict()`."""


FAULTS: list[tuple[object, object, type, str]] = [
    (NotAMapping(), None, TypeError, r"got NotAMapping, try config.to_dict\(\)"),
    (LLAMA | {"model_type": "gpt2"}, None, ValueError, r"one of llama, qwen3, gemma3_text; got 'g"),
    (without(LLAMA, "model_type"), None, ValueError, r"got None$"),
    (
        {"model_type": "gemma3", "text_config": GEMMA3},
        None,
        ValueError,
        r"got 'gemma3'; this is a model of text and images: pass config\['text_config'\]",
    ),
    (LLAMA | {"moe": 1}, None, ValueError, r"not known for llama: moe; they may change"),
    (LLAMA | {"layer_types": None}, None, ValueError, r"not known for llama: layer_types"),
    (without(LLAMA, "rms_norm_eps"), None, ValueError, r"lacks rms_norm_eps; config.json leaves"),
    (LLAMA | {"rms_norm_eps": None}, None, ValueError, r"lacks rms_norm_eps"),
    (GEMMA3 | {"query_pre_attn_scalar": 0}, None, ValueError, r"query_pre_attn_scalar must be"),
    (GEMMA3 | {"sliding_window_pattern": 0}, None, ValueError, r"sliding_window_pattern must be"),
    (LLAMA | {"rope_parameters": [1]}, None, TypeError, r"must be a mapping, got list"),
    (LLAMA, {"a": torch.ones(2), "b": None}, TypeError, r"b must be a torch.Tensor, got None"),
    (without(QWEN3, "head_dim"), None, ValueError, r"lacks head_dim"),
    (without(GEMMA3, "query_pre_attn_scalar"), None, ValueError, r"lacks query_pre_attn_scalar"),
    (GEMMA3 | {"final_logit_softcapping": 30.0}, None, ValueError, r"must be off.*got 30.0"),
    (LLAMA | {"hidden_act": "relu"}, None, ValueError, r"silu, gelu, gelu_pytorch_tanh; got 'relu"),
    (without(LLAMA, "hidden_act"), None, ValueError, r"got None"),
    (GEMMA3 | {"layer_types": [LOCAL]}, None, ValueError, r"each of the 3 layers, got \['sliding"),
    (GEMMA3 | {"layer_types": ["x"] * 3}, None, ValueError, r"must name 'sliding_attention' or"),
    (without(GEMMA3, "sliding_window"), None, ValueError, r"need sliding_window .* got None and"),
    (
        QWEN3 | {"use_sliding_window": False, "sliding_window": 2, "layer_types": [LOCAL] * 3},
        None,
        ValueError,
        r"got 2 and False",
    ),
    (QWEN3 | {"use_sliding_window": True}, None, ValueError, r"layer_types or max_window_layers"),
    (without(LLAMA, "rope_theta"), None, ValueError, r"config names no base"),
    (
        without(GEMMA3, "rope_local_base_freq"),
        None,
        ValueError,
        r"no base for local layers: Gemma 3 has rope_local_base_freq",
    ),
    (
        GEMMA3 | {"rope_parameters": {GLOBAL: {"rope_theta": 10.0}}},
        None,
        ValueError,
        r"layer_type must be one of full_attention; got 'sliding_attention'",
    ),
    (
        LLAMA | {"rope_scaling": {"rope_type": "spiral"}},
        None,
        ValueError,
        r"rope_type must be one of .*; got 'spiral'",
    ),
    (LLAMA, [], TypeError, r"map names to tensors and not be empty; got list"),
    (LLAMA, {}, TypeError, r"not be empty; got dict"),
    (LLAMA, {"a": torch.ones(2).int()}, TypeError, r"a must be floating point"),
    (
        LLAMA,
        weights(LLAMA) | {"lm_head.weight": torch.ones(11, 12)},
        TypeError,
        r"model.embed_tokens.weight and lm_head.weight must have the same dtype",
    ),
    (
        LLAMA,
        without(weights(LLAMA), "model.layers.1.mlp.up_proj.weight"),
        ValueError,
        r"state_dict has no 'model.layers.1.mlp.up_proj.weight', which this llama config needs",
    ),
    (
        LLAMA,
        {name.removeprefix("model."): tensor for name, tensor in weights(LLAMA).items()},
        ValueError,
        r"has embed_tokens.weight, .* and 26 more. Names must start with 'model.'",
    ),
    (LLAMA, weights(QWEN3 | {"head_dim": 4}), ValueError, r"6 tensors without a place .*k_norm"),
    (
        LLAMA | {"head_dim": 2},
        weights(LLAMA),
        ValueError,
        r"q_proj.weight must fit blocks.0.attention.query.W of shape \(12, 8\), got \(16, 12\)",
    ),
    (
        GEMMA3,
        weights(GEMMA3 | {"tie_word_embeddings": False}),
        ValueError,
        r"ties the head to the embedding .* differ; set it to False or drop",
    ),
]


@pytest.mark.parametrize(("config", "tensors", "error", "message"), FAULTS)
def test_faults_are_named(config: object, tensors: object, error: type, message: str) -> None:
    given = weights(LLAMA) if tensors is None else tensors
    with pytest.raises(error, match=message):
        book.load_hugging_face(config, given)
