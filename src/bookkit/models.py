"""Settings of published models, each value with the file it was read from, and what follows.

`models.jsonl` holds one model a line. `layers` groups the layers of one kind:

- `count`: how many there are; `recurrent`: they keep no growing cache, and have no other key;
- `kv_heads`, `head_dim`, and `value_dim` where values have another length than keys; or `latent`
  and `rotary` for latent attention, the latent numbers and those that are kept beside them;
- `rope`: the parameters of the rotation as `rotary_settings` reads them; null: no rotation;
  `learned`: the weights hold factors of the frequencies; `bias`: a bias that depends on the query,
  mixed out of `features` profiles of the distances below `reach`;
- `window`: tokens seen (all, if missing); `chunk`: it is the length of fixed chunks of the text;
- `compress`: tokens that share one row of the cache, beside the rows of the window;
  `same_key_value`: a row is both key and value;
- `index`: a query sees `keys` tokens, or rows of a compressed cache, that an indexer with `heads`
  heads of length `head_dim` chooses; `pool`: tokens that it scores together; `layers`: how many
  layers have an indexer of their own, where the others use those of an earlier layer;
- `query_scale`: a factor of the queries that depends on their position, see `query_scale`;
- `scale`: the factor of the scores, where it is not one over the root of the head's length;
  `key_dim`: this length in latent attention, both parts of a key together;
- `sink`: a learned score without a value takes part in the softmax.

`context` is the length that the model's file offers, and `trained` that of the longest texts in
training, where a source says that it is another one. Where they were read, `hidden` (width of the
gated feed-forward layer) and `vocabulary` are there too, so that the parameters can be counted
(`bookkit.seconds.model_parameters`).

`sources` names, for every kind of value, the file and commit it was read in. What could not be read
is missing. `class` is the configuration class of transformers that was opened; `not_represented`
names those of its keys that may matter for attention and are in no column, with their values.
"""

import json
import math
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from torch import Tensor

from attention_to_rope.checkpoints import rotary_settings
from bookkit.seconds import cache_bytes

Model = Mapping[str, Any]
Layers = Mapping[str, Any]

# What the keys do that no column represents; a key of another dictionary by its last part.
OF_ATTENTION = {
    "attention_value_scale": "multiplies the values",
    "index_block_size": "keys of a block that the indexer of sparse layers scores together",
    "index_head_dim": "length of the heads of the indexer of sparse layers",
    "index_kpool_always_select_tail": "the last, incomplete pool of tokens is always seen",
    "index_local_blocks": "blocks before the query that sparse layers always see",
    "index_n_heads": "heads of the indexer of sparse layers",
    "index_topk_blocks": "blocks that a query of a sparse layer sees",
    "kv_source_layers": "the layer whose latent vectors a layer uses; by default its own",
    "learnable_sink_init": "the sinks before training",
    "log_scaling_alpha": "strength of a scale of the queries that is off by default",
    "max_position_embeddings": "the length that the class has by default; the model's was not read",
    "partial_rotary_factor": "share that rotates in layers with a window",
    "qk_l2_clip_threshold": "the largest length of a query or key",
    "qk_scale_factor": "multiplies the queries, whose norm has no gains",
    "rel_l2_clip_threshold": "the largest length of the features of the bias",
    "rope_theta": "a base that the layers of this row do not use",
    "rope_type": "a rotation that the layers of this row do not use",
    "rotary_dim": "dimensions that rotate; the class reads partial_rotary_factor in its place",
    "sliding_window": "the window of layers that the class does not have by default",
    "use_sliding_window": "switches windows on",
}
OF_OTHER_PARTS = {
    "final_logit_softcapping": "limits the logits of the output, not the scores",
    "hc_sinkhorn_iters": "belongs to the mixing of residual streams",
    "logits_scaling": "divides the logits of the output",
    "mlp_gate_softcap": "limits the gates of the experts",
    "mlp_up_softcap": "limits the values that the gates of the experts multiply",
    "moe_routed_scaling_factor": "multiplies the output of the experts",
    "moe_router_logit_softcapping": "limits the scores of the experts; 0: off",
    "rescale_prenorm_residual": "scales weights before training",
    "route_scale": "multiplies the output of the experts",
    "routed_scaling_factor": "multiplies the output of the experts",
    "shared_expert_sink": "experts that are always on take part in the softmax of the router",
    "sparse_pred_ignore_index": "a label that the loss leaves out",
}


