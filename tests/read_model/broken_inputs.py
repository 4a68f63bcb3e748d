"""Broken and unusual inputs, where the answer names the reason, and the reason."""

import json
from typing import Any

GOOD = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "rope_theta": 10000.0,
    "max_position_embeddings": 4096,
}


def changed(**changes: Any) -> str:
    return json.dumps({key: value for key, value in (GOOD | changes).items() if value != "leave"})


def scaled(**parameters: Any) -> str:
    return changed(rope_scaling=parameters)


HUGE = "1" + "0" * 400
# By name: the text, the place of the reason in the answer, the reason.
INPUTS: dict[str, tuple[Any, str, str | None]] = {
    "nothing": ("", "error", "empty"),
    "blanks": ("  \n ", "error", "empty"),
    "an empty dictionary": ("{}", "error", "empty"),
    "not JSON": ("rope_theta: 10000", "error", "not_json"),
    "cut off": (changed()[:-5], "error", "not_json"),
    "a program": ("(() => { globalThis.executed = 1 })()", "error", "not_json"),
    "Python's dictionary": ("{'rope_theta': None}", "error", "not_json"),
    "a comment": ("// config\n" + changed(), "error", "not_json"),
    "a list": ("[1, 2]", "error", "not_an_object"),
    "a number": ("42", "error", "not_an_object"),
    "a text": ('"config"', "error", "not_an_object"),
    "null": ("null", "error", "not_an_object"),
    "nothing at all": (None, "error", "not_an_object"),
    "too long": (" " * 5_000_001 + "1", "error", "too_long"),
    "a number as a text": (changed(hidden_size="64"), "error", "not_a_count"),
    "a base as a text": (changed(rope_theta="1e4"), "error", "not_a_number"),
    "a negative number of heads": (changed(num_attention_heads=-4), "error", "not_a_count"),
    "half a layer": (changed(num_hidden_layers=2.5), "error", "not_a_count"),
    "a huge number of layers": (changed(num_hidden_layers=10**12), "error", "too_large"),
    "a number beyond floats": (f'{{"head_dim": {HUGE}}}', "error", "not_a_count"),
    "a base beyond floats": (f'{{"head_dim": 64, "rope_theta": {HUGE}}}', "error", "not_a_number"),
    "true for a number": (changed(head_dim=True), "error", "not_a_count"),
    "a list for a dictionary": (changed(rope_scaling=[1]), "error", "not_a_dictionary"),
    "a text for a dictionary": (changed(rope_parameters="yarn"), "error", "not_a_dictionary"),
    "a dictionary for a list": (changed(layer_types={"0": "full"}), "error", "not_a_list"),
    "numbers for kinds": (changed(layer_types=[1, 2]), "error", "not_a_list"),
    "a number for a model type": (changed(model_type=3), "error", "not_a_text"),
    "two texts": (changed(text_config={"rope_theta": 5e5}), "error", "beside_text_config"),
    "a width alone": ('{"hidden_size": 1}', "error", "not_a_model"),
    "another dictionary": ('{"name": "x", "version": "1.0"}', "error", "not_a_model"),
    "a model inside": (json.dumps({"llm_config": GOOD}), "error", "inner_model"),
    "no heads": (changed(num_attention_heads="leave"), "refused", "no_heads"),
    "no layers": (changed(num_hidden_layers="leave"), "refused", "no_layers"),
    "0 layers": (changed(num_hidden_layers=0), "refused", "no_layers"),
    "too few kinds": (changed(layer_types=["full_attention"]), "refused", "layer_count"),
    "an unheard-of kind": (changed(layer_types=["x", "y"]), "refused", "unknown_layer"),
    "a kind named __proto__": (changed(layer_types=["__proto__"] * 2), "refused", "unknown_layer"),
    "no base": (changed(rope_theta="leave"), "rotation", "no_base"),
    "a negative base": (changed(rope_theta=-1), "rotation", "not_positive"),
    "an unheard-of rule": (scaled(rope_type="magic"), "rotation", "unknown_rule"),
    "a rule named constructor": (scaled(rope_type="constructor"), "rotation", "unknown_rule"),
    "no factor": (scaled(rope_type="linear"), "rotation", "missing_parameter"),
    "a rule's unknown key": (scaled(rope_type="linear", x=1), "rotation", "unknown_parameters"),
    "an unknown key": (changed(rope_magic=1), "rotation", "unknown_keys"),
    "odd heads": (changed(head_dim=63), "rotation", "odd_share"),
    "a type named constructor": (changed(model_type="constructor"), "read", None),
    "a type named __proto__": (changed(model_type="__proto__"), "read", None),
    "a key named __proto__": ('{"__proto__": {"a": 1}, ' + changed()[1:], "read", None),
    "a key named toString": (changed(toString=1, valueOf=2), "read", None),
    "markup in a name": (changed(_name_or_path="<img src=x onerror=alert(1)>"), "read", None),
    "an inner text_config": (json.dumps({"text_config": GOOD}), "read", None),
    "a byte order mark": ("\ufeff" + changed(), "read", None),
}
