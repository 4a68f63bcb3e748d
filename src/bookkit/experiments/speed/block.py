"""One causal attention block, eager and compiled: what a rotation adds to it."""

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor

from attention_to_rope import RotaryTable, rotary_frequencies, rotary_table
from attention_to_rope.fast import rotate_queries_and_keys
from bookkit.experiments.record import Row
from bookkit.experiments.speed.measure import Candidate, compare
from bookkit.experiments.speed.peers import rotated_half

Sizes = tuple[int, int, int, int, int]  # B, N, d, query heads, key heads


def block_rows(
    rounds: int = 15,
    *,
    sizes: Sizes = (1, 8192, 4096, 32, 8),
    device: str = "cuda",
    compiler: str = "inductor",
) -> Iterator[Row]:
    """One attention block without rotation (the control), fused, and in the published form."""
    B, N, d, heads, groups = sizes
    d_k = d // heads
    torch.manual_seed(0)
    draw = partial(torch.randn, device=device, dtype=torch.bfloat16)
    x, W, W_O = draw(B, N, d), draw(d, (heads + 2 * groups) * d_k) * d**-0.5, draw(d, d) * d**-0.5
    positions, frequencies = torch.arange(N, device=device), rotary_frequencies(d_k, device=device)
    cos, sin = rotary_table(positions, frequencies)
    wide = [torch.cat((part, part), -1).bfloat16() for part in (cos, sin)]

    def block(x: Tensor, form: str) -> Tensor:
        projected = (x @ W).unflatten(-1, (-1, d_k)).transpose(1, 2)
        q, k, v = projected.split((heads, groups, groups), 1)
        if form == "fused":
            q, k = rotate_queries_and_keys(q, k, RotaryTable(cos, sin), layout="half")
        elif form == "published form":
            q, k = rotated_half(q, *wide), rotated_half(k, *wide)
        attend = torch.nn.functional.scaled_dot_product_attention
        mixed = attend(q, k, v, is_causal=True, enable_gqa=True)
        out: Tensor = mixed.transpose(1, 2).flatten(-2) @ W_O
        return out

    compiled: Callable[..., Tensor] = torch.compile(block, backend=compiler, dynamic=False)
    ways = {"eager": block, "compiled": compiled}
    candidates: dict[str, Candidate] = {
        f"{form}, {way}": partial(run, x, form)
        for way, run in ways.items()
        for form in ("no rotation", "fused", "published form")
    }
    for row in compare(candidates, floor="no rotation, compiled", device=device, rounds=rounds):
        yield row | {"group": "block", "shape": [B, heads + groups, N, d_k], "seed": 0}
