"""What to look at twice in a configuration: sentences in plain words, each with its page.

`{name}` in a sentence is a value; the page that reads a configuration in the browser has the same
sentences, because its data file is written from `REMARKS` (`python -m bookkit.model_rules`).
"""

from typing import NamedTuple


class Remark(NamedTuple):
    """A sentence, whether it says that something is wrong, and the page that explains it."""

    text: str
    page: str
    anchor: str
    fault: bool = False


REMARKS = {
    # What contradicts itself.
    "two_kinds": Remark(
        "Two kinds of scaling: rope_type says {new}, type says {old}. Keep rope_type, and leave "
        "type out.",
        "deeper/configurations",
        "keys-that-moved-in-version-5-of-transformers",
        fault=True,
    ),
    "factor_below_one": Remark(
        "The factor {factor} is below 1, so angles grow. The factor is the wanted length over the "
        "trained one.",
        "deeper/lengths",
        "one-example-engine-by-engine",
        fault=True,
    ),
    "factor_twice": Remark(
        "No original_max_position_embeddings is given, so {rule} takes max_position_embeddings "
        "({longest}) for the trained length and stretches it by {factor} once more. If {longest} "
        "is already the long length, the factor counts twice: add the trained length as "
        "original_max_position_embeddings.",
        "deeper/lengths",
        "one-example-engine-by-engine",
    ),
    "reach_too_short": Remark(
        "max_position_embeddings is {longest}, but {rule} stretches {trained} × {factor} = {reach} "
        "positions.",
        "deeper/lengths",
        "one-example-engine-by-engine",
    ),
    # Keys and their names.
    "old_keys": Remark(
        "This file has the older keys ({keys}). transformers 5 moves them into rope_parameters, so "
        "there getattr(config, 'rope_theta', 10000) silently returns 10000.",
        "deeper/configurations",
        "keys-that-moved-in-version-5-of-transformers",
    ),
    "new_keys": Remark(
        "This file has the keys of transformers 5. A program written for version 4 finds neither "
        "rope_theta nor rope_scaling in it, and takes its own defaults without a word.",
        "deeper/configurations",
        "keys-that-moved-in-version-5-of-transformers",
    ),
    "latent_share": Remark(
        "qk_rope_head_dim ({rotary}) already counts the rotary dimensions alone. Do not multiply "
        "it by partial_rotary_factor ({share}).",
        "deeper/configurations",
        "a-factor-for-a-part-that-is-already-separate",
    ),
    "no_rope_flags": Remark(
        "no_rope_layers is 1 where a layer rotates, and 0 where it does not; the name suggests the "
        "opposite.",
        "deeper/configurations",
        "layers-without-rope",
    ),
    "nope_layers": Remark(
        "Layers that do not rotate: {count} of {layers}. An engine that does not know this model "
        "rotates every layer, without an error.",
        "deeper/configurations",
        "layers-without-rope",
    ),
    "layout_unknown": Remark(
        "The configuration does not say which dimensions form a pair, and its type of model is not "
        "known here: read the model's code.",
        "deeper/configurations",
        "one-layout-many-names",
    ),
    "indexer_layout": Remark(
        "The indexer has a layout of its own, which may differ from that of the attention; a wrong "
        "one selects other keys, and short texts look right.",
        "deeper/configurations",
        "two-layouts-or-two-bases-in-one-model",
    ),
    "two_bases": Remark(
        "Kinds of layers have different rotations. All parts of one layer must use one base.",
        "deeper/configurations",
        "two-layouts-or-two-bases-in-one-model",
    ),
    # Rules that depend on the length.
    "room_for_output": Remark(
        "max_position_embeddings ({longest}) is more than the {trained} tokens of training: its "
        "makers add {room} for a prompt before an answer of that length. A longer text is "
        "stretched from {trained}.",
        "deeper/lengths",
        "one-example-engine-by-engine",
    ),
    "longrope_switch": Remark(
        "LongRoPE uses long_factor as soon as the text is longer than {trained} tokens, and "
        "short_factor up to there. Keys in the cache keep the list with which they were computed.",
        "deeper/lengths",
        "longrope-two-lists-and-a-switch",
    ),
    "dynamic": Remark(
        "The frequencies change with the length of the text; keys in the cache keep the older "
        "ones.",
        "longer-contexts",
        "the-cache-that-remembers-old-angles",
    ),
    "beyond_context": Remark(
        "You want {length} tokens, and the configuration offers {longest}. Beyond its training a "
        "model meets rotation angles that it has never seen.",
        "longer-contexts",
        "what-to-set",
    ),
    "angles_rounded": Remark(
        "At {length} positions, angles must be computed in float32 or wider; integers above 256 "
        "have no exact bfloat16.",
        "deeper/precision",
        "positions-in-bfloat16-collide",
    ),
    # Scores.
    "score_factor": Remark(
        "The scale of the softmax, as it stands above, includes {factor}, the square of "
        "mscale_all_dim's factor. It holds for dimensions that do not rotate, too: multiply by it "
        "once.",
        "longer-contexts",
        "yarn-temperature",
    ),
    "query_scale": Remark(
        "Queries are multiplied by 1 + {strength} ln(1 + ⌊m / {length}⌋) at position m. Scores are "
        "then no longer relative, so left padding and packing must keep the true positions.",
        "deeper/lengths",
        "a-query-scale-that-grows-with-the-position",
    ),
    "other_scale": Remark(
        "The scale of the softmax is {scale}, not 1/√{key_dim}: hand it to the kernel, which takes "
        "1/√{key_dim} by itself.",
        "deeper/softmax-gradient",
        "models-that-divide-by-something-else",
    ),
    "latent_scale": Remark(
        "The scale of the softmax belongs to heads of {key_dim} numbers, both parts counted. Keep "
        "it where the latent vector is absorbed and {absorbed} numbers are multiplied.",
        "latent-attention",
        "do-not-make-the-keys",
    ),
    "dropped_options": Remark(
        "Soft cap and sink are options that fast kernels may drop without a word: compare with the "
        "eager implementation.",
        "deeper/edge-cases",
        "an-option-that-a-kernel-drops",
    ),
    # What a query sees, and what is kept.
    "window_convention": Remark(
        "A window of {window} means {window} keys, the query's own included. FlashAttention counts "
        "keys before the query: give it ({before}, 0).",
        "deeper/reach",
        "how-long-is-a-window-of-w",
    ),
    "window_off": Remark(
        "sliding_window is {window}, but use_sliding_window is not true, so no layer has a window.",
        "fewer-scores",
        "fewer-keys-chosen-by-position",
    ),
    "shared_cache": Remark(
        "Layers that use the keys and values of earlier layers: {count}. They must do so without a "
        "cache, too.",
        "deeper/cache-in-code",
        "layers-that-share-a-cache",
    ),
    "not_counted": Remark(
        "What recurrent layers and indexers keep is not counted in the bytes of the cache.",
        "state-instead-of-cache",
        "what-it-saves",
    ),
    "no_key_value_heads": Remark(
        "num_key_value_heads is missing; it is taken to be the number of heads, {heads}. Some "
        "classes have another default.",
        "cache",
        "share-grouped-queries",
    ),
    "several_axes": Remark(
        "Pairs rotate by time, height and width (mrope_section). After an image, the next text "
        "position is the largest one plus 1.",
        "deeper/images",
        "the-next-position-after-an-image",
    ),
    "experts": Remark(
        "A token uses {active} of {total} parameters. The least time counts those alone; a batch "
        "that meets more experts reads more.",
        "deeper/experts",
        "router-and-experts",
    ),
    "experts_unknown": Remark(
        "A token uses some of the experts alone. Say how many parameters one token uses, and the "
        "seconds can be computed.",
        "deeper/experts",
        "router-and-experts",
    ),
    "stored_bits": Remark(
        "quantization_config says {method}: weights are counted with {bits} bits, the steps of "
        "their groups included (in families that are counted here, embedding, output and norms "
        "with 16). The index of the files (total_size) is more exact.",
        "deeper/keep-less",
        "fewer-bits-per-number",
    ),
    "stored_unknown": Remark(
        "quantization_config ({method}) is not read here, so weights are counted with 16 bits. "
        "Choose their bits under “Weights”, or add model.safetensors.index.json.",
        "deeper/keep-less",
        "fewer-bits-per-number",
    ),
    "other_parts": Remark(
        "Only the text model is read. The file also describes {parts}.",
        "deeper/images",
        "in-practice",
    ),
}

