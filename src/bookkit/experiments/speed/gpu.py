"""RoPE of queries and keys on a GPU, against copying them; and causal attention."""

import importlib
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attention_to_rope import blockwise_attention, rotary_frequencies, rotary_table, rotate
from attention_to_rope.fast.rope_triton import rotate_queries_and_keys
from attention_to_rope.rope import Layout, RotaryTable
from bookkit.experiments.speed.measure import Candidate, compare

Row = dict[str, Any]
Both = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


class Shape(NamedTuple):
    """Sizes of queries and keys; `tuned`: the kernel's tile was chosen on this shape."""

    batch: int
    heads: int
    kv_heads: int
    length: int
    dim: int
    tuned: bool = True

    @property
    def recorded(self) -> list[int]:
        """As a row of the results has it: batch, all heads, positions, head dim."""
        return [self.batch, self.heads + self.kv_heads, self.length, self.dim]


SHAPES = (
    Shape(1, 32, 8, 8192, 128),
    Shape(8, 32, 8, 4096, 128),
    Shape(1, 32, 8, 131072, 128, tuned=False),
    Shape(2, 64, 8, 16384, 128),
    Shape(1, 32, 32, 8192, 96),
    Shape(2, 24, 8, 4096, 96, tuned=False),
    Shape(64, 32, 8, 1, 128),  # one step of decoding
    Shape(32, 64, 8, 1, 128, tuned=False),
)


