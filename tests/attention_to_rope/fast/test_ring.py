"""Ring attention equals attention on one process: simulated ranks, and two real processes."""

import multiprocessing
import queue
import runpy
import socket
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st

import attention_to_rope as book
from attention_to_rope.fast import ring
from attention_to_rope.merge import Partial, finish, merge, partial_attention
from bookkit.randomness import normal

PROCESSES = Path(__file__).with_name("ring_processes.py")
compare_with_one_process = runpy.run_path(str(PROCESSES))["compare_with_one_process"]

ORDERS = ("zigzag", "contiguous")
SCORES = st.lists(st.floats(-700, 700), min_size=1, max_size=4)


def partial(scores: list[float], seed: int = 0) -> Partial:
    """The state of one query that has these scores, as its keys are the numbers themselves."""
    k = torch.tensor(scores, dtype=torch.float64)[:, None]
    one = torch.ones(1, 1, dtype=torch.float64)
    return partial_attention(one, k, normal(len(scores), 2, seed=seed), scale=1.0)


def close(a: Partial, b: Partial) -> bool:
    return all(torch.allclose(x, y, rtol=1e-12, atol=1e-12) for x, y in zip(a, b, strict=True))


@given(SCORES, SCORES, SCORES)
def test_merging_is_associative_commutative_and_exact(
    a: list[float], b: list[float], c: list[float]
) -> None:
    x, y, z = partial(a, 1), partial(b, 2), partial(c, 3)
    assert close(merge(merge(x, y), z), merge(x, merge(y, z)))
    assert close(merge(x, y), merge(y, x))
    v = torch.cat([normal(len(part), 2, seed=s) for s, part in enumerate((a, b, c), start=1)])
    weights = torch.softmax(torch.tensor(a + b + c, dtype=torch.float64), 0)
    assert torch.allclose(finish(merge(merge(x, y), z)), weights @ v, atol=1e-12)


def test_nothing_seen_is_the_neutral_element() -> None:
    q, k, v = normal(2, 3, seed=0), normal(4, 3, seed=1), normal(4, 5, seed=2)
    nothing = partial_attention(q, k, v, mask=torch.zeros(2, 4, dtype=torch.bool))
    assert (nothing.largest == -torch.inf).all()
    assert (nothing.total == 0).all()
    some = partial_attention(q, k, v)
    assert close(merge(nothing, some), some)
    assert close(merge(some, nothing), some)
    empty = finish(merge(nothing, nothing))
    assert (empty == 0).all()
    assert torch.allclose(finish(some), book.attention(q, k, v))


def test_partial_attention_computes_half_types_in_float32() -> None:
    q, k, v = (normal(3, 4, seed=s, dtype=torch.bfloat16) for s in range(3))
    state = partial_attention(q, k, v)
    assert {tensor.dtype for tensor in state} == {torch.float32}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_simulated_ranks_equal_one_process(ranks: int, causal: bool, order: ring.Order) -> None:
    differences = ring.simulate_ring(
        ranks, lambda own: compare_with_one_process(own, order=order, causal=causal)
    )
    assert max(differences) <= 1e-12


def run(ranks: int, N: int, dtype: torch.dtype = torch.float64, **options: object) -> torch.Tensor:
    """The ring's output for q = k = v in the sequence's order, with what each rank sent."""
    x = normal(N, 4, seed=5, dtype=dtype)
    order = options.get("order", "zigzag")

    def work(own: ring.SimulatedRing) -> torch.Tensor:
        part = x[ring.ring_positions(N, own.rank, ranks, order="zigzag")]
        return ring.ring_attention(part, part, part, **{"order": order, **options, "ring": own})

    return ring.join_parts(ring.simulate_ring(ranks, work), order="zigzag")


def test_scale_block_and_dtype_reach_every_step() -> None:
    x = normal(24, 4, seed=5)
    expected = book.attention(x, x, x, mask=book.causal_mask(24), scale=0.3)
    for block in (1, 3, 512):
        got = run(3, 24, causal=True, scale=0.3, block=block)
        assert torch.allclose(got, expected, atol=1e-13)
    half = run(3, 24, torch.bfloat16, causal=True, scale=0.3)
    assert half.dtype == torch.bfloat16
    assert (half - expected).abs().max() <= 0.02


