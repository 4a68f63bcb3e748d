"""RoPE of queries and keys on a GPU, against copying them; causal attention; one block.

Peers that are not there are left out with a line. Of liger-kernel, and of flash-attn with einops,
the Python sources on PYTHONPATH are enough: nothing of them has to be compiled.
"""

from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attention_to_rope import rotary_frequencies, rotary_table, rotate
from attention_to_rope.fast import rotate_queries_and_keys
from attention_to_rope.fast.rope_kernel import TILES, Tile
from attention_to_rope.fast.rope_triton import use_tile
from attention_to_rope.rope import Layout, RotaryTable
from bookkit.published_forms import as_complex, rotated_half
from bookkit.records import Row
from laboratory.speed.cpu import textbook_rows
from laboratory.speed.measure import Candidate, compare, medians
from laboratory.speed.peers import imported, without_its_start

Both = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


class Shape(NamedTuple):
    """Sizes of queries and keys; `tuned`: the kernel was changed for what this shape showed."""

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
    Shape(1, 32, 8, 8192, 256),
    Shape(2, 24, 8, 4096, 96, tuned=False),
    Shape(3, 28, 4, 5000, 128),  # here the kernel once launched programs without work
    Shape(2, 48, 4, 9000, 128, tuned=False),
    Shape(64, 32, 8, 1, 128),  # one step of decoding
    Shape(32, 64, 8, 1, 128, tuned=False),
)


def queries_and_keys(
    shape: Shape, order: str = "positions", device: str = "cuda"
) -> tuple[Tensor, Tensor]:
    """Random q and k in bfloat16; order "heads": (B, N, H, d) transposed, as a projection gives."""
    generator = torch.Generator(device).manual_seed(0)

    def draw(heads: int) -> Tensor:
        sizes = [shape.batch, heads, shape.length, shape.dim]
        if order == "heads":
            sizes[1], sizes[2] = sizes[2], sizes[1]
        x = torch.randn(*sizes, generator=generator, device=device, dtype=torch.bfloat16)
        return x.transpose(1, 2) if order == "heads" else x

    return draw(shape.heads), draw(shape.kv_heads)


def copies(q: Tensor, k: Tensor, times: int = 1) -> Candidate:
    """The floor: what moving the same bytes costs, once for each direction."""
    return lambda: [(q.clone(), k.clone()) for _ in range(times)]


def _each(form: Callable[..., Tensor], *table: Any, **options: Any) -> Both:
    return lambda q, k: (form(q, *table, **options), form(k, *table, **options))


LLAMA = "transformers Llama, compiled, max-autotune"
LIGER = "Liger, in place"
FLASH = "flash-attn Triton"
PACKAGES = {LLAMA: "transformers", LIGER: "liger-kernel", FLASH: "flash-attn"}


def forms(table: RotaryTable) -> dict[str, Both]:
    """Every available way to rotate q and k: name → a function of both."""
    # The tables of other libraries, made once as theirs are: as wide as x, or half, in its dtype.
    wide = [torch.cat((part, part), -1).bfloat16() for part in table]
    narrow = [part.bfloat16() for part in table]
    compiled = partial(torch.compile, dynamic=False)
    published = _each(rotated_half, *wide)
    fused = partial(rotate_queries_and_keys, table=table)
    found: dict[str, Both] = {
        "ours, fused, half": partial(fused, layout="half"),
        "ours, fused, interleaved": partial(fused, layout="interleaved"),
        "ours, compiled": compiled(_each(rotate, table, layout="half")),
        "published form, bf16 table, compiled": compiled(published),
        "published form, bf16 table, eager": published,
        "complex form, eager": _each(as_complex, torch.complex(*table)),
    }
    llama = imported("transformers.models.llama.modeling_llama", "apply_rotary_pos_emb")
    if llama is not None:
        # Replaying CUDA graphs is `compare`'s task; the compiler's own would copy q and k first.
        tuned = compiled(llama, mode="max-autotune-no-cudagraphs")
        found[LLAMA] = partial(tuned, cos=wide[0][None], sin=wide[1][None])
    liger = imported("liger_kernel.ops.rope", "LigerRopeFunction")
    if liger is not None:
        found[LIGER] = lambda q, k: liger.apply(q, k, wide[0][None], wide[1][None])
    without_its_start("flash_attn")  # which wants its compiled part; the rotation does not
    flash = imported("flash_attn.layers.rotary", "apply_rotary_emb")
    if flash is not None:  # it wants (B, N, H, d)
        found[FLASH] = _each(lambda x: flash(x.transpose(1, 2), *narrow).transpose(1, 2))
    return found


