"""Why a configuration cannot be read: every reason once, with a name and a sentence.

The page that reads a configuration in the browser has the same names and sentences, because its
data file is written from `REASONS` (`python -m bookkit.model_rules`).
"""

from typing import Any

REASONS = {
    # What the values must be.
    "not_a_count": "{key} must be a whole number of at least 0, got {value}",
    "not_a_number": "{key} must be a finite number, got {value}",
    "not_a_text": "{key} must be a text, got {value}",
    "not_a_list": "{key} must be a list, got {value}",
    "not_a_dictionary": "{key} must be a dictionary, got {value}",
    "too_large": "{key} is {value}, which no model has: at most {largest} can be read",
    # Which configuration, and which keys.
    "beside_text_config": (
        "config[{key}] is given beside text_config, which says {inside}: hand over the dictionary "
        "that describes the text model"
    ),
    "unknown_keys": (
        "{where} has keys that may change the rotation and are not known: {keys}. Find out what "
        "they do in the model's code; leave out those that do not change it"
    ),
    "unsupported_model": "models of type {model} are not supported: {why}",
    "position_embedding": "position_embedding_type is {value}: this model does not rotate",
    "does_not_rotate": "config[{key}] is {value}: this model does not rotate",
    "rotates_values": "config['rotary_value'] rotates the values too, which is not supported",
    "unread_key": (
        "transformers' {model} does not read {key}: say rope_theta and partial_rotary_factor in "
        "rope_parameters"
    ),
    "some_layers_scaled": (
        "rope_scaling_layers names some of the layers: for these leave the key out, for the "
        "others also the scaling"
    ),
    # The rope parameters of a layer.
    "layer_type_needed": "layers differ: layer_type must be one of {kinds}; got {value}",
    "beside_kinds": (
        "the rope parameters have {keys} beside those of each kind of layer, where transformers "
        "does not read them: move them inside"
    ),
    "truncate_inside": (
        "the rope parameters of {kind} have 'truncate', which transformers reads beside the kinds "
        "of layers: move it there"
    ),
    "two_dictionaries": (
        "config has both rope_parameters and rope_scaling, and they differ. transformers takes "
        "rope_scaling alone, without the base in rope_parameters: leave one of them out"
    ),
    "new_name_only": "transformers' {model} does not read rope_scaling: call it rope_parameters",
    "own_parameters": (
        "models of type {model} have rope parameters of their own where config names none: add "
        "'rope_parameters'"
    ),
    "list_too_short": "config[{key}] has no entry for layer {layer}; entries: {entries}",
    "layers_differ": "layers differ in {key}: say which one with layer=, its number from 0 on",
    "window_or_full_needed": (
        "layers differ in models of type {model}: layer_type must be {sliding} or {full}, which "
        "does not rotate; got {value}"
    ),
    "fixed_base": "models of type {model} have the base {fixed}; config says {base}",
    "base_by_layer": (
        "layer_rope_theta says {own} and rope_theta {base}: models of type {model} are not known "
        "to take the base from layer_rope_theta"
    ),
    "no_base": "config names no base: add 'rope_theta'; classes have different defaults",
    "no_head_dim": "config names no head dim: add 'head_dim'",
    "unstated_part": "models of type {model} rotate a part of each head: add {key}",
    "share_out_of_range": "{key} must be positive and at most 1, got {value}",
    "share_not_read": (
        "{key} is {value}, but transformers' {model} rotates all of each head: leave it out"
    ),
    "two_rotary_dims": (
        "config says {key} {named} and partial_rotary_factor {share}, which is {by_share} of "
        "head_dim {head_dim}: leave out what the model's code does not read"
    ),
    "rotary_dim_not_read": (
        "transformers' {model} does not read rotary_dim: say partial_rotary_factor"
    ),
    "odd_share": (
        "partial_rotary_factor {share} of head_dim {head_dim} is {rotary_dim}: the number must be "
        "even, because dimensions rotate in pairs"
    ),
    # The rule that scales the frequencies.
    "unknown_rule": "rope_type must be one of {kinds}; got {value}",
    "not_a_rotation": "{key} {what}",
    "unknown_parameters": "the rope parameters of type {kind} hold unknown keys: {keys}",
    "missing_parameter": "scaling of type {kind} needs {key}, which the config does not name",
    "not_even": (
        "the number of rotary dimensions must be even and at least 2, because dimensions rotate "
        "in pairs; got {value}"
    ),
    "not_positive": "{key} must be a positive finite number, got {value}",
    "length_too_short": "scaling of type {kind} needs a trained length of at least {least}, "
    "got {value}",
    "limits_in_wrong_order": (
        "the limits of scaling of type {kind} must be positive, the slow one at most the fast "
        "one; got {slow} and {fast}"
    ),
    "two_pairs_needed": "scaling of type {kind} needs at least two pairs, got {value}",
    "base_too_small": "scaling of type {kind} needs a base above 1, got {value}",
    "wrong_factors": "{key} must have a positive factor for each of the {pairs} pairs",
    # The attention of the layers.
    "no_layers": "config names no number of layers: add 'num_hidden_layers'",
    "no_heads": "config names no number of heads: add 'num_attention_heads'",
    "layer_count": (
        "config[{key}] needs an entry for each layer; entries: {entries}, layers: {layers}"
    ),
    "unknown_layer": "what layers of type {kind} keep is not known",
    "unknown_pattern": (
        "config has a sliding_window and does not say which layers have it: add 'layer_types'"
    ),
    "kinds_needed": "layers of models of type {model} differ: add 'layer_types'",
    "no_window": "layers of type {kind} need {key}, which the config does not name",
    "no_rate": "layers of type {kind} need an entry in compress_rates",
}


class ConfigError(ValueError):
    """A configuration that cannot be read; `reason` is a name in `REASONS`."""

    def __init__(self, reason: str, **values: Any) -> None:
        super().__init__(REASONS[reason].format(**values))
        self.reason = reason
