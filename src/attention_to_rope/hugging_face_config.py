"""What a Hugging Face config says: which family, which keys, which layers, which rotation."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from attention_to_rope.checks import check_count, check_positive
from attention_to_rope.positions import LengthScaledRotary, PositionalScheme, Rotary
from attention_to_rope.rotary_config import rotary_settings

Config = Mapping[str, Any]


@dataclass(frozen=True)
class Family:
    """How the checkpoints of one `model_type` differ from the others.

    norms: the stored names of a block's norms, in the order in which a token meets them.
    gain_offset: what to add to a stored gain; Gemma stores gain − 1. tied: whether embedding and
    head share their weights if the config does not say. required, optional: the keys of its config
    beside those that all families have.
    """

    qk_norm: bool
    norms: tuple[str, ...]
    gain_offset: float
    tied: bool
    scaled_embedding: bool
    required: frozenset[str]
    optional: frozenset[str]


PRE_NORMS = ("input_layernorm", "post_attention_layernorm")
SANDWICH_NORMS = (*PRE_NORMS, "pre_feedforward_layernorm", "post_feedforward_layernorm")
HEAD_KEYS = frozenset({"head_dim", "num_key_value_heads"})
WINDOW_KEYS = frozenset({"layer_types", "sliding_window"})
QWEN3_KEYS = WINDOW_KEYS | {"max_window_layers", "use_sliding_window"}
GEMMA3_KEYS = WINDOW_KEYS | {
    "_sliding_window_pattern",
    "attn_logit_softcapping",
    "final_logit_softcapping",
    "rope_local_base_freq",
    "sliding_window_pattern",
    "use_bidirectional_attention",
}
FAMILIES = {
    "llama": Family(
        qk_norm=False,
        norms=PRE_NORMS,
        gain_offset=0.0,
        tied=False,
        scaled_embedding=False,
        required=frozenset(),
        optional=HEAD_KEYS | {"mlp_bias"},
    ),
    "qwen3": Family(
        qk_norm=True,
        norms=PRE_NORMS,
        gain_offset=0.0,
        tied=False,
        scaled_embedding=False,
        required=HEAD_KEYS,
        optional=QWEN3_KEYS,
    ),
    "gemma3_text": Family(
        qk_norm=True,
        norms=SANDWICH_NORMS,
        gain_offset=1.0,
        tied=True,
        scaled_embedding=True,
        required=HEAD_KEYS | {"query_pre_attn_scalar"},
        optional=GEMMA3_KEYS,
    ),
}
# What every family's config must hold, and what it may hold.
REQUIRED_KEYS = {
    "hidden_size",
    "intermediate_size",
    "model_type",
    "num_attention_heads",
    "num_hidden_layers",
    "rms_norm_eps",
    "vocab_size",
}
OPTIONAL_KEYS = {
    "attention_bias",
    "hidden_act",
    "hidden_activation",
    "max_position_embeddings",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "tie_word_embeddings",
}
COUNTS = (
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_attention_heads",
    "num_key_value_heads",
    "num_hidden_layers",
    "head_dim",
)
# What a config also holds and what changes no logit: training, tokens, files, Python's output.
IDLE_KEYS = {
    "_attn_implementation",
    "_name_or_path",
    "architectures",
    "attention_dropout",
    "bos_token_id",
    "cache_implementation",
    "chunk_size_feed_forward",
    "dtype",
    "eos_token_id",
    "id2label",
    "initializer_range",
    "is_encoder_decoder",
    "label2id",
    "output_attentions",
    "output_hidden_states",
    "pad_token_id",
    "pretraining_tp",
    "problem_type",
    "return_dict",
    "torch_dtype",
    "transformers_version",
    "use_cache",
}
ACTIVATIONS = {"silu": "swiglu", "gelu": "geglu", "gelu_pytorch_tanh": "geglu_tanh"}
LOCAL, GLOBAL = "sliding_attention", "full_attention"


def checked_family(config: Config) -> Family:
    """The family of a config, after a look at all of its keys."""
    if not isinstance(config, Mapping):
        raise TypeError(
            f"config must be a mapping, the entries of config.json; got {type(config).__name__}, "
            "try config.to_dict()"
        )
    kind = config.get("model_type")
    if kind not in FAMILIES:
        hint = ""
        if "text_config" in config:
            hint = "; this is a model of text and images: pass config['text_config'] and the "
            hint += "weights of its language model, renamed to start with 'model.'"
        raise ValueError(
            f"config['model_type'] must be one of {', '.join(FAMILIES)}; got {kind!r}{hint}"
        )
    family = FAMILIES[kind]
    required = REQUIRED_KEYS | family.required
    unknown = config.keys() - required - OPTIONAL_KEYS - IDLE_KEYS - family.optional
    if unknown:
        raise ValueError(
            f"config has keys that are not known for {kind}: {some(unknown)}; they may change what "
            "the model computes. Remove those that do not"
        )
    missing = {key for key in required if config.get(key) is None}
    if missing:
        raise ValueError(
            f"config lacks {some(missing)}; config.json leaves out what equals a default of "
            "transformers, its config.to_dict() does not"
        )
    check_sizes(config)
    for key in ("attn_logit_softcapping", "final_logit_softcapping", "use_bidirectional_attention"):
        if config.get(key):
            raise ValueError(f"config[{key!r}] must be off, as in Gemma 3; got {config[key]!r}")
    return family


def check_sizes(config: Config) -> None:
    """Raise, by the config's own names, unless its sizes and constants are such."""
    for key in COUNTS:
        if key in REQUIRED_KEYS or config.get(key) is not None:
            check_count(key, config[key])
    for key in ("rms_norm_eps", "rope_theta", "rope_local_base_freq", "query_pre_attn_scalar"):
        if config.get(key) is not None:
            check_positive(key, config[key])
    heads, groups = config["num_attention_heads"], config.get("num_key_value_heads")
    if groups is not None and heads % groups:
        raise ValueError(
            f"num_key_value_heads must divide num_attention_heads, got {groups} and {heads}"
        )
    if config.get("head_dim") is None and config["hidden_size"] % heads:
        raise ValueError(
            "num_attention_heads must divide hidden_size where head_dim is not given, got "
            f"{heads} and {config['hidden_size']}"
        )
    if head_dimension(config) % 2:
        raise ValueError(
            f"head_dim must be even: dimensions turn in pairs; got {head_dimension(config)}"
        )


