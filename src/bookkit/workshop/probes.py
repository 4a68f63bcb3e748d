"""What the checks try: fixed inputs for every function of the workshop.

A probe calls one function, and what it returns is compared with stored numbers. Inputs are chosen
so that mistakes differ: rows and columns of different lengths, but also square matrices, on which
some mistakes are silent; large, tiny and infinite numbers; several calls with one cache.
"""

import copy
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bookkit.workshop.errors import meaning_of

WEIGHTS = Path(__file__).parent.parent / "trained" / "model.safetensors"  # of the book's model
SEVERAL = ("rope_table", "project", "yarn")  # functions that return several values
LISTS = ("encode",)  # functions whose result must be a list: others join it with lists
Names = dict[str, Any]  # what the reader's file defines


class Probe(NamedTuple):
    """One attempt. `run` gets the reader's names and returns what is compared."""

    words: str  # what is tried, to be read behind "Tried:"
    run: Callable[[Names], Any]
    tolerance: float = 2e-4  # of the largest number


class ChangedError(Exception):
    """The function changed an array that it was given."""


class NoListError(Exception):
    """The function returned another sequence in place of a list; its type is the message."""


class StoppedError(Exception):
    """An error in the middle of several calls; what came before tells more than the error alone."""

    def __init__(self, results: Names, error: Exception) -> None:
        super().__init__(str(error))
        what = f"{type(error).__name__}: {meaning_of(error)}"
        self.results = {**results, "error": what}
        self.error = error


