"""What PyTorch's attention returns for a query that sees no key, by backend, dtype and mask.

    python -m laboratory.empty_rows FILE --device cuda   # minutes; continues a file that it finds
    python -m laboratory.empty_rows FILE --device cpu --lengths 64
    python -m laboratory.empty_rows FILE --summary      # what the book keeps: one row for all sizes

A batch of causal texts, of which one has padding on the left: the padding rows see no key. Each row
of the record is one case, a mask and a gradient of the outputs. The gradient either ignores the
padding rows, as a loss would, or covers all rows. Differences are those of the other rows from
attention in float64, as a share of the largest entry.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import product
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from bookkit.records import RESULTS, Row
from laboratory.record import origin, write

HEADS = 4
BACKENDS = {
    "MATH": SDPBackend.MATH,
    "EFFICIENT_ATTENTION": SDPBackend.EFFICIENT_ATTENTION,
    "FLASH_ATTENTION": SDPBackend.FLASH_ATTENTION,
    "CUDNN_ATTENTION": SDPBackend.CUDNN_ATTENTION,
}
DEFAULT = "default"
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
LENGTHS = (64, 200, 512, 704, 1024, 2048)
GRADIENTS = ("padding ignored", "all rows")
CASE = ("backend", "dtype", "mask", "length", "d_k", "gradient")


def seen_keys(length: int, padding: int, device: str) -> Tensor:
    """What each query may see, (2, 1, N, N): the second text begins after its padding."""
    causal = torch.ones(length, length, dtype=torch.bool, device=device).tril()
    real = torch.arange(length, device=device) >= padding
    return torch.stack([causal, causal & real])[:, None]


def with_own_key(seen: Tensor) -> Tensor:
    """Every query without keys sees the key at its own position."""
    empty = ~seen.any(-1, keepdim=True)
    own = torch.eye(seen.shape[-1], dtype=torch.bool, device=seen.device)
    return seen | (empty & own)


def added(seen: Tensor, dtype: torch.dtype, hidden: float) -> Tensor:
    """A mask that is added to the scores: 0, or this number where a key is hidden."""
    zero = torch.zeros(seen.shape, dtype=dtype, device=seen.device)
    return zero.masked_fill(~seen, hidden)


def options(kind: str, seen: Tensor, dtype: torch.dtype) -> Row:
    """How each kind of mask is given to PyTorch."""
    if kind == "boolean":
        return {"attn_mask": seen}
    if kind == "boolean, own key":
        return {"attn_mask": with_own_key(seen)}
    if kind == "float, -inf":
        return {"attn_mask": added(seen, dtype, -torch.inf)}
    if kind == "float, finfo.min":
        return {"attn_mask": added(seen, dtype, torch.finfo(dtype).min)}
    if kind == "is_causal":
        return {"is_causal": True}
    if kind == "is_causal and boolean":
        return {"attn_mask": seen, "is_causal": True}
    raise ValueError(f"a kind of mask must be one of {MASKS}, got {kind!r}")


MASKS = (
    "boolean",
    "float, -inf",
    "float, finfo.min",
    "boolean, own key",
    "is_causal",
    "is_causal and boolean",
)


def chosen(backend: str) -> AbstractContextManager[None]:
    """Let PyTorch choose, or allow one backend alone."""
    if backend == DEFAULT:
        return nullcontext()
    context: AbstractContextManager[None] = sdpa_kernel(BACKENDS[backend])
    return context


def exact(q: Tensor, k: Tensor, v: Tensor, seen: Tensor) -> Tensor:
    """Attention in float64; 0 for a query that sees nothing."""
    scores = q @ k.mT / q.shape[-1] ** 0.5
    # A row without keys gets a key first, so that no NaN can reach a gradient, and then 0.
    weights = scores.masked_fill(~with_own_key(seen), -torch.inf).softmax(-1)
    out: Tensor = (weights * seen.any(-1, keepdim=True)) @ v
    return out


def outputs_and_gradients(
    attend: Callable[[Tensor, Tensor, Tensor], Tensor], inputs: list[Tensor], upstream: Tensor
) -> dict[str, Tensor]:
    """The outputs of attention and the gradients of q, k and v, all in float64."""
    leaves = [one.detach().clone().requires_grad_() for one in inputs]
    out = attend(*leaves)
    gradients = torch.autograd.grad(out, leaves, upstream.to(out.dtype))
    found = dict(zip(("q", "k", "v"), gradients, strict=True))
    return {"output": out.detach().double()} | {name: one.double() for name, one in found.items()}


def not_finite(x: Tensor) -> int:
    """How many entries are NaN or infinite."""
    return int((~x.isfinite()).sum())


def largest(x: Tensor) -> float:
    """The largest size of a finite entry; 0 if there is none."""
    sizes = x[x.isfinite()].abs()
    return float(sizes.max()) if sizes.numel() else 0.0


def compared(found: dict[str, Tensor], wanted: dict[str, Tensor], empty: Tensor) -> Row:
    """What a row of the record says about one case; empty (2, N): which tokens are padding."""
    row: Row = {}
    for name in found:
        here = found[name].movedim(1, 2)  # (2, N, h, d_k)
        there = wanted[name].movedim(1, 2)
        row[f"{name}, padding rows not finite"] = not_finite(here[empty])
        row[f"{name}, padding rows"] = largest(here[empty])
        row[f"{name}, other rows not finite"] = not_finite(here[~empty])
        difference = largest(here[~empty] - there[~empty]) / largest(there[~empty])
        row[f"{name}, other rows differ"] = float(f"{difference:.2g}")
    return row


def measure(case: Row, device: str) -> Row:
    """Run one case, with random inputs that depend on its sizes alone."""
    length, d_k = case["length"], case["d_k"]
    dtype = DTYPES[case["dtype"]]
    padding = length // 3
    draw = torch.Generator().manual_seed(length + d_k)
    shape = (2, HEADS, length, d_k)
    drawn = [torch.randn(shape, generator=draw) for _ in range(4)]
    *inputs, upstream = (one.to(device, dtype) for one in drawn)
    seen = seen_keys(length, padding, device)
    empty = ~seen.any(-1)[:, 0]  # (2, N)
    if case["gradient"] == "padding ignored":
        upstream = upstream.masked_fill(empty[:, None, :, None], 0.0)
    asked = options(case["mask"], seen, dtype)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return scaled_dot_product_attention(q, k, v, **asked)

    def attend_exactly(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return exact(q, k, v, seen)

    try:
        with chosen(case["backend"]):
            found = outputs_and_gradients(attend, inputs, upstream)
    except RuntimeError as error:
        return case | {"refused": str(error).splitlines()[0][:200]}
    wide = [one.double() for one in inputs]
    # The reference reads the gradient of the other rows only: what padding gives is nobody's.
    hidden = upstream.double().masked_fill(empty[:, None, :, None], 0.0)
    wanted = outputs_and_gradients(attend_exactly, wide, hidden)
    row = case | {"padding": padding, "batch": 2, "heads": HEADS} | compared(found, wanted, empty)
    if case["backend"] == DEFAULT:
        row["same as"] = [name for name in BACKENDS if same(name, inputs, asked, found["output"])]
    return row


def same(backend: str, inputs: list[Tensor], asked: Row, out: Tensor) -> bool:
    """Whether this backend gives the same bits, NaN included."""
    q, k, v = inputs
    try:
        with chosen(backend), torch.no_grad():
            other = scaled_dot_product_attention(q, k, v, **asked).double()
    except RuntimeError:
        return False
    return bool(torch.equal(other.nan_to_num(nan=1e30), out.nan_to_num(nan=1e30)))


def done(path: Path) -> set[tuple[object, ...]]:
    """The cases that the file has already."""
    if not path.exists():
        return set()
    lines = path.read_text(encoding="utf-8").splitlines()
    return {tuple(json.loads(line)[name] for name in CASE) for line in lines}


def rows(given: argparse.Namespace) -> Iterator[Row]:
    """All cases that the file does not have."""
    before = done(given.file)
    sizes = product(given.lengths, (64, 128))
    for (length, d_k), dtype, mask, gradient in product(sizes, DTYPES, MASKS, GRADIENTS):
        for backend in (DEFAULT, *BACKENDS):
            values = (backend, dtype, mask, length, d_k, gradient)
            if values not in before:
                yield measure(dict(zip(CASE, values, strict=True)), given.device)


def summary(found: list[Row]) -> Iterator[Row]:
    """One row for all lengths and head dimensions: the largest numbers, and lengths that fail.

    "same as" names the backends that agree at all sizes; what is refused is refused at all sizes.
    """
    sizes = ("length", "d_k")
    kind = [name for name in CASE if name not in sizes]
    for values in dict.fromkeys(tuple(row[name] for name in kind) for row in found):
        rows = [row for row in found if tuple(row[name] for name in kind) == values]
        row = {name: value for name, value in rows[0].items() if name not in (*sizes, "padding")}
        row["lengths"] = sorted({one["length"] for one in rows})
        row["d_k"] = sorted({one["d_k"] for one in rows})
        for name in [name for name in row if name.endswith(("rows", "differ"))]:
            row[name] = max(one[name] for one in rows)
        for name in [name for name in row if name.endswith("not finite")]:
            row[name] = sorted({one["length"] for one in rows if one[name]})
        if "same as" in row:
            row["same as"] = [one for one in BACKENDS if all(one in row["same as"] for row in rows)]
        yield row


def main(arguments: list[str]) -> None:
    """Run all cases and write a row for each."""
    parser = argparse.ArgumentParser(prog="python -m laboratory.empty_rows", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cpu")
    parser.add_argument("--lengths", type=int, nargs="*", default=LENGTHS)
    parser.add_argument("--summary", action="store_true", help="write the record of the book")
    given = parser.parse_args(arguments)
    if given.summary:
        lines = given.file.read_text(encoding="utf-8").splitlines()
        write(RESULTS / "empty_rows.jsonl", summary([json.loads(line) for line in lines]), {})
        return
    about = origin(f"python -m laboratory.empty_rows FILE --device {given.device}", given.device)
    if given.device == "cuda":
        about |= {"cudnn": torch.backends.cudnn.version()}
    write(given.file, rows(given), about, append=True)


if __name__ == "__main__":
    main(sys.argv[1:])