def checked(
    name: str, form: Both, q: Tensor, k: Tensor, table: RotaryTable, *, backward: bool
) -> Candidate:
    """The form, forward or with its gradient, ready to be timed, if it computes what `rotate` does.

    A form that is bfloat16 throughout rounds the table, the products and the sum, each by at most
    2⁻⁸ of the pair's length √(a² + b²), which is below 7 for what is drawn here.
    """
    own = [x.detach().clone().requires_grad_(backward) for x in (q, k)]  # it may turn in place
    given = [q, k]
    results = list(form(*own))
    if backward:
        given = [torch.randn_like(x) for x in results]
        results = list(torch.autograd.grad(results, own, [x.clone() for x in given]))
        table = RotaryTable(table.cos, -table.sin)
    layout: Layout = "interleaved" if "interleaved" in name or "complex" in name else "half"
    for x, result in zip(given, results, strict=True):
        truth = rotate(x.float(), table, layout=layout)
        error = partial("{}: {}".format, name)
        torch.testing.assert_close(result.float(), truth, rtol=0, atol=3 * 7 * 2**-8, msg=error)
    if not backward:
        return partial(form, q, k)
    q, k = own
    upstream = [torch.randn_like(x) for x in form(q, k)]  # in the order in memory of the results
    return lambda: torch.autograd.grad(form(q, k), (q, k), upstream)


Case = tuple[Shape, str]  # with the order in memory
CASES: tuple[Case, ...] = tuple(
    (shape, order)
    for order, shape in product(("positions", "heads"), SHAPES)
    if order == "positions" or shape.length <= 16384
)
CALLS = tuple(case for case in CASES if case[0].tuned)


def call_rows(
    rounds: int = 15, *, runs: int = 5, cases: tuple[Case, ...] = CALLS, device: str = "cuda"
) -> Iterator[Row]:
    """Our fused rotation and the fastest of other libraries: medians of several runs."""
    options: dict[str, Any] = {"device": device, "only": ("ours, fused, half", *PACKAGES)}
    for case in cases:
        measured = [list(rope_rows(rounds, cases=(case,), **options)) for _ in range(runs)]
        yield from medians(measured)


def rope_rows(
    rounds: int = 15,
    *,
    cases: tuple[Case, ...] = CASES,
    device: str = "cuda",
    only: tuple[str, ...] = (),
) -> Iterator[Row]:
    """All shapes, bfloat16 in and out, forward and with gradient; `only` names some forms."""
    for (shape, order), backward in product(cases, (False, True)):
        if backward and shape.length == 1:
            continue  # nobody trains one position at a time
        torch._dynamo.reset()
        positions = torch.arange(shape.length, device=device)
        table = rotary_table(positions, rotary_frequencies(shape.dim, device=device))
        q, k = queries_and_keys(shape, order, device)
        candidates: dict[str, Candidate] = {"clone": copies(q, k, 2 if backward else 1)}
        for name, form in forms(table).items():
            if not only or name in only:
                candidates[name] = checked(name, form, q, k, table, backward=backward)
        about = {
            "group": "rope" if order == "positions" else "rope, strided",
            "pass": "forward and backward" if backward else "forward",
            "shape": shape.recorded,
            "kv_heads": shape.kv_heads,
            "tuned": shape.tuned,
            "seed": 0,
        }
        times = 20 if shape.batch * shape.length <= 8192 else 5
        for row in compare(candidates, floor="clone", device=device, rounds=rounds, repeats=times):
            package = PACKAGES.get(row["candidate"])
            yield row | about | ({"package": f"{package} {version(package)}"} if package else {})
        del candidates, q, k
        torch.cuda.empty_cache()


TILED = (Shape(1, 32, 8, 8192, 128), Shape(1, 32, 8, 131072, 128))
STRETCHES = (2048, 4096, 8192, 2**30)  # the last one is the whole text


