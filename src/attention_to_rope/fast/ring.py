"""Attention over several processes: keys and values travel around a ring of ranks.

Every rank keeps the queries, keys and values of its own positions. In each step it works on the
keys and values it holds while they are on their way to the next rank; partial results are joined
by the online softmax. After as many steps as ranks every query has met every key.

`torchrun --standalone --nproc-per-node=2 tests/attention_to_rope/fast/ring_processes.py` compares
the ring with one process: NCCL where every process has a GPU, gloo on CPUs. In a product use
PyTorch's own context parallelism, `torch.distributed.tensor.experimental.context_parallel`, which
has fused kernels for GPUs and none for CPUs (PyTorch 2.13, as a prototype).
"""

import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, TypeVar

import torch
import torch.distributed as dist
from jaxtyping import Float, Int
from torch import Tensor

from attention_to_rope.layers import wide
from attention_to_rope.masks import causal_mask
from attention_to_rope.merge import (
    Partial,
    finish,
    log_total,
    merge,
    partial_attention,
    partial_gradients,
)

Order = Literal["zigzag", "contiguous"]
Result = TypeVar("Result")


def ring_chunks(rank: int, ranks: int, *, order: Order) -> tuple[int, int]:
    """Which two of the 2 · ranks equal chunks of the sequence a rank holds.

    zigzag: one from the front and one from the back, so that under a causal mask every rank has
    the same work; contiguous: two neighbours.

    >>> [ring_chunks(rank, 3, order="zigzag") for rank in range(3)]
    [(0, 5), (1, 4), (2, 3)]
    """
    if order == "zigzag":
        return rank, 2 * ranks - 1 - rank
    if order == "contiguous":
        return 2 * rank, 2 * rank + 1
    raise ValueError(f"order must be 'zigzag' or 'contiguous', got {order!r}")


def ring_positions(N: int, rank: int, ranks: int, *, order: Order) -> Int[Tensor, " part"]:
    """The positions that a rank holds, N / ranks of them: index a tensor with them for its part.

    >>> ring_positions(8, 1, 2, order="zigzag")
    tensor([2, 3, 4, 5])
    """
    if N % (2 * ranks):
        raise ValueError(
            f"N must be a multiple of 2 · ranks = {2 * ranks}, got {N}; pad the sequence"
        )
    pieces = torch.arange(N).chunk(2 * ranks)
    first, second = ring_chunks(rank, ranks, order=order)
    return torch.cat((pieces[first], pieces[second]))


def join_parts(
    parts: Sequence[Float[Tensor, "*b part d"]], *, order: Order
) -> Float[Tensor, "*b n d"]:
    """Put the parts of all ranks back in the order of the sequence."""
    ranks = len(parts)
    N = sum(part.shape[-2] for part in parts)
    held = [ring_positions(N, rank, ranks, order=order) for rank in range(ranks)]
    back = torch.cat(held).argsort()  # where each position of the sequence is
    return torch.cat(list(parts), dim=-2)[..., back, :]


class ProcessRing:
    """A ring of processes: the default group of `torch.distributed`, or the group given."""

    def __init__(self, group: dist.ProcessGroup | None = None) -> None:
        if not dist.is_initialized():
            raise RuntimeError(
                "no process group: start the program with torchrun and call "
                "torch.distributed.init_process_group first"
            )
        self.group = group
        self.rank = dist.get_rank(group)
        self.ranks = dist.get_world_size(group)

    def pass_on(self, tensors: Sequence[Tensor]) -> Callable[[], list[Tensor]]:
        """Send to the next rank, receive from the one before."""
        sent = [tensor.contiguous() for tensor in tensors]
        if self.ranks == 1:
            return lambda: sent
        received = [torch.empty_like(tensor) for tensor in sent]
        after = (self.rank + 1) % self.ranks
        before = (self.rank - 1) % self.ranks
        operations = []
        for tensor in sent:
            operations.append(dist.P2POp(dist.isend, tensor, group=self.group, group_peer=after))
        for tensor in received:
            operations.append(dist.P2POp(dist.irecv, tensor, group=self.group, group_peer=before))
        works = dist.batch_isend_irecv(operations)

        def wait() -> list[Tensor]:
            for work in works:
                work.wait()
            # What is on its way must not be freed, so it is named here.
            sent.clear()
            return received

        return wait

    def gather(self, own: Tensor) -> list[Tensor]:
        """The tensors of all ranks, in their order."""
        everyone = [torch.empty_like(own) for _ in range(self.ranks)]
        dist.all_gather(everyone, own, group=self.group)
        return everyone


