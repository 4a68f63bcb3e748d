"""Parameters of a model, counted from its configuration, for the families of `FAMILIES`.

tests/peers builds each family with transformers on the device "meta" and compares.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Experts(NamedTuple):
    """The keys for the number of experts, those that a token uses, and their hidden width.

    number: several names, the first that is given holds.
    """

    number: tuple[str, ...]
    active: str
    hidden: str
    plain: bool = False  # keys may name layers without experts; these are not counted here


class Family(NamedTuple):
    """How the parameters of a family differ from Llama's.

    norms: gains of a layer in units of the width. query_bias: queries, keys and values always have
    a bias. attention_bias, mlp_bias: the keys of these names switch biases on. tied: whether
    embedding and head are one matrix if the configuration does not say.
    """

    norms: int = 2
    qk_norm: bool = False
    query_bias: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    tied: bool = False
    experts: Experts | None = None


class Weights(NamedTuple):
    """All parameters, and those that each token is multiplied with."""

    parameters: int
    multiplied: int


FAMILIES = {
    "gemma2": Family(norms=4, attention_bias=True, tied=True),
    "gemma3_text": Family(norms=4, qk_norm=True, attention_bias=True, tied=True),
    "llama": Family(attention_bias=True, mlp_bias=True),
    "mistral": Family(),
    "mixtral": Family(
        experts=Experts(("num_local_experts",), "num_experts_per_tok", "intermediate_size")
    ),
    "qwen2": Family(query_bias=True),
    "qwen3": Family(qk_norm=True, attention_bias=True),
    "qwen3_moe": Family(
        qk_norm=True,
        attention_bias=True,
        experts=Experts(
            ("num_experts", "num_local_experts"),
            "num_experts_per_tok",
            "moe_intermediate_size",
            plain=True,
        ),
    ),
}
# Keys that say how many experts a layer has, also in families that are not counted here.
EXPERT_KEYS = ("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
NEEDED = (
    "hidden_size",
    "num_attention_heads",
    "num_hidden_layers",
    "intermediate_size",
    "vocab_size",
)


def config_weights(config: Mapping[str, Any]) -> Weights | None:
    """The parameters of a configuration; None for a family that is not in `FAMILIES`."""
    family = FAMILIES.get(str(config.get("model_type")))
    if family is None or any(not config.get(key) for key in NEEDED):
        return None
    width = config["hidden_size"]
    layers = config["num_hidden_layers"]
    experts = active = 1
    router = 0
    hidden = config["intermediate_size"]
    if family.experts is not None:
        named = [config.get(key) for key in family.experts.number]
        experts = next((count for count in named if count), 0)
        active = config.get(family.experts.active) or 0
        hidden = config.get(family.experts.hidden) or 0
        mixed = config.get("mlp_only_layers") or config.get("decoder_sparse_step", 1) != 1
        if not (experts and active and hidden) or (family.experts.plain and mixed):
            return None
        router = width * experts
    forward = 3 * width * hidden
    if family.mlp_bias and config.get("mlp_bias"):
        forward += 2 * hidden + width
    attention_and_norms = _attention_parameters(config, family) + family.norms * width
    embedding = config["vocab_size"] * width
    tied = config.get("tie_word_embeddings", family.tied)
    outside = embedding * (1 if tied else 2) + width
    parameters = outside + layers * (attention_and_norms + router + experts * forward)
    used = outside + layers * (attention_and_norms + router + active * forward)
    looked_up = 0 if tied else embedding  # a lookup, no product
    return Weights(parameters, used - looked_up)


def _attention_parameters(config: Mapping[str, Any], family: Family) -> int:
    """Those of the projections of one layer, with their biases and gains."""
    width: int = config["hidden_size"]
    heads: int = config["num_attention_heads"]
    kv_heads: int = config.get("num_key_value_heads") or heads
    head_dim: int = config.get("head_dim") or width // heads
    parameters = 2 * width * head_dim * (heads + kv_heads)
    switched = family.attention_bias and config.get("attention_bias")
    if family.query_bias or switched:
        parameters += head_dim * (heads + 2 * kv_heads)
    if switched:
        parameters += width  # the output's
    if family.qk_norm:
        parameters += 2 * head_dim
    return parameters
