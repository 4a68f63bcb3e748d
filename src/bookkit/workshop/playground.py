"""The playground: the book's model with parts switched off, and what it computes on the way.

    model = with_switches(weights, Switches(mask=False))
    logits, attention = look(encode("def mean("), model)

Every computation is one of the solution's functions: a rotation that is off has frequencies of
zero, nothing reads the output of a head that is off, and attention whose values are the rows of an
identity matrix returns its weights. LongRoPE's rule is left out: its factors are searched for one
model, and nobody has searched them for this one.
"""

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bookkit.workshop import solution
from bookkit.workshop.solution import CONFIG

TRAINED_LENGTH = 1024  # tokens of a text in training
PIECE = 256  # tokens that are read at once
LENGTHS = (512, 1024, 2048, 4096)  # of the text whose loss is measured
RULES = ("none", "linear", "ntk", "dynamic", "parts", "yarn", "llama3")
LARGEST_SHIFT = 100_000
LONGEST_PROMPT = 127  # bytes that are read; a map of more could not be drawn readably
LISTED = 8  # next bytes that are shown
# A comment at the end of a line, or on lines of its own; no string of the file has this sign.
COMMENT = re.compile(r"^ *#.*\n|  #.*$", re.MULTILINE)


def without_comments(source: str) -> str:
    """Python code without its comments."""
    return COMMENT.sub("", source)


# The code that defines the model is a text that the model has not seen in training. It begins
# behind the file's first docstring.
CODE = Path(solution.__file__).read_text(encoding="utf-8").partition('"""\n\n')[2]
FIXED_TEXT = without_comments(CODE).encode()

Weights = dict[str, np.ndarray]
Event = dict[str, Any]  # what a page shows next


class Switches(NamedTuple):
    """What is changed. By default, nothing is."""

    mask: bool = True
    rotation: bool = True
    heads: tuple[tuple[int, int], ...] = ()  # those that are off: layer and head, from 0
    shift: int = 0  # added to positions
    half: bool = False  # whether only the second half of the tokens is shifted
    rule: str = "none"  # by which frequencies are stretched
    length: int = LENGTHS[0]  # to which they are stretched, and of the text that is measured


class Changed(NamedTuple):
    """The model as it is with some switches."""

    weights: Weights
    rope: tuple[np.ndarray, float]
    switches: Switches


# The switches


def stretched(frequencies: np.ndarray, rule: str, length: int) -> tuple[np.ndarray, float]:
    """The frequencies of a rule for texts of a length, and the factor of the table."""
    scale = max(length / TRAINED_LENGTH, 1.0)
    pairs = len(frequencies)
    share_of_index = np.arange(pairs) / (pairs - 1)
    if rule == "none" or scale == 1:
        return frequencies, 1.0
    if rule == "linear":
        return frequencies / scale, 1.0
    if rule == "ntk":
        return frequencies * scale**-share_of_index, 1.0
    if rule == "dynamic":  # as it is at the end of the text
        grown = 1 + scale * (length - TRAINED_LENGTH) / TRAINED_LENGTH
        return frequencies * grown**-share_of_index, 1.0
    if rule == "yarn":
        return solution.yarn(frequencies, scale, TRAINED_LENGTH)
    if rule == "parts":
        share = solution.kept_share(frequencies, TRAINED_LENGTH)
    elif rule == "llama3":
        share = solution.kept_share(frequencies, TRAINED_LENGTH, slow=1.0, fast=4.0)
    else:
        raise ValueError(f"rule: expected one of {', '.join(RULES)}, got {rule!r}")
    return share * frequencies + (1 - share) * frequencies / scale, 1.0


def without_heads(weights: Weights, heads: tuple[tuple[int, int], ...]) -> Weights:
    """The weights of a model in which nothing reads the outputs of some heads."""
    changed = dict(weights)
    d_k = CONFIG["d_k"]
    for layer, head in heads:
        if not (0 <= layer < CONFIG["layers"] and 0 <= head < CONFIG["heads"]):
            raise ValueError(f"heads: the model has no head {head} in a layer {layer}")
        name = f"layers.{layer}.self_attn.o_proj.weight"
        output = changed[name].copy()
        output[:, head * d_k : (head + 1) * d_k] = 0
        changed[name] = output
    return changed


def with_switches(weights: Weights, switches: Switches) -> Changed:
    """The model as it is with some switches."""
    frequencies = solution.rope_frequencies(CONFIG["d_k"])
    rope = stretched(frequencies, switches.rule, switches.length)
    if not switches.rotation:
        rope = (np.zeros_like(frequencies), 1.0)
    return Changed(without_heads(weights, switches.heads), rope, switches)


# Reading


def head_weights(
    x: np.ndarray,
    layer: Weights,
    table: tuple[np.ndarray, np.ndarray],
    mask: np.ndarray,
) -> np.ndarray:
    """The attention weights of all heads of a layer that reads x, (N, d): (h, N, N)."""
    normalized = solution.rms_norm(x, layer["input_layernorm.weight"], CONFIG["eps"])
    q, k, _ = solution.project(normalized, layer, table, CONFIG)
    k = solution.repeat_groups(k, CONFIG["heads"])
    identity = np.eye(len(x), dtype=np.float32)
    return solution.masked_attend(q, k, identity, mask)


