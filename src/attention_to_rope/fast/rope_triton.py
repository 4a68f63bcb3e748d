"""RoPE of queries and keys in one pass over GPU memory, written in Triton. Optional: CUDA only.

The kernel of `rope_kernel` rotates, and rotates back for the gradient. `torch.compile` sees an
operator, so that it keeps a model in one graph.

`rotate_queries_and_keys` falls back to `rotate` where Triton or a GPU is missing, in float64, where
a gradient of the table is wanted, and inside `torch.func` or forward-mode differentiation.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import forward_ad

from attention_to_rope.fast import rope_kernel
from attention_to_rope.fast.rope_kernel import Sizes, Tile, is_available
from attention_to_rope.rope import Layout, RotaryTable, rotate


def rotate_queries_and_keys(
    q: Float[Tensor, "b h n d"],
    k: Float[Tensor, "b g n d"],
    table: RotaryTable,
    *,
    layout: Layout,
    rotary_dim: int | None = None,
) -> tuple[Float[Tensor, "b h n d"], Float[Tensor, "b g n d"]]:
    """Rotate queries and keys by their positions; equal to two calls of `rotate`.

    The table is (N, d/2), or (B, N, d/2) for each sequence's own positions. q and k may be views,
    such as (B, N, H, d) transposed; the results have the same order in memory.
    """
    if not _fits(q, k, table, layout, rotary_dim):
        return (
            rotate(q, table, layout=layout, rotary_dim=rotary_dim),
            rotate(k, table, layout=layout, rotary_dim=rotary_dim),
        )
    cos, sin = table
    return _rotate(q, k, cos.contiguous(), sin.contiguous(), layout, back=False)


def _fits(q: Tensor, k: Tensor, table: RotaryTable, layout: str, rotary_dim: int | None) -> bool:
    """Whether the kernel takes these arguments; the others, and all that are wrong, do not."""
    cos, sin = table
    shape = q.shape
    pairs = cos.shape[-1]
    return (
        is_available(q)
        and layout in ("half", "interleaved")
        and len(shape) == k.ndim == 4
        and shape[0] == k.shape[0]
        and shape[2:] == k.shape[2:]
        and q.dtype == k.dtype != torch.float64
        and cos.shape == sin.shape
        and cos.shape in ((shape[2], pairs), (shape[0], shape[2], pairs))
        and 2 * pairs == (shape[3] if rotary_dim is None else rotary_dim)
        and 0 < 2 * pairs <= shape[3]
        and q.numel() > 0 < k.numel()
        and cos.dtype == sin.dtype == torch.float32
        and cos.device == sin.device == q.device == k.device
        and not (cos.requires_grad or sin.requires_grad)
        and _is_direct(q, k)
    )


def _is_direct(q: Tensor, k: Tensor) -> bool:
    """Whether a launch sees all that PyTorch sees: the current GPU and plain tensors, no vmap."""
    return torch.compiler.is_compiling() or (
        torch._C._has_storage(q)
        and torch._C._has_storage(k)
        and not torch._C._are_functorch_transforms_active()
        and forward_ad._current_level < 0
        and (not q.is_cuda or q.get_device() == torch.cuda.current_device())
    )


def _rotate(
    q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, layout: Layout, *, back: bool
) -> tuple[Tensor, Tensor]:
    """Rotate, or rotate back; recorded for a gradient only where one is wanted."""
    if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad):
        recorded: tuple[Tensor, Tensor] = _Rotation.apply(q, k, cos, sin, layout, back)
        return recorded
    return launch(q, k, cos, sin, layout, back)


class _Rotation(torch.autograd.Function):
    """The kernel, with the inverse rotation as its gradient: nothing of q and k is kept.

    `forward` takes `ctx`: with `setup_context` every call would inspect its signature again.
    """

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, layout: Layout, back: bool
    ) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(cos, sin)
        ctx.layout = layout
        ctx.back = back
        return launch(q, k, cos, sin, layout, back)

    @staticmethod
    def backward(ctx: Any, grad_q: Tensor, grad_k: Tensor) -> tuple[Tensor | None, ...]:
        cos, sin = ctx.saved_tensors
        if _is_direct(grad_q, grad_k):
            grads = _rotate(grad_q, grad_k, cos, sin, ctx.layout, back=not ctx.back)
        else:  # vmap over the gradients of several outputs
            inverse = RotaryTable(cos, sin if ctx.back else -sin)
            grads = rotate_queries_and_keys(
                grad_q, grad_k, inverse, layout=ctx.layout, rotary_dim=2 * cos.shape[-1]
            )
        return (*grads, None, None, None, None)  # cos, sin, layout, back


@torch.library.custom_op("attention_to_rope::rotate_queries_and_keys", mutates_args=())
def _operator(
    q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, layout: str, back: bool
) -> tuple[Tensor, Tensor]:
    """The kernel as `torch.compile` sees it."""
    return launch(q, k, cos, sin, layout, back)


@_operator.register_fake
def _shapes(
    q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, layout: str, back: bool
) -> tuple[Tensor, Tensor]:
    """What the compiler needs to know: results in the order in memory of q and k."""
    return torch.empty_like(_with_rows(q)), torch.empty_like(_with_rows(k))


def use_tile(place: str, tile: Tile) -> None:
    """Cut the work in another way from now on, in one of the places of `TILES`: to compare."""
    rope_kernel.TILES[place] = tile
    _launchers.clear()  # they know the tile that they were made for


def _with_rows(x: Tensor) -> Tensor:
    """x, copied if the numbers of one head at one position are not neighbours in memory."""
    return x if x.stride(-1) == 1 else x.contiguous()


# All that decides which machine code runs, and on which sizes → the launcher, with those sizes.
# To find the compiled kernel by itself, Triton needs longer than the kernel does for one position.
_launchers: dict[tuple[Any, ...], tuple[Callable[..., Any], Sizes]] = {}
_MOST = 4096  # launchers; texts of every length would otherwise fill the memory


def launch(  # pragma: no cover - see the kernels
    q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, layout: str, back: bool
) -> tuple[Tensor, Tensor]:
    """Run the kernel on arguments that fit it: q and k rotated, or rotated back."""
    if torch.compiler.is_compiling():
        rotated: tuple[Tensor, Tensor] = _operator(q, k, cos, sin, layout, back)
        return rotated
    q = _with_rows(q)
    k = _with_rows(k)
    q_out = torch.empty_like(q)  # the order in memory of q
    k_out = torch.empty_like(k)
    key = (
        q.shape,
        q.stride(),
        k.shape,
        k.stride(),
        cos.shape,
        q.dtype,
        q.device,
        layout,
        back,
        # Triton compiles other loads for addresses that are no multiple of 16.
        q.data_ptr() % 16,
        k.data_ptr() % 16,
        cos.data_ptr() % 16,
        sin.data_ptr() % 16,
    )
    found = _launchers.get(key)
    if found is not None:
        start, sizes = found
        start(q, k, q_out, k_out, cos, sin, *sizes)
        return q_out, k_out
    tile = rope_kernel.tile_for(q, cos.shape[-1])
    grid, sizes = rope_kernel.grid_and_sizes(q, k, q_out, k_out, cos, tile, layout, back)
    kernel: Any = rope_kernel.kernel
    through_triton = partial(kernel[grid], num_warps=tile.warps)
    compiled = through_triton(q, k, q_out, k_out, cos, sin, *sizes)
    if len(_launchers) >= _MOST:
        _launchers.clear()
    # Triton's interpreter compiles nothing.
    _launchers[key] = (through_triton if compiled is None else compiled[grid], sizes)
    return q_out, k_out