def read_models() -> list[dict[str, Any]]:
    """All models, in the order of the file."""
    text = (files("bookkit") / "models.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def read_model(name: str) -> dict[str, Any]:
    """The model of this name."""
    return {model["name"]: model for model in read_models()}[name]


def frequencies(group: Layers) -> Tensor:
    """The angle per position of each pair that rotates in one group of layers, scaled. (pairs,)

    Where the weights hold factors of the frequencies, these are the frequencies before them.
    """
    head_dim = group.get("rotary") or group["head_dim"]
    found = rotary_settings({"head_dim": head_dim, "rope_parameters": group["rope"]}).frequencies
    return found[found > 0]


def attention_layers(model: Model) -> list[Layers]:
    """The groups of layers with attention, that is, all that are not recurrent."""
    return [group for group in model["layers"] if not group.get("recurrent")]


def rotated_layers(model: Model) -> list[Layers]:
    """The groups of layers that rotate queries and keys."""
    return [group for group in model["layers"] if group.get("rope")]


def reach(group: Layers) -> float:
    """How many tokens a query can see: the window, or all, also where rows are compressed."""
    if "compress" in group:
        return math.inf
    return float(group.get("window", math.inf))


def far_layers(model: Model) -> Layers | None:
    """The rotated layers that see furthest: without a window, where there are such.

    None if no layer rotates.
    """
    return max(rotated_layers(model), key=reach, default=None)


def slowest_wavelength(model: Model) -> float | None:
    r"""Tokens in which the slowest pair completes a rotation: $2\pi / \theta_{\min}$.

    None if no layer rotates, or if the frequencies are learned.
    """
    group = far_layers(model)
    if group is None or group.get("learned"):
        return None
    return 2 * math.pi / float(frequencies(group).min())


def pairs_that_rotate_fully(model: Model) -> tuple[int, int] | None:
    r"""How many pairs complete a rotation in what the layer sees, $N \theta \ge 2\pi$; of how many.

    None if the context or the frequencies are not known. Pairs that do not rotate are counted in
    the second number.
    """
    group = far_layers(model)
    if group is None or group.get("learned") or "context" not in model:
        return None
    seen = min(model["context"], reach(group))
    head_dim = group.get("rotary") or group["head_dim"]
    complete = int((seen * frequencies(group) >= 2 * math.pi).sum())
    return complete, head_dim // 2


def query_scale(group: Layers, position: int) -> float | None:
    r"""The factor of a query at this position, 1 where there is none.

    `steps`: $1 + \beta \ln(1 + \lfloor (m + m_0) / L_0 \rfloor)$ with `strength` $\beta$, `length`
    $L_0$ and `first` $m_0$. `logarithm`: $1 + \beta \ln \max(1, (m + 1) / L_0)$. None for
    `learned`: each head has its own $a \ln(m + 1) + b$ among the weights.
    """
    rule = group.get("query_scale")
    if rule is None:
        return 1.0
    if rule["rule"] == "learned":
        return None
    if rule["rule"] == "steps":
        steps = (position + rule["first"]) // rule["length"]
        return 1.0 + float(rule["strength"]) * math.log(1 + steps)
    ratio = max(1.0, (position + 1) / rule["length"])
    return 1.0 + float(rule["strength"]) * math.log(ratio)


def cache_bytes_per_token(model: Model) -> float | None:
    """Bytes of keys and values in bfloat16 for each token of a full context.

    What recurrent layers and indexers keep is not counted. None for an encoder, or where heads, or
    the context that a window is compared with, are missing.
    """
    groups = attention_layers(model)
    windowed = any("window" in group for group in groups)
    known = all("latent" in group or "kv_heads" in group for group in groups)
    if not model.get("causal", True) or not known or (windowed and "context" not in model):
        return None
    length: int = model.get("context", 1)
    return cache_bytes(groups, length) / length


def slowest_pair_is_known(model: Model) -> bool:
    """Whether its wavelength can be compared with the text that the layer sees."""
    return "context" in model and slowest_wavelength(model) is not None


def slowest_pair_is_incomplete(model: Model) -> bool:
    """Whether the slowest pair that rotates completes no rotation in what the layer sees."""
    group = far_layers(model)
    wavelength = slowest_wavelength(model)
    if group is None or wavelength is None or "context" not in model:
        return False
    return wavelength > min(float(model["context"]), reach(group))


def rotates_whole_heads(model: Model) -> bool:
    """Whether the rotated layers that see furthest rotate all dimensions of a head."""
    group = far_layers(model)
    if group is None or "latent" in group:
        return False
    return bool(group["rope"].get("partial_rotary_factor", 1.0) == 1.0)


def shares_keys_and_values(model: Model) -> bool:
    """Whether several query heads use the same keys and values, in some layers."""
    return any(group.get("kv_heads", math.inf) < model["heads"] for group in model["layers"])


def _some_layers(key: str) -> Callable[[Model], bool]:
    """Whether some layers of a model have this key."""
    return lambda model: any(group.get(key) for group in model["layers"])


PROPERTIES: dict[str, Callable[[Model], bool]] = {
    "are causal": lambda model: bool(model.get("causal", True)),
    "choose keys": _some_layers("index"),
    "complete no rotation of the slowest pair": slowest_pair_is_incomplete,
    "do not rotate": lambda model: not rotated_layers(model),
    "have a known slowest pair": slowest_pair_is_known,
    "have a latent vector": _some_layers("latent"),
    "have a window": _some_layers("window"),
    "have recurrent layers": _some_layers("recurrent"),
    "have the half layout": lambda model: model.get("layout") == "half",
    "have 8 key-value heads": lambda model: 8 in [x.get("kv_heads") for x in model["layers"]],
    "leave some layers unrotated": lambda model: (
        0 < len(rotated_layers(model)) < len(attention_layers(model))
    ),
    "rotate": lambda model: bool(rotated_layers(model)),
    "rotate whole heads": rotates_whole_heads,
    "scale queries by position": _some_layers("query_scale"),
    "share keys and values": shares_keys_and_values,
}


def models_that(*properties: str) -> list[str]:
    """The names of all models with these properties of `PROPERTIES`; sentences count them.

    >>> models_that("have recurrent layers", "scale queries by position")
    []
    """
    found = []
    for model in read_models():
        if all(PROPERTIES[name](model) for name in properties):
            found.append(model["name"])
    return found


def how_many(*properties: str) -> str:
    """In a word, how many of all models have these properties: all, most, some or no.

    A sentence with this word need not change with every new model. Most are more than half.

    >>> how_many("rotate")
    'most'
    """
    found = len(models_that(*properties))
    everything = len(models_that())
    if found == 0:
        return "no"
    if found == everything:
        return "all"
    return "most" if 2 * found > everything else "some"