def same(first: Any, second: Any) -> bool:
    """Whether two arguments, which may hold arrays, are equal."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, np.ndarray):
        return np.array_equal(first, second, equal_nan=True)
    return bool(first == second)


def call(words: str, function: str, *arguments: Any, **named: Any) -> Probe:
    """A probe that calls the function once and sees whether its arguments stay as they are."""

    def run(names: Names) -> Any:
        given = copy.deepcopy((arguments, named))
        result = names[function](*given[0], **given[1])
        if not same(list(given[0]), list(arguments)):
            raise ChangedError
        if function in LISTS and isinstance(result, (np.ndarray, tuple, bytearray)):
            raise NoListError(type(result).__name__)
        if function in SEVERAL and isinstance(result, (list, np.ndarray)):
            return tuple(result)  # who unpacks it sees no difference
        return result

    return Probe(words, run)


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    """Normal random numbers; this old generator gives the same ones in every version of NumPy."""
    return np.random.RandomState(seed).standard_normal(shape)


def softmax() -> Iterator[Probe]:
    """Step 1."""
    yield call("one row of three scores", "softmax", np.array([0.0, 1.0, 2.5]))
    yield call("a matrix of 3 rows and 5 columns", "softmax", numbers(3, 5))
    yield call("a square matrix, 3 by 3", "softmax", numbers(3, 3, seed=1))
    yield call("an array with three axes, (2, 3, 4)", "softmax", numbers(2, 3, 4, seed=2))
    yield call("an array with three equal axes, (3, 3, 3)", "softmax", numbers(3, 3, 3, seed=3))
    yield call("the row [0, 1000, 1000]", "softmax", np.array([0.0, 1000.0, 1000.0]))
    large = np.array([[1000.0, 1001.0], [0.0, 1.0]])
    yield call("the rows [1000, 1001] and [0, 1]", "softmax", large)
    small = np.array([[-1000.0, -1001.0], [0.0, 1.0]])
    yield call("the rows [-1000, -1001] and [0, 1]", "softmax", small)
    masked = np.array([[0.0, -np.inf, 1.0], [2.0, 1.0, -np.inf]])
    yield call("scores of -infinity", "softmax", masked)


def attend() -> Iterator[Probe]:
    """Step 2."""
    q = numbers(3, 4)
    k = numbers(5, 4, seed=1)
    v = numbers(5, 2, seed=2)
    yield call("3 queries and 5 keys of 4 dimensions, values of 2", "attend", q, k, v)
    square = [numbers(4, 4, seed=seed) for seed in (3, 4, 5)]
    yield call("4 queries, 4 keys, 4 dimensions", "attend", *square)
    heads = [numbers(2, 3, 4, seed=6), numbers(2, 5, 4, seed=7), numbers(2, 5, 6, seed=8)]
    yield call("two heads", "attend", *heads)
    cube = [numbers(3, 3, 3, seed=seed) for seed in (9, 10, 11)]
    yield call("3 heads, 3 queries, 3 keys, 3 dimensions", "attend", *cube)
    yield call("one query and one key", "attend", numbers(1, 9), numbers(1, 9), numbers(1, 2))
    yield call("long vectors, d_k = 64", "attend", numbers(2, 64), numbers(3, 64), numbers(3, 2))


def causal_mask() -> Iterator[Probe]:
    """Step 3, the first function."""
    yield call("4 queries and 4 keys", "causal_mask", 4, 4)
    yield call("2 queries behind 3 older tokens, 5 keys", "causal_mask", 2, 5)
    yield call("1 query and 4 keys", "causal_mask", 1, 4)
    yield call("1 query and 1 key", "causal_mask", 1, 1)


def masked_attend() -> Iterator[Probe]:
    """Step 3, the second function."""
    q, k, v = numbers(4, 4), numbers(4, 4, seed=1), numbers(4, 3, seed=2)
    lower = np.tri(4, dtype=bool)
    yield call("a causal mask, 4 by 4", "masked_attend", q, k, v, lower)
    mask = np.array([[1, 0, 1, 0, 0], [0, 1, 1, 1, 0], [0, 0, 0, 0, 1]], dtype=bool)
    k, v = numbers(5, 4, seed=3), numbers(5, 2, seed=4)
    yield call("3 queries, 5 keys, a mask with holes", "masked_attend", q[:3], k, v, mask)
    heads = [numbers(3, 2, 6, seed=5), numbers(3, 4, 6, seed=6), numbers(3, 4, 6, seed=7)]
    mask = np.array([[1, 1, 1, 0], [1, 1, 1, 1]], dtype=bool)
    yield call("three heads, 2 queries, 4 keys", "masked_attend", *heads, mask)
    far = (30 * numbers(4, 16, seed=8), 30 * numbers(4, 16, seed=9), numbers(4, 2, seed=10))
    yield call("very large and very small scores", "masked_attend", *far, lower)
    cube = [numbers(3, 3, 3, seed=seed) for seed in (11, 12, 13)]
    lower = np.tri(3, dtype=bool)
    yield call("3 heads, 3 queries, 3 keys, 3 dimensions", "masked_attend", *cube, lower)
    every = np.ones((3, 5), dtype=bool)
    yield call("a mask that allows everything", "masked_attend", numbers(3, 4), k, v, every)


def split_heads() -> Iterator[Probe]:
    """Step 4, the first function."""
    yield call("3 tokens, 2 heads", "split_heads", np.arange(24.0).reshape(3, 8), 2)
    yield call("3 tokens, 4 heads", "split_heads", np.arange(24.0).reshape(3, 8), 4)
    yield call("2 tokens, 2 heads", "split_heads", np.arange(12.0).reshape(2, 6), 2)
    yield call("1 token, 3 heads", "split_heads", np.arange(6.0).reshape(1, 6), 3)
    yield call("4 tokens, 4 heads of 4", "split_heads", np.arange(64.0).reshape(4, 16), 4)


def merge_heads() -> Iterator[Probe]:
    """Step 4, the second function."""
    yield call("2 heads, 3 tokens", "merge_heads", np.arange(24.0).reshape(2, 3, 4))
    yield call("3 heads, 3 tokens", "merge_heads", np.arange(18.0).reshape(3, 3, 2))
    yield call("4 heads, 1 token", "merge_heads", np.arange(12.0).reshape(4, 1, 3))
    yield call("3 heads, 3 tokens, 3 dimensions", "merge_heads", np.arange(27.0).reshape(3, 3, 3))


def repeat_groups() -> Iterator[Probe]:
    """Step 4, the third function."""
    yield call("g = 2, 6 heads", "repeat_groups", np.arange(12.0).reshape(2, 2, 3), 6)
    yield call("g = 3, 6 heads", "repeat_groups", np.arange(24.0).reshape(3, 2, 4), 6)
    yield call("g = 1, 4 heads", "repeat_groups", np.arange(6.0).reshape(1, 2, 3), 4)
    yield call("g = 2, 2 heads", "repeat_groups", np.arange(8.0).reshape(2, 2, 2), 2)


def rms_norm() -> Iterator[Probe]:
    """Step 5."""
    weight = np.array([1.0, 2.0, -0.5, 0.25, 3.0])
    yield call("3 tokens of 5 numbers", "rms_norm", 3 * numbers(3, 5) + 1, weight, 1e-5)
    yield call("4 tokens of 4 numbers", "rms_norm", numbers(4, 4, seed=1), weight[:4], 1e-5)
    yield call("an array with three axes", "rms_norm", numbers(2, 3, 5, seed=2), weight, 1e-5)
    yield call("one token, without other axes", "rms_norm", numbers(5, seed=3), weight, 1e-5)
    yield call("tiny numbers, about 0.001", "rms_norm", numbers(3, 5, seed=4) / 1000, weight, 1e-5)
    yield call("a large eps, 0.5", "rms_norm", numbers(3, 5, seed=5), weight, 0.5)
    yield call("a vector of zeros", "rms_norm", np.zeros((2, 5)), weight, 1e-5)


def swiglu() -> Iterator[Probe]:
    """Step 6."""
    gate, up, down = numbers(6, 4, seed=1), numbers(6, 4, seed=2), numbers(4, 6, seed=3)
    yield call("3 tokens, d = 4, m = 6", "swiglu", numbers(3, 4), gate, up, down)
    square = [numbers(4, 4, seed=seed) for seed in (4, 5, 6)]
    yield call("square weights, d = m = 4", "swiglu", numbers(3, 4, seed=7), *square)
    yield call("one token, without other axes", "swiglu", numbers(4, seed=8), gate, up, down)
    yield call("large numbers", "swiglu", 20 * numbers(2, 4, seed=9), gate, up, down)
    yield call("zeros", "swiglu", np.zeros((1, 4)), gate, up, down)
    huge = 1000 * numbers(2, 4, seed=10)
    yield call("numbers of about 1,000", "swiglu", huge, gate, up, down)
    many = numbers(2, 3, 4, seed=11)
    yield call("an array with three axes", "swiglu", many, gate, up, down)


def rope_frequencies() -> Iterator[Probe]:
    """Step 7, the first function."""
    yield call("d_k = 8", "rope_frequencies", 8)
    yield call("d_k = 32", "rope_frequencies", 32)
    yield call("d_k = 2", "rope_frequencies", 2)
    yield call("d_k = 8, base 500,000", "rope_frequencies", 8, 500_000.0)
    yield call("d_k = 6, base 4", "rope_frequencies", 6, base=4.0)

    def logarithms(names: Names) -> Any:
        return np.log(names["rope_frequencies"](32))

    # Compared as they are, the small frequencies would be lost behind the largest one.
    yield Probe("the logarithms of the frequencies, d_k = 32", logarithms)

    def dtype(names: Names) -> Any:
        return str(np.asarray(names["rope_frequencies"](8)).dtype)

    yield Probe("the dtype of the frequencies", dtype)


def rope_table() -> Iterator[Probe]:
    """Step 7, the second function."""
    frequencies = np.array([1.0, 0.3, 0.01])
    yield call("positions 0 to 4", "rope_table", np.arange(5), frequencies)
    yield call("one position, 7", "rope_table", np.array([7]), frequencies)
    yield call("the positions 3, 1, 200", "rope_table", np.array([3, 1, 200]), frequencies)
    yield call("a factor of 1.5", "rope_table", np.arange(4), frequencies, 1.5)


def rotate() -> Iterator[Probe]:
    """Step 7, the third function."""

    def table(N: int, pairs: int) -> tuple[np.ndarray, np.ndarray]:
        angles = np.outer(np.arange(N), 0.7 ** np.arange(pairs))
        return np.cos(angles), np.sin(angles)

    yield call("one head, one token, position 0", "rotate", numbers(1, 1, 4), table(1, 2))
    yield call("one head, 3 tokens, d_k = 4", "rotate", numbers(1, 3, 4, seed=1), table(3, 2))
    yield call("two heads, 3 tokens, d_k = 8", "rotate", numbers(2, 3, 8, seed=2), table(3, 4))
    yield call("3 heads, 3 tokens, d_k = 6", "rotate", numbers(3, 3, 6, seed=3), table(3, 3))
    given = (numbers(2, 3, seed=4), numbers(2, 3, seed=5))
    yield call("a table of arbitrary numbers", "rotate", numbers(2, 2, 6, seed=6), given)


# Small models. In the first, as in the book's, q_proj and o_proj are square, and a forgotten
# transpose is silent; in the second they are not. Layers and groups differ in number, so that one
# cannot be taken for the other.
SQUARE = {"layers": 3, "heads": 4, "groups": 2, "d_k": 6, "eps": 0.1}
OTHER = {"layers": 2, "heads": 6, "groups": 3, "d_k": 4, "eps": 1e-5}
VOCABULARY = 11


@cache
def small_weights(width: int, heads: int, groups: int, d_k: int, layers: int) -> Names:
    """The weights of a small model, by the names of the checkpoint."""
    shapes: dict[str, tuple[int, ...]] = {"embed_tokens.weight": (VOCABULARY, width)}
    for index in range(layers):
        prefix = f"layers.{index}."
        shapes[prefix + "input_layernorm.weight"] = (width,)
        shapes[prefix + "self_attn.q_proj.weight"] = (heads * d_k, width)
        shapes[prefix + "self_attn.k_proj.weight"] = (groups * d_k, width)
        shapes[prefix + "self_attn.v_proj.weight"] = (groups * d_k, width)
        shapes[prefix + "self_attn.o_proj.weight"] = (width, heads * d_k)
        shapes[prefix + "post_attention_layernorm.weight"] = (width,)
        shapes[prefix + "mlp.gate_proj.weight"] = (2 * width, width)
        shapes[prefix + "mlp.up_proj.weight"] = (2 * width, width)
        shapes[prefix + "mlp.down_proj.weight"] = (width, 2 * width)
    shapes["norm.weight"] = (width,)
    weights = {}
    for seed, (name, shape) in enumerate(shapes.items()):
        random = numbers(*shape, seed=seed + 100)
        is_norm = len(shape) == 1
        weights[name] = 1 + 0.5 * random if is_norm else random * 1.5 / shape[1] ** 0.5
    return weights


def model_of(config: dict[str, Any], width: int) -> Names:
    """The weights of a small model of this configuration."""
    sizes = (config["heads"], config["groups"], config["d_k"], config["layers"])
    return dict(small_weights(width, *sizes))


def layer_of(config: dict[str, Any], width: int) -> Names:
    """The weights of its first layer."""
    prefix = "layers.0."
    weights = model_of(config, width)
    return {name[len(prefix) :]: weights[name] for name in weights if name.startswith(prefix)}


def angles_of(config: dict[str, Any], positions: Any) -> tuple[np.ndarray, np.ndarray]:
    """A table of cosines and sines for these positions."""
    angles = np.outer(positions, 0.6 ** np.arange(config["d_k"] // 2))
    return np.cos(angles), np.sin(angles)


def project() -> Iterator[Probe]:
    """Step 8, the first function."""
    for words, config, width in (("square", SQUARE, 24), ("rectangular", OTHER, 20)):
        table = angles_of(config, np.arange(5))
        layer = layer_of(config, width)
        yield call(f"5 tokens, {words} weights", "project", numbers(5, width), layer, table, config)
    table = angles_of(SQUARE, [9])
    yield call(
        "1 token, at position 9", "project", numbers(1, 24), layer_of(SQUARE, 24), table, SQUARE
    )


def mix() -> Iterator[Probe]:
    """Step 8, the second function."""
    for words, config, width in (("square", SQUARE, 24), ("rectangular", OTHER, 20)):
        h, g, d_k = (int(config[name]) for name in ("heads", "groups", "d_k"))
        k, v = numbers(g, 5, d_k, seed=1), numbers(g, 5, d_k, seed=2)
        layer = layer_of(config, width)
        q = numbers(h, 5, d_k)
        lower = np.tri(5, dtype=bool)
        yield call(f"5 tokens, {words} o_proj", "mix", q, k, v, lower, layer, config)
        q = numbers(h, 2, d_k, seed=3)
        mask = np.array([[1, 1, 0, 1, 0], [0, 1, 1, 1, 1]], dtype=bool)
        yield call(f"2 queries and 5 keys, {words} o_proj", "mix", q, k, v, mask, layer, config)


def block() -> Iterator[Probe]:
    """Step 8, the third function."""
    for words, config, width in (("square", SQUARE, 24), ("rectangular", OTHER, 20)):
        for N in (1, 5):
            lower = np.tri(N, dtype=bool)
            table = angles_of(config, np.arange(N) + 1)
            layer = layer_of(config, width)
            tokens = f"{N} token{'s' * (N > 1)}, {words} q_proj and o_proj"
            yield call(tokens, "block", numbers(N, width), layer, table, lower, config)


def encode() -> Iterator[Probe]:
    """Step 9, the first function."""
    yield call('the text "Hi"', "encode", "Hi")
    yield call('the text "é€", whose letters have several bytes', "encode", "é€")
    yield call("an empty text", "encode", "")


def safetensors(arrays: dict[str, np.ndarray], order: list[str], metadata: bool) -> bytes:
    """A small safetensors file whose arrays lie in this order."""
    header: dict[str, Any] = {"__metadata__": {"format": "np"}} if metadata else {}
    data = b""
    places = {}
    for name in order:
        content = arrays[name].tobytes()
        places[name] = [len(data), len(data) + len(content)]
        data += content
    for name, array in arrays.items():
        kind = {"float16": "F16", "float32": "F32"}[str(array.dtype)]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": places[name]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def read_weights() -> Iterator[Probe]:
    """Step 9, the second function."""
    arrays: dict[str, np.ndarray] = {
        "a.weight": np.arange(6, dtype=np.float16).reshape(2, 3),
        "b.weight": np.arange(4, dtype=np.float16) / 8 - 1,
        "c.weight": np.arange(9, dtype=np.float16).reshape(3, 3) + 0.5,
    }
    in_order = safetensors(arrays, ["a.weight", "b.weight", "c.weight"], metadata=False)
    yield call("a file with three arrays", "read_weights", in_order)
    shuffled = safetensors(arrays, ["c.weight", "a.weight", "b.weight"], metadata=False)
    yield call("arrays that lie in another order", "read_weights", shuffled)
    described = safetensors(arrays, ["a.weight", "c.weight", "b.weight"], metadata=True)
    yield call('a file with "__metadata__"', "read_weights", described)
    both: dict[str, np.ndarray] = {"a": arrays["a.weight"]}
    both["b"] = np.array([[1.5, -2.25]], dtype=np.float32)
    mixed = safetensors(both, ["b", "a"], metadata=False)
    yield call("a file with F16 and F32", "read_weights", mixed)

    length = int.from_bytes(in_order[:8], "little")
    spaces = b" " * 2**16  # allowed at the end of the JSON; its length then needs three bytes
    longer = (length + len(spaces)).to_bytes(8, "little")
    padded = longer + in_order[8 : 8 + length] + spaces + in_order[8 + length :]
    yield call("a file with a long JSON", "read_weights", padded)

    def dtypes(names: Names) -> Any:
        found = names["read_weights"](in_order)
        return " ".join(sorted({str(array.dtype) for array in found.values()}))

    yield Probe("the dtype of the arrays", dtypes)


def layer_weights() -> Iterator[Probe]:
    """Step 9, the third function."""
    weights: Names = {"embed_tokens.weight": np.array([9.0]), "norm.weight": np.array([8.0])}
    for index in (0, 1, 10, 11):
        weights[f"layers.{index}.mlp.up_proj.weight"] = np.array([index + 0.5])
        weights[f"layers.{index}.input_layernorm.weight"] = np.array([index + 0.25])
        weights[f"layers.{index}.self_attn.q_proj.weight"] = np.array([index + 0.125])
    yield call("layer 0", "layer_weights", weights, 0)
    yield call("layer 1, beside layers 10 and 11", "layer_weights", weights, 1)
    yield call("layer 10", "layer_weights", weights, 10)


@cache
def real_data() -> bytes:
    """The file of the book's weights."""
    return WEIGHTS.read_bytes()


