"""Modules that bring a rotary class: transformers' models and classes, and other people's.

A class of transformers gives cos and sin, and a function of its module rotates with them. The
adapter joins the two. What is installed is asked for by name; the doctor needs none of it.
"""

import importlib
import inspect
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attention_to_rope.checkpoints.model_types import HEAD_DIM_KEYS, INTERLEAVED_MODELS
from rope_doctor.calling import KEY_NAMES, is_position

ROTARY = re.compile("rotary|rope", re.IGNORECASE)
# Positions of pixels, frames or sounds, and what only contains a rotary class.
OTHERS = re.compile("Vision|Audio|ViT|Image|Video|Conformer|DiT|Attention|Indexer|Model|For")
OTHER_PATHS = re.compile("vision|visual|audio|tower|image|video", re.IGNORECASE)


class Adapted(NamedTuple):
    """A function that the doctor can examine, and what is known of its model."""

    function: Callable[..., Any]
    head_dim: int | None
    config: dict[str, Any] | None
    notes: list[str]
    score_factor: float | None = None  # of the softmax, where latent attention tells its scale


def adapt(model: nn.Module, layer_type: str | None) -> Adapted:
    """The rotation of a module: the module itself, or the rotary class that it holds."""
    rotary = find_rotary(model)
    if rotary is None:
        return Adapted(model, None, _config_of(model), [])
    config = _config_of(model) or _config_of(rotary)
    notes = [] if rotary is model else [f"examined: {type(rotary).__name__} of the model"]
    own = getattr(rotary, "rotate_queries_or_keys", None)
    if own is not None:
        return Adapted(own, getattr(rotary, "dim", None), config, notes)
    if not makes_table(rotary):
        return Adapted(rotary, getattr(rotary, "dim", None), config, notes)
    layer_type = layer_type or _first_kind(rotary)
    apply = find_apply(rotary, model, config or {})
    if apply is None:
        notes.append("its module has no function apply_rotary…: its table was used with halves")
        apply = rotate_halves
    if layer_type is not None:
        notes.append(f"layers of the kind {layer_type}")
    head_dim = _head_dim(config or {}, layer_type) or _table_width(rotary, layer_type)
    function = joined(rotary, apply, layer_type)
    return Adapted(function, head_dim, config, notes, _score_factor(model))


def _score_factor(model: nn.Module) -> float | None:
    """By how much latent attention multiplies the usual scale of the softmax, 1/√d."""
    for module in model.modules():
        scale = getattr(module, "scaling", None)
        length = getattr(module, "qk_head_dim", None)
        if isinstance(scale, float) and isinstance(length, int):
            return scale * math.sqrt(length)
    return None


def find_rotary(model: nn.Module) -> nn.Module | None:
    """The rotary class nearest to the top of a module."""
    found: list[tuple[int, str, nn.Module]] = []
    for path, module in model.named_modules():
        name = type(module).__name__
        if ROTARY.search(name) and (not OTHERS.search(name) or hasattr(module, "inv_freq")):
            found.append((path.count("."), path, module))
    if not found:
        return None
    return min(found, key=lambda entry: (bool(OTHER_PATHS.search(entry[1])), entry[0]))[2]


def makes_table(rotary: nn.Module) -> bool:
    """Whether a module gives cos and sin, or complex numbers, for positions."""
    names = list(inspect.signature(rotary.forward).parameters)
    if not any(is_position(name) or name == "seq_len" for name in names):
        return False
    x = torch.zeros(1, 1, 3, 2)
    try:
        told = _table(rotary, x, torch.arange(3)[None], _first_kind(rotary))
    except Exception:  # it wants vectors of its own length, as a function that rotates does
        return False
    if torch.is_tensor(told):
        return told.is_complex()
    return len(told) == 2 and all(torch.is_tensor(part) and part.shape[-2] == 3 for part in told)


def _table(rotary: nn.Module, x: Tensor, ids: Tensor, layer_type: str | None) -> Any:
    names = list(inspect.signature(rotary.forward).parameters)
    if layer_type is not None and "layer_type" in names:
        return rotary(x, ids, layer_type)
    if "seq_len" in names:  # as before transformers 4.38: the table of all positions up to a length
        cos, sin = rotary(x, seq_len=int(ids.max()) + 1)
        return cos.squeeze()[ids], sin.squeeze()[ids]
    return rotary(x, ids)


def kinds_of_layers(rotary: nn.Module) -> list[str | None]:
    """The kinds of layers that a class has tables for; none if all layers share one."""
    if "layer_type" not in inspect.signature(rotary.forward).parameters:
        return []
    buffers = [name for name, _ in rotary.named_buffers() if name.endswith("_inv_freq")]
    known = [name.removesuffix("_inv_freq") for name in buffers if "original" not in name]
    named = getattr(getattr(rotary, "config", None), "layer_types", None) or known
    found: list[str | None] = [k for k in dict.fromkeys(named) if not known or k in known]
    return found or list(known)  # DeepSeek-V4 calls its tables otherwise than its layers


def _first_kind(rotary: nn.Module) -> str | None:
    """The first kind of layer, where the class asks for one."""
    kinds = kinds_of_layers(rotary)
    return kinds[0] if kinds else None


def _config_of(module: nn.Module) -> dict[str, Any] | None:
    """The configuration of a module of transformers, as a dictionary."""
    config = getattr(module, "config", None)
    if config is None or not hasattr(config, "to_dict"):
        return None
    return dict(config.to_dict())


