"""The library's ring and PyTorch's context parallelism are both as exact as their dtype allows."""

import json
import os
import subprocess
import sys

import pytest
import torch
import torch.distributed as dist

from laboratory import context_parallel
from laboratory.processes import Processes

# Results are rounded to their dtype, and sums of a few hundred such numbers are taken.
ALLOWED = {"float32": 2e-6, "bfloat16": 2e-2}


@pytest.fixture
def alone():
    """A group of one process, so that nothing is sent."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield Processes(rank=0, count=1, device=torch.device("cpu"))
    dist.destroy_process_group()


def assert_exact(rows):
    assert [(row["dtype"], row["ring"]) for row in rows] == [
        (dtype, ring)
        for dtype in ("float32", "bfloat16")
        for ring in ("library", "PyTorch, allgather", "PyTorch, alltoall")
    ]
    for row in rows:
        assert set(row["errors"]) == {"output", "grad_q", "grad_k", "grad_v"}
        assert 0 < max(row["errors"].values()) < ALLOWED[row["dtype"]], row


@pytest.mark.slow
def test_three_ranks_agree_with_one_process(tmp_path):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node=3", "-m", "laboratory.context_parallel", str(tmp_path)]
    done = subprocess.run(
        [*command, "--part", "32"],
        env=os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "ring.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert_exact(rows)
    assert {(row["ranks"], row["backend"], row["shape"][2]) for row in rows} == {(3, "gloo", 96)}
    assert len(done.stdout.splitlines()) == len(rows)


def test_one_rank_agrees_with_one_process(alone):
    rows = list(context_parallel.rows(alone, part=16))
    assert_exact(rows)


def test_context_parallel_of_pytorch_still_has_no_kernel_for_a_cpu(alone):
    """Otherwise the program can compare with the public function on CPUs too."""
    mesh = context_parallel.DeviceMesh.from_group(dist.group.WORLD, "cpu")
    whole = [torch.ones(1, 1, 4, 8, dtype=torch.bfloat16) for _ in range(4)]
    with (
        pytest.raises(NotImplementedError, match=r"_for_cpu.* sharding strategy"),
        context_parallel.shared_out(whole, mesh) as parts,
    ):
        context_parallel.pytorch_on_gpu(parts)