class SimulatedRing:
    """A ring of threads in one process that counts what it sends."""

    def __init__(self, rank: int, mailboxes: Sequence["queue.Queue[list[Tensor]]"]) -> None:
        self.rank = rank
        self.ranks = len(mailboxes)
        self.mailboxes = mailboxes
        self.sent_numbers = 0

    def pass_on(self, tensors: Sequence[Tensor]) -> Callable[[], list[Tensor]]:
        """Put copies into the next rank's mailbox."""
        sent = [tensor.detach().clone() for tensor in tensors]
        if self.ranks > 1:
            self.sent_numbers += sum(tensor.numel() for tensor in sent)
        self.mailboxes[(self.rank + 1) % self.ranks].put(sent)
        return lambda: self.mailboxes[self.rank].get(timeout=60)

    def gather(self, own: Tensor) -> list[Tensor]:
        """The tensors of all ranks, passed around the ring."""
        sent_before = self.sent_numbers
        everyone = [own] * self.ranks
        for step in range(1, self.ranks):  # around the ring
            source = (self.rank - step) % self.ranks
            held = everyone[(source + 1) % self.ranks]  # what came last goes on
            everyone[source] = self.pass_on([held])()[0]
        # Every rank has one message to give, however it travels.
        self.sent_numbers = sent_before
        if self.ranks > 1:
            self.sent_numbers += own.numel()
        return everyone


Ring = ProcessRing | SimulatedRing  # a rank, its neighbours and the way to them


def simulate_ring(ranks: int, work: Callable[[SimulatedRing], Result]) -> list[Result]:
    """Run `work(ring)` on every rank at once, each in a thread; the results in order of rank."""
    if ranks > 64:
        raise ValueError(f"every simulated rank is a thread; at most 64 are started, got {ranks}")
    mailboxes: list[queue.Queue[list[Tensor]]] = [queue.Queue() for _ in range(ranks)]
    rings = [SimulatedRing(rank, mailboxes) for rank in range(ranks)]
    with ThreadPoolExecutor(ranks) as pool:
        return list(pool.map(work, rings))


def ring_attention(
    q: Float[Tensor, "*b part d_k"],
    k: Float[Tensor, "*b part d_k"],
    v: Float[Tensor, "*b part d_v"],
    *,
    order: Order,
    causal: bool = False,
    scale: float | None = None,
    ring: Ring | None = None,
    block: int = 512,
) -> Float[Tensor, "*b part d_v"]:
    """Attention of a sequence whose positions are spread over the ranks of a ring.

    q, k and v hold the positions `ring_positions(N, rank, ranks, order=order)`; the result holds
    those of the output. Every rank must call it at the same point of the program, and also go
    backward together. Scores exist for `block` queries and one chunk of keys at a time, and are
    computed again in the backward pass, which has no derivative of its own. The log-sum-exps stay
    inside: the backward pass has no gradient for them, so they cannot carry a sink (`sink_gate`).
    """
    if ring is None:
        ring = ProcessRing()
    if scale is None:
        scale = q.shape[-1] ** -0.5
    settings = {
        "axes": q.ndim,
        "entries": q.numel(),
        "bytes per entry": q.element_size(),
        "positions": q.shape[-2],
        "d_k": q.shape[-1],
        "d_v": v.shape[-1],
        "zigzag": order == "zigzag",
        "causal": causal,
        "scale": scale,
    }
    _check_agreement(ring, settings, q.device)
    if q.shape[-2] % 2:
        raise ValueError(f"a rank must hold two equal chunks, got {q.shape[-2]} positions")
    output: Tensor
    output, _ = _Ring.apply(q, k, v, ring, order, causal, scale, block)
    return output


def _check_agreement(ring: Ring, settings: dict[str, float], device: torch.device) -> None:
    """Raise on every rank if ranks disagree: they would wait for each other or compute nonsense."""
    own = torch.tensor(list(settings.values()), dtype=torch.float64)
    for rank, gathered in enumerate(ring.gather(own.to(device))):
        different = []
        for name, mine, theirs in zip(settings, own.tolist(), gathered.tolist(), strict=True):
            if mine != theirs:
                different.append(f"{name} {mine:g} and {theirs:g}")
        if different:
            raise ValueError(
                f"rank {ring.rank} and rank {rank} must call ring_attention with equal shapes and "
                f"options, got {', '.join(different)}"
            )


def visible_chunks(
    rank: int, source: int, ranks: int, *, order: Order, causal: bool
) -> list[tuple[int, int, bool]]:
    """The work of a rank on the keys of rank `source`: (query half, key half, causal inside).

    Under a causal mask a chunk sees all of an earlier chunk, a triangle of itself and nothing of a
    later one.
    """
    mine = ring_chunks(rank, ranks, order=order)
    theirs = ring_chunks(source, ranks, order=order)
    return [
        (i, j, causal and a == b)
        for i, a in enumerate(mine)
        for j, b in enumerate(theirs)
        if not causal or b <= a
    ]


def _row_blocks(
    size: int, block: int, triangle: bool, device: torch.device
) -> Iterator[tuple[slice, slice, Tensor | None]]:
    """Blocks of queries of a chunk, each with the keys of the other chunk that it sees, and how."""
    for start in range(0, size, block):
        stop = min(start + block, size)
        rows = slice(start, stop)
        if triangle:
            yield rows, slice(0, stop), causal_mask(stop - start, stop, device=device)
        else:
            yield rows, slice(0, size), None


