"""Checkpoints in Hugging Face's format, run by the book's decoder: Llama, Qwen 3, Gemma 3.

Nothing is downloaded and nothing but torch is needed: give the entries of `config.json` and the
tensors by their names. What a config says and this module does not know is an error, never skipped.
"""

from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor

from attention_to_rope.checks import (
    check_float,
    check_same_kind,
    values_are_known,
)
from attention_to_rope.hugging_face_config import (
    LOCAL,
    Config,
    Family,
    checked_family,
    gated_activation,
    head_dimension,
    is_tied,
    layer_types,
    rotary_scheme,
    some,
)
from attention_to_rope.transformer import Architecture, Decoder, LayerPattern

Place = tuple[str, str, Callable[[Tensor], Tensor]]


def load_hugging_face(config: Config, state_dict: Mapping[str, Tensor]) -> Decoder:
    """The book's `Decoder` with the weights of a Llama, Qwen 3 or Gemma 3 checkpoint.

    config: the entries of `config.json`, or `config.to_dict()`, of a text model (`model_type`
    `llama`, `qwen3` or `gemma3_text`); state_dict: its tensors, all of one dtype and on one device,
    which the decoder takes over. In float32 its logits are those of `transformers` to 1e-5; Gemma's
    gains are stored less 1 and lose digits in half types, so give them as float32.

    A key that is not known, a weight that is missing or left over and a shape that does not fit
    are errors.
    """
    family = checked_family(config)
    decoder = _decoder_for(config, family).to(_one_kind(state_dict))
    own = decoder.state_dict()
    for name, target, convert in _places(config, family):
        if name not in state_dict:
            raise ValueError(
                f"state_dict has no {name!r}, which this {config['model_type']} config needs; it "
                f"has {some(state_dict)}. Names must start with 'model.', as in a model with its "
                "language-model head"
            )
        value = convert(state_dict[name])
        if value.shape != own[target].shape:
            raise ValueError(
                f"{name} must fit {target} of shape {tuple(own[target].shape)}, got "
                f"{tuple(state_dict[name].shape)} (torch's nn.Linear stores the transpose); config "
                "and state_dict must belong together"
            )
        own[target] = value
    _check_nothing_is_left(config, family, state_dict)
    # Biases that the checkpoint does not have stay at 0, where they start.
    decoder.load_state_dict(own)
    return decoder


def _decoder_for(config: Config, family: Family) -> Decoder:
    """A decoder of the config's shape; its weights are drawn and do not matter."""
    queried = config.get("query_pre_attn_scalar")
    architecture = Architecture(
        d=config["hidden_size"],
        heads=config["num_attention_heads"],
        layers=config["num_hidden_layers"],
        kv_heads=config.get("num_key_value_heads"),
        head_dim=head_dimension(config),
        hidden=config["intermediate_size"],
        activation=gated_activation(config),
        norm="rms",
        placement="pre" if len(family.norms) == 2 else "sandwich",
        bias=bool(config.get("attention_bias") or config.get("mlp_bias")),
        eps=config["rms_norm_eps"],
        qk_norm=family.qk_norm,
        scale=None if queried is None else queried**-0.5,
        embedding_scale=None if family.scaled_embedding else 1.0,
    )
    return Decoder(
        config["vocab_size"],
        architecture,
        layers=_layers(config),
        tied=is_tied(config, family),
        seed=0,
    )


def _layers(config: Config) -> list[LayerPattern]:
    """Window and rotation of every layer; layers of one kind share one scheme."""
    kinds = layer_types(config)
    window = config.get("sliding_window") if config.get("use_sliding_window", True) else None
    if LOCAL in kinds and window is None:
        raise ValueError(
            f"layers of type {LOCAL!r} need sliding_window in the config, and use_sliding_window "
            f"if it is there; got {config.get('sliding_window')} and "
            f"{config.get('use_sliding_window')}"
        )
    pattern = {
        kind: LayerPattern(
            window=window if kind == LOCAL else None,
            position=rotary_scheme(config, kind),
        )
        for kind in set(kinds)
    }
    return [pattern[kind] for kind in kinds]


def _places(config: Config, family: Family) -> Iterator[Place]:
    """Every stored name, the name in the book's decoder, and what turns one into the other."""

    def same(tensor: Tensor) -> Tensor:
        return tensor

    def transposed(tensor: Tensor) -> Tensor:
        return tensor.mT

    def gain(tensor: Tensor) -> Tensor:
        return tensor + family.gain_offset

    yield "model.embed_tokens.weight", "embedding.rows", same
    yield "model.norm.weight", "norm.gain", gain
    if not is_tied(config, family):
        yield "lm_head.weight", "head.W", transposed
    norms: tuple[str, ...] = ("attention_residual.norm", "feed_forward_residual.norm")
    if len(family.norms) == 4:
        norms = tuple(f"{residual}{side}" for residual in norms for side in ("", "_out"))
    for i in range(config["num_hidden_layers"]):
        stored, own = f"model.layers.{i}", f"blocks.{i}"
        for theirs, ours in zip(family.norms, norms, strict=True):
            yield f"{stored}.{theirs}.weight", f"{own}.{ours}.gain", gain
        for letter, ours in (("q", "query"), ("k", "key"), ("v", "value"), ("o", "output")):
            theirs = f"{stored}.self_attn.{letter}_proj"
            yield f"{theirs}.weight", f"{own}.attention.{ours}.W", transposed
            if config.get("attention_bias"):
                yield f"{theirs}.bias", f"{own}.attention.{ours}.b", same
        for letter, ours in (("q", "query"), ("k", "key")) if family.qk_norm else ():
            theirs = f"{stored}.self_attn.{letter}_norm.weight"
            yield theirs, f"{own}.attention.{ours}_norm.gain", gain
        for theirs, ours in (("gate", "up"), ("up", "value"), ("down", "down")):
            yield f"{stored}.mlp.{theirs}_proj.weight", f"{own}.feed_forward.{ours}.W", transposed
            if config.get("mlp_bias"):
                yield f"{stored}.mlp.{theirs}_proj.bias", f"{own}.feed_forward.{ours}.b", same


def _check_nothing_is_left(
    config: Config, family: Family, state_dict: Mapping[str, Tensor]
) -> None:
    used = {name for name, _, _ in _places(config, family)}
    head = state_dict.get("lm_head.weight")
    if is_tied(config, family) and head is not None:
        used.add("lm_head.weight")
        if values_are_known(head) and not torch.equal(
            head, state_dict["model.embed_tokens.weight"]
        ):
            raise ValueError(
                "the config ties the head to the embedding (tie_word_embeddings), but "
                "lm_head.weight and model.embed_tokens.weight differ; set it to False or drop "
                "lm_head.weight"
            )
    # Older checkpoints also store the frequencies, which the config says.
    left = {name for name in state_dict.keys() - used if not name.endswith("rotary_emb.inv_freq")}
    if left:
        raise ValueError(
            f"state_dict has {len(left)} tensors without a place in this {config['model_type']} "
            f"config: {some(left)}; config and state_dict must belong together"
        )


def _one_kind(state_dict: Mapping[str, Tensor]) -> Tensor:
    """A tensor with the dtype and device that all tensors have."""
    if not isinstance(state_dict, Mapping) or not state_dict:
        raise TypeError(
            "state_dict must map names to tensors and not be empty; got "
            f"{type(state_dict).__name__}; try model.state_dict()"
        )
    first_name, first = next(iter(state_dict.items()))
    for name, tensor in state_dict.items():
        check_float(name, tensor)
        check_same_kind(first_name, first, name, tensor)
    return first
