"""A ring of ranks equals one process, in threads and in three processes."""

import inspect
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from attention_to_rope import attention
from attention_to_rope.fast import ring

PROGRAM = Path(__file__).with_name("ring_processes.py")
compare_with_one_process = runpy.run_path(str(PROGRAM))["compare_with_one_process"]
ORDERS = ("zigzag", "contiguous")


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("causal", [False, True])
def test_a_simulated_ring_equals_one_process(ranks, order, causal):
    differences = ring.simulate_ring(
        ranks, lambda one: compare_with_one_process(one, order=order, causal=causal)
    )
    assert max(differences) < 1e-12


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform != "linux" or torch.cuda.is_available(),
    reason="only Linux without a GPU forks safely; elsewhere start ring_processes.py with torchrun",
)
def test_three_processes():
    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        env=os.environ | {"OMP_NUM_THREADS": "1"},  # a process with threads must not fork
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("gloo, ") == 4


@pytest.mark.parametrize("order", ORDERS)
def test_positions_are_shared_out_and_joined(order):
    parts = [ring.ring_positions(12, rank, 3, order=order) for rank in range(3)]
    assert sorted(torch.cat(parts).tolist()) == list(range(12))
    x = torch.arange(12.0)[:, None]
    assert torch.equal(ring.join_parts([x[part] for part in parts], order=order), x)
    work = [
        len(ring.visible_chunks(rank, source, 3, order=order, causal=True))
        for rank in range(3)
        for source in range(3)
    ]
    assert sum(work) == 6 * 7 / 2
    if order == "zigzag":
        assert {sum(work[3 * rank : 3 * rank + 3]) for rank in range(3)} == {7}


def test_what_would_hang_is_refused():
    with pytest.raises(ValueError, match="multiple of 2"):
        ring.ring_positions(10, 0, 3, order="zigzag")
    with pytest.raises(ValueError, match="at most 64"):
        ring.simulate_ring(2**70, lambda one: None)
    with pytest.raises(RuntimeError, match="start the program with torchrun"):
        ring.ring_attention(*(torch.zeros(4, 2) for _ in range(3)), order="zigzag")
    with pytest.raises(ValueError, match="order must be"):
        inspect.unwrap(ring.ring_chunks)(0, 2, order="spiral")

    def disagree(one):
        x = torch.zeros(4, 2)
        other = 1 - one.rank
        message = f"rank {one.rank} and rank {other} .* got causal {other} and {one.rank}"
        with pytest.raises(ValueError, match=message):
            ring.ring_attention(x, x, x, order="zigzag", causal=one.rank == 0, ring=one)

    ring.simulate_ring(2, disagree)

    def odd(one):
        x = torch.zeros(3, 2)
        with pytest.raises(ValueError, match="two equal chunks, got 3 positions"):
            ring.ring_attention(x, x, x, order="zigzag", ring=one)

    ring.simulate_ring(2, odd)


def test_a_scale_of_its_own_replaces_the_root():
    q, k, v = (torch.randn(8, 4, dtype=torch.float64) for _ in range(3))
    expected = attention(q, k, v, scale=0.1)

    def work(one):
        held = ring.ring_positions(8, one.rank, one.ranks, order="zigzag")
        parts = (q[held], k[held], v[held])
        output = ring.ring_attention(*parts, order="zigzag", scale=0.1, ring=one)
        torch.testing.assert_close(output, expected[held])

    ring.simulate_ring(2, work)


def test_a_ring_of_one_process_sends_nothing():
    alone = object.__new__(ring.ProcessRing)
    alone.rank, alone.ranks = 0, 1
    x = torch.ones(2)
    assert torch.equal(alone.pass_on([x])()[0], x)


def test_a_second_derivative_is_refused():
    def work(one):
        x = torch.ones(4, 2, dtype=torch.float64, requires_grad=True)
        output = ring.ring_attention(x, x, x, order="zigzag", ring=one)
        with pytest.raises(RuntimeError, match="no second derivative"):
            torch.autograd.grad(output.sum(), x, create_graph=True)

    ring.simulate_ring(1, work)


def test_the_log_sum_exps_of_a_ring_refuse_a_gradient():
    """Its backward pass has none for them; a gradient of 0 would be a wrong one, silently."""
    q, k, v = torch.randn(3, 4, 2, dtype=torch.float64, requires_grad=True)

    def work(one):
        return ring._Ring.apply(q, k, v, one, "zigzag", True, 0.5, 4)

    output, log_totals = ring.simulate_ring(1, work)[0]
    assert output.requires_grad
    with pytest.raises(RuntimeError, match="does not require grad"):
        log_totals.sum().backward()
