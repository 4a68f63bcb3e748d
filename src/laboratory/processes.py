"""Several processes train one model: what `torchrun` starts, and what they tell each other.

Every process has the whole model and draws the whole batch, but reads only its own rows of it. The
gradients are averaged over all processes before each step, so that all take the same step. They are
sent in one message after the backward pass, which is the simplest way. PyTorch's
DistributedDataParallel sends some while it still computes others, which pays for larger models.
Processes on GPUs communicate through NCCL, those on CPUs through gloo.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from torch import Tensor


@dataclass(frozen=True)
class Processes:
    """This process among all those that train the model; `rank` counts from 0."""

    rank: int
    count: int
    device: torch.device

    @property
    def first(self) -> bool:
        """Whether this is the process that prints and writes."""
        return self.rank == 0

    def own_rows(self, rows: Tensor) -> Tensor:
        """The rows of a batch that this process reads; all processes read equally many."""
        return rows.chunk(self.count)[self.rank]

    def average(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its mean over all processes."""
        if self.count == 1:
            return
        message = torch.cat([tensor.flatten() for tensor in tensors])
        dist.all_reduce(message)
        message /= self.count
        sizes = [tensor.numel() for tensor in tensors]
        for tensor, mean in zip(tensors, message.split(sizes), strict=True):
            tensor.copy_(mean.view_as(tensor))

    def from_first(self, value: Any) -> Any:
        """What the first process has as `value`; on the others it is ignored."""
        if self.count == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0, device=self.device)
        return box[0]

    def refuse(self, message: str) -> NoReturn:
        """End all processes, each of which has to call this; only the first one says why."""
        if self.first:
            print(f"error: {message}", file=sys.stderr, flush=True)
        raise SystemExit(2)

    def check_equal(self, settings: dict[str, Any]) -> None:
        """End all processes if one was started with other settings than the first."""
        if self.count == 1:
            return
        everyone: list[Any] = [None] * self.count
        dist.all_gather_object(everyone, settings)
        for rank, theirs in enumerate(everyone):
            found = differences(everyone[0], theirs)
            if found:
                self.refuse(
                    f"all processes must have equal settings, but process 0 and process {rank} "
                    f"differ: {found}"
                )


def differences(expected: dict[str, Any], found: dict[str, Any]) -> str:
    """The settings whose values differ, with both values; empty if all agree."""
    names = [name for name in expected | found if expected.get(name) != found.get(name)]
    return ", ".join(f"{name} is {expected.get(name)} and {found.get(name)}" for name in names)


def one_process() -> Processes:
    """This process alone, on a GPU if there is one."""
    name = "cuda" if torch.cuda.is_available() else "cpu"
    return Processes(rank=0, count=1, device=torch.device(name))


@contextmanager
def started_processes(*, share_gpus: bool = False) -> Iterator[Processes]:
    """The processes that torchrun started, connected; without torchrun, this one alone.

    NCCL needs a GPU for each process. With `share_gpus`, processes that have none of their own
    share those that there are and communicate through gloo.
    """
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield one_process()
        return
    rank = int(os.environ["RANK"])
    here = int(os.environ["LOCAL_WORLD_SIZE"])
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if 0 < gpus < here and not share_gpus:
        Processes(rank=rank, count=count, device=torch.device("cuda")).refuse(
            f"every process needs a GPU of its own, but this machine has {gpus} for {here} "
            "processes; start fewer, or hide the GPUs with CUDA_VISIBLE_DEVICES="
        )
    device = torch.device("cpu")
    if gpus > 0:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]) % gpus)
        torch.cuda.set_device(device)
    backend = "nccl" if gpus >= here else "gloo"
    # A process that waits for one that has failed gives up after this time.
    dist.init_process_group(backend, timeout=timedelta(minutes=10))
    try:
        yield Processes(rank=rank, count=count, device=device)
    finally:
        dist.destroy_process_group()


def launcher(module: str) -> str:
    """The beginning of the command that started this program, for its records."""
    machines = os.environ.get("GROUP_WORLD_SIZE")
    if machines is None:
        return f"python -m {module}"
    each = os.environ["LOCAL_WORLD_SIZE"]
    return f"torchrun --nnodes={machines} --nproc-per-node={each} -m {module}"
