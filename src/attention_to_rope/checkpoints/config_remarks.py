"""Which of the sentences of `REMARKS` hold for a configuration; nothing is computed for them."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from attention_to_rope.checkpoints.attention_types import SWITCHED_WINDOW_MODELS
from attention_to_rope.checkpoints.config_values import is_number
from attention_to_rope.checkpoints.model_types import TRAINED_LENGTHS
from attention_to_rope.checkpoints.remarks import REMARKS
from attention_to_rope.checkpoints.rotary_keys import Config, first_given, model_type, text_part

ROPE_KEYS = ("rope_parameters", "rope_scaling")
# The keys that transformers 5 moved into `rope_parameters`.
MOVED_KEYS = ("rope_theta", "rope_scaling", "rotary_emb_base", "rotary_pct", "rope_local_base_freq")
ORIGINAL = "original_max_position_embeddings"


class Said(NamedTuple):
    """A sentence of `REMARKS` with its values."""

    name: str
    text: str

    @property
    def fault(self) -> bool:
        """Whether something is wrong."""
        return REMARKS[self.name].fault


def _say(name: str, **values: Any) -> Said:
    shown = {key: _plain(value) for key, value in values.items()}
    return Said(name, REMARKS[name].text.format(**shown))


def _plain(value: Any) -> Any:
    """A number without a useless “.0”."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def rope_dictionaries(config: Config) -> list[Config]:
    """Every dictionary of rope parameters of a text model."""
    found: list[Config] = []
    for key in ROPE_KEYS:
        held = config.get(key)
        if isinstance(held, Mapping):
            found += [held, *(value for value in held.values() if isinstance(value, Mapping))]
    return found


def _original(config: Config) -> Any:
    """The trained length as a configuration says it, None if it does not."""
    held = [one.get(ORIGINAL) for one in rope_dictionaries(config)]
    return first_given(config.get(ORIGINAL), *held)


def trained_length(config: Config) -> Any:
    """The length of the texts in training: as said, as known of the family, or as offered."""
    longest = config.get("max_position_embeddings")
    known = TRAINED_LENGTHS.get(str(model_type(config)), {})
    return first_given(
        _original(config), known.get(longest) if is_number(longest) else None, longest
    )


def rule_remarks(config: Config) -> list[Said]:
    """What to look at twice in the rule and the flags of a configuration, each once."""
    config = text_part(config)
    said = [*_flag_remarks(config)]
    for parameters in rope_dictionaries(config):
        said += _parameter_remarks(config, parameters)
    return list(dict.fromkeys(said))


def name_remarks(config: Config) -> list[Said]:
    """Whether the keys are those of transformers 5, or older ones."""
    config = text_part(config)
    older = [key for key in MOVED_KEYS if config.get(key) is not None]
    if older and not config.get("rope_parameters"):
        return [_say("old_keys", keys=", ".join(older))]
    if config.get("rope_parameters") and not older:
        return [_say("new_keys")]
    return []


def _flag_remarks(config: Config) -> Iterator[Said]:
    """About keys outside the rope parameters."""
    rotary = config.get("qk_rope_head_dim")
    held = [one.get("partial_rotary_factor") for one in rope_dictionaries(config)]
    share = first_given(config.get("partial_rotary_factor"), *held)
    if rotary and share is not None and share != 1:
        yield _say("latent_share", rotary=rotary, share=share)
    if config.get("no_rope_layers"):
        yield _say("no_rope_flags")
    longest = config.get("max_position_embeddings")
    trained = trained_length(config)
    if trained is not None and trained != longest and _original(config) is None:
        yield _say("room_for_output", longest=longest, trained=trained, room=longest - trained)
    window = config.get("sliding_window")
    switched = model_type(config) in SWITCHED_WINDOW_MODELS
    if window and switched and not config.get("use_sliding_window"):
        yield _say("window_off", window=window)


def _parameter_remarks(config: Config, parameters: Config) -> Iterator[Said]:
    """About one dictionary of rope parameters."""
    new = parameters.get("rope_type")
    old = parameters.get("type")
    if new is not None and old is not None and new != old:
        yield _say("two_kinds", new=repr(new), old=repr(old))
    rule = first_given(new, old, "default")
    factor = parameters.get("factor")
    longest = config.get("max_position_embeddings")
    trained = first_given(config.get(ORIGINAL), parameters.get(ORIGINAL))
    if is_number(factor) and factor < 1:
        yield _say("factor_below_one", factor=factor)
    stretches = is_number(factor) and factor > 1 and is_number(longest)
    if rule in ("yarn", "llama3") and stretches and trained is None:
        yield _say("factor_twice", rule=rule, longest=longest, factor=factor)
    if rule == "yarn" and is_number(factor) and is_number(trained) and is_number(longest):
        reach = int(trained * factor)
        if reach < longest:
            yield _say(
                "reach_too_short",
                longest=longest,
                rule=rule,
                trained=trained,
                factor=factor,
                reach=reach,
            )
    switch = first_given(trained, longest)
    if rule in ("longrope", "su") and switch is not None:
        yield _say("longrope_switch", trained=switch)
    if rule == "dynamic":
        yield _say("dynamic")
    if parameters.get("mrope_section") is not None:
        yield _say("several_axes")
    strength = parameters.get("llama_4_scaling_beta")
    length = parameters.get(ORIGINAL)
    if strength and length:
        yield _say("query_scale", strength=strength, length=length)
