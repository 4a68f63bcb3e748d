"""How a reader uses each listing to take away: what to make of it, and what to call it with.

Each listing is taken from its page, so the chapters must be beside `src`. `roundings` says how many
results, one after the other, a listing rounds to its dtype.
"""

import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

CHAPTERS = Path(__file__).resolve().parents[3] / "chapters"
Names = dict[str, Any]
Inputs = tuple[Tensor, ...]


class Use(NamedTuple):
    """How a reader uses a listing: what to make once, what to call it with."""

    start: str  # a line that only this listing has
    make: Callable[[Names], Any]  # a function, or a module with weights
    inputs: Callable[[], Inputs]  # in float64 or whole numbers, the batch first
    call: Callable[..., Tensor | Inputs]  # of what was made, and the inputs
    roundings: float = 1.0
    # A batch whose second text is shorter, and the same text alone: two results that must agree.
    padded: Callable[[Any, Inputs], tuple[Tensor, Tensor]] | None = None
    # Fewer key-value heads, and the same heads repeated: two results that must agree.
    grouped: Callable[[Any, Inputs], tuple[Tensor, Tensor]] | None = None
    has_weights: bool = False  # what is made is a module, not a function
    batched: bool = True
    keeps_dtype: bool = True


@cache
def code_cells() -> tuple[str, ...]:
    """The sources of all code cells of the chapters."""
    found = []
    for path in sorted(CHAPTERS.glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                found.append("".join(cell["source"]))
    return tuple(found)


def source_of(start: str) -> str:
    """The code cell of a chapter that has a line; exactly one has it."""
    found = [source for source in code_cells() if start in source]
    if len(found) != 1:
        raise LookupError(f"{len(found)} code cells of the chapters have the line {start!r}")
    return found[0]


def listing(use: Use) -> Names:
    """What a listing defines, executed alone as a file of the reader's; its prints are dropped."""
    module = ModuleType(f"listing_{abs(hash(use.start))}")
    sys.modules[module.__name__] = module  # the compiler looks for it there
    names = vars(module)
    names["print"] = lambda *_, **__: None
    exec(source_of(use.start), names)
    return names


def numbers(*shape: int, seed: int) -> Tensor:
    """Normal numbers in float64 that are the same on every machine."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def heads(h: int = 4, groups: int | None = None, N: int = 9) -> Callable[[], Inputs]:
    """Queries, keys and values of some heads, (B, h, N, d_k)."""

    def make() -> Inputs:
        q = numbers(3, h, N, 8, seed=1)
        k = numbers(3, groups or h, N, 8, seed=2)
        v = numbers(3, groups or h, N, 8, seed=3)
        return q, k, v

    return make


def tokens_in(d: int, N: int = 9) -> Callable[[], Inputs]:
    """The input of a layer, (B, N, d)."""
    return lambda: (numbers(3, N, d, seed=4),)


def seeded(make: Callable[[Names], nn.Module]) -> Callable[[Names], nn.Module]:
    """A module whose first weights are the same every time."""

    def build(names: Names) -> nn.Module:
        torch.manual_seed(5)
        return make(names)

    return build


def positions(x: Tensor, start: int = 0) -> Tensor:
    """Positions of the tokens of (..., N, d)."""
    return torch.arange(start, start + x.shape[-2], device=x.device)


def first_of_two(made: Any, inputs: Inputs) -> tuple[Tensor, Tensor]:
    """A layer with a mask of real tokens: a text with padding behind it, and alone."""
    (x,) = inputs
    real = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
    real[1, 6:] = False
    return made(x, real)[1, :6], made(x[1:2, :6])[0]


def left_padding(made: Any, inputs: Inputs) -> tuple[Tensor, Tensor]:
    """The same with the padding before the text."""
    (x,) = inputs
    real = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
    real[1, :3] = False
    return made(x, real)[1, 3:], made(x[1:2, 3:])[0]


def masked_keys(made: Any, inputs: Inputs) -> tuple[Tensor, Tensor]:
    """A function with a mask: keys that it hides, and the same without these keys."""
    q, k, v = inputs
    mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device)
    mask[:, 6:] = False
    return made(q, k, v, mask), made(q, k[..., :6, :], v[..., :6, :])


def rope_layer(names: Names) -> Any:
    """Self-attention with RoPE, whose table is made for each input."""
    layer = names["SelfAttention"](32, 4)

    class WithTable(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
            if real is None:
                position_ids = positions(x)[None].expand(len(x), -1)
                mask = None
            else:  # padding before or behind a text: positions count real tokens
                position_ids = (real.cumsum(-1) - 1).clamp(min=0)
                N = x.shape[1]
                causal = torch.ones(N, N, dtype=torch.bool, device=x.device).tril()
                own = torch.eye(N, dtype=torch.bool, device=x.device)
                mask = (causal & real[:, None, None, :]) | own
            table = names["rope_table"](position_ids, 8)
            attended: Tensor = self.layer(x, table, mask)[0]
            return attended

    return WithTable()


def repeated_groups(made: Any, inputs: Inputs) -> tuple[Tensor, Tensor]:
    """Two key-value heads for four query heads, and the same heads written out."""
    q, k, v = inputs
    k, v = k[:, :2], v[:, :2]
    whole = made(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1))[0]
    return made(q, k, v)[0], whole


def steps_of_latents(layer: nn.Module, x: Tensor) -> Inputs:
    """The whole text in both forms, and in steps with the cache."""
    naive = layer(x, absorbed=False)[0]
    first, cache = layer(x[:, :5])
    second, _ = layer(x[:, 5:], cache)
    return naive, torch.cat((first, second), dim=1)


def steps_of_state(layer: nn.Module, x: Tensor) -> Inputs:
    """The whole text, and in two parts with the state."""
    whole = layer(x)[0]
    first, state = layer(x[:, :4])
    second, _ = layer(x[:, 4:], state)
    return whole, torch.cat((first, second), dim=1)


def steps_of_attend(attend: Any, q: Tensor, k: Tensor, v: Tensor) -> Inputs:
    """All tokens at once, and the last two with a cache."""
    whole, _ = attend(q, k, v)
    _, cache = attend(q[..., :-2, :], k[..., :-2, :], v[..., :-2, :])
    last, _ = attend(q[..., -2:, :], k[..., -2:, :], v[..., -2:, :], cache)
    return whole, last


def steps_with_positions(layer: nn.Module, x: Tensor) -> Inputs:
    """The whole text, and in three parts with the cache, each at its positions."""
    whole = layer(x, positions(x))[0]
    first, cache = layer(x[:, :4], positions(x[:, :4]))
    second, cache = layer(x[:, 4:5], positions(x[:, 4:5], 4), cache)
    third, _ = layer(x[:, 5:], positions(x[:, 5:], 5), cache)
    return whole, torch.cat((first, second, third), dim=1)


def steps_with_cache(model: nn.Module, tokens: Tensor) -> Inputs:
    """The whole text, and in three parts with what the model or layer keeps."""
    whole = model(tokens)[0]
    first, caches = model(tokens[:, :4])
    second, caches = model(tokens[:, 4:5], caches)
    third, _ = model(tokens[:, 5:], caches)
    return whole, torch.cat((first, second, third), dim=1)


def checked_rotation(names: Names) -> Callable[[Tensor], Tensor]:
    """Vectors at positions from 5,000 on, with a table in float32 or better."""

    def run(x: Tensor) -> Tensor:
        position_ids = (torch.arange(x.shape[-2], device=x.device) + 5000)[None]
        theta = names["frequencies"](x.shape[-1]).to(x.device)
        dtype = torch.promote_types(x.dtype, torch.float32)
        cos, sin = names["checked_table"](position_ids, theta, 1.0, dtype)
        rotated: Tensor = names["checked_rope"](x, cos, sin, layout="interleaved")
        return rotated

    return run


def with_bias(names: Names) -> Callable[..., Tensor]:
    """Causal attention with ALiBi's bias and with T5's."""
    table = numbers(32, 4, seed=6).float()

    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        offset = names["offsets_of"](q.shape[-2], k.shape[-2], q.device)
        bias = names["alibi"](offset, 4) + names["t5"](offset, table.to(q.device))
        attended: Tensor = names["causal_attention"](q, k, v, bias, offset)
        return attended

    return run


def layer_use(
    start: str,
    make: Callable[[Names], nn.Module],
    roundings: float,
    padded: Callable[[Any, Inputs], tuple[Tensor, Tensor]] | None = None,
) -> Use:
    """The use of a layer of width 32 that is called with its tokens alone."""
    return Use(
        start,
        seeded(make),
        tokens_in(32),
        lambda made, x: made(x),
        roundings=roundings,
        padded=padded,
        has_weights=True,
    )


USES = {
    "short-road: attend": Use(
        '"""Causal; q and k are (B, h, N, d_k), v is (B, h, N, d_v)."""',
        lambda names: names["attend"],
        heads(),
        steps_of_attend,
        roundings=2,  # rotated keys are stored
    ),
    "attention: SelfAttention": layer_use(
        "    def scores(self, x):  # x (N, d)",
        lambda names: names["SelfAttention"](d=32, d_k=8, d_v=8),
        roundings=4,
    ),
    "attention: attend": Use(
        "def attend(q, k, v, mask=None):",
        lambda names: names["attend"],
        heads(),
        lambda made, *inputs: made(*inputs),
        padded=masked_keys,
    ),
    "attention: CausalSelfAttention": Use(
        "class CausalSelfAttention(nn.Module)",
        seeded(lambda names: names["CausalSelfAttention"](d=32, heads=4)),
        tokens_in(32),
        lambda made, x: (made(x), made(x, by_hand=True)),
        # By hand: queries, keys, values, products, scores, weights, averages, and the output.
        roundings=8,
        padded=left_padding,
        has_weights=True,
    ),
    "attention: PaddedSelfAttention": Use(
        "def forward(self, x, real=None, causal=True):",
        seeded(lambda names: names["PaddedSelfAttention"](32, 8, 12)),
        tokens_in(32),
        lambda made, x: (made(x), made(x, causal=False)),
        roundings=3,  # queries and keys, values, and the output
        padded=left_padding,
        has_weights=True,
    ),
    "why-sqrt-d: attend": Use(
        "def attend(q, k, v, gains=None):",
        lambda names: names["attend"],
        heads(),
        lambda made, q, k, v: made(q, k, v, q.new_ones(2, 8)),
        roundings=3,  # two norms, and the output
    ),
    "many-heads: CausalMultiHeadAttention": layer_use(
        "class CausalMultiHeadAttention",
        lambda names: names["CausalMultiHeadAttention"](32, 4),
        roundings=3,
        padded=left_padding,
    ),
    "residuals-and-norms: Stack": layer_use(
        "class Stack(nn.Sequential)",
        lambda names: names["Stack"](2, 32, 4, 48),
        roundings=8,
    ),
    "feed-forward: GatedFeedForward": layer_use(
        "class GatedFeedForward",
        lambda names: names["GatedFeedForward"](32, multiple_of=16),
        roundings=4,
    ),
    "why-position: PositionedEmbedding": Use(
        "class PositionedEmbedding",
        seeded(lambda names: names["PositionedEmbedding"](50, 16, 40)),
        lambda: (torch.arange(27).reshape(3, 9),),
        lambda made, tokens: made(tokens, 3),
        has_weights=True,
    ),
    "sinusoids: add_positions": Use(
        "def add_positions(x, start=0):",
        lambda names: names["add_positions"],
        tokens_in(32),
        lambda made, x: made(x, 1000),
        roundings=2,  # of the code, and of the sum
    ),
    "relative-positions: causal_attention": Use(
        "def causal_attention(q, k, v, bias, offset, scale=None):",
        with_bias,
        heads(),
        lambda made, *inputs: made(*inputs),
        roundings=3,  # the bias is rounded to the dtype of the queries
    ),
    "deriving-rope: causal_rope_attention": Use(
        "def causal_rope_attention",
        lambda names: names["causal_rope_attention"],
        heads(),
        lambda made, q, k, v: made(q, k, v, positions(q, 5000)),
        roundings=3,
    ),
    "implementing-rope: SelfAttention": layer_use(
        "def forward(self, x, table, mask=None, cache=None):",
        rope_layer,
        roundings=4,
        padded=left_padding,
    ),
    "what-rope-encodes: preference": Use(
        "def preference(q, k, distances",
        lambda names: names["preference"],
        lambda: (numbers(3, 4, 9, 8, seed=1), numbers(3, 4, 9, 8, seed=2)),
        lambda made, q, k: made(q, k, torch.arange(20, device=q.device)),
        keeps_dtype=False,  # a measurement, in float64
    ),
    "cache: Attention": Use(
        "def generate(model, tokens, count)",
        seeded(lambda names: names["Attention"](d=48, h=6, g=2)),
        tokens_in(48),
        steps_with_positions,
        roundings=6,
        has_weights=True,
    ),
    "cache: Model": Use(
        "def generate(model, tokens, count)",
        seeded(lambda n: n["Model"](vocabulary=50, d=48, h=6, g=2, hidden=96, layers=2)),
        lambda: (torch.arange(27).reshape(3, 9),),
        steps_with_cache,
        # Two blocks with six roundings in attention and four in the feed-forward layer, two sums,
        # and the embedding, the last norm and the logits.
        roundings=27,
        has_weights=True,
    ),
    "latent-attention: LatentAttention": Use(
        "class LatentAttention(nn.Module)",
        seeded(lambda n: n["LatentAttention"](d=48, h=3, d_k=10, d_v=8, d_R=4, d_c=12, d_u=20)),
        tokens_in(48),
        steps_of_latents,
        roundings=6,
        has_weights=True,
    ),
    "attention-in-blocks: attend": Use(
        "class InBlocks(torch.autograd.Function)",
        lambda names: names["attend"],
        heads(),
        lambda made, q, k, v: made(q, k, v, 4)[0],
        grouped=repeated_groups,
    ),
    "longer-contexts: yarn and rotary": Use(
        "def yarn(d_k, base, trained, s",
        lambda names: names,
        lambda: (torch.arange(4096),),
        lambda names, m: names["rotary"](m, *names["yarn"](32, 10_000.0, 1024, 4)),
        batched=False,
        keeps_dtype=False,  # tables are in float32
    ),
    "implementing-rope: rope_at": Use(
        "def rope_at(x, positions, base=10000.0):",
        lambda names: names["rope_at"],
        lambda: (numbers(3, 4, 9, 8, seed=1),),
        lambda made, x: made(x, torch.arange(9, device=x.device) + 5000),
    ),
    "implementing-rope: checked_rope": Use(
        "def checked_rope(",
        checked_rotation,
        lambda: (numbers(3, 4, 9, 8, seed=1),),
        lambda made, x: made(x),
    ),
    "relative-positions: ALiBi": Use(
        "class RelativeAttention(nn.Module):",
        seeded(lambda names: names["ALiBi"](d=32, h=4)),
        tokens_in(32),
        lambda made, x: made(x, torch.arange(x.shape[1], device=x.device) + 50),
        roundings=6,
        has_weights=True,
    ),
    "which-encoding: attend": Use(
        "def attend(q, k, v, positions, base=None, window=None):",
        lambda names: names["attend"],
        heads(),
        lambda made, q, k, v: made(q, k, v, positions(q, 5000), base=10_000.0, window=4),
        roundings=3,  # rotated queries and keys are rounded, too
    ),
    "fewer-scores: WindowAttention": Use(
        "class WindowAttention(nn.Module)",
        seeded(lambda names: names["WindowAttention"](d=48, h=6, window=3)),
        tokens_in(48),
        steps_with_cache,
        roundings=6,
        has_weights=True,
    ),
    "fewer-scores: window_attention": Use(
        "def window_attention(q, k, v, window, sink):",
        lambda names: names["window_attention"],
        heads(),
        lambda made, q, k, v: made(q, k, v, 4, q.new_ones(4)),
    ),
    "state-instead-of-cache: DeltaLayer": Use(
        "class DeltaLayer(nn.Module)",
        seeded(lambda names: names["DeltaLayer"](d=24, h=3, d_k=4, d_v=5)),
        tokens_in(24),
        steps_of_state,
        roundings=4,
        has_weights=True,
    ),
}
