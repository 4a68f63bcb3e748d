"""Attention block by block with an online softmax: the exact result in memory linear in N."""

import math
from typing import Any

import torch
from torch import Tensor

from attention_to_rope._checks import check_count, check_positive, working_dtype
from attention_to_rope.attention import _check_attention_shapes


def blockwise_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    scale: float | None = None,
    q_block: int = 512,
    k_block: int = 512,
) -> Tensor:
    r"""Attention without ever holding the N_q × N_k scores.

    For each block of queries the keys arrive block by block; a running maximum m, sum ℓ and output
    o are corrected at each step:
    $m' = \max(m, \max_j s_j)$, $\ell' = e^{m-m'}\ell + \sum_j e^{s_j-m'}$,
    $o' = e^{m-m'} o + \sum_j e^{s_j-m'} v_j$; at the end $o / \ell$.

    Shapes as in `attention`. With `causal` the queries are the last N_q positions of the keys, and
    blocks that nobody may see are skipped. The backward pass computes the blocks again instead of
    keeping them. On a GPU, PyTorch's fused kernel does the same where its arguments allow.
    """
    _check_attention_shapes(q, k, v)
    check_count("q_block", q_block)
    check_count("k_block", k_block)
    if scale is None:
        scale = 1 / math.sqrt(q.shape[-1])
    else:
        check_positive("scale", scale)
    if causal and q.shape[-2] > k.shape[-2]:
        raise ValueError(
            f"causal attention needs at least as many keys as queries, got {k.shape[-2]} keys and "
            f"{q.shape[-2]} queries"
        )
    if q.is_cuda and q.dtype != torch.float64 and not (causal and q.shape[-2] != k.shape[-2]):
        # PyTorch's fused kernels are this algorithm in one pass. Their causal mask begins at the
        # first key, so with fewer queries than keys the blocks below are right and theirs are not.
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=causal, scale=scale
        )
    exact = working_dtype(q.dtype)
    output: Tensor = _Blockwise.apply(  # type: ignore[no-untyped-call]
        q.to(exact), k.to(exact), v.to(exact), causal, scale, q_block, k_block
    )[0]
    return output.to(q.dtype)


def _visible_blocks(
    start: int, stop: int, offset: int, k_len: int, k_block: int, causal: bool
) -> list[tuple[int, int, bool]]:
    """The key blocks that queries start…stop − 1 may see: (first, last, some pairs are hidden)."""
    end = min(k_len, stop + offset) if causal else k_len
    return [
        (first, min(first + k_block, end), causal and first + k_block - 1 > start + offset)
        for first in range(0, end, k_block)
    ]


def _future(start: int, stop: int, first: int, last: int, offset: int, device: Any) -> Tensor:
    """Where a key of the block lies after the query: (stop − start, last − first)."""
    m = torch.arange(start + offset, stop + offset, device=device).unsqueeze(-1)
    return torch.arange(first, last, device=device) > m


class _Blockwise(torch.autograd.Function):
    @staticmethod
    def forward(
        q: Tensor,
        k: Tensor,
        v: Tensor,
        causal: bool,
        scale: float,
        q_block: int,
        k_block: int,
    ) -> tuple[Tensor, Tensor]:
        q_len, k_len = q.shape[-2], k.shape[-2]
        offset = k_len - q_len
        outputs, logsums = [], []
        for start in range(0, q_len, q_block):
            stop = min(start + q_block, q_len)
            query = q[..., start:stop, :] * scale
            largest = query.new_full((*query.shape[:-1], 1), -torch.inf)
            total = torch.zeros_like(largest)
            output = query.new_zeros((*query.shape[:-1], v.shape[-1]))
            for first, last, partly in _visible_blocks(start, stop, offset, k_len, k_block, causal):
                scores = query @ k[..., first:last, :].transpose(-2, -1)
                if partly:
                    future = _future(start, stop, first, last, offset, q.device)
                    scores = scores.masked_fill(future, -torch.inf)
                new_largest = torch.maximum(largest, scores.amax(-1, keepdim=True))
                powers = torch.exp(scores - new_largest)
                correction = torch.exp(largest - new_largest)
                total = correction * total + powers.sum(-1, keepdim=True)
                output = correction * output + powers @ v[..., first:last, :]
                largest = new_largest
            outputs.append(output / total)
            logsums.append(largest + total.log())
        return torch.cat(outputs, dim=-2), torch.cat(logsums, dim=-2)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        q, k, v, ctx.causal, ctx.scale, ctx.q_block, ctx.k_block = inputs
        ctx.save_for_backward(q, k, v, *output)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad_output: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, output, logsum = ctx.saved_tensors
        q_len, k_len = q.shape[-2], k.shape[-2]
        offset = k_len - q_len
        grad_q, grad_k, grad_v = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        # With p = softmax(s): ds_j = p_j (do·v_j − do·o).
        share = (grad_output * output).sum(-1, keepdim=True)
        for start in range(0, q_len, ctx.q_block):
            stop = min(start + ctx.q_block, q_len)
            rows = slice(start, stop)
            query = q[..., rows, :] * ctx.scale
            for first, last, partly in _visible_blocks(
                start, stop, offset, k_len, ctx.k_block, ctx.causal
            ):
                keys = slice(first, last)
                scores = query @ k[..., keys, :].transpose(-2, -1)
                if partly:
                    future = _future(start, stop, first, last, offset, q.device)
                    scores = scores.masked_fill(future, -torch.inf)
                weights = torch.exp(scores - logsum[..., rows, :])
                grad_v[..., keys, :] += weights.transpose(-2, -1) @ grad_output[..., rows, :]
                grad_weights = grad_output[..., rows, :] @ v[..., keys, :].transpose(-2, -1)
                grad_scores = weights * (grad_weights - share[..., rows, :])
                grad_q[..., rows, :] += grad_scores @ k[..., keys, :] * ctx.scale
                grad_k[..., keys, :] += grad_scores.transpose(-2, -1) @ query
        return grad_q, grad_k, grad_v, None, None, None, None