REAL_CONFIG = {"layers": 6, "heads": 6, "groups": 2, "d_k": 32, "eps": 1e-5}
REAL_ROPE = (10_000.0 ** (-np.arange(16) / 16), 1.0)
SMALL_TEXT = [10, 3, 3, 7, 0, 5]
PROMPT = [9, 8, 6, 4, 2]  # after which the small model writes different tokens


def small_rope(config: dict[str, Any], factor: float = 1.0) -> tuple[np.ndarray, float]:
    """Frequencies for a small model."""
    return 0.6 ** np.arange(config["d_k"] // 2), factor


def forward() -> Iterator[Probe]:
    """Step 9, the fourth function."""
    square, other = model_of(SQUARE, 24), model_of(OTHER, 20)
    rope = small_rope(SQUARE)
    yield call("one token", "forward", [3], square, SQUARE, rope)
    yield call("6 tokens, 3 layers", "forward", SMALL_TEXT, square, SQUARE, rope)
    yield call("6 tokens, 2 layers", "forward", SMALL_TEXT, other, OTHER, small_rope(OTHER))
    factor = small_rope(SQUARE, 1.4)
    yield call("a rope with the factor 1.4", "forward", SMALL_TEXT, square, SQUARE, factor)

    def real(names: Names) -> Any:
        tokens = [256, *b"def mean(values):\n    return"]
        weights = names["read_weights"](real_data())
        return names["forward"](tokens, weights, REAL_CONFIG, REAL_ROPE)

    yield Probe("the book's weights and a line of Python", real, tolerance=5e-4)


def new_cache() -> Iterator[Probe]:
    """Step 10, the first function."""
    yield call("2 layers", "new_cache", OTHER)
    yield call("3 layers", "new_cache", SQUARE)

    def apart(names: Names) -> Any:
        made = names["new_cache"](SQUARE)
        made[0]["k"] = np.zeros(1)
        return [len(one) for one in made]

    yield Probe("keys for layer 0, none for layers 1 and 2", apart)


OTHER_NAMES = "other names in the dictionary"


def keys_and_values(kept: Names) -> Names:
    """What a layer must keep; what a reader keeps beside it is their own affair.

    Where one of the two is not there but other names are, the names are told.
    """
    found = {name: kept.get(name) for name in ("k", "v")}
    others = kept.keys() - found.keys()
    if others and not found.keys() <= kept.keys():
        found[OTHER_NAMES] = ", ".join(map(repr, kept))
    return found


def cached_block() -> Iterator[Probe]:
    """Step 10, the second function."""

    def calls(config: dict[str, Any], width: int, sizes: tuple[int, ...]) -> Probe:
        def run(names: Names) -> Any:
            layer = copy.deepcopy(layer_of(config, width))
            kept: Names = {}
            results: Names = {}
            start = 0
            for N in sizes:
                table = angles_of(config, np.arange(start, start + N))
                mask = np.tri(N, start + N, start, dtype=bool)
                x = numbers(N, width, seed=start)
                try:
                    result = names["cached_block"](x, layer, table, mask, config, kept)
                except Exception as error:
                    raise StoppedError({**results, **keys_and_values(kept)}, error) from error
                if not same(x, numbers(N, width, seed=start)):
                    raise ChangedError
                results[f"result {len(results)}"] = result
                start += N
            return {**results, **keys_and_values(kept)}

        words = ", then ".join(str(size) for size in sizes)
        return Probe(f"{words} token{'s' * (sizes[-1] > 1)}, and what is kept", run)

    yield calls(SQUARE, 24, (3,))
    yield calls(SQUARE, 24, (3, 2))
    yield calls(OTHER, 20, (2, 1, 1))


def keys_of(memory: list[Names]) -> Names:
    """The keys that each layer keeps; they show the positions, which logits may not."""
    return {f"keys of layer {i}": kept.get("k", 0) for i, kept in enumerate(memory)}


def cached_forward() -> Iterator[Probe]:
    """Step 10, the third function."""

    def calls(config: dict[str, Any], width: int, sizes: tuple[int, ...]) -> Probe:
        def run(names: Names) -> Any:
            weights = copy.deepcopy(model_of(config, width))
            memory: list[Names] = [{} for _ in range(config["layers"])]
            rope = small_rope(config, 1.2)
            results: Names = {}
            start = 0
            for N in sizes:
                tokens = [(7 * position + 3) % VOCABULARY for position in range(start, start + N)]
                try:
                    logits = names["cached_forward"](tokens, weights, config, rope, memory)
                except Exception as error:
                    raise StoppedError({**results, **keys_of(memory)}, error) from error
                results[f"tokens {start} to {start + N - 1}"] = logits
                start += N
            return {**results, **keys_of(memory)}

        return Probe(f"calls with {', '.join(str(size) for size in sizes)} tokens", run)

    yield calls(SQUARE, 24, (4,))
    yield calls(SQUARE, 24, (1, 1, 1))
    yield calls(SQUARE, 24, (6, 1, 1, 3))
    yield calls(OTHER, 20, (3, 2))


LOGITS = np.array([0.5, 2.0, -1.0, 1.2, 0.1, 1.7])


def probabilities() -> Iterator[Probe]:
    """Step 11, the first function."""
    yield call("temperature 1", "probabilities", LOGITS)
    yield call("temperature 0.5", "probabilities", LOGITS, 0.5)
    yield call("temperature 2", "probabilities", LOGITS, 2.0)
    yield call("temperature 0", "probabilities", LOGITS, 0.0)
    yield call("top_k = 2", "probabilities", LOGITS, 1.0, 2)
    yield call("top_k = 6, all of them", "probabilities", LOGITS, 1.0, 6)
    yield call("top_p = 0.6", "probabilities", LOGITS, 1.0, 0, 0.6)
    yield call("top_p = 0.01", "probabilities", LOGITS, 1.0, 0, 0.01)
    yield call("temperature 2 and top_k = 3", "probabilities", LOGITS, 2.0, 3)
    yield call("temperature 3 and top_p = 0.6", "probabilities", LOGITS, 3.0, 0, 0.6)
    yield call("top_k = 3 and top_p = 0.7", "probabilities", LOGITS, 1.0, 3, 0.7)
    yield call("temperature 0 and top_k = 3", "probabilities", LOGITS, 0.0, 3, 0.9)
    yield call("logits of 1000", "probabilities", LOGITS + 1000)

    def exactly(names: Names) -> Any:
        found = names["probabilities"](np.zeros(4), 1.0, 0, 0.5)
        return np.sort(found)  # any two of the four may stay

    yield Probe("four equal logits and top_p = 0.5, in ascending order", exactly)


def sample() -> Iterator[Probe]:
    """Step 11, the second function."""

    def shares(words: str, count: int, tolerance: float, **settings: Any) -> Probe:
        def run(names: Names) -> Any:
            random = np.random.default_rng(5)
            logits = LOGITS.copy()
            drawn = [int(names["sample"](logits, random, **settings)) for _ in range(count)]
            if not same(logits, LOGITS):
                raise ChangedError
            return np.bincount(drawn, minlength=len(LOGITS)) / count

        return Probe(f"the shares of {count:,} tokens drawn, {words}", run, tolerance)

    # One estimate of all shares takes many draws. That a setting arrives is seen in a few: each of
    # these leaves only one token.
    yield shares("temperature 1", 400, tolerance=0.3)
    yield shares("temperature 0.01", 12, tolerance=0.25, temperature=0.01)
    yield shares("top_k = 1", 12, tolerance=0.25, top_k=1)
    yield shares("top_p = 0.01", 12, tolerance=0.25, top_p=0.01)
    yield shares("temperature 0", 12, tolerance=0.25, temperature=0.0)

    def kind(names: Names) -> Any:
        drawn = names["sample"](LOGITS.copy(), np.random.default_rng(0))
        whole = isinstance(drawn, (int, np.integer)) or np.asarray(drawn).dtype.kind in "iu"
        return f"{'an integer' if whole else 'no integer'}, shape {np.shape(drawn)}"

    yield Probe("what kind of value a draw is", kind)

    def rounded(names: Names) -> Any:
        random = np.random.default_rng(0)
        drawn = []
        for seed in range(12):
            logits = (3 * numbers(257, seed=seed)).astype(np.float32)
            drawn.append(int(names["sample"](logits, random, top_p=0.95)))
        return f"{len(drawn)} tokens from 0 to 256: {0 <= min(drawn) <= max(drawn) <= 256}"

    yield Probe("257 logits in float32, as the book's model gives them", rounded)

    def again(names: Names) -> Any:
        texts = []
        for seed in (1, 1, 2):
            random = np.random.default_rng(seed)
            texts.append([int(names["sample"](LOGITS.copy(), random)) for _ in range(12)])
        return np.array([texts[0] == texts[1], texts[0] != texts[2]])

    yield Probe("the same seed twice, then another seed", again)


def generate() -> Iterator[Probe]:
    """Step 11, the third function."""
    weights = copy.deepcopy(model_of(SQUARE, 24))
    rope = small_rope(SQUARE)

    def written(words: str, tokens: list[int], count: int, **settings: Any) -> Probe:
        def run(names: Names) -> Any:
            given = list(tokens)
            random = np.random.default_rng(3)
            arguments = (given, count, weights, SQUARE, rope, random)
            made = [int(token) for token in names["generate"](*arguments, **settings)]
            if given != tokens:
                raise ChangedError
            return made

        return Probe(words, run)

    yield written("8 tokens after 5, temperature 0", PROMPT, 8, temperature=0.0)
    yield written("5 tokens after 1, temperature 0", [4], 5, temperature=0.0)
    yield written("top_k = 1, at temperature 2", PROMPT, 3, temperature=2.0, top_k=1)
    yield written("a tiny top_p", PROMPT, 3, top_p=0.001)
    yield written("no token at all, count = 0", PROMPT, 0)

    def streams(names: Names) -> Any:
        random = np.random.default_rng(3)
        made = names["generate"](list(PROMPT), 3, weights, SQUARE, rope, random)
        return "one token at a time" if hasattr(made, "__next__") else type(made).__name__

    yield Probe("whether tokens come one at a time", streams)

    def drawn_in_time(names: Names) -> Any:
        random = np.random.default_rng(3)
        made = iter(names["generate"](list(PROMPT), 3, weights, SQUARE, rope, random))
        next(made)
        after_one = random.bit_generator.state
        list(made)
        return "one after the other" if random.bit_generator.state != after_one else "all at once"

    yield Probe("whether the second token is drawn after the first is given", drawn_in_time)

    def differ(names: Names) -> Any:
        random = np.random.default_rng(5)
        first = set()
        for _ in range(10):
            made = names["generate"]([4], 1, weights, SQUARE, rope, random, temperature=3.0)
            first.add(int(next(iter(made))))
        return "different tokens" if len(first) > 2 else "always the same"

    yield Probe("10 first tokens, temperature 3", differ)


FREQUENCIES = 10_000.0 ** (-np.arange(16) / 16)


def kept_share() -> Iterator[Probe]:
    """Step 12, the first function."""
    yield call("d_k = 32, a length of 1,024", "kept_share", FREQUENCIES, 1024)
    yield call("a length of 64", "kept_share", FREQUENCIES, 64)
    yield call("slow = 2 and fast = 8", "kept_share", FREQUENCIES, 512, 2.0, 8.0)
    yield call("a length of 100,000", "kept_share", FREQUENCIES, 100_000)


def yarn() -> Iterator[Probe]:
    """Step 12, the second function."""
    yield call("a scale of 4, a length of 1,024", "yarn", FREQUENCIES, 4.0, 1024)
    yield call("a scale of 1, which changes nothing", "yarn", FREQUENCIES, 1.0, 1024)
    yield call("a scale of 2, a length of 200", "yarn", FREQUENCIES[::2], 2.0, 200)
    yield call("a scale of 16, a length of 4,096", "yarn", FREQUENCIES, 16.0, 4096)

    def relative(names: Names) -> Any:
        changed, factor = names["yarn"](FREQUENCIES.copy(), 4.0, 1024)
        return np.asarray(changed) / FREQUENCIES, factor

    yield Probe("the new frequencies, divided by the old ones", relative)


STEPS: list[tuple[str, list[Callable[[], Iterator[Probe]]]]] = [
    ("softmax", [softmax]),
    ("attend", [attend]),
    ("mask", [causal_mask, masked_attend]),
    ("heads", [split_heads, merge_heads, repeat_groups]),
    ("RMSNorm", [rms_norm]),
    ("SwiGLU", [swiglu]),
    ("RoPE", [rope_frequencies, rope_table, rotate]),
    ("block", [project, mix, block]),
    ("the file and the model", [encode, read_weights, layer_weights, forward]),
    ("cache", [new_cache, cached_block, cached_forward]),
    ("sampling", [probabilities, sample, generate]),
    ("longer", [kept_share, yarn]),
]


def functions_of(step: int) -> list[str]:
    """The functions that a step asks for."""
    return [probes.__name__ for probes in STEPS[step - 1][1]]


def probes_of(function: str) -> list[Probe]:
    """The probes of one function."""
    for _, all_probes in STEPS:
        for probes in all_probes:
            if probes.__name__ == function:
                return list(probes())
    raise ValueError(f"no step of the workshop asks for {function!r}")
