"""Every listing to take away, in every dtype and situation in which a reader may use it.

python tests/listings/situations.py            the table, on the CPU
python tests/listings/situations.py --compile  also under torch.compile, in one graph
python tests/listings/situations.py --device cuda --compile

Each listing is taken from its page. In a dtype, its result is compared with the same listing in
float64 that gets the same rounded inputs and weights. `roundings` says how many results, one after
the other, a listing rounds to its dtype. One rounding moves a number by at most half of the spacing
between numbers, on average by less than 0.3 of it, and independent ones add up like a root.
"""

import argparse
import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

CHAPTERS = Path(__file__).resolve().parents[2] / "chapters"
HALF = (torch.bfloat16, torch.float16)
DTYPES = (torch.float32, *HALF)
ROUNDING = 0.3  # in units of the spacing between two numbers
FLOAT32_SUMS = 4e-6  # what sums over hundreds of float32 numbers lose
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
    batched: bool = True
    keeps_dtype: bool = True


def source_of(start: str) -> str:
    """The code cell of a chapter that has a line; exactly one has it."""
    found = []
    for path in sorted(CHAPTERS.glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "code" and start in source:
                found.append(source)
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
    layer = names["SelfAttention"](32, 4, layout="half")

    class WithTable(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
            dtype = torch.promote_types(x.dtype, torch.float32)
            if real is None:
                position_ids = positions(x)[None].expand(len(x), -1)
                mask = None
            else:  # padding before or behind a text: positions count real tokens
                position_ids = (real.cumsum(-1) - 1).clamp(min=0)
                N = x.shape[1]
                causal = torch.ones(N, N, dtype=torch.bool, device=x.device).tril()
                own = torch.eye(N, dtype=torch.bool, device=x.device)
                mask = (causal & real[:, None, None, :]) | own
            theta = names["frequencies"](8).to(x.device)
            table = names["rope_table"](position_ids, theta, dtype=dtype)
            return self.layer(x, table, mask)[0]

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


def steps_of_short_road(attend: Any, q: Tensor, k: Tensor, v: Tensor) -> Inputs:
    """All tokens at once, and the last two with a cache."""
    whole, _ = attend(q, k, v)
    _, cache = attend(q[..., :-2, :], k[..., :-2, :], v[..., :-2, :])
    last, _ = attend(q[..., -2:, :], k[..., -2:, :], v[..., -2:, :], cache)
    return whole, last


def with_bias(names: Names) -> Callable[..., Tensor]:
    """Causal attention with ALiBi's bias and with T5's."""
    table = numbers(32, 4, seed=6).float()

    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        offset = names["offsets_of"](q.shape[-2], k.shape[-2], q.device)
        bias = names["alibi"](offset, 4) + names["t5"](offset, table.to(q.device))
        return names["causal_attention"](q, k, v, bias, offset)

    return run


USES = {
    "short-road: attend": Use(
        "def attend(q, k, v, cache=None):",
        lambda names: names["attend"],
        heads(),
        steps_of_short_road,
        roundings=2,  # rotated keys are stored
    ),
    "attention: attend": Use(
        "def attend(q, k, v, mask=None):",
        lambda names: names["attend"],
        heads(),
        lambda made, *inputs: made(*inputs),
        padded=masked_keys,
    ),
    "why-sqrt-d: attend": Use(
        "def attend(q, k, v, gains=None):",
        lambda names: names["attend"],
        heads(),
        lambda made, q, k, v: made(q, k, v, q.new_ones(2, 8)),
        roundings=3,  # two norms, and the output
    ),
    "many-heads: CausalMultiHeadAttention": Use(
        "class CausalMultiHeadAttention",
        seeded(lambda names: names["CausalMultiHeadAttention"](32, 4)),
        tokens_in(32),
        lambda made, x: made(x),
        roundings=3,
        padded=left_padding,
    ),
    "residuals-and-norms: Stack": Use(
        "class Stack(nn.Sequential)",
        seeded(lambda names: names["Stack"](2, 32, 4, 48)),
        tokens_in(32),
        lambda made, x: made(x),
        roundings=8,
    ),
    "feed-forward: GatedFeedForward": Use(
        "class GatedFeedForward",
        seeded(lambda names: names["GatedFeedForward"](32, multiple_of=16)),
        tokens_in(32),
        lambda made, x: made(x),
        roundings=4,
    ),
    "why-position: PositionedEmbedding": Use(
        "class PositionedEmbedding",
        seeded(lambda names: names["PositionedEmbedding"](50, 16, 40)),
        lambda: (torch.arange(27).reshape(3, 9),),
        lambda made, tokens: made(tokens, 3),
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
    "implementing-rope: SelfAttention": Use(
        "class SelfAttention(nn.Module)",
        seeded(rope_layer),
        tokens_in(32),
        lambda made, x: made(x),
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
    "latent-attention: LatentAttention": Use(
        "class LatentAttention(nn.Module)",
        seeded(lambda n: n["LatentAttention"](d=48, h=3, d_k=10, d_v=8, d_R=4, d_c=12, d_u=20)),
        tokens_in(48),
        steps_of_latents,
        roundings=6,
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
    "state-instead-of-cache: DeltaLayer": Use(
        "class DeltaLayer(nn.Module)",
        seeded(lambda names: names["DeltaLayer"](d=24, h=3, d_k=4, d_v=5)),
        tokens_in(24),
        steps_of_state,
        roundings=4,
    ),
}


def cast(inputs: Inputs, dtype: torch.dtype, device: str = "cpu") -> Inputs:
    """Inputs in a dtype; whole numbers stay."""
    return tuple(x.to(device, dtype if x.is_floating_point() else x.dtype) for x in inputs)


def made_in(use: Use, names: Names, dtype: torch.dtype, device: str = "cpu") -> Any:
    """The listing's module in a dtype, or its function."""
    made = use.make(names)
    return made.to(device, dtype).eval() if isinstance(made, nn.Module) else made


def results(use: Use, made: Any, inputs: Inputs) -> Inputs:
    """What a call returns, always as a tuple."""
    with torch.no_grad():
        found = use.call(made, *inputs)
    return found if isinstance(found, tuple) else (found,)


def excess(found: Tensor, exact: Tensor, roundings: float) -> float:
    """The error in units of what is allowed: at most 1 is right."""
    exact = exact.double().cpu()
    found = found.cpu()
    if not torch.isfinite(found).all():
        return float("inf")
    spacing = torch.finfo(found.dtype).eps
    if found.dtype == torch.float64:
        spacing = torch.finfo(torch.float32).eps
    allowed = (ROUNDING * roundings**0.5 * spacing + FLOAT32_SUMS) * exact.norm()
    return float((found.double() - exact).norm() / allowed)


def in_dtype(use: Use, dtype: torch.dtype, device: str = "cpu", *, compiler: str = "") -> float:
    """The error of a listing in a dtype against itself in float64, in units of what is allowed.

    A compiler is a backend of torch.compile. "aot_eager" makes the graph and runs it without
    generated code, in a fiftieth of the time on a CPU.
    """
    names = listing(use)
    inputs = cast(use.inputs(), dtype, device)
    made = made_in(use, names, dtype, device)
    exact_made = (
        copy.deepcopy(made).to("cpu", torch.float64) if isinstance(made, nn.Module) else made
    )
    exact = results(use, exact_made, cast(inputs, torch.float64))
    if compiler:
        torch.compiler.reset()
        call = torch.compile(
            lambda *given: use.call(made, *given), fullgraph=True, backend=compiler
        )
        with torch.no_grad():
            got = call(*inputs)
        found = got if isinstance(got, tuple) else (got,)
    else:
        found = results(use, made, inputs)
    if use.keeps_dtype and any(one.dtype != dtype for one in found):
        raise TypeError(f"{[one.dtype for one in found]} came out of {dtype}")
    pairs = zip(found, exact, strict=True)
    return max(excess(one, other, use.roundings) for one, other in pairs)


def in_batches(use: Use, dtype: torch.dtype = torch.float32, device: str = "cpu") -> float:
    """The difference of a batch and its members, each alone."""
    made = made_in(use, listing(use), dtype, device)
    inputs = cast(use.inputs(), dtype, device)
    whole = results(use, made, inputs)
    worst = 0.0
    for row in range(len(inputs[0])):
        alone = results(use, made, tuple(x[row : row + 1] for x in inputs))
        for one, other in zip(alone, whole, strict=True):
            worst = max(worst, excess(one[0], other[row], use.roundings))
    return worst


def from_meta(use: Use, device: str = "cpu") -> float:
    """The difference of a module and its copy that was built without memory and then loaded."""
    names = listing(use)
    made = made_in(use, names, torch.float32, device)
    inputs = cast(use.inputs(), torch.float32, device)
    with torch.device("meta"):
        empty = use.make(names)
    empty = empty.to_empty(device=device).eval()
    empty.load_state_dict(made.state_dict())
    pairs = zip(results(use, empty, inputs), results(use, made, inputs), strict=True)
    return max(excess(one, other, use.roundings) for one, other in pairs)


def agreement(
    use: Use, which: str, dtype: torch.dtype = torch.float32, device: str = "cpu"
) -> float:
    """The difference of the two results of a situation, "padded" or "grouped"."""
    made = made_in(use, listing(use), dtype, device)
    situation = getattr(use, which)
    with torch.no_grad():
        one, other = situation(made, cast(use.inputs(), dtype, device))
    return excess(one, other, 2 * use.roundings)


def cells(use: Use, device: str, *, compile_too: bool) -> dict[str, Callable[[], float]]:
    """All situations that apply to a listing."""
    made = use.make(listing(use))
    found: dict[str, Callable[[], float]] = {}
    for dtype in DTYPES:
        name = str(dtype).removeprefix("torch.")
        found[name] = lambda dtype=dtype: in_dtype(use, dtype, device)
        if compile_too:
            found[f"{name}, compiled"] = lambda dtype=dtype: in_dtype(
                use, dtype, device, compiler="inductor"
            )
        for which in ("padded", "grouped"):
            if getattr(use, which) is not None:
                found[f"{name}, {which}"] = lambda dtype=dtype, which=which: agreement(
                    use, which, dtype, device
                )
    if use.batched:
        found["batched"] = lambda: in_batches(use, device=device)
    if isinstance(made, nn.Module):
        found["from meta"] = lambda: from_meta(use, device)
    return found


def main() -> int:
    """Print one line for each listing and situation, and return 1 if one is not right."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--compile", action="store_true", help="also under torch.compile")
    given = parser.parse_args()
    wrong = 0
    for name, use in USES.items():
        for situation, measure in cells(use, given.device, compile_too=given.compile).items():
            try:
                error = measure()
                verdict = "ok" if error <= 1 else "WRONG"
            except Exception as problem:  # the table names every one
                error, verdict = float("nan"), f"{type(problem).__name__}: {problem}"[:150]
            wrong += verdict != "ok"
            print(f"{name:42} {situation:20} {error:6.2f} {verdict}", flush=True)
    print(f"{wrong} are not right; torch {torch.__version__}, {given.device}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
