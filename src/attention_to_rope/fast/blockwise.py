"""Attention block by block with an online softmax: the exact result in memory linear in N."""

import math
from typing import Any

import torch
from torch import Tensor

from attention_to_rope.checks import check_attention_shapes, check_count, working_dtype
from attention_to_rope.scaled_dot_product import score_scale

# Powers of 2 are cheaper than powers of e on most machines: e^s = 2^(s / ln 2), with 1 / ln 2 put
# into the scale of the queries.
_PER_POWER_OF_2 = 1 / math.log(2)


def blockwise_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    scale: float | None = None,
    q_block: int = 512,
    k_block: int = 2048,
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
    check_attention_shapes(q, k, v)
    check_count("q_block", q_block)
    check_count("k_block", k_block)
    scale = score_scale(q.shape[-1], scale)
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
        leading = q.shape[:-2]
        q, k, v = (x.reshape(-1, *x.shape[-2:]) for x in (q, k, v))  # batch and heads: one axis
        outputs = q.new_empty((*q.shape[:-1], v.shape[-1]))
        logsums = q.new_empty((*q.shape[:-1], 1))
        # The block of scores is by far the largest thing in memory: made once, changed in place.
        block = q.new_empty(q.shape[0] * min(q_block, q_len) * min(k_block, k_len))
        for start in range(0, q_len, q_block):
            stop = min(start + q_block, q_len)
            query = q[:, start:stop] * (scale * _PER_POWER_OF_2)
            largest = query.new_full((*query.shape[:-1], 1), -torch.inf)
            total = torch.zeros_like(largest)
            output = query.new_zeros((*query.shape[:-1], v.shape[-1]))
            for first, last, partly in _visible_blocks(start, stop, offset, k_len, k_block, causal):
                shape = (len(q), stop - start, last - first)
                scores = block[: math.prod(shape)].view(shape)
                torch.bmm(query, k[:, first:last].transpose(-2, -1), out=scores)
                if partly:
                    future = _future(start, stop, first, last, offset, q.device)
                    scores.masked_fill_(future, -torch.inf)
                new_largest = torch.maximum(largest, scores.amax(-1, keepdim=True))
                powers = scores.sub_(new_largest).exp2_()
                correction = largest.sub_(new_largest).exp2_()
                total.mul_(correction).add_(powers.sum(-1, keepdim=True))
                torch.baddbmm(output.mul_(correction), powers, v[:, first:last], out=output)
                largest = new_largest
            outputs[:, start:stop] = output.div_(total)
            logsums[:, start:stop] = total.log2_().add_(largest)
        return outputs.view(*leading, q_len, v.shape[-1]), logsums.view(*leading, q_len, 1)

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
            query = q[..., rows, :] * (ctx.scale * _PER_POWER_OF_2)
            for first, last, partly in _visible_blocks(
                start, stop, offset, k_len, ctx.k_block, ctx.causal
            ):
                keys = slice(first, last)
                scores = query @ k[..., keys, :].transpose(-2, -1)
                if partly:
                    future = _future(start, stop, first, last, offset, q.device)
                    scores.masked_fill_(future, -torch.inf)
                weights = scores.sub_(logsum[..., rows, :]).exp2_()
                grad_v[..., keys, :] += weights.transpose(-2, -1) @ grad_output[..., rows, :]
                grad_weights = grad_output[..., rows, :] @ v[..., keys, :].transpose(-2, -1)
                grad_scores = grad_weights.sub_(share[..., rows, :]).mul_(weights).mul_(ctx.scale)
                grad_q[..., rows, :] += grad_scores @ k[..., keys, :]
                grad_k[..., keys, :] += grad_scores.transpose(-2, -1) @ q[..., rows, :]
        return grad_q, grad_k, grad_v, None, None, None, None
