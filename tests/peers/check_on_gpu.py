"""The kernels on the device that is there, against the library: PYTHONPATH=src python3 <this file>.

Without a GPU set TRITON_INTERPRET=1.
Prints one line a case and goes on after a failure; the exit code counts the failures.
`--record FILE` appends what held, where and with which versions.
"""

import argparse
import copy
import itertools
import json
import math
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import torch

import attention_to_rope as book
from attention_to_rope.fast import blockwise_attention
from attention_to_rope.fast.attention_triton import triton_attention
from attention_to_rope.fast.rope_triton import _fits, rotate_queries_and_keys
from laboratory.record import origin

GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"


def draw(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, device=DEVICE).to(dtype)


def larger(worst: float, *differences: torch.Tensor) -> float:
    """The largest of all; Python's `max` would pass over a NaN."""
    for difference in differences:
        assert bool(difference.isfinite()), "a difference is not finite"
        worst = max(worst, float(difference))
    return worst


def rotation(layout: str, dim: int, order: str, dtype: torch.dtype, batched: bool) -> float:
    """The largest difference of results and gradients from `rotate`, half of each head turned."""
    B, H, H_kv, N = 2, 5, 2, 19
    q, k = (draw(B, N, h, dim, dtype=dtype).transpose(1, 2) for h in (H, H_kv))
    if order == "positions":
        q, k = q.contiguous(), k.contiguous()
    q, k = q.detach().requires_grad_(), k.detach().requires_grad_()
    worst = 0.0
    for turned in (dim, dim // 2):
        positions = torch.arange(B * N, device=DEVICE).reshape(B, N)
        frequencies = book.rotary_frequencies(turned, device=DEVICE)
        table = book.rotary_table(positions if batched else positions[0], frequencies)
        assert _fits(q, k, table, layout, turned), "the kernel was not used"
        options = {"layout": layout, "rotary_dim": turned}
        for _ in range(2):  # the first call compiles, the second takes what it has compiled
            got = rotate_queries_and_keys(q, k, table, **options)
        expected = tuple(book.rotate(x, table, **options) for x in (q, k))
        up = [torch.randn_like(x) for x in expected]
        pairs = zip(
            (*got, *torch.autograd.grad(got, (q, k), up)),
            (*expected, *torch.autograd.grad(expected, (q, k), up)),
            strict=True,
        )
        worst = larger(worst, *((a.float() - b.float()).abs().max() for a, b in pairs))
    assert worst <= 8 * torch.finfo(dtype).eps, worst
    return worst


def addresses(dtype: torch.dtype) -> float:
    """Views that begin at other addresses, which Triton compiles for again, and tables too."""
    worst = 0.0
    memory, frequencies = draw(2 * 3 * 8 * 48 + 64, dtype=dtype), book.rotary_frequencies(30)
    positions = torch.arange(40, device=DEVICE)
    whole = book.rotary_table(positions, frequencies.to(DEVICE))
    for start in range(0, 32, 3):
        q = memory[start : start + 2 * 3 * 8 * 48].view(2, 3, 8, 48)
        k = q[:, :1]
        table = book.RotaryTable(*(part[start : start + 8] for part in whole))
        got = rotate_queries_and_keys(q, k, table, layout="half", rotary_dim=30)
        for x, mine in zip((q, k), got, strict=True):
            expected = book.rotate(x, table, layout="half", rotary_dim=30)
            worst = larger(worst, (mine.float() - expected.float()).abs().max())
    assert worst <= 8 * torch.finfo(dtype).eps, worst
    return worst


def compiled(layout: str, order: str) -> float:
    """Inside `torch.compile` without a graph break, with gradients; in two lengths."""
    worst = 0.0

    def scores(q, k, cos, sin):
        table = book.RotaryTable(cos, sin)
        q, k = rotate_queries_and_keys(2 * q, k, table, layout=layout)
        return q @ k.repeat_interleave(2, 1).mT

    torch._dynamo.reset()
    whole = torch.compile(scores, fullgraph=True, backend="inductor" if GPU else "aot_eager")
    for N in (19, 40):
        q, k = (draw(2, N, h, 64).transpose(1, 2) for h in (4, 2))
        if order == "positions":
            q, k = q.contiguous(), k.contiguous()
        q, k = q.detach().requires_grad_(), k.detach().requires_grad_()
        frequencies = book.rotary_frequencies(64, device=DEVICE)
        table = book.rotary_table(torch.arange(N, device=DEVICE), frequencies)
        results = []
        for form in (whole, scores):
            result = form(q, k, *table)
            results.append((result, *torch.autograd.grad(result.square().mean(), (q, k))))
        for mine, theirs in zip(*results, strict=True):
            worst = larger(worst, (mine - theirs).abs().max() / theirs.abs().max())
    assert worst <= 1e-3, worst
    return worst


def many_programs() -> float:
    q, k = draw(4096, 32, 1, 64), draw(4096, 8, 1, 64)
    table = book.rotary_table(
        torch.tensor([9], device=DEVICE), book.rotary_frequencies(64, device=DEVICE)
    )
    got = rotate_queries_and_keys(q, k, table, layout="half")[0]
    worst = float((got - book.rotate(q, table, layout="half")).abs().max())
    assert worst <= 1e-5, worst
    return worst


def kernel_to_read(N: int, causal: bool, dtype: torch.dtype) -> float:
    q, k, v = (draw(2, 2, N, 64, dtype=dtype) for _ in range(3))
    mask = book.causal_mask(N, device=DEVICE) if causal else None
    expected = book.attention(q.double(), k.double(), v.double(), mask=mask)
    worst = float((triton_attention(q, k, v, causal=causal).double() - expected).abs().max())
    assert worst <= (1e-4 if dtype == torch.float32 else 0.03), worst
    return worst


def blockwise(shape: tuple[int, ...], dtype: torch.dtype, causal: bool) -> float:
    """Equal to attention; on a GPU also far less memory than the scores would take."""
    q, k, v = (draw(*shape, dtype=dtype) for _ in range(3))
    if GPU:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    got = blockwise_attention(q, k, v, causal=causal)
    if GPU:
        used, scores = torch.cuda.max_memory_allocated() - before, shape[-2] ** 2 * q.element_size()
        assert used < scores / 4 or shape[-2] < 8192, f"{used} bytes, the scores are {scores}"
    worst = 0.0
    rows = min(shape[-2], 256)  # of long texts the first and the last: all scores are too many
    for start in {0, shape[-2] - rows}:
        some = slice(start, start + rows)
        positions = torch.arange(shape[-2], device=DEVICE)
        mask = positions <= positions[some, None] if causal else None
        expected = book.attention(q[..., some, :], k, v, mask=mask)
        worst = larger(worst, (got[..., some, :] - expected).abs().max())
    assert worst <= (2e-3 if dtype == torch.float32 else 0.05), worst
    bad = v.clone()
    bad[..., -1, :] = torch.nan
    if causal:
        assert blockwise_attention(q, k, bad, causal=True)[..., :-1, :].isfinite().all()
    return worst


def padding_on_the_left(
    dtype: torch.dtype, kv_heads: int, window: int | None, chunked: bool
) -> float:
    """Output and gradients of heads over padded texts, against those of float64 on the CPU.

    Padding sees nothing: a kernel that gives NaN to such rows is found here.
    """
    n, d = 48, 128
    lengths = torch.tensor([n, 5, 30])
    layer = book.MultiHeadAttention(d, 4, seed=0, kv_heads=kv_heads).to(DEVICE, dtype)
    exact = copy.deepcopy(layer).to("cpu", torch.float64)
    x = draw(3, n, d, dtype=dtype).requires_grad_()
    exact_x = x.detach().to("cpu", torch.float64).requires_grad_()
    up = draw(3, n, d, dtype=dtype)
    real = book.padding_mask(lengths, n).flip(-1)  # (b, 1, n)
    positions = (torch.arange(n) - (n - lengths[:, None])).clamp_min(0)
    scheme = book.Rotary(book.rotary_frequencies(d // 4), layout="half").to(DEVICE)

    def run(m: book.MultiHeadAttention, y: torch.Tensor) -> torch.Tensor:
        options = {"scheme": scheme, "window": window}
        mask, at = real.to(y.device), positions.to(y.device)
        if not chunked:
            return m(y, mask=mask, causal=True, positions=at, **options)
        cache, outputs = book.KeyValueCache(), []
        for start, stop in ((0, 16), (16, 40), (40, n)):
            output, cache = m.extend(
                y[:, start:stop], cache, mask=mask[..., :stop], positions=at[:, :stop], **options
            )
            outputs.append(output)
        return torch.cat(outputs, dim=1)

    results = []
    for m, y, grad in ((layer, x, up), (exact, exact_x, up.to("cpu", torch.float64))):
        output = run(m, y)
        leaves = (y, m.query.weight, m.key.weight, m.value.weight)
        results.append((output, *torch.autograd.grad(output, leaves, grad)))
    worst = 0.0
    for mine, theirs in zip(*results, strict=True):
        difference = (mine.detach().to("cpu", torch.float64) - theirs.detach()).abs().max()
        worst = larger(worst, difference / theirs.abs().max())
    assert worst <= {torch.float32: 1e-5, torch.float16: 0.01, torch.bfloat16: 0.03}[dtype], worst
    return worst


def all_cases() -> list[tuple[str, Callable[[], float]]]:
    cases: list[tuple[str, Callable[[], float]]] = []
    dtypes = (torch.float32, torch.bfloat16)
    for case in itertools.product(
        ("half", "interleaved"), (128, 96, 64), ("positions", "heads"), dtypes, (False, True)
    ):
        cases.append((f"rotation {case}", lambda case=case: rotation(*case)))
    for dtype in dtypes:
        cases.append((f"addresses ({dtype})", lambda dtype=dtype: addresses(dtype)))
    for case in itertools.product(("half", "interleaved"), ("positions", "heads")):
        cases.append((f"compiled {case}", lambda case=case: compiled(*case)))
    if GPU:
        cases.append(("rotation, 4096 sequences of 40 heads", many_programs))
    # Triton's interpreter multiplies the bits of bfloat16 matrices, not their numbers.
    for case in itertools.product((1, 64, 200), (False, True), dtypes if GPU else dtypes[:1]):
        cases.append((f"kernel to read {case}", lambda case=case: kernel_to_read(*case)))
    shapes = [(100, 64), (3, 100, 63), (2, 3, 100, 64), (2, 1, 3, 100, 64)]
    shapes += [(16384, 64), (1, 16384, 63), (1, 1, 1, 16384, 64)] if GPU else []
    for case in itertools.product((*dtypes, torch.float16), (4, 2), (None, 8), (False, True)):
        cases.append((f"padding {case}", lambda case=case: padding_on_the_left(*case)))
    for case in itertools.product(shapes, dtypes, (False, True)):
        cases.append((f"blockwise {case}", lambda case=case: blockwise(*case)))
    return cases


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, metavar="FILE", help="append one line of JSON")
    record = parser.parse_args().record
    held, failed = dict[str, int](), list[str]()
    for name, run in all_cases():
        kind = name.split(" (")[0].split(",")[0]
        try:
            worst = run()
            assert math.isfinite(worst), "no number was compared"
            print(f"ok   {name}: {worst:.2g}", flush=True)
            held[kind] = held.get(kind, 0) + 1
        except Exception:
            failed.append(name)
            print(f"FAIL {name}\n{traceback.format_exc(limit=-3)}", flush=True)
    print(f"{sum(held.values())} of {sum(held.values()) + len(failed)} cases hold on {DEVICE}")
    if record:
        about = origin("PYTHONPATH=src python3 tests/peers/check_on_gpu.py", DEVICE)
        with record.open("a", encoding="utf-8") as file:
            row = {"group": "checks", "held": held, "failed": failed}
            print(json.dumps(row | about), file=file)
    return min(len(failed), 100)


if __name__ == "__main__":
    sys.exit(main())
