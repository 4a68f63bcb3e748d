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
    """All parameters, those that each token is multiplied with, and the matrices of the layers.

    The matrices are what methods with fewer bits store in them.
    """

    parameters: int
    multiplied: int
    matrices: int


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


# Bits per weight of methods that have no choice; the last two with the scales of their blocks.
METHOD_BITS = {
    "bitnet": 2.0,
    "eetq": 8.0,
    "fbgemm_fp8": 8.0,
    "fp8": 8.0,
    "mxfp4": 4.25,
    "nvfp4": 4.5,
}
# Keys with the bits of a method, and with the length of a group that shares a step and an offset.
BITS_KEYS = ("bits", "w_bit", "wbits", "nbits")
GROUP_KEYS = ("group_size", "q_group_size")
STEP_BITS = 16  # of the step of a group; its offset has the bits of a weight


class Stored(NamedTuple):
    """How a file stores the weights of its layers; bits: per weight, None if not known."""

    method: str
    bits: float | None


def stored_weights(config: Mapping[str, Any]) -> Stored | None:
    """What `quantization_config` says of the weights; None if there is none."""
    held = config.get("quantization_config")
    if not isinstance(held, Mapping) or not held:
        return None
    named = held.get("quant_method") or held.get("quant_algo")
    method = named.lower() if isinstance(named, str) else "?"
    return Stored(method, _stored_bits(held, method))


def _stored_bits(held: Mapping[str, Any], method: str) -> float | None:
    """Bits per weight, with what groups share; None where the keys do not say."""
    if method in METHOD_BITS:
        return METHOD_BITS[method]
    if method == "modelopt":  # it calls the method by another name inside
        return METHOD_BITS.get(str(held.get("quant_algo")).lower())
    for key, bits in (("load_in_4bit", 4.5), ("load_in_8bit", 8.0)):  # bitsandbytes
        if held.get(key) is True or held.get(f"_{key}") is True:
            return bits
    given = held
    groups = held.get("config_groups")  # compressed-tensors
    if isinstance(groups, Mapping):
        weights = [one.get("weights") for one in groups.values() if isinstance(one, Mapping)]
        kinds = [one for one in weights if isinstance(one, Mapping)]
        if len({repr(one.get("num_bits")) for one in kinds}) != 1:
            return None
        given = {"bits": kinds[0].get("num_bits"), "group_size": kinds[0].get("group_size")}
    each = next((given[key] for key in BITS_KEYS if given.get(key) is not None), None)
    if not isinstance(each, int) or isinstance(each, bool) or not 1 <= each <= 16:
        return None
    group = next((given[key] for key in GROUP_KEYS if given.get(key) is not None), None)
    if not isinstance(group, int) or isinstance(group, bool) or group < 1:
        return float(each)
    return each + (STEP_BITS + each) / group


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
    products = _projections(config) + experts * 3 * width * hidden
    return Weights(parameters, used - looked_up, layers * products)


def _projections(config: Mapping[str, Any]) -> int:
    """The four matrices of a layer's attention."""
    width: int = config["hidden_size"]
    heads: int = config["num_attention_heads"]
    kv_heads: int = config.get("num_key_value_heads") or heads
    head_dim: int = config.get("head_dim") or width // heads
    return 2 * width * head_dim * (heads + kv_heads)


def _attention_parameters(config: Mapping[str, Any], family: Family) -> int:
    """Those of the projections of one layer, with their biases and gains."""
    width: int = config["hidden_size"]
    heads: int = config["num_attention_heads"]
    kv_heads: int = config.get("num_key_value_heads") or heads
    head_dim: int = config.get("head_dim") or width // heads
    parameters = _projections(config)
    switched = family.attention_bias and config.get("attention_bias")
    if family.query_bias or switched:
        parameters += head_dim * (heads + 2 * kv_heads)
    if switched:
        parameters += width  # the output's
    if family.qk_norm:
        parameters += 2 * head_dim
    return parameters