def tile_rows(
    rounds: int = 15,
    *,
    shapes: tuple[Shape, ...] = TILED,
    stretches: tuple[int, ...] = STRETCHES,
    device: str = "cuda",
) -> Iterator[Row]:
    """The fused kernel with other tiles: heads per program, and how far a stretch goes."""
    tiles = [
        Tile(rows=8, heads=heads, stretch=stretch, warps=4)
        for heads in (1, 2, 4, 8, 32)
        for stretch in stretches
    ]
    chosen = TILES["positions"]
    for shape in shapes:
        positions = torch.arange(shape.length, device=device)
        table = rotary_table(positions, rotary_frequencies(shape.dim, device=device))
        q, k = queries_and_keys(shape, "positions", device)
        candidates: dict[str, Candidate] = {"clone": copies(q, k)}
        for tile in tiles:
            candidates[f"{tuple(tile)} half"] = partial(_with_tile, tile, q, k, table)
        about = {"group": "tiles", "shape": shape.recorded, "kv_heads": shape.kv_heads, "seed": 0}
        try:
            for row in compare(candidates, floor="clone", device=device, rounds=rounds, repeats=5):
                yield row | about
        finally:
            use_tile("positions", chosen)


def _with_tile(tile: Tile, q: Tensor, k: Tensor, table: RotaryTable) -> tuple[Tensor, Tensor]:
    if TILES["positions"] != tile:
        use_tile("positions", tile)
    return rotate_queries_and_keys(q, k, table, layout="half")


def attention_rows(rounds: int = 15) -> Iterator[Row]:
    """The textbook form of attention against PyTorch's fused kernel, in bfloat16."""
    shapes = [(1, 16, length, 128) for length in (1024, 2048, 4096, 8192, 16384)]
    shapes += [(4, 12, 3000, 64), (2, 24, 6000, 96)]
    return textbook_rows(rounds, shapes=shapes, device="cuda", dtype=torch.bfloat16)


def _block(x: Tensor, W: Tensor, W_O: Tensor, rotation: Both, heads: int, groups: int) -> Tensor:
    projected = (x @ W).unflatten(-1, (heads + 2 * groups, -1)).transpose(1, 2)
    q, k, v = projected.split((heads, groups, groups), 1)
    q, k = rotation(q, k)
    mixed = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    output: Tensor = mixed.transpose(1, 2).flatten(-2) @ W_O
    return output


BLOCKS = ((1, 8192, 4096, 32, 8), (2, 5000, 3072, 24, 8), (1, 131072, 4096, 32, 8))


def block_rows(
    rounds: int = 15,
    *,
    sizes: tuple[tuple[int, int, int, int, int], ...] = BLOCKS,
    device: str = "cuda",
    compiler: str = "inductor",
) -> Iterator[Row]:
    """One attention block without rotation (the control), fused, and in the published form."""
    draw = partial(torch.randn, device=device, dtype=torch.bfloat16)
    for B, N, d, heads, groups in sizes:
        torch._dynamo.reset()
        torch.manual_seed(0)
        d_k = d // heads
        x = draw(B, N, d)
        W_O = draw(d, d) * d**-0.5
        W = draw(d, (heads + 2 * groups) * d_k) * d**-0.5
        table = rotary_table(torch.arange(N, device=device), rotary_frequencies(d_k, device=device))
        wide = [torch.cat((part, part), -1).bfloat16() for part in table]
        rotations: dict[str, Both] = {
            "no rotation": lambda q, k: (q, k),
            "fused": partial(rotate_queries_and_keys, table=table, layout="half"),
            "published form": _each(rotated_half, *wide),
        }
        ways = {"eager": _block, "compiled": torch.compile(_block, backend=compiler, dynamic=False)}
        candidates: dict[str, Candidate] = {
            f"{form}, {way}": partial(run, x, W, W_O, rotation, heads, groups)
            for way, run in ways.items()
            for form, rotation in rotations.items()
        }
        floor = "no rotation, compiled"
        for row in compare(candidates, floor=floor, device=device, rounds=rounds):
            yield row | {"group": "block", "shape": [B, heads + groups, N, d_k], "seed": 0}