# How the layout of a rotation is known.
EVIDENCE = {
    "code": (
        "The functions of transformers 5.23.0 for this type of model were called, and their scores "
        "compared."
    ),
    "switch": (
        "The code of transformers 5.23.0 for this type of model was called. It reads "
        "rope_interleave: true pairs neighbours, false pairs halves. The file says {value}."
    ),
    "switch_default": (
        "The code of transformers 5.23.0 for this type of model was called. It reads "
        "rope_interleave, which the file does not have; it then pairs neighbours."
    ),
    "unread_switch": (
        "The file has rope_interleave, but the code for this type of model is not known to read "
        "it: which of the two holds must be seen there."
    ),
    "unknown": "The type of model is not known here, and no configuration names the layout.",
    "table": "Read in the source that the table of models names.",
}

# Why there is nothing to read.
FAILURES = {
    "empty": "There is nothing here. Paste the text of a config.json.",
    "too_long": "The text is too long for a configuration. Paste config.json alone.",
    "not_json": "This is not JSON: {message}",
    "not_an_object": (
        "A configuration is a dictionary in braces, such as the text of a config.json; this is "
        "{value}."
    ),
    "not_a_model": (
        "These are not the keys of a language model: there are neither layers nor heads nor a "
        "rotation. Paste the whole config.json."
    ),
    "inner_model": (
        "The language model is described inside ({parts}): paste that dictionary alone."
    ),
    "not_in_table": "There is no model {name} in the table.",
    "other": "This configuration cannot be read: {message}",
}

# Beside the settings for a longer text.
SETTING_NOTES = {
    "mend_first": (
        "Something in this file is wrong or cannot be read (see the top). Settings would build on "
        "it, so mend that first."
    ),
    "nothing_rotates": "No layer rotates, so there is no rule to set.",
    "no_length": "The configuration does not say for which length the model was trained.",
    "already_offered": (
        "The configuration already offers {context} tokens; there is nothing to add."
    ),
    "has_rule": (
        "The file already has the rule {rule}, to which the weights belong. An entry below "
        "replaces it, which often does harm without further training."
    ),
    "kinds_differ": (
        "Kinds of layers have rope parameters of their own. Change those of the layers without a "
        "window alone."
    ),
    "no_flag": (
        "llama.cpp has no flag for this rule; the file gets its factors when it is converted."
    ),
}
