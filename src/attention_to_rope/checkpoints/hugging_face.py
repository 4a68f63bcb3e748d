"""Checkpoints in Hugging Face's format, run by the book's decoder: Llama, Qwen 3, Gemma 3.

Nothing is downloaded and nothing but torch is needed: give the entries of `config.json` and the
tensors by their names. What a config says and this module does not know is an error, never skipped.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attention_to_rope.block import Architecture
from attention_to_rope.checkpoints.rotary import rotary_settings
from attention_to_rope.fast.rope_eager import EagerRotary
from attention_to_rope.transformer import Decoder, LayerPattern

Config = Mapping[str, Any]
Rename = tuple[str, str, Callable[[Tensor], Tensor]]
LOCAL = "sliding_attention"
GLOBAL = "full_attention"
PRE_NORMS = ("input_layernorm", "post_attention_layernorm")
SANDWICH_NORMS = (*PRE_NORMS, "pre_feedforward_layernorm", "post_feedforward_layernorm")


class Family(NamedTuple):
    """How the checkpoints of one `model_type` differ from the others.

    activation: the key that names the activation. norms: the stored names of a block's norms, in
    the order in which a token meets them. gain_offset: what to add to a stored gain; Gemma stores
    gain − 1. tied: whether embedding and head share their weights if the config does not say.
    required and optional: the keys of a config beside those that all families have.
    """

    architecture: str
    activation: str
    qk_norm: bool
    norms: tuple[str, ...]
    gain_offset: float
    tied: bool
    required: set[str]
    optional: set[str]


# Must be off: Gemma 3's code has no such thing, or the decoder has not.
GEMMA3_OFF = {"attn_logit_softcapping", "final_logit_softcapping", "use_bidirectional_attention"}
FAMILIES = {
    "llama": Family(
        architecture="LlamaForCausalLM",
        activation="hidden_act",
        qk_norm=False,
        norms=PRE_NORMS,
        gain_offset=0.0,
        tied=False,
        required=set(),
        optional={"head_dim", "mlp_bias", "num_key_value_heads"},
    ),
    "qwen3": Family(
        architecture="Qwen3ForCausalLM",
        activation="hidden_act",
        qk_norm=True,
        norms=PRE_NORMS,
        gain_offset=0.0,
        tied=False,
        required={"head_dim", "num_key_value_heads"},
        optional={"layer_types", "max_window_layers", "sliding_window", "use_sliding_window"},
    ),
    "gemma3_text": Family(
        architecture="Gemma3ForCausalLM",
        activation="hidden_activation",
        qk_norm=True,
        norms=SANDWICH_NORMS,
        gain_offset=1.0,
        tied=True,
        required={"head_dim", "num_key_value_heads", "query_pre_attn_scalar"},
        optional={
            *GEMMA3_OFF,
            "_sliding_window_pattern",
            "hidden_act",  # Gemma 3's code does not read it
            "layer_types",
            "rope_local_base_freq",
            "sliding_window",
            "sliding_window_pattern",
        },
    ),
}
# What every family's config must hold, and what it may hold.
REQUIRED = {
    "hidden_size",
    "intermediate_size",
    "model_type",
    "num_attention_heads",
    "num_hidden_layers",
    "rms_norm_eps",
    "vocab_size",
}
OPTIONAL = {
    "architectures",
    "attention_bias",
    "max_position_embeddings",
    "partial_rotary_factor",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "tie_word_embeddings",
}
# What changes no logit: training, tokens, files, Python's output.
IDLE = {
    "_attn_implementation",
    "_name_or_path",
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


def load_hugging_face(
    config: Config, state_dict: Mapping[str, Tensor], *, length: int | None = None
) -> Decoder:
    """The book's `Decoder` with the weights of a Llama, Qwen 3 or Gemma 3 checkpoint.

    config: the entries of `config.json`, or `config.to_dict()`, of a text model; state_dict: its
    tensors, all of one dtype and on one device. Gemma's gains are stored less 1 and lose digits in
    half types, so give them as float32.
    length: where the rotation depends on the length of the text (dynamic NTK, LongRoPE), the length
    for which it is fixed.

    A key that is not known, a weight that is missing or left over and a shape that does not fit
    are errors.

    In float32, the logits of small random models differ from those of `transformers` by at most
    1e-5 on texts of 40 tokens. Larger weights and longer texts make the difference larger (near
    1e-4 at 1,024 tokens of a trained model), because `transformers` computes the angles in float32,
    from frequencies in float32, and this decoder in float64.
    """
    family = _checked_family(config)
    with torch.device("meta"):  # shapes alone; the weights come below
        decoder = _decoder_for(config, family, length)
    shapes = {name: value.shape for name, value in decoder.state_dict().items()}
    loaded = _renamed_tensors(config, family, state_dict, shapes)
    _check_nothing_is_left(config, family, state_dict, loaded)
    example = loaded["embedding.rows"]
    for name in shapes.keys() - loaded.keys():  # biases that the checkpoint does not have
        loaded[name] = example.new_zeros(shapes[name])
    for tensor in loaded.values():
        if tensor.dtype != example.dtype or tensor.device != example.device:
            raise ValueError("all tensors of state_dict must have one dtype and one device")
    decoder.load_state_dict(loaded, assign=True)
    return decoder


def _renamed_tensors(
    config: Config,
    family: Family,
    state_dict: Mapping[str, Tensor],
    shapes: Mapping[str, torch.Size],
) -> dict[str, Tensor]:
    """Copies of the stored tensors by their names in the book's decoder, of the shapes there."""
    loaded = {}
    for name, target, convert in _renames(config, family):
        if name not in state_dict:
            raise ValueError(f"state_dict has no {name!r}; it has {_some(state_dict)}")
        converted = convert(state_dict[name]).clone()
        if converted.shape != shapes[target]:
            raise ValueError(
                f"{name} must fit {target} of shape {tuple(shapes[target])}, got "
                f"{tuple(converted.shape)} (torch's nn.Linear stores the transpose)"
            )
        loaded[target] = converted
    return loaded