def _chunk_attention(
    q: Tensor, k: Tensor, v: Tensor, *, triangle: bool, scale: float, block: int
) -> Partial:
    """What one chunk of keys contributes to one chunk of queries, some queries at a time."""
    parts = []
    for rows, seen, mask in _row_blocks(q.shape[-2], block, triangle, q.device):
        part = partial_attention(
            q[..., rows, :], k[..., seen, :], v[..., seen, :], mask=mask, scale=scale
        )
        parts.append(part)
    return Partial(
        largest=torch.cat([part.largest for part in parts], dim=-2),
        total=torch.cat([part.total for part in parts], dim=-2),
        output=torch.cat([part.output for part in parts], dim=-2),
    )


class _Ring(torch.autograd.Function):
    @staticmethod
    def forward(
        q: Tensor,
        k: Tensor,
        v: Tensor,
        ring: Ring,
        order: Order,
        causal: bool,
        scale: float,
        block: int,
    ) -> tuple[Tensor, Tensor]:
        size = q.shape[-2] // 2
        queries = q.split(size, dim=-2)
        states: list[Partial | None] = [None, None]  # of the two chunks of queries
        travelling = [k, v]
        for step in range(ring.ranks):
            source = (ring.rank - step) % ring.ranks
            # Start the transfer first: it runs while this step computes.
            arriving = ring.pass_on(travelling) if step + 1 < ring.ranks else None
            keys = travelling[0].split(size, dim=-2)
            values = travelling[1].split(size, dim=-2)
            chunks = visible_chunks(ring.rank, source, ring.ranks, order=order, causal=causal)
            for i, j, triangle in chunks:
                new = _chunk_attention(
                    queries[i], keys[j], values[j], triangle=triangle, scale=scale, block=block
                )
                old = states[i]
                states[i] = new if old is None else merge(old, new)
            if arriving is not None:
                travelling = arriving()
        # Every chunk sees itself, so no state is empty.
        seen_states = [state for state in states if state is not None]
        output = torch.cat([finish(state) for state in seen_states], dim=-2)
        log_totals = torch.cat([log_total(state) for state in seen_states], dim=-2)
        return output.to(q.dtype), log_totals

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        q, k, v, ring, order, causal, scale, block = inputs
        attended, log_totals = output
        ctx.save_for_backward(q, k, v, attended, log_totals)
        # Without this mark, autograd would take their gradient for 0, without an error.
        ctx.mark_non_differentiable(log_totals)
        ctx.ring = ring
        ctx.order = order
        ctx.causal = causal
        ctx.scale = scale
        ctx.block = block

    @staticmethod
    def backward(ctx: Any, upstream: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            raise RuntimeError(
                "ring_attention has no second derivative: call backward or grad without "
                "create_graph=True, or use blockwise_attention in one process"
            )
        q, k, v, output, log_totals = ctx.saved_tensors
        ring = ctx.ring
        size = q.shape[-2] // 2
        q_exact = wide(q)
        upstream = wide(upstream)
        share = (upstream * wide(output)).sum(-1, keepdim=True)  # D, (..., part, 1)
        grad_q = torch.zeros_like(q_exact)
        travelling = [k, v]
        gradients = [torch.zeros_like(wide(k)), torch.zeros_like(wide(v))]
        for step in range(ring.ranks):
            source = (ring.rank - step) % ring.ranks
            arriving = ring.pass_on(travelling) if step + 1 < ring.ranks else None
            keys = wide(travelling[0])
            values = wide(travelling[1])
            chunks = visible_chunks(
                ring.rank, source, ring.ranks, order=ctx.order, causal=ctx.causal
            )
            for i, j, triangle in chunks:
                for rows, seen, mask in _row_blocks(size, ctx.block, triangle, q.device):
                    mine = slice(i * size + rows.start, i * size + rows.stop)
                    theirs = slice(j * size, j * size + seen.stop)
                    part = partial_gradients(
                        q_exact[..., mine, :],
                        keys[..., theirs, :],
                        values[..., theirs, :],
                        log_totals[..., mine, :],
                        upstream[..., mine, :],
                        share[..., mine, :],
                        mask=mask,
                        scale=ctx.scale,
                    )
                    grad_q[..., mine, :] += part.q
                    gradients[0][..., theirs, :] += part.k
                    gradients[1][..., theirs, :] += part.v
            if arriving is not None:
                travelling = arriving()
            # The gradients follow their keys and values; the last step brings them home.
            gradients = ring.pass_on(gradients)()
        grad_k, grad_v = gradients
        tensors = (grad_q.to(q.dtype), grad_k.to(q.dtype), grad_v.to(q.dtype))
        return (*tensors, None, None, None, None, None)  # ring, order, causal, scale, block