def _head_dim(config: dict[str, Any], layer_type: str | None) -> int | None:
    """The length of a head, by the keys that models of transformers use."""
    text = config.get("text_config") or config
    if text.get("qk_rope_head_dim"):
        return int(text["qk_rope_head_dim"])
    if layer_type == "full_attention" and text.get("global_head_dim"):
        return int(text["global_head_dim"])
    key = HEAD_DIM_KEYS.get(str(text.get("model_type")), "head_dim")
    if text.get(key):
        return int(text[key])
    width = text.get("hidden_size") or text.get("n_embd")
    heads = text.get("num_attention_heads") or text.get("n_head")
    return int(width // heads) if width and heads else None


def _table_width(rotary: nn.Module, layer_type: str | None) -> int:
    """How many dimensions the table of a class rotates."""
    told = _table(rotary, torch.zeros(1, 1, 3, 2), torch.arange(3)[None], layer_type)
    return 2 * told.shape[-1] if torch.is_tensor(told) else int(told[0].shape[-1])


def find_apply(
    rotary: nn.Module, model: nn.Module, config: dict[str, Any]
) -> Callable[..., Any] | None:
    """The function that rotates with the table: that of the modules of the model's classes."""
    places = [type(rotary).__module__, type(model).__module__]
    found: dict[str, Callable[..., Any]] = {}
    for place in places:
        for name, value in vars(sys.modules.get(place, object)).items():
            if name.startswith(("apply_rotary", "apply_rope")) and inspect.isfunction(value):
                found.setdefault(name, value)
    usable = {name: value for name, value in found.items() if not OTHERS.search(name.title())}
    usable = {name: value for name, value in usable.items() if "vision" not in name}
    text = config.get("text_config") or config
    # Where a module has two functions, the other one belongs to an indexer.
    if text.get("rope_interleave") or text.get("model_type") in INTERLEAVED_MODELS:
        for name, value in usable.items():
            if "interleave" in name:
                return value
    preferred = [name for name in usable if "interleave" not in name]
    chosen = sorted(preferred or usable, key=lambda name: (name != "apply_rotary_pos_emb", name))
    return usable[chosen[0]] if chosen else None


def rotate_halves(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    """Rotate in halves with a table (b, n, d), for classes without a function of their own."""
    results = []
    for x in (q, k):
        first, second = x.chunk(2, dim=-1)
        turned = torch.cat((-second, first), dim=-1)
        results.append(x * cos.unsqueeze(1) + turned * sin.unsqueeze(1))
    return results[0], results[1]


def joined(
    rotary: nn.Module, apply: Callable[..., Any], layer_type: str | None
) -> Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]:
    """A rotary class and the function that uses its table, as one function of positions."""
    takes_keys = any(name in KEY_NAMES for name in inspect.signature(apply).parameters)
    heads_last = _wants_heads_last(rotary, apply, layer_type)

    def use(q: Tensor, k: Tensor, told: Any) -> tuple[Tensor, Tensor]:
        if torch.is_tensor(told):  # complex numbers
            if heads_last:
                rotated = apply(q.transpose(1, 2), k.transpose(1, 2), told)
                return rotated[0].transpose(1, 2), rotated[1].transpose(1, 2)
            rotated = apply(q, k, told)
            return rotated[0], rotated[1]
        if takes_keys:
            rotated = apply(q, k, *told)
            return rotated[0], rotated[1]
        return apply(q, *told), apply(k, *told)

    def rotation(q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        ids = positions if positions.ndim == 2 else positions[None]
        told = _table(rotary, q, ids, layer_type)
        width = 2 * told.shape[-1] if torch.is_tensor(told) else told[0].shape[-1]
        if width < q.shape[-1]:
            try:
                rotated = use(q, k, told)
                if rotated[0].shape == q.shape:
                    return rotated
            except RuntimeError:  # its attention hands over the rotary dimensions alone
                pass
            first, second = use(q[..., :width], k[..., :width], told)
            return torch.cat((first, q[..., width:]), -1), torch.cat((second, k[..., width:]), -1)
        return use(q, k, told)

    return rotation


def _wants_heads_last(rotary: nn.Module, apply: Callable[..., Any], layer_type: str | None) -> bool:
    """Whether a function that takes complex numbers wants vectors (b, n, h, d)."""
    x = torch.zeros(1, 3, 5, _table_width(rotary, layer_type))
    told = _table(rotary, x, torch.arange(3)[None], layer_type)
    if not torch.is_tensor(told):
        return False
    try:
        apply(x, x, told)
    except RuntimeError:  # three positions and five heads do not fit the other way round
        return False
    return True


def rotary_of_folder(folder: Path | str) -> nn.Module | None:
    """The rotary class of a model folder, from its configuration; None without transformers."""
    try:
        transformers = importlib.import_module("transformers")
    except ImportError:
        return None
    config = transformers.AutoConfig.from_pretrained(str(folder), local_files_only=True)
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    place = type(text).__module__.replace(".configuration_", ".modeling_")
    module = importlib.import_module(place)
    for name, value in vars(module).items():
        own = inspect.isclass(value) and issubclass(value, nn.Module)
        if own and ROTARY.search(name) and not OTHERS.search(name):
            built: nn.Module = value(text)
            return built
    raise ValueError(f"{place} has no rotary class that is built from a configuration")
