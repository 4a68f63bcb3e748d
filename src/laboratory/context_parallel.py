"""The library's ring beside PyTorch's own context parallelism, on the same parts of a sequence.

    torchrun --standalone --nproc-per-node=2 -m laboratory.context_parallel FOLDER

writes FOLDER/ring.jsonl. A row has the largest error of the causal output and of its gradients, for
the ring and for PyTorch, against one process in float64, in units of the largest true entry. What
can be compared depends on the machine:

- If every process has a GPU, both run on the GPUs, and the rows have their times.
- If the processes share a GPU, PyTorch runs on it, and the library's ring runs on the CPU, because
  gloo sends no GPU tensors from process to process.
- Without a GPU, `context_parallel` of PyTorch 2.13 fails: "Operator
  aten._scaled_dot_product_flash_attention_for_cpu.default does not have a sharding strategy
  registered". Therefore its ring is called directly, by private names, with the kernel of CPUs.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor.experimental import _attention, context_parallel
from torch.distributed.tensor.experimental._context_parallel import _attention as ring_of_pytorch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from attention_to_rope import attention, causal_mask
from attention_to_rope.fast.ring import ring_attention, ring_positions
from bookkit.randomness import normal
from bookkit.records import Row
from laboratory.processes import Processes, launcher, started_processes
from laboratory.record import origin, write

BATCH = 2
HEADS = 4
D_K = 64
ROTATIONS = ("allgather", "alltoall")  # PyTorch's default, and its ring
ROUNDS = 10  # of which the median time counts
KERNELS = {
    torch.float32: SDPBackend.EFFICIENT_ATTENTION,
    torch.bfloat16: SDPBackend.FLASH_ATTENTION,
}
OUTPUTS = ("output", "grad_q", "grad_k", "grad_v")
Results = list[Tensor]  # in the order of OUTPUTS


def all_ranks() -> dist.ProcessGroup:
    """The group of all processes."""
    group = dist.group.WORLD
    if group is None:
        raise RuntimeError("no process group: call torch.distributed.init_process_group first")
    return group


def one_process(q: Tensor, k: Tensor, v: Tensor, upstream: Tensor) -> Results:
    """Causal attention over the whole sequence in float64, and its gradients."""
    whole = [x.double().requires_grad_() for x in (q, k, v)]
    output = attention(*whole, mask=causal_mask(q.shape[-2], device=q.device))
    gradients = torch.autograd.grad(output, whole, upstream.double())
    return [output.detach(), *gradients]


def library(parts: list[Tensor]) -> Results:
    """The library's ring; parts of q, k, v and of the upstream gradient."""
    *inputs, upstream = parts
    local = [x.detach().requires_grad_() for x in inputs]
    output = ring_attention(*local, order="zigzag", causal=True)
    gradients = torch.autograd.grad(output, local, upstream)
    return [output.detach(), *gradients]


@contextmanager
def shared_out(whole: list[Tensor], mesh: DeviceMesh) -> Iterator[list[Tensor]]:
    """The parts of this rank as `context_parallel` takes them, and in which it works on them."""
    parts = [x.clone() for x in whole]
    with (
        sdpa_kernel(KERNELS[whole[0].dtype]),
        context_parallel(
            mesh,
            buffers=parts,
            buffer_seq_dims=[2] * len(parts),
            no_restore_buffers=set(parts),
        ),
    ):
        yield parts


def pytorch_on_gpu(parts: list[Tensor]) -> Results:
    """PyTorch's own attention inside of `shared_out`."""
    *inputs, upstream = parts
    q, k, v = (x.detach().requires_grad_() for x in inputs)
    # Looked up in its module here, because the context has replaced it there.
    output = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    gradients = torch.autograd.grad(output, (q, k, v), upstream)
    return [output.detach(), *gradients]


def pytorch_on_cpu(parts: list[Tensor]) -> Results:
    """The functions behind `context_parallel`, with the kernel of CPUs."""
    q, k, v, upstream = parts
    kernels = torch.ops.aten
    group = all_ranks()
    output, log_totals = ring_of_pytorch._templated_ring_attention(
        group, 2, kernels._scaled_dot_product_flash_attention_for_cpu, q, k, v, is_causal=True
    )
    gradients = ring_of_pytorch._templated_ring_attention_backward(
        group,
        2,
        kernels._scaled_dot_product_flash_attention_for_cpu_backward.default,
        grad_out=upstream,
        grad_out_name="grad_out",
        query=q,
        key=k,
        value=v,
        out=output,
        logsumexp=log_totals,
        is_causal=True,
        dropout_p=0.0,
    )
    return [output, *gradients]