def test_gradients_of_half_types_come_back_as_half_types() -> None:
    def work(own: ring.SimulatedRing) -> torch.Tensor:
        x = normal(4, 4, seed=own.rank, dtype=torch.bfloat16).requires_grad_()
        ring.ring_attention(x, x, x, order="zigzag", ring=own).sum().backward()
        assert x.grad is not None
        return x.grad

    assert {gradient.dtype for gradient in ring.simulate_ring(2, work)} == {torch.bfloat16}


def test_gradients_of_half_types_are_rounded_once() -> None:
    def work(own: ring.SimulatedRing, dtype: torch.dtype) -> torch.Tensor:
        q, k, v = (normal(8, 4, seed=3 * own.rank + s, dtype=torch.bfloat16) for s in range(3))
        v = v.to(dtype).requires_grad_()
        output = ring.ring_attention(q.to(dtype), k.to(dtype), v, order="zigzag", ring=own)
        output.sum().backward()
        assert v.grad is not None
        return v.grad

    half = ring.simulate_ring(4, lambda own: work(own, torch.bfloat16))
    exact = ring.simulate_ring(4, lambda own: work(own, torch.float32))
    for one, other in zip(half, exact, strict=True):
        assert torch.equal(one, other.bfloat16())


def test_a_wrong_order_is_seen_by_the_comparison() -> None:
    x = normal(24, 4, seed=5)
    expected = book.attention(x, x, x, mask=book.causal_mask(24))
    assert (run(3, 24, causal=True) - expected).abs().max() <= 1e-12
    # The parts are cut in zigzag order; told that they are contiguous, ranks see the future.
    assert (run(3, 24, causal=True, order="contiguous") - expected).abs().max() > 0.1


def test_a_merge_without_correction_is_seen_by_the_comparison(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ring, "merge", lambda a, b: Partial(a[0], a[1] + b[1], a[2] + b[2]))
    differences = ring.simulate_ring(
        2, lambda own: compare_with_one_process(own, order="zigzag", causal=False)
    )
    assert max(differences) > 1e-3


@pytest.mark.parametrize("ranks", [2, 3])
def test_what_travels(ranks: int) -> None:
    """Forward (P − 1) times keys and values; backward the same and P times their gradients."""
    n, d_k, d_v = 6, 4, 3

    def work(own: ring.SimulatedRing) -> tuple[int, int]:
        q, k, v = (normal(n, d, seed=d).requires_grad_() for d in (d_k, d_k, d_v))
        greeting = 9
        output = ring.ring_attention(q, k, v, order="zigzag", ring=own)
        forward = own.sent_numbers - greeting
        output.sum().backward()
        return forward, own.sent_numbers - greeting - forward

    one = n * (d_k + d_v)
    expected = ((ranks - 1) * one, (2 * ranks - 1) * one)
    assert ring.simulate_ring(ranks, work) == [expected] * ranks


def test_a_ring_of_one_sends_nothing_and_knows_all() -> None:
    alone = ring.SimulatedRing(0, [queue.Queue()])
    x = normal(6, 4, seed=0).requires_grad_()
    output = ring.ring_attention(x, x, x, order="zigzag", ring=alone)
    assert torch.allclose(output, book.attention(x, x, x), atol=1e-12)  # nothing hidden unasked
    output.sum().backward()
    assert alone.sent_numbers == 0


def test_a_neighbour_that_does_not_send_is_waited_for_a_minute() -> None:
    class Mailbox(queue.Queue):  # type: ignore[type-arg]
        def get(self, block: bool = True, timeout: float | None = None) -> list[torch.Tensor]:
            assert timeout is not None
            assert timeout <= 60
            raise queue.Empty

    with pytest.raises(queue.Empty):
        ring.SimulatedRing(0, [Mailbox(), queue.Queue()]).pass_on([torch.zeros(1)])()


