"""Numbers of the wrong sign, order or size, which once gave a wrong result without a word.

Types are not checked here, as in a program that uses the library without the tests' hook.
"""

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

import attention_to_rope as book
from attention_to_rope import context_extension as extension
from attention_to_rope.checkpoints import rotary_settings
from attention_to_rope.experts import balanced_bias, route
from attention_to_rope.fast import blockwise_attention
from attention_to_rope.generation import keep_top_k, keep_top_p, sample_token
from attention_to_rope.layers import deepnorm_constants, deepnorm_pair, layer_norm, rms_norm
from attention_to_rope.recurrent_attention import delta_rule_steps, linear_attention_steps
from attention_to_rope.relative import fire_bias, kerple_log_bias, t5_bucket
from attention_to_rope.rope_axes import axial_table
from attention_to_rope.scaled_dot_product import gap_bound, log_length_factor

pytestmark = pytest.mark.usefixtures("unchecked")

FREQUENCIES = book.rotary_frequencies(8)
OFFSETS = torch.arange(-5, 6)
POSITIONS = torch.arange(3)
ROWS = torch.ones(2, 4)
HEADS = torch.ones(1, 2, 3, 4)
LOGITS = torch.tensor([[0.0, 1.0, 2.0]])
UNIFORM = torch.tensor([[0.5]])
CONFIG = {"head_dim": 8, "rope_theta": 10_000.0, "max_position_embeddings": 64}
SMALL = book.Architecture(d=8, heads=2, layers=1)
NAN = math.nan


def scaled(**parameters: Any) -> Callable[[], Any]:
    """Read a configuration with these rope parameters."""
    return partial(rotary_settings, CONFIG | {"rope_parameters": parameters})


def yarn_config(**changed: Any) -> Callable[[], Any]:
    known = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
    return scaled(**known | changed)


def llama3_config(**changed: Any) -> Callable[[], Any]:
    known = {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 16}
    return scaled(**known | {"low_freq_factor": 1.0, "high_freq_factor": 4.0} | changed)


def generated(steps: int) -> torch.Tensor:
    return book.generate(book.Decoder(5, SMALL, seed=0), torch.tensor([[1, 2]]), steps)


def cache_of(keys: torch.Tensor, values: torch.Tensor) -> book.KeyValueCache:
    with torch.no_grad():
        return book.KeyValueCache().append(keys, values)