def _check_nothing_is_left(
    config: Config, family: Family, state_dict: Mapping[str, Tensor], loaded: Mapping[str, Tensor]
) -> None:
    """Raise if state_dict holds a tensor that the model would ignore."""
    rest = set(state_dict)
    for name, _, _ in _renames(config, family):
        rest.remove(name)
    if _is_tied(config, family) and "lm_head.weight" in rest:  # stored a second time
        if not torch.equal(state_dict["lm_head.weight"], loaded["embedding.rows"]):
            raise ValueError("the head is tied to the embedding, but the two stored ones differ")
        rest.remove("lm_head.weight")
    # Older checkpoints also store the frequencies, which the config says.
    left = [name for name in rest if not name.endswith("rotary_emb.inv_freq")]
    if left:
        raise ValueError(f"state_dict has tensors that this model does not have: {_some(left)}")


def _checked_family(config: Config) -> Family:
    """The family of a config, after a look at all of its keys."""
    kind = config.get("model_type")
    if kind not in FAMILIES:
        raise ValueError(f"model_type must be one of {', '.join(FAMILIES)}; got {kind!r}")
    family = FAMILIES[kind]
    required = REQUIRED | family.required | {family.activation}
    unknown = config.keys() - required - OPTIONAL - IDLE - family.optional
    if unknown:
        raise ValueError(
            f"config has keys that are not known for {kind}: {_some(unknown)}; they may change "
            "what the model computes. Remove those that do not"
        )
    missing = {key for key in required if config.get(key) is None}
    if missing:
        raise ValueError(
            f"config lacks {_some(missing)}; where config.json leaves them out, take "
            "config.to_dict()"
        )
    architectures = config.get("architectures") or [family.architecture]
    if list(architectures) != [family.architecture]:
        raise ValueError(f"architectures must be {family.architecture}, got {architectures}")
    for key in GEMMA3_OFF:
        if config.get(key):
            raise ValueError(f"config[{key!r}] must be off, as in Gemma 3; got {config[key]!r}")
    for part in (config, config.get("rope_parameters") or {}, config.get("rope_scaling") or {}):
        share = part.get("partial_rotary_factor")
        if share not in (None, 1, 1.0):
            raise ValueError(
                f"partial_rotary_factor must be 1, got {share!r}: transformers' {kind} rotates "
                "all of each head"
            )
    activation = config[family.activation]
    if activation not in ACTIVATIONS:
        raise ValueError(
            f"{family.activation} must be one of {', '.join(ACTIVATIONS)}; got {activation!r}"
        )
    return family


def _decoder_for(config: Config, family: Family, length: int | None) -> Decoder:
    """A decoder of the config's shape."""
    queried = config.get("query_pre_attn_scalar")  # the scores' d_k, where it is another one
    architecture = Architecture(
        d=config["hidden_size"],
        heads=config["num_attention_heads"],
        layers=config["num_hidden_layers"],
        kv_heads=config.get("num_key_value_heads"),
        head_dim=config.get("head_dim"),
        hidden=config["intermediate_size"],
        activation=ACTIVATIONS[config[family.activation]],
        norm="rms",
        placement="pre" if family.norms == PRE_NORMS else "sandwich",
        bias=bool(config.get("attention_bias") or config.get("mlp_bias")),
        eps=config["rms_norm_eps"],
        qk_norm=family.qk_norm,
        scale=None if queried is None else queried**-0.5,
        embedding_scale=None if config["model_type"] == "gemma3_text" else 1.0,
    )
    return Decoder(
        config["vocab_size"],
        architecture,
        layers=_layers(config, length),
        tied=_is_tied(config, family),
        seed=0,
    )