def test_an_order_that_one_rank_refuses_is_told_to_the_others() -> None:
    def work(own: ring.SimulatedRing) -> str:
        x = torch.zeros(4, 4)
        with pytest.raises(ValueError, match=r"order|refused") as error:
            ring.ring_attention(x, x, x, order="contiguous" if own.rank else "z", ring=own)
        return str(error.value)

    assert "rank 0 refused the arguments" in ring.simulate_ring(2, work)[1]


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_zigzag_balances_every_step(ranks: int) -> None:
    def pairs(rank: int, source: int, order: ring.Order) -> float:
        work = ring.visible_chunks(rank, source, ranks, order=order, causal=True)
        return sum(0.5 if triangle else 1.0 for *_, triangle in work)

    for step in range(ranks):
        assert {pairs(r, (r - step) % ranks, "zigzag") for r in range(ranks)} == {2.0}
    total = [sum(pairs(r, s, "contiguous") for s in range(ranks)) for r in range(ranks)]
    assert total == [4 * r + 2 for r in range(ranks)]
    everything = ring.visible_chunks(0, ranks - 1, ranks, order="zigzag", causal=False)
    assert everything == [(0, 0, False), (0, 1, False), (1, 0, False), (1, 1, False)]


@given(st.integers(1, 5), st.integers(1, 3), st.sampled_from(ORDERS))
def test_parts_are_joined_in_order(ranks: int, size: int, order: ring.Order) -> None:
    N = 2 * ranks * size
    x = torch.arange(N)[:, None]
    held = [ring.ring_positions(N, rank, ranks, order=order) for rank in range(ranks)]
    assert torch.equal(ring.join_parts([x[rows] for rows in held], order=order), x)
    batch = torch.stack((x, -x))
    assert torch.equal(ring.join_parts([batch[:, rows] for rows in held], order=order), batch)


def test_zigzag_gives_every_rank_an_early_and_a_late_chunk() -> None:
    """The order of PyTorch's context parallelism: rank r holds chunks r and 2R − 1 − r."""
    chunks = torch.arange(24).view(6, 4)
    for rank in range(3):
        held = torch.cat((chunks[rank], chunks[5 - rank]))
        assert torch.equal(ring.ring_positions(24, rank, 3, order="zigzag"), held)


def test_a_ring_of_one_process_is_attention(tmp_path: Path) -> None:
    store = dist.FileStore(str(tmp_path / "store"), 1)
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        x = normal(4, 3, seed=0).requires_grad_()
        alone = ring.ring_attention(x, x, x, order="zigzag", causal=True)
        (back,) = torch.autograd.grad(alone.square().sum(), x)  # it sends its gradients home
    finally:
        dist.destroy_process_group()
    whole = book.attention(x, x, x, mask=book.causal_mask(4))
    assert torch.allclose(alone, whole, atol=1e-12)
    (expected,) = torch.autograd.grad(whole.square().sum(), x)
    assert torch.allclose(back, expected, atol=1e-12)


