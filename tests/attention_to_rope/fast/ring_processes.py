"""The ring of processes against one process: test_ring.py runs it, or start it by hand.

torchrun --standalone --nproc-per-node=3 tests/attention_to_rope/fast/ring_processes.py

Without torchrun it forks three processes itself, on Linux and without GPUs, so that PyTorch is
imported once and not three times. A fork copies locks that other threads hold, and whoever waits
for such a lock waits forever. Therefore only a process that has a single thread is forked: a new
one, and not that of the tests.
"""

import itertools
import os
import tempfile
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch.multiprocessing import start_processes

from attention_to_rope import attention, causal_mask
from attention_to_rope.fast.ring import Order, ProcessRing, Ring, ring_attention, ring_positions
from bookkit.randomness import normal


def compare_with_one_process(
    ring: Ring, *, order: Order, causal: bool, device: torch.device | str = "cpu"
) -> float:
    """The largest difference of this rank's outputs and gradients from those of one process."""
    N = 24 * ring.ranks
    shapes = ((2, 3, N, 8), (2, 3, N, 8), (2, 3, N, 4), (2, 3, N, 4))
    q, k, v, upstream = (normal(*shape, seed=s).to(device) for s, shape in enumerate(shapes))
    held = ring_positions(N, ring.rank, ring.ranks, order=order).to(device)
    whole = [tensor.requires_grad_() for tensor in (q, k, v)]
    parts = [tensor.detach()[..., held, :].requires_grad_() for tensor in whole]
    mask = causal_mask(N, device=device) if causal else None
    expected = attention(*whole, mask=mask)
    got = ring_attention(*parts, order=order, causal=causal, ring=ring, block=5)
    torch.autograd.backward((expected, got), (upstream, upstream[..., held, :]))
    pairs = [(got, expected), *((a.grad, b.grad) for a, b in zip(parts, whole, strict=True))]
    with torch.no_grad():
        differences = [a - b[..., held, :] for a, b in pairs if a is not None and b is not None]
    return max(float(difference.abs().max()) for difference in differences)


def started_by_torchrun() -> None:
    """Join the others and compare: NCCL where every process has a GPU, gloo on CPUs."""
    local, per_machine = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
    own_gpu = torch.cuda.is_available() and torch.cuda.device_count() >= per_machine
    device = torch.device("cuda", local) if own_gpu else torch.device("cpu")
    if own_gpu:
        torch.cuda.set_device(device)
    # A rank that waits for the wrong neighbour fails instead of waiting for half an hour.
    dist.init_process_group("nccl" if own_gpu else "gloo", timeout=timedelta(minutes=2))
    compare(device)


def forked(rank: int, ranks: int, meeting_point: str) -> None:
    """Join the others and compare, on CPUs. They meet in a file, since a free port may be taken."""
    dist.init_process_group(
        "gloo",
        init_method=f"file://{meeting_point}",
        rank=rank,
        world_size=ranks,
        timeout=timedelta(minutes=2),
    )
    compare(torch.device("cpu"))


def fork(ranks: int) -> None:
    """Start the ranks from this process."""
    threads = list(Path("/proc/self/task").iterdir())
    if len(threads) > 1:
        raise SystemExit(f"a process with {len(threads)} threads must not fork: OMP_NUM_THREADS=1")
    with tempfile.TemporaryDirectory() as folder:
        meeting_point = str(Path(folder) / "meeting-point")
        start_processes(forked, args=(ranks, meeting_point), nprocs=ranks, start_method="fork")


def compare(device: torch.device) -> None:
    """Compare the ring with one process on every rank; exit with 1 where they differ."""
    torch.set_num_threads(1)
    backend = dist.get_backend()
    orders: tuple[Order, ...] = ("zigzag", "contiguous")
    failed = False
    try:
        ring = ProcessRing()
        for order, causal in itertools.product(orders, (False, True)):
            own = compare_with_one_process(ring, order=order, causal=causal, device=device)
            differences = [own] * ring.ranks
            dist.all_gather_object(differences, own)
            failed = failed or not all(difference <= 1e-6 for difference in differences)
            if ring.rank == 0:  # pragma: no branch
                shown = ", ".join(f"{difference:.1e}" for difference in differences)
                print(f"{backend}, {order}, {causal=}: ranks differ from one process by {shown}")
    finally:
        dist.destroy_process_group()
    if failed:
        raise SystemExit("the ring differs from one process by more than 1e-6")


if __name__ == "__main__":
    if "RANK" in os.environ:
        started_by_torchrun()
    else:
        fork(ranks=3)  # with two, the next rank would also be the one before