def largest_errors(found: Results, true: Results, held: Tensor) -> dict[str, float]:
    """The largest difference on any rank, in units of the largest true entry."""
    errors = {}
    for name, ours, whole in zip(OUTPUTS, found, true, strict=True):
        expected = whole.cpu()[..., held, :]
        error = (ours.cpu().double() - expected).abs().max() / whole.abs().max().cpu()
        everyone: list[float] = [0.0] * dist.get_world_size()
        dist.all_gather_object(everyone, error.item())
        errors[name] = float(f"{max(everyone):.1e}")
    return errors


def seconds(work: Callable[[], Results]) -> float:
    """The median time of forward and backward on GPUs; the slowest rank counts."""
    times = []
    for _ in range(ROUNDS + 2):
        dist.barrier()
        torch.cuda.synchronize()
        began = time.perf_counter()
        work()
        torch.cuda.synchronize()
        own = time.perf_counter() - began
        everyone: list[float] = [0.0] * dist.get_world_size()
        dist.all_gather_object(everyone, own)
        times.append(max(everyone))
    return round(statistics.median(times[2:]), 6)  # the first two load kernels


def measured(work: Callable[[], Results], true: Results, held: Tensor) -> Row:
    """The errors of one way, and its time if every process has a GPU."""
    found: Row = {"errors": largest_errors(work(), true, held)}
    if dist.get_backend() == "nccl":
        found["seconds"] = seconds(work)
    return found


def rows(processes: Processes, part: int) -> Iterator[Row]:
    """The library and both rotations of PyTorch in both dtypes; `part` positions on each rank."""
    N = part * processes.count
    device = processes.device
    mesh = DeviceMesh.from_group(all_ranks(), device.type)
    held = ring_positions(N, processes.rank, processes.count, order="zigzag")
    shape = (BATCH, HEADS, N, D_K)
    for dtype in KERNELS:
        whole = [normal(*shape, seed=seed).to(device, dtype) for seed in range(4)]
        true = one_process(*whole)
        parts = [x[:, :, held.to(device)].contiguous() for x in whole]
        ring_parts = parts if dist.get_backend() == "nccl" else [x.cpu() for x in parts]
        about = {
            "dtype": str(dtype).removeprefix("torch."),
            "shape": list(shape),
            "ranks": processes.count,
        }
        found = measured(partial(library, ring_parts), true, held)
        yield about | {"ring": "library"} | found
        for rotation in ROTATIONS:
            _attention.set_rotate_method(rotation)
            if device.type == "cuda":
                with shared_out(whole, mesh) as their_parts:
                    found = measured(partial(pytorch_on_gpu, their_parts), true, held)
            else:
                found = measured(partial(pytorch_on_cpu, parts), true, held)
            yield about | {"ring": f"PyTorch, {rotation}"} | found


def shown(found: Iterator[Row], processes: Processes) -> Iterator[Row]:
    """The same rows, each printed by the first process as it comes."""
    for row in found:
        if processes.first:
            errors = ", ".join(f"{name} {error:.1e}" for name, error in row["errors"].items())
            time_taken = f", {1000 * row['seconds']:.2f} ms" if "seconds" in row else ""
            print(f"{row['dtype']:9} {row['ring']:18} {errors}{time_taken}", flush=True)
        yield row


def main(arguments: list[str]) -> None:
    """Compare both rings with the processes that torchrun started."""
    parser = argparse.ArgumentParser(
        prog=launcher("laboratory.context_parallel"),
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, help="where the record is written")
    parser.add_argument("--part", type=int, default=1024, help="positions per rank (default 1024)")
    given = parser.parse_args(arguments)
    with started_processes(share_gpus=True) as processes:
        if processes.count == 1:
            processes.refuse("a ring needs several processes; start the program with torchrun")
        command = f"{parser.prog} FOLDER --part {given.part}"
        about = origin(command, processes.device.type) | {"backend": dist.get_backend()}
        found = shown(rows(processes, given.part), processes)
        if processes.first:
            write(given.folder / "ring.jsonl", found, about)
        else:
            for _ in found:
                pass


if __name__ == "__main__":
    main(sys.argv[1:])