def is_tied(config: Config, family: Family) -> bool:
    """Whether the embedding is the head as well."""
    return bool(config.get("tie_word_embeddings", family.tied))


def head_dimension(config: Config) -> int:
    """The width of a head: as stated, else width / heads."""
    given = config.get("head_dim")
    return int(given or config["hidden_size"] // config["num_attention_heads"])


def gated_activation(config: Config) -> str:
    """The book's name of the feed-forward layer's gated activation."""
    name = config.get("hidden_act") or config.get("hidden_activation")
    if name not in ACTIVATIONS:
        raise ValueError(
            f"hidden_act or hidden_activation must be one of {', '.join(ACTIVATIONS)}; got {name!r}"
        )
    return ACTIVATIONS[name]


def layer_types(config: Config) -> list[str]:
    """`full_attention` or `sliding_attention` for every layer, as the config or its family says."""
    count = config["num_hidden_layers"]
    kinds = config.get("layer_types")
    if kinds is None and config["model_type"] == "gemma3_text":
        every = config.get("sliding_window_pattern", config.get("_sliding_window_pattern", 6))
        check_count("sliding_window_pattern", every)
        kinds = [LOCAL if (i + 1) % every else GLOBAL for i in range(count)]
    elif kinds is None and config.get("use_sliding_window"):
        if config.get("max_window_layers") is None:
            raise ValueError("use_sliding_window needs layer_types or max_window_layers, got none")
        kinds = [LOCAL if i >= config["max_window_layers"] else GLOBAL for i in range(count)]
    elif kinds is None:
        kinds = [GLOBAL] * count
    if len(kinds) != count or not {*kinds} <= {LOCAL, GLOBAL}:
        raise ValueError(
            f"layer_types must name {LOCAL!r} or {GLOBAL!r} for each of the {count} layers, got "
            f"{kinds!r}"
        )
    return list(kinds)


def rotary_scheme(config: Config, kind: str) -> PositionalScheme:
    """The rotation in layers of one kind, as `rotary_settings` reads it from the config."""
    given = config.get("rope_parameters") or {}
    if not isinstance(given, Mapping):
        raise TypeError(f"rope_parameters must be a mapping, got {type(given).__name__}")
    nested = given.keys() & {LOCAL, GLOBAL}
    one_base = not nested and config.get("rope_local_base_freq") is None
    if config["model_type"] == "gemma3_text" and one_base:
        raise ValueError(
            "config names no base for local layers: Gemma 3 has rope_local_base_freq, or "
            f"rope_parameters for {LOCAL} and {GLOBAL}"
        )
    settings = rotary_settings(config, layer_type=kind)
    if settings.kind not in ("dynamic", "longrope"):
        return Rotary(
            settings.frequencies,
            layout="half",
            rotary_dim=settings.rotary_dim,
            attention_factor=settings.attention_factor,
        )
    at_length = partial(rotary_settings, config, layer_type=kind)
    return LengthScaledRotary(
        lambda length: at_length(length=length).frequencies,
        layout="half",
        rotary_dim=settings.rotary_dim,
        attention_factor=lambda _: settings.attention_factor,  # of no kind does it change
    )


def some(names: Iterable[str]) -> str:
    """The first few names, for a message."""
    listed = sorted(names) or ["nothing"]
    return ", ".join(listed[:4]) + (f" and {len(listed) - 4} more" if len(listed) > 4 else "")