def test_errors() -> None:
    x = torch.zeros(4, 4)
    with pytest.raises(RuntimeError, match="start the program with torchrun"):
        ring.ring_attention(x, x, x, order="zigzag")
    alone = ring.SimulatedRing(0, [])
    with pytest.raises(ValueError, match=r"two chunks .* got 3 queries and 3 keys"):
        ring.ring_attention(x[:3], x[:3], x[:3], order="zigzag", ring=alone)
    with pytest.raises(ValueError, match=r"two chunks .* got 2 queries and 4 keys"):
        ring.ring_attention(x[:2], x, x, order="zigzag", ring=alone)
    with pytest.raises(ValueError, match=r"block must be at least 1, got 0"):
        ring.ring_attention(x, x, x, order="zigzag", ring=alone, block=0)
    with pytest.raises(ValueError, match=r"scale must be finite and above 0, got 0"):
        ring.ring_attention(x, x, x, order="zigzag", ring=alone, scale=0)
    with pytest.raises(ValueError, match=r"scale must be finite and above 0, got -1"):
        partial_attention(x, x, x, scale=-1)
    with pytest.raises(ValueError, match=r"same head dim"):
        partial_attention(x, x[:, :2], x)
    with pytest.raises(ValueError, match=r"mask"):
        partial_attention(x, x, x, mask=torch.ones(3, 4, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"order must be one of 'zigzag', 'contiguous'; got 'z'"):
        ring.ring_chunks(0, 2, order="z")
    with pytest.raises(ValueError, match=r"rank must be at least 0, got -1"):
        ring.ring_chunks(-1, 2, order="zigzag")
    with pytest.raises(ValueError, match=r"rank must lie in 0 … 1, got 2"):
        ring.ring_chunks(2, 2, order="zigzag")
    with pytest.raises(ValueError, match=r"ranks must be at least 1, got 0"):
        ring.simulate_ring(0, lambda own: own)
    with pytest.raises(ValueError, match=r"N must be at least 1, got 0"):
        ring.ring_positions(0, 0, 2, order="zigzag")
    with pytest.raises(ValueError, match=r"N must be a multiple of 2 · ranks = 4, got 6"):
        ring.ring_positions(6, 0, 2, order="zigzag")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"N": 6}, "size of q 24 and 16, positions 6 and 4"),
        ({"d_v": 2}, "d_v 2 and 4"),
        ({"causal": True}, "causal 1 and 0"),
        ({"scale": 0.25}, "scale 0.25 and 0.5"),
        ({"scale": 0.5 + 1e-12}, "scale 0.5 and 0.5"),
        ({"order": "contiguous"}, "order 0 and 1"),
        ({"dtype": torch.float32}, "dtype 2 and 3"),
    ],
)
def test_ranks_that_disagree_are_told(change: dict[str, object], message: str) -> None:
    def work(own: ring.SimulatedRing) -> str:
        use = {"N": 4, "d_v": 4, "causal": False, "scale": 0.5, "order": "zigzag"}
        use |= {"dtype": torch.float64} | (change if own.rank == 0 else {})
        q = torch.zeros(1, use["N"], 4, dtype=use["dtype"])
        v = torch.zeros(1, use["N"], use["d_v"], dtype=use["dtype"])
        options = {name: use[name] for name in ("causal", "scale", "order")}
        with pytest.raises(ValueError, match=r"rank \d and rank \d must") as error:
            ring.ring_attention(q, q, v, ring=own, **options)
        return str(error.value)

    assert message in ring.simulate_ring(2, work)[1]


@pytest.mark.parametrize("scale", [0.25, -1.0])
def test_one_wrong_scale_fails_at_once_on_every_rank(scale: float) -> None:
    """A scale that differs, and one that its own rank refuses; nobody waits for a neighbour."""

    def work(own: ring.SimulatedRing) -> str:
        x = torch.zeros(4, 4)
        with pytest.raises(ValueError, match=r"rank|scale") as error:
            ring.ring_attention(
                x, x, x, order="zigzag", ring=own, scale=scale if own.rank == 1 else 0.5
            )
        return str(error.value)

    messages = ring.simulate_ring(4, work)  # who waited in vain would raise queue.Empty
    if scale > 0:
        assert all("scale" in message for message in messages)
        assert "rank 1 and rank 3" in messages[3]
    else:
        assert messages[1] == "scale must be finite and above 0, got -1.0"
        assert all("rank 1 refused the arguments" in messages[rank] for rank in (0, 2, 3))