def _layers(config: Config, length: int | None) -> list[LayerPattern]:
    """Window and rotation of every layer; layers of one kind share one scheme."""
    kinds = _layer_types(config)
    windowed = config.get("use_sliding_window", True)
    window = config.get("sliding_window") if windowed else None
    count = config["num_hidden_layers"]
    if len(kinds) != count or not {*kinds} <= {LOCAL, GLOBAL} or (LOCAL in kinds and not window):
        raise ValueError(
            f"layer_types must name {LOCAL!r} (with a sliding_window) or {GLOBAL!r} for each of "
            f"the {count} layers, got {kinds!r} and {window}"
        )
    if config["model_type"] == "gemma3_text":
        local_base = "rope_local_base_freq" in config or LOCAL in config["rope_parameters"]
        if not local_base:
            raise ValueError("config names no base for local layers, such as rope_local_base_freq")
    patterns = {}
    for kind in set(kinds):
        patterns[kind] = LayerPattern(
            window=window if kind == LOCAL else None, scheme=_scheme(config, kind, length)
        )
    return [patterns[kind] for kind in kinds]


def _layer_types(config: Config) -> Sequence[str]:
    """`LOCAL` or `GLOBAL` for every layer: as the config lists them, or by its family's rule."""
    given: Sequence[str] | None = config.get("layer_types")
    if given is not None:
        return given
    layers = range(config["num_hidden_layers"])
    if config["model_type"] == "gemma3_text":
        every = config.get("sliding_window_pattern", config.get("_sliding_window_pattern", 6))
        return [LOCAL if (layer + 1) % every else GLOBAL for layer in layers]
    if config.get("use_sliding_window"):
        first = config["max_window_layers"]
        return [LOCAL if layer >= first else GLOBAL for layer in layers]
    return [GLOBAL for _ in layers]


def _scheme(config: Config, kind: str, length: int | None) -> EagerRotary:
    """The rotation of one kind of layer."""
    with torch.device("cpu"):  # frequencies have numbers, also where weights are only shapes
        settings = rotary_settings(config, layer_type=kind, length=length)
    if settings.kind in ("dynamic", "longrope") and length is None:
        raise ValueError(f"a rotation of kind {settings.kind!r} depends on the length: give it")
    return EagerRotary(
        settings.frequencies, layout="half", attention_factor=settings.attention_factor
    )


def _is_tied(config: Config, family: Family) -> bool:
    return bool(config.get("tie_word_embeddings", family.tied))


def _renames(config: Config, family: Family) -> Iterator[Rename]:
    """Every stored name, the name in the book's decoder, and what converts one into the other."""

    def same(tensor: Tensor) -> Tensor:
        return tensor

    def gain(tensor: Tensor) -> Tensor:
        return tensor + family.gain_offset

    yield "model.embed_tokens.weight", "embedding.rows", same
    yield "model.norm.weight", "norm.gain", gain
    if not _is_tied(config, family):
        yield "lm_head.weight", "head.weight", same
    norms = ["attention_residual.norm", "feed_forward_residual.norm"]
    if family.norms == SANDWICH_NORMS:
        norms = [
            "attention_residual.norm",
            "attention_residual.norm_out",
            "feed_forward_residual.norm",
            "feed_forward_residual.norm_out",
        ]
    for i in range(config["num_hidden_layers"]):
        stored = f"model.layers.{i}"
        own = f"blocks.{i}"
        for theirs, ours in zip(family.norms, norms, strict=True):
            yield f"{stored}.{theirs}.weight", f"{own}.{ours}.gain", gain
        for letter, ours in (("q", "query"), ("k", "key"), ("v", "value"), ("o", "output")):
            theirs = f"{stored}.self_attn.{letter}_proj"
            yield f"{theirs}.weight", f"{own}.attention.{ours}.weight", same
            if config.get("attention_bias"):
                yield f"{theirs}.bias", f"{own}.attention.{ours}.bias", same
        if family.qk_norm:
            for letter, ours in (("q", "query"), ("k", "key")):
                theirs = f"{stored}.self_attn.{letter}_norm.weight"
                yield theirs, f"{own}.attention.{ours}_norm.gain", gain
        for theirs, ours in (("gate", "up"), ("up", "value"), ("down", "down")):
            yield f"{stored}.mlp.{theirs}_proj.weight", f"{own}.feed_forward.{ours}.weight", same
            if config.get("mlp_bias"):
                yield f"{stored}.mlp.{theirs}_proj.bias", f"{own}.feed_forward.{ours}.bias", same


def _some(names: Iterable[str]) -> str:
    """The first few names, for a message."""
    return ", ".join(sorted(names)[:4]) or "nothing"
