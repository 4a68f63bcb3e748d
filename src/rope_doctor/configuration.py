"""What a Hugging Face configuration says of a model's rotations, and what to look at twice."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

from attention_to_rope.checkpoints import RotarySettings, rotary_settings
from attention_to_rope.checkpoints.config_remarks import rope_dictionaries, rule_remarks
from attention_to_rope.checkpoints.remarks import REMARKS
from attention_to_rope.checkpoints.rotary import without_other_scales
from rope_doctor.families import Wanted

Config = Mapping[str, Any]


class Reading(NamedTuple):
    """The rotations of a configuration, one for each kind of layer, and remarks about it."""

    wanted: list[Wanted]
    faults: list[str]
    notes: list[str]

    def __str__(self) -> str:
        lines = [f"{wanted.name}: {describe(wanted.settings)}" for wanted in self.wanted]
        lines += [f"FAULT {text}" for text in self.faults]
        return "\n".join([*lines, *(f"note {text}" for text in self.notes)])


def load_config(path: Path | str) -> dict[str, Any]:
    """The configuration in a file, or in the `config.json` of a folder."""
    place = Path(path)
    if place.is_dir():
        place = place / "config.json"
    config = json.loads(place.read_text(encoding="utf-8"))
    if not isinstance(config, dict):
        raise ValueError(f"{place} holds no dictionary but {type(config).__name__}")
    return config


def describe(settings: RotarySettings) -> str:
    """A rotation in words."""
    if settings.rotary_dim == 0:
        return "does not rotate"
    text = (
        f"layout {settings.layout or 'not known'}, base {settings.base:g}, "
        f"{settings.rotary_dim} of {settings.head_dim} dimensions, scaling {settings.kind}"
    )
    if settings.attention_factor != 1:
        text += f", cos and sin × {settings.attention_factor:.6g}"
    if settings.score_factor != 1:
        text += f", softmax scale × {settings.score_factor:.6g}"
    return text


def read_config(
    config: Config, *, layer_type: str | None = None, layer: int | None = None
) -> Reading:
    """All rotations of a configuration, or those of one kind of layer, or of one layer."""
    wanted = _rotations(_rotation_of(config), layer_type, layer)
    raised = _alpha(config) is not None
    read = _rotation_of(config) if raised else config  # alpha is no matter of the length
    notes = _notes(read, wanted)
    if raised:
        notes.append(
            f"alpha: HunYuan's code takes base · alpha^(d/(d − 2)) = {wanted[0].settings.base:.6g} "
            "for the base, and leaves the other keys of its scaling unread; compared up to the "
            "trained length"
        )
    return Reading(wanted, _faults(read), notes)


def _wanted(name: str, settings: RotarySettings, config: Config) -> Wanted:
    text = _text_part(config)
    latent = text.get("qk_rope_head_dim") is not None
    return Wanted(name, settings, settings.layout, latent)


def _rotations(config: Config, layer_type: str | None, layer: int | None) -> list[Wanted]:
    """Equal rotations once, each with the name of its layers."""
    try:
        settings = rotary_settings(config, layer_type=layer_type, layer=layer)
        return [_wanted(layer_type or "all layers", settings, config)]
    except ValueError as error:
        if layer_type is not None or layer is not None or "layers differ" not in str(error):
            raise
    text = _text_part(config)
    kinds = dict.fromkeys(text.get("layer_types") or [])
    for key in ("rope_parameters", "rope_scaling"):
        nested = text.get(key) or {}
        kinds |= dict.fromkeys(kind for kind in nested if isinstance(nested[kind], Mapping))
    kinds |= dict.fromkeys(("sliding_attention", "full_attention"))
    found: list[Wanted] = []
    for kind in kinds:
        try:
            settings = rotary_settings(config, layer_type=kind)
        except ValueError:
            continue
        _add(found, _wanted(kind, settings, config))
    for index in range(0 if found else text.get("num_hidden_layers") or 0):
        _add(found, _wanted(f"layer {index}", rotary_settings(config, layer=index), config))
    if not found:
        rotary_settings(config)  # raises, with the reason
    return found


def _alpha(config: Config) -> float | None:
    """HunYuan's alpha, which raises the base once, whatever the length of the text."""
    text = _text_part(config)
    for parameters in rope_dictionaries(text):
        kind = parameters.get("rope_type") or parameters.get("type")
        alpha: Any = parameters.get("alpha")
        if kind != "dynamic" or not alpha:
            continue
        if not str(text.get("model_type")).startswith("hunyuan"):
            raise ValueError(
                "alpha of the scaling 'dynamic' is read for HunYuan's model types only. If your "
                "code does as HunYuan's, give rope_theta = base · alpha^(d/(d − 2)) and no scaling"
            )
        return float(alpha)
    return None