BASE = "base must be a positive finite number, got "
SCALE = "scale must be a positive finite number, got "
TRAINED = "original_length must be at least 1, got "
# A configuration is told which of its keys is wrong.
THETA = "rope_theta must be a positive finite number, got "
FACTOR = "factor must be a positive finite number, got "
ORIGINAL = "original_max_position_embeddings must be a whole number of at least 0, got "
PAIR = "keys and values must be of the same sequences, heads and positions, got "
WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "base 0": (lambda: book.rotary_frequencies(8, 0.0), BASE + "0.0"),
    "base below 0": (lambda: book.rotary_frequencies(8, -5.0), BASE + "-5.0"),
    "base NaN": (lambda: book.rotary_frequencies(8, NAN), BASE + "nan"),
    "base infinite": (lambda: book.rotary_frequencies(8, math.inf), BASE + "inf"),
    "base of p-RoPE": (
        lambda: book.rope.proportional_frequencies(8, -1.0, share=0.5),
        BASE + "-1.0",
    ),
    "base of sinusoids": (lambda: book.sinusoidal(POSITIONS, 4, 0.0), BASE + "0.0"),
    "factor of the table": (
        lambda: book.rotary_table(POSITIONS, FREQUENCIES, attention_factor=-1.0),
        "attention_factor must be a positive finite number, got -1.0",
    ),
    "axis below 0": (
        lambda: axial_table(torch.zeros(2, 3).long(), FREQUENCIES, [0, 1, -1, 0]),
        "axes must lie between 0 and 1, got -1 to 1",
    ),
    "more rotary dimensions than there are": (
        lambda: book.layout_permutation(8, source="half", target="interleaved", rotary_dim=10),
        "rotary_dim must be at most the 8 dimensions, got 10",
    ),
    # context_extension
    "interpolation by 0": (lambda: extension.position_interpolation(FREQUENCIES, 0.0), SCALE),
    "interpolation back": (lambda: extension.position_interpolation(FREQUENCIES, -2.0), SCALE),
    "ntk_aware": (lambda: extension.ntk_aware(FREQUENCIES, NAN), SCALE + "nan"),
    "ntk_aware of one pair": (
        lambda: extension.ntk_aware(book.rotary_frequencies(2), 2.0),
        "ntk_aware keeps the first and slows down the last of two or more pairs, got 1",
    ),
    "dynamic_ntk, scale": (
        lambda: extension.dynamic_ntk(FREQUENCIES, -0.1, length=9, original_length=8),
        SCALE + "-0.1",
    ),
    "dynamic_ntk, trained length": (
        lambda: extension.dynamic_ntk(FREQUENCIES, 2.0, length=9, original_length=-8),
        TRAINED + "-8",
    ),
    "dynamic_ntk, length": (
        lambda: extension.dynamic_ntk(FREQUENCIES, 2.0, length=-9, original_length=8),
        "length must be at least 0, got -9",
    ),
    "ntk_by_parts, scale": (
        lambda: extension.ntk_by_parts(FREQUENCIES, 0.0, original_length=8),
        SCALE + "0.0",
    ),
    "ntk_by_parts, trained length": (
        lambda: extension.ntk_by_parts(FREQUENCIES, 2.0, original_length=-8),
        TRAINED + "-8",
    ),
    "yarn, scale": (
        lambda: extension.yarn(FREQUENCIES, -2.0, original_length=8),
        SCALE + "-2.0",
    ),
    "yarn's factor": (lambda: extension.yarn_attention_factor(-2.0), SCALE + "-2.0"),
    "llama3": (lambda: extension.llama3(FREQUENCIES, -8.0), SCALE + "-8.0"),
    "longrope, factors": (
        lambda: extension.longrope(FREQUENCIES, torch.tensor([1.0, 2, 0, 4]).double()),
        "factors must be positive and finite, got [1.0, 2.0, 0.0, 4.0]",
    ),
    "longrope, one factor": (
        lambda: extension.longrope(FREQUENCIES, torch.tensor([2.0]).double()),
        "factors must have one for each of the 4 pairs, got 1",
    ),
    "longrope's factor": (
        lambda: extension.longrope_attention_factor(-2.0, 64),
        SCALE + "-2.0",
    ),
    # rotary_settings
    "settings, theta 0 of a model": (scaled(rope_type="default", rope_theta=-1.0), THETA + "-1.0"),
    "settings, linear": (scaled(rope_type="linear", factor=-2.0), FACTOR + "-2.0"),
    "settings, linear 0": (scaled(rope_type="linear", factor=0.0), FACTOR + "0.0"),
    "settings, dynamic": (scaled(rope_type="dynamic", factor=-2.0), FACTOR + "-2.0"),
    "settings, proportional": (scaled(rope_type="proportional", factor=-2.0), FACTOR + "-2.0"),
    "settings, yarn": (yarn_config(factor=-4.0), FACTOR + "-4.0"),
    "settings, yarn 0": (yarn_config(factor=0), FACTOR + "0"),
    "settings, yarn's factor": (
        yarn_config(attention_factor=-1.0),
        "attention_factor must be a positive finite number, got -1.0",
    ),
    "settings, yarn, trained length": (
        yarn_config(original_max_position_embeddings=-16),
        ORIGINAL + "-16",
    ),
    "settings, llama3": (llama3_config(factor=-8.0), FACTOR + "-8.0"),
    "settings, llama3, trained length": (
        llama3_config(original_max_position_embeddings=-16),
        ORIGINAL + "-16",
    ),
    # relative
    "t5_bucket, distance": (
        lambda: t5_bucket(OFFSETS, bidirectional=True, max_distance=8),
        "max_distance must be larger than the 8 distances that have buckets of their own, got 8",
    ),
    "t5_bucket, small distance": (
        lambda: t5_bucket(OFFSETS, bidirectional=False, max_distance=4),
        "max_distance must be larger than the 16 distances that have buckets of their own, got 4",
    ),
    "t5_bucket, too few": (
        lambda: t5_bucket(OFFSETS, bidirectional=True, buckets=2),
        "buckets must be at least 4 with two directions and 2 with one, got 2",
    ),
    "T5Bias": (
        lambda: book.T5Bias(2, bidirectional=True, seed=0, max_distance=3).bias(
            POSITIONS, POSITIONS
        ),
        "max_distance must be larger than",
    ),
    "kerple": (lambda: kerple_log_bias(OFFSETS, 1.0, -0.1), "r1 and r2 must not be negative, got"),
    "kerple, sign": (lambda: kerple_log_bias(OFFSETS, -1.0, 1.0), "r1 and r2 must not be negative"),
    "fire, c": (
        lambda: fire_bias(POSITIONS, POSITIONS, torch.sin, c=0.0),
        "c must be a positive finite number, got 0.0",
    ),
    "fire, threshold": (
        lambda: fire_bias(POSITIONS, POSITIONS, torch.sin, threshold=0.0),
        "threshold must be a positive finite number, got 0.0",
    ),
    "alibi": (lambda: book.alibi_slopes(0), "heads must be at least 1, got 0"),
    # the cache
    "cache, lengths": (
        lambda: book.KeyValueCache(HEADS, HEADS[:, :, :2]),
        PAIR + "(1, 2, 3, 4) and (1, 2, 2, 4)",
    ),
    "cache, half of a pair": (lambda: book.KeyValueCache(HEADS), "keys and values come together"),
    "cache, appended without gradients": (lambda: cache_of(HEADS, HEADS[:, :, :1]), PAIR),
    "cache, appended": (lambda: book.KeyValueCache().append(HEADS, HEADS[:, :, :1]), PAIR),
    "cache, length": (
        lambda: book.cache_numbers_per_token(HEADS, length=-3),
        "length must be at least 1, got -3",
    ),
    # generation
    "top_k 0": (lambda: keep_top_k(LOGITS, 0), "k must be at least 1, got 0"),
    "top_k of a sample": (
        lambda: sample_token(LOGITS, UNIFORM, temperature=1.0, top_k=-1),
        "k must be at least 1, got -1",
    ),
    "top_p 0": (lambda: keep_top_p(LOGITS, 0.0), "p must be above 0 and at most 1, got 0.0"),
    "top_p 90": (
        lambda: sample_token(LOGITS, UNIFORM, temperature=1.0, top_p=90.0),
        "p must be above 0 and at most 1, got 90.0",
    ),
    "steps": (lambda: generated(-1), "steps must be at least 0, got -1"),
    # layers
    "layers": (
        lambda: book.Architecture(d=8, heads=2, layers=-1),
        "layers must be at least 1, got -1",
    ),
    "hidden": (
        lambda: book.FeedForward(4, 0, activation="relu", seed=0),
        "hidden must be at least 1, got 0",
    ),
    "eps": (lambda: rms_norm(ROWS, eps=-2.0), "eps must not be negative, got -2.0"),
    "eps of layer_norm": (lambda: layer_norm(ROWS, eps=-2.0), "eps must not be negative, got -2.0"),
    "deepnorm": (lambda: deepnorm_constants(-1), "layers must be at least 1, got -1"),
    "deepnorm, pair": (lambda: deepnorm_pair(6, -1), "decoder_layers must be at least 1, got -1"),
    "scale of scores": (
        lambda: book.attention(ROWS, ROWS, ROWS, scale=-0.5),
        "scale must be a finite number that is not negative, got -0.5",
    ),
    "scale of scores in blocks": (
        lambda: blockwise_attention(ROWS, ROWS, ROWS, scale=NAN),
        "scale must be a finite number that is not negative, got nan",
    ),
    "blocks": (
        lambda: blockwise_attention(ROWS, ROWS, ROWS, k_block=-1),
        "q_block and k_block must be at least 1, got 512 and -1",
    ),
    "gap": (lambda: gap_bound(-1.0, 4), "gap must not be negative, got -1.0"),
    "slope": (
        lambda: log_length_factor(POSITIONS + 1, -0.5),
        "slope must be a positive finite number, got -0.5",
    ),
    "lengths of padding": (
        lambda: book.padding_mask(torch.tensor([2, 5]), 3),
        "lengths must lie between 0 and 3, got 2 to 5",
    ),
    # experts
    "no expert": (lambda: route(LOGITS, 0), "k must be at least 1, got 0"),
    "no groups": (lambda: route(LOGITS, 1, groups=0), "groups must be at least 1, got 0"),
    "scaling": (
        lambda: route(LOGITS, 1, scaling=-2.5),
        "scaling must be a positive finite number, got -2.5",
    ),
    "step of the balance": (
        lambda: balanced_bias(torch.zeros(2), torch.tensor([[0], [0]]), step=-0.1),
        "step must be a positive finite number, got -0.1",
    ),
    # states
    "decay in logarithms": (
        lambda: linear_attention_steps(ROWS, ROWS, ROWS, decay=torch.tensor([-0.1, -2.0])),
        "decay must lie between 0 and 1, got -2.0 to -0.1",
    ),
    "decay of the delta rule": (
        lambda: delta_rule_steps(ROWS, ROWS, ROWS, torch.ones(2), decay=torch.tensor([1.0, 1.5])),
        "decay must lie between 0 and 1, got 1.0 to 1.5",
    ),
    "rate": (
        lambda: delta_rule_steps(ROWS, ROWS, ROWS, torch.tensor([0.5, -1.0])),
        "rate must lie between 0 and 2, got -1.0 to 0.5",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_number_is_named(case: str) -> None:
    call, message = WRONG[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