def test_a_second_derivative_is_refused() -> None:
    def work(own: ring.SimulatedRing) -> None:
        x = normal(4, 4, seed=own.rank).requires_grad_()
        output = ring.ring_attention(x, x, x, order="zigzag", ring=own)
        with pytest.raises(RuntimeError, match="no second derivative"):
            torch.autograd.grad(output.sum(), x, create_graph=True)

    ring.simulate_ring(2, work)


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_nan_reaches_only_who_may_see_it(ranks: int, bad: float) -> None:
    N = 12
    x = normal(N, 4, seed=0)
    v = normal(N, 4, seed=1)
    v[7] = bad

    def work(own: ring.SimulatedRing) -> tuple[torch.Tensor, torch.Tensor]:
        held = ring.ring_positions(N, own.rank, ranks, order="zigzag")
        q = x[held].requires_grad_()
        output = ring.ring_attention(q, x[held], v[held], order="zigzag", causal=True, ring=own)
        (gradient,) = torch.autograd.grad(output, q, torch.ones_like(output))
        return output.detach(), gradient

    results = ring.simulate_ring(ranks, work)
    for number in (0, 1):
        whole = ring.join_parts([result[number] for result in results], order="zigzag")
        assert whole[:7].isfinite().all()
        assert whole[7:].isnan().all()


def test_process_ring_sends_to_the_next_and_receives_from_the_previous(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started, waited = [], []

    class Work:
        def wait(self) -> None:
            waited.append(self)

    monkeypatch.setattr(dist, "is_initialized", lambda: True)
    monkeypatch.setattr(dist, "get_rank", lambda group: 0)
    monkeypatch.setattr(dist, "get_world_size", lambda group: 3)
    monkeypatch.setattr(
        dist, "P2POp", lambda op, tensor, group, group_peer: (op, tensor, group, group_peer)
    )
    monkeypatch.setattr(
        dist, "batch_isend_irecv", lambda ops: started.extend(ops) or [Work() for _ in ops]
    )
    monkeypatch.setattr(
        dist,
        "all_gather",
        lambda parts, own, group: [
            part.copy_(own + rank) for rank, part in enumerate(parts) if group == "the group"
        ],
    )
    everyone = ring.ProcessRing("the group").gather(torch.zeros(2))
    assert [part.tolist() for part in everyone] == [[0, 0], [1, 1], [2, 2]]
    wait = ring.ProcessRing("the group").pass_on([torch.ones(2, 3).T, torch.zeros(1)])
    assert not waited
    arrived = wait()
    assert len(waited) == 4
    assert [tuple(tensor.shape) for tensor in arrived] == [(3, 2), (1,)]
    assert [(op, group, peer) for op, _, group, peer in started] == [
        (dist.isend, "the group", 1),
        (dist.isend, "the group", 1),
        (dist.irecv, "the group", 2),
        (dist.irecv, "the group", 2),
    ]
    assert all(tensor.is_contiguous() for _, tensor, *_ in started)


def free_port() -> int:
    """A port of this machine that nobody listens to."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def test_two_processes_equal_one(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """With the environment that torchrun gives: output and gradients within 1e-6 of one process.

    Where a process can be forked, PyTorch is not imported again. Not where there is a GPU: there
    autograd has threads of its own, which no fork survives.
    """
    forks = sys.platform == "linux" and not torch.cuda.is_available()
    context = multiprocessing.get_context("fork" if forks else "spawn")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), "CUDA_VISIBLE_DEVICES": ""}
    counts = {"WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2}
    processes = []
    for rank in range(2):
        for name, value in (address | counts | {"RANK": rank, "LOCAL_RANK": rank}).items():
            monkeypatch.setenv(name, str(value))
        process = context.Process(
            target=runpy.run_path, args=(str(PROCESSES),), kwargs={"run_name": "__main__"}
        )
        process.start()
        processes.append(process)
    for process in processes:
        process.join(timeout=240)
        process.kill()  # if it waits still
    said = capfd.readouterr()
    assert [process.exitcode for process in processes] == [0, 0], said.err
    cases = [
        line.partition(": ranks differ from one process by ") for line in said.out.splitlines()
    ]
    assert [name for name, *_ in cases] == [
        f"gloo, {order}, causal={causal}" for order in ORDERS for causal in (False, True)
    ]
    differences = [[float(number) for number in numbers.split(", ")] for *_, numbers in cases]
    assert {len(ranks) for ranks in differences} == {2}
    assert max(max(ranks) for ranks in differences) <= 1e-6