def _rotation_of(config: Config) -> dict[str, Any]:
    """The configuration as `rotary_settings` reads it, without what is no rotation."""
    cleaned = without_other_scales(config)
    alpha = _alpha(config)
    if alpha is None:
        return cleaned
    text = dict(_text_part(cleaned))
    held = [dict(text.get(key) or {}) for key in ("rope_parameters", "rope_scaling")]
    given = [text.get("rope_theta"), *(one.get("rope_theta") for one in held)]
    base = float(next((value for value in given if value is not None), 10_000.0))
    plain = text | {"rope_theta": base}
    for key in ("rope_parameters", "rope_scaling"):
        plain.pop(key, None)
    dim = rotary_settings(plain).head_dim
    plain["rope_theta"] = base * alpha ** (dim / (dim - 2))
    return cleaned | {"text_config": plain} if "text_config" in cleaned else plain


def frequencies_at(config: Config, layer_type: str | None, length: int) -> torch.Tensor:
    """The frequencies of a configuration for a text of this length."""
    rotation = _rotation_of(config)
    return rotary_settings(rotation, layer_type=layer_type, length=length).frequencies


def longest_text(config: Config) -> int | None:
    """The number of positions that a configuration allows, if it says so."""
    longest: Any = _text_part(config).get("max_position_embeddings")
    return longest if isinstance(longest, int) and longest > 0 else None


def sections(config: Config) -> list[int] | None:
    """For each pair, which of time, height and width its position is, in M-RoPE; else None."""
    for parameters in rope_dictionaries(_text_part(config)):
        section: Any = parameters.get("mrope_section")
        if not isinstance(section, list) or len(section) != 3:
            continue
        if not parameters.get("mrope_interleaved"):
            return [axis for axis, count in enumerate(section) for _ in range(count)]
        axes = [0] * sum(section)
        for axis in (1, 2):
            for pair in range(axis, 3 * section[axis], 3):
                axes[pair] = axis
        return axes
    return None


def _add(found: list[Wanted], wanted: Wanted) -> None:
    """Add a rotation unless it is there already."""
    for other in found:
        same = torch.equal(other.settings.frequencies, wanted.settings.frequencies)
        if same and other.settings[1:] == wanted.settings[1:]:
            return
    found.append(wanted)


def _text_part(config: Config) -> Config:
    text = config.get("text_config")
    return text if isinstance(text, Mapping) else config


def _faults(config: Config) -> list[str]:
    """What contradicts itself."""
    return [said.text for said in rule_remarks(config) if said.fault]


def _notes(config: Config, wanted: list[Wanted]) -> list[str]:
    """What is no fault, but easily overlooked."""
    notes = [said.text for said in rule_remarks(config) if not said.fault]
    if any(one.settings.rotary_dim and one.layout is None for one in wanted):
        notes.append(f"layout: {REMARKS['layout_unknown'].text}")
    if any(one.settings.kind in ("dynamic", "longrope") for one in wanted):
        notes.append("the frequencies depend on the length of the text; these are for a short one")
    notes += [text for one in wanted for text in softmax_notes(one)]
    return list(dict.fromkeys(notes))


def softmax_notes(wanted: Wanted) -> list[str]:
    """What scores need beside the rotation, where latent attention has YaRN's mscale."""
    score_factor = wanted.settings.score_factor
    if score_factor == 1:
        return []
    return [
        f"softmax scale: multiply 1/√d by {score_factor:.6g}, the square of "
        f"{score_factor**0.5:.6g} (mscale_all_dim; 0.1 · mscale · ln(factor) + 1), also for "
        "dimensions that do not rotate; no rotation shows whether your attention does"
    ]