def rotated_half(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The form of most published code: the table is as wide as x and has its dtype."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


def as_complex(x: Tensor, turn: Tensor) -> Tensor:
    """The form of Meta's Llama code: pairs as complex numbers in float32."""
    z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(z * turn).flatten(-2).to(x.dtype)


def queries_and_keys(shape: Shape, order: str = "positions") -> tuple[Tensor, Tensor]:
    """Random q and k in bfloat16; order "heads": (B, N, H, d) transposed, as a projection gives."""
    generator = torch.Generator("cuda").manual_seed(0)

    def draw(heads: int) -> Tensor:
        sizes = [shape.batch, heads, shape.length, shape.dim]
        if order == "heads":
            sizes[1], sizes[2] = sizes[2], sizes[1]
        x = torch.randn(*sizes, generator=generator, device="cuda", dtype=torch.bfloat16)
        return x.transpose(1, 2) if order == "heads" else x

    return draw(shape.heads), draw(shape.kv_heads)


def copies(q: Tensor, k: Tensor, times: int = 1) -> Candidate:
    """The floor: what moving the same bytes costs, once for each direction."""
    return lambda: [(q.clone(), k.clone()) for _ in range(times)]


def _with_gradient(form: Both, q: Tensor, k: Tensor) -> Candidate:
    """Forward and backward; the upstream gradients have the order in memory of the results."""
    q, k = q.detach().requires_grad_(), k.detach().requires_grad_()
    upstream = [torch.randn_like(x) for x in form(q, k)]
    return lambda: torch.autograd.grad(form(q, k), (q, k), upstream)


def _each(form: Callable[..., Tensor], *table: Tensor) -> Both:
    return lambda q, k: (form(q, *table), form(k, *table))


def _ours(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    table = RotaryTable(cos, sin)
    return rotate(q, table, layout="half"), rotate(k, table, layout="half")


def _published(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    return rotated_half(q, cos, sin), rotated_half(k, cos, sin)


def _imported(module: str, name: str) -> Any:
    """A function of another library, or None, with a line, where the library is missing."""
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        print(f"  {module}.{name} is missing ({error}): its rows are left out", flush=True)
        return None


def forms(table: RotaryTable) -> dict[str, Both]:
    """Every way to turn q and k that is there: name → a function of both."""
    cos, sin = table
    wide = [torch.cat((part, part), -1).bfloat16() for part in table]
    compiled = partial(torch.compile, dynamic=False)
    # Replaying CUDA graphs is `compare`'s task, so the compiler is told not to make its own.
    tuned = partial(compiled, mode="max-autotune-no-cudagraphs")
    found: dict[str, Both] = {
        "ours, fused, half": partial(rotate_queries_and_keys, table=table, layout="half"),
        "ours, fused, interleaved": partial(
            rotate_queries_and_keys, table=table, layout="interleaved"
        ),
        "ours, compiled": partial(compiled(_ours), cos=cos, sin=sin),
        "ours, eager": partial(_ours, cos=cos, sin=sin),
        "published form, bf16 table, compiled": partial(
            compiled(_published), cos=wide[0], sin=wide[1]
        ),
        "Hugging Face form, compiled, max-autotune": partial(
            tuned(_published), cos=wide[0], sin=wide[1]
        ),
        "published form, bf16 table, eager": _each(rotated_half, *wide),
        "complex form, eager": _each(as_complex, torch.complex(cos, sin)),
    }
    liger = _imported("liger_kernel.ops.rope", "LigerRopeFunction")
    if liger is not None:  # it turns q and k in place
        found["Liger, in place"] = lambda q, k: liger.apply(q, k, wide[0][None], wide[1][None])
    flash = _imported("flash_attn.layers.rotary", "apply_rotary_emb")
    if flash is not None:  # it wants (B, N, H, d)
        found["flash-attn Triton"] = lambda q, k: (
            flash(q.transpose(1, 2), cos.bfloat16(), sin.bfloat16()).transpose(1, 2),
            flash(k.transpose(1, 2), cos.bfloat16(), sin.bfloat16()).transpose(1, 2),
        )
    return found


PACKAGES = {
    "Liger, in place": ("liger-kernel", "liger_kernel"),
    "flash-attn Triton": ("flash-attn", "flash_attn"),
}


def _package(candidate: str) -> Row:
    """The package and version of a candidate that another library brings."""
    if candidate not in PACKAGES:
        return {}
    name, module = PACKAGES[candidate]
    known = getattr(importlib.import_module(module), "__version__", None)
    return {"package": f"{name} {known or version(name)}"}


def _layout(candidate: str) -> Layout:
    return "interleaved" if "interleaved" in candidate or "complex" in candidate else "half"


def _errors(form: Both, k: Tensor, shape: Shape, layout: Layout) -> Row:
    """How far the last positions, which have the largest angles, are from float64."""
    positions = torch.arange(shape.length, device=k.device)[-1024:]
    frequencies = rotary_frequencies(shape.dim, device=k.device)
    table = rotary_table(positions, frequencies, dtype=torch.float64)
    start = k.clone()
    truth = rotate(start[:1, :1, -1024:].double(), table, layout=layout)
    result = form(start.clone(), start)[1][:1, :1, -1024:].double()
    # One rounding to bfloat16 moves a number by at most 2⁻⁹ of the pair's length.
    differences = {"error": result - truth, "one_rounding": truth.bfloat16().double() - truth}
    return {name: float(f"{float(x.abs().max()):.3g}") for name, x in differences.items()}


def _works(name: str, candidate: Candidate) -> bool:
    """Whether a candidate runs here; what fails is named, and the others are measured."""
    try:
        candidate()
    except Exception as error:
        print(f"  {name} failed, left out: {type(error).__name__}: {str(error)[:300]}", flush=True)
        return False
    return True


def rope_rows(rounds: int = 15) -> list[Row]:
    """All shapes in both orders in memory, bfloat16 in and out, forward and with gradient."""
    rows = []
    for order in ("positions", "heads"):
        for shape in SHAPES:
            torch._dynamo.reset()
            positions = torch.arange(shape.length, device="cuda")
            table = rotary_table(positions, rotary_frequencies(shape.dim, device="cuda"))
            q, k = queries_and_keys(shape, order)
            small = shape.batch * shape.length <= 8192
            for backward in (False, True):
                if backward and shape.length == 1:
                    continue  # nobody trains one position at a time
                if order == "heads" and shape.length > 16384:
                    continue
                times = 2 if backward else 1
                candidates: dict[str, Candidate] = {"clone": copies(q, k, times)}
                found = forms(table)
                for name, form in found.items():
                    try:
                        one = _with_gradient(form, q, k) if backward else partial(form, q, k)
                    except Exception as error:
                        print(f"  {name} left out: {type(error).__name__}: {error}", flush=True)
                        continue
                    if _works(name, one):
                        candidates[name] = one
                for row in compare(
                    candidates,
                    floor="clone",
                    device="cuda",
                    rounds=rounds,
                    repeats=20 if small else 5,
                ):
                    name = row["candidate"]
                    row |= _package(name)
                    if name != "clone" and not backward:
                        row |= _errors(found[name], k, shape, _layout(name))
                    rows.append(
                        row
                        | {
                            "group": "rope" if order == "positions" else "rope, strided",
                            "pass": "forward and backward" if backward else "forward",
                            "shape": shape.recorded,
                            "kv_heads": shape.kv_heads,
                            "tuned": shape.tuned,
                            "seed": 0,
                        }
                    )
                del candidates, found
            del q, k
            torch.cuda.empty_cache()
    return rows


fused = torch.nn.functional.scaled_dot_product_attention


def attention_rows(rounds: int = 15) -> list[Row]:
    """Causal attention, 16 heads of 128: the library's against PyTorch's fused kernel."""
    rows = []
    for length in (2048, 8192, 32768):
        generator = torch.Generator("cuda").manual_seed(0)
        q, k, v = (
            torch.randn(
                1, 16, length, 128, generator=generator, device="cuda", dtype=torch.bfloat16
            )
            for _ in range(3)
        )
        candidates: dict[str, Candidate] = {
            "PyTorch's fused kernel": partial(fused, q, k, v, is_causal=True),
            "blockwise_attention": partial(blockwise_attention, q, k, v, causal=True),
        }
        measured = compare(
            candidates, floor="PyTorch's fused kernel", device="cuda", rounds=rounds, repeats=5
        )
        about = {"group": "attention", "shape": [1, 16, length, 128], "seed": 0}
        rows += [row | about for row in measured]
    return rows