def read(
    tokens: list[int],
    model: Changed,
    cache: list[Weights],
    half: int = 0,
    attention: list[np.ndarray] | None = None,
) -> np.ndarray:
    """As `cached_forward` of step 10, with switches: the logits after N new tokens, (N, V).

    half: the first token of the second half of the text, for a shift of this half.
    attention: a list that gets the weights of each layer; the cache must then be empty.
    """
    N = len(tokens)
    start = cache[0]["k"].shape[1] if cache[0] else 0
    switches = model.switches
    positions = np.arange(start, start + N)
    first_shifted = half if switches.half else 0
    positions = np.where(positions >= first_shifted, positions + switches.shift, positions)
    frequencies, factor = model.rope
    table = solution.rope_table(positions, frequencies, factor)
    mask = solution.causal_mask(N, start + N)
    if not switches.mask:
        mask = np.ones_like(mask)
    embedding = model.weights["embed_tokens.weight"]
    x = embedding[tokens]
    for index in range(CONFIG["layers"]):
        layer = solution.layer_weights(model.weights, index)
        if attention is not None:
            attention.append(head_weights(x, layer, table, mask))
        x = solution.cached_block(x, layer, table, mask, CONFIG, cache[index])
    x = solution.rms_norm(x, model.weights["norm.weight"], CONFIG["eps"])
    return x @ embedding.T


def look(tokens: list[int], model: Changed) -> tuple[np.ndarray, np.ndarray]:
    """The logits of a text, (N, V), and the weights of all layers and heads, (L, h, N, N)."""
    attention: list[np.ndarray] = []
    logits = read(tokens, model, solution.new_cache(CONFIG), len(tokens) // 2, attention)
    return logits, np.stack(attention)


def losses(model: Changed) -> Iterator[np.ndarray]:
    """Nats for each byte of the fixed text, piece by piece."""
    length = model.switches.length
    tokens = [solution.START, *FIXED_TEXT[:length]]
    cache = solution.new_cache(CONFIG)
    for start in range(0, length, PIECE):
        end = min(start + PIECE, length)
        logits = read(tokens[start:end], model, cache, length // 2)
        chances = solution.softmax(logits.astype(np.float64))
        following = tokens[start + 1 : end + 1]
        yield -np.log(chances[np.arange(len(following)), following])


def write(
    tokens: list[int], count: int, model: Changed, random: np.random.Generator
) -> Iterator[int]:
    """As `generate` of step 11, with switches and the settings of the workshop's pages."""
    cache = solution.new_cache(CONFIG)
    half = len(tokens) // 2
    unread = tokens
    for _ in range(count):
        logits = read(unread, model, cache, half)
        token = solution.sample(logits[-1], random, temperature=0.7, top_p=0.95)
        yield token
        unread = [token]


# What a page asks for


def switches_of(asked: dict[str, Any]) -> Switches:
    """The switches that a page names; what the model does not have is refused."""
    switches = Switches(**asked)
    heads = tuple((int(layer), int(head)) for layer, head in switches.heads)
    if switches.rule not in RULES:
        raise ValueError(f"rule: expected one of {', '.join(RULES)}, got {switches.rule!r}")
    if switches.length not in LENGTHS:
        raise ValueError(f"length: expected one of {LENGTHS}, got {switches.length}")
    if abs(switches.shift) > LARGEST_SHIFT:
        raise ValueError(f"shift: expected at most {LARGEST_SHIFT}, got {switches.shift}")
    return switches._replace(heads=heads)


def tokens_of(prompt: str) -> list[int]:
    """The tokens of a prompt: START, and its last bytes."""
    return [solution.START, *prompt.encode()[-LONGEST_PROMPT:]]


class Playground:
    """The model behind a page. Answers come in parts, so that a page can stop between them."""

    def __init__(self, data: bytes) -> None:
        """Read the weights, a safetensors file."""
        self.weights = solution.read_weights(data)
        self.losses_as_trained: dict[int, float] = {}  # by the length of the text

    def looks(self, prompt: str, asked: dict[str, Any]) -> Iterator[Event]:
        """The weights of all heads, and the next bytes with and without the switches."""
        tokens = tokens_of(prompt)
        changed = with_switches(self.weights, switches_of(asked))
        logits, attention = look(tokens, changed)
        chances = solution.probabilities(logits[-1])
        trained = read(tokens, with_switches(self.weights, Switches()), solution.new_cache(CONFIG))
        chances_as_trained = solution.probabilities(trained[-1])
        best = np.argsort(-chances)[:LISTED]
        following = [
            [int(token), float(chances[token]), float(chances_as_trained[token])] for token in best
        ]
        maps = attention.astype("<f4").tobytes()
        yield {"kind": "look", "tokens": tokens, "next": following, "maps": maps}

    def loss(self, switches: Switches, trained: bool) -> Generator[Event, None, float]:
        """The loss of the last piece of the fixed text; what comes before it is how far it is."""
        last = np.zeros(0)
        for number, piece in enumerate(losses(with_switches(self.weights, switches)), 1):
            last = piece
            yield {"kind": "progress", "trained": trained, "done": number * PIECE}
        return float(last.mean())

    def measures(self, asked: dict[str, Any]) -> Iterator[Event]:
        """The loss as trained and with the switches, on the same text."""
        switches = switches_of(asked)
        length = switches.length
        as_trained = Switches(length=length)
        if length not in self.losses_as_trained:
            self.losses_as_trained[length] = yield from self.loss(as_trained, trained=True)
        trained = self.losses_as_trained[length]
        changed = trained
        if switches != as_trained:
            changed = yield from self.loss(switches, trained=False)
        yield {"kind": "loss", "trained": trained, "changed": changed}

    def writes(self, prompt: str, asked: dict[str, Any], count: int, seed: int) -> Iterator[Event]:
        """A text as trained, and one with the switches, drawn with the same seed."""
        tokens = tokens_of(prompt)
        switches = switches_of(asked)
        as_trained = Switches(length=switches.length)
        for one in dict.fromkeys((as_trained, switches)):
            model = with_switches(self.weights, one)
            random = np.random.default_rng(seed)
            for token in write(tokens, count, model, random):
                yield {"kind": "token", "trained": one == as_trained, "token": token}
