"""The benchmarks run, name what they compare, and compare equal things; no timing is judged."""

import pytest
import torch
from torch._dynamo.testing import CompileCounter

from attention_to_rope import (
    rotary_frequencies,
    rotary_table,
    rotate,
)
from attention_to_rope.fast.rope_kernel import TILES
from bookkit.published_forms import rotated_half
from bookkit.randomness import normal
from bookkit.records import recorded
from laboratory.speed import cpu, gpu, kernels, peers, run
from laboratory.speed.measure import compare, medians

pytestmark = pytest.mark.long


def test_compare_gives_ratios_to_the_floor_of_the_same_round():
    ticks = iter(range(1000))
    candidates = {"floor": lambda: None, "slow": lambda: next(ticks)}
    rows = compare(candidates, floor="floor", rounds=3, clock=lambda: float(next(ticks)))
    assert [row["ratio"] for row in rows] == [1.0, 2.0]
    assert rows[1]["ratio_quartiles"] == [2.0, 2.0]
    assert rows[1]["seconds"] == 2.0
    assert {row["floor"] for row in rows} == {"floor"}


def test_compare_quartiles_stay_between_the_smallest_and_the_largest_ratio(monkeypatch):
    # Warm-up of both, then the ratios 1 and 9: the second round begins with the second candidate.
    values = iter([1.0, 1.0, 1.0, 1.0, 9.0, 1.0])
    monkeypatch.setattr("laboratory.speed.measure._seconds", lambda *_: next(values))
    rows = compare({"floor": lambda: None, "other": lambda: None}, floor="floor", rounds=2)
    low, high = rows[1]["ratio_quartiles"]
    assert 1.0 <= low <= high <= 9.0
    assert rows[1]["ratio"] == 5.0


def test_compare_on_a_gpu_has_eager_and_graph_times_side_by_side(monkeypatch):
    # Warm-up of both; then, for each, called from Python and as a graph of 2 repeats.
    values = iter([1.0, 1.0, *[2.0, 6.0, 8.0, 3.0], *[8.0, 3.0, 2.0, 6.0]])
    monkeypatch.setattr("laboratory.speed.measure._seconds", lambda *_: next(values))
    monkeypatch.setattr("laboratory.speed.measure._as_graph", lambda *_: None)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    candidates = {"floor": lambda: None, "other": lambda: None}
    options = {"floor": "floor", "device": "cuda", "rounds": 2, "repeats": 2}
    floor, other = compare(candidates, **options)
    assert (floor["eager_seconds"], floor["graph_seconds"], floor["seconds"]) == (2.0, 3.0, 2.0)
    assert (other["eager_seconds"], other["graph_seconds"], other["seconds"]) == (8.0, 1.5, 1.5)
    assert (other["eager_ratio"], other["graph_ratio"], other["ratio"]) == (4.0, 0.5, 0.75)


def test_several_runs_become_one_row_of_medians():
    runs = [[{"candidate": "a", "seconds": s, "ratio": 2 * s}] for s in (3.0, 1.0, 8.0)]
    (row,) = medians(runs)
    assert row == {"candidate": "a", "seconds": 3.0, "ratio": 6.0, "runs": [6.0, 2.0, 16.0]}


@pytest.mark.usefixtures("unchecked")
def test_every_part_on_a_cpu_measures_every_form():
    counter = CompileCounter()
    rows = cpu.form_rows(2, shape=(1, 2, 16, 8), compiler=counter)
    named = {"clone", "dense matrices", "complex, as published", "compiled, ours, half"}
    assert {row["candidate"] for row in rows} > named
    assert counter.frame_count == 2, "each layout must be compiled once"
    shapes = [(1, 2, n, 8) for n in (8, 16)]
    attention = list(cpu.textbook_rows(2, shapes=shapes))
    assert [tuple(row["shape"]) for row in attention[::8]] == shapes
    assert {(row["causal"], row["pass"], row["dtype"]) for row in attention} == {
        (causal, passed, "float32")
        for causal in (False, True)
        for passed in ("forward", "forward and backward")
    }
    q, k, v = (normal(2, 5, 8, seed=seed) for seed in range(3))
    fused = torch.nn.functional.scaled_dot_product_attention
    for causal in (False, True):
        torch.testing.assert_close(cpu.textbook(q, k, v, causal), fused(q, k, v, is_causal=causal))


@pytest.mark.usefixtures("unchecked")
def test_a_block_is_timed_with_and_without_a_rotation_eager_and_compiled():
    rows = list(gpu.block_rows(2, sizes=((2, 6, 32, 4, 2),), device="cpu", compiler="eager"))
    forms = ("no rotation", "fused", "published form")
    ways = ("eager", "compiled")
    assert {row["candidate"] for row in rows} == {f"{form}, {w}" for form in forms for w in ways}
    assert rows[0]["shape"] == [2, 6, 6, 8]


def test_recorded_rows_are_found_by_their_values_or_missed_aloud():
    forms = recorded("speed/cpu.jsonl", group="forms", shape=[1, 32, 2048, 128])
    assert {row["floor"] for row in forms} == {"clone"}
    missed = (
        r"no row of speed/cpu\.jsonl has \{'group': 'tables'\}.*written by: python -m laboratory"
    )
    with pytest.raises(ValueError, match=missed):
        recorded("speed/cpu.jsonl", group="tables")


def test_what_is_recorded_of_rotations_has_a_shape_that_is_still_measured():
    known = {tuple(shape.recorded) for shape in gpu.SHAPES}
    assert {tuple(row["shape"]) for row in recorded("speed/gpu.jsonl", group="rope")} <= known


def test_gpu_group_needs_a_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match="no CUDA device found"):
        run.main(["--group", "gpu"])


def in_place(q, k, cos, sin):
    """As Liger turns: the arguments are overwritten, or, in another order in memory, copies."""
    own = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k)]
    for x in own:
        x.copy_(rotated_half(x, cos, sin))
    return tuple(own)


class InPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, cos, sin):
        ctx.save_for_backward(cos, sin)
        return in_place(q, k, cos, sin)

    @staticmethod
    def backward(ctx, q, k):
        cos, sin = ctx.saved_tensors
        return *in_place(q, k, cos, -sin), None, None


def sequence_first(x, cos, sin):
    """As flash-attn turns (B, N, H, d); cos and sin (N, d/2)."""
    return rotated_half(x, *(torch.cat((part, part), -1)[:, None] for part in (cos, sin)))


def llama(q, k, cos, sin):
    return tuple(rotated_half(x, cos[:, None], sin[:, None]) for x in (q, k))


STAND_INS = {
    "apply_rotary_pos_emb": llama,
    "LigerRopeFunction": InPlace,
    "apply_rotary_emb": sequence_first,
}


@pytest.fixture
def gpu_forms(monkeypatch):
    """All forms on a CPU: nothing is compiled, and stand-ins take the arguments of the peers."""
    monkeypatch.setattr(torch, "compile", lambda form, **options: form)
    monkeypatch.setattr(gpu, "imported", lambda module, name: STAND_INS[name])
    monkeypatch.setattr(gpu, "version", lambda package: "1.0")
    # No timing is judged here, so twenty calls say no more than one.
    once = {"rounds": 2, "repeats": 1}
    monkeypatch.setattr(gpu, "compare", lambda forms, **options: compare(forms, **options | once))


TOY = tuple(
    (shape, order)
    for shape in (gpu.Shape(2, 4, 2, 7, 8), gpu.Shape(3, 4, 2, 1, 8, tuned=False))
    for order in ("positions", "heads")
)


@pytest.mark.parametrize("order", ["positions", "heads"])
def test_queries_and_keys_have_their_shape_in_both_orders(order):
    q, k = gpu.queries_and_keys(TOY[0][0], order, "cpu")
    assert (q.shape, k.shape) == ((2, 4, 7, 8), (2, 2, 7, 8))
    assert q.is_contiguous() == (order == "positions")
    assert q.transpose(1, 2).is_contiguous() == (order == "heads")


@pytest.mark.usefixtures("gpu_forms")
def test_gpu_rows_have_every_form_in_both_orders_and_passes():
    rows = list(gpu.rope_rows(2, cases=TOY, device="cpu"))
    names = {"clone", *gpu.forms(rotary_table(torch.arange(7), rotary_frequencies(8)))}
    assert names > set(gpu.PACKAGES)
    places = {(row["group"], row["pass"], tuple(row["shape"]), row["tuned"]) for row in rows}
    long, short = ((2, 6, 7, 8), True), ((3, 6, 1, 8), False)
    both = ("rope", "rope, strided")
    forward = {(group, "forward", *shape) for group in both for shape in (long, short)}
    assert places == forward | {(group, "forward and backward", *long) for group in both}
    for place in places:
        here = [
            row for row in rows if (row["group"], row["pass"], tuple(row["shape"])) == place[:3]
        ]
        assert {row["candidate"] for row in here} == names
    for row in rows:
        assert row["seed"] == 0
        assert row.get("package") == (
            f"{gpu.PACKAGES[row['candidate']]} 1.0" if row["candidate"] in gpu.PACKAGES else None
        )


@pytest.mark.usefixtures("gpu_forms")
def test_calls_compare_our_fused_rotation_with_the_peers():
    rows = list(gpu.call_rows(2, cases=TOY[:1], device="cpu"))
    assert {row["candidate"] for row in rows} == {"clone", "ours, fused, half", *gpu.PACKAGES}
    assert {row["pass"] for row in rows} == {"forward", "forward and backward"}


def test_tiles_are_tried_one_by_one_and_the_kernels_own_comes_back(monkeypatch):
    chosen = TILES["positions"]
    seen = set()
    rows = gpu.tile_rows(2, shapes=(TOY[0][0],), stretches=(16, 32), device="cpu")
    for row in rows:
        seen.add(row["candidate"])
        assert row["shape"] == [2, 6, 7, 8]
    assert seen == {"clone"} | {
        f"(8, {h}, {s}, 4) half" for h in (1, 2, 4, 8, 32) for s in (16, 32)
    }
    assert TILES["positions"] == chosen


def other_sign(q, k, cos, sin):
    return llama(q, k, cos, -sin)


def last_position_left_out(q, k, cos, sin):
    pairs = zip(llama(q, k, cos, sin), (q, k), strict=True)
    return tuple(torch.cat((turned[..., :-1, :], x[..., -1:, :]), 2) for turned, x in pairs)


def only_queries(q, k, cos, sin):
    return llama(q, k, cos, sin)[0], k.clone()


def no_number(q, k, cos, sin):
    return tuple(x * torch.nan for x in llama(q, k, cos, sin))


def one_position_ahead(q, k, cos, sin):
    table = rotary_table(torch.arange(1, 1 + q.shape[2]), rotary_frequencies(q.shape[3]))
    return tuple(rotate(x, table, layout="half") for x in (q, k))


class NoWayBack(InPlace):
    @staticmethod
    def backward(ctx, q, k):
        return q.clone(), k.clone(), None, None


@pytest.mark.usefixtures("gpu_forms")
@pytest.mark.parametrize(
    "fault", [other_sign, last_position_left_out, only_queries, no_number, one_position_ahead]
)
def test_a_peer_with_other_numbers_ends_the_run_with_an_error(fault, monkeypatch):
    monkeypatch.setitem(STAND_INS, "apply_rotary_pos_emb", fault)
    with pytest.raises(AssertionError, match=r"transformers Llama.*not close"):
        list(gpu.rope_rows(2, cases=TOY[:1], device="cpu"))


@pytest.mark.usefixtures("gpu_forms")
def test_a_wrong_gradient_ends_the_run_after_the_rows_without_one(monkeypatch):
    monkeypatch.setitem(STAND_INS, "LigerRopeFunction", NoWayBack)
    rows = []
    with pytest.raises(AssertionError, match=r"Liger, in place: .*not close"):
        rows.extend(gpu.rope_rows(2, cases=TOY[:1], device="cpu"))
    assert {row["pass"] for row in rows} <= {"forward"}


def test_a_peer_is_imported_without_its_start_or_missed_aloud(tmp_path, monkeypatch, capsys):
    package = tmp_path / "a_peer"
    package.mkdir()
    (package / "__init__.py").write_text("import its_compiled_part", encoding="utf-8")
    (package / "rotary.py").write_text("turn = 3", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert peers.imported("a_peer.rotary", "turn") is None
    assert "a_peer.rotary.turn is missing (No module named 'its_compiled" in capsys.readouterr().out
    peers.without_its_start("a_peer")
    assert peers.imported("a_peer.rotary", "turn") == 3
    assert peers.imported("a_peer.rotary", "back") is None
    assert "a_peer.rotary.back is missing" in capsys.readouterr().out
    peers.without_its_start("a_library_nobody_has")
    for name in ("a_peer", "a_peer.rotary"):
        monkeypatch.delitem(peers.sys.modules, name)


def test_a_run_is_recorded_with_its_origin_and_one_that_breaks_off_keeps_its_rows(
    tmp_path, monkeypatch
):
    row = {
        "candidate": "one",
        "ratio": 1.0,
        "ratio_quartiles": [1, 1],
        "floor": "one",
        "shape": [2],
    }

    def breaking(rounds):
        """Breaks."""
        yield row
        raise ValueError("other numbers")

    out = tmp_path / "deep" / "rows.jsonl"
    monkeypatch.setitem(run.GROUPS, "cpu", [breaking])
    with pytest.raises(ValueError, match="other numbers"):
        run.main(["--out", str(out)])
    assert recorded(out)[0].items() >= row.items()
    monkeypatch.setitem(run.GROUPS, "cpu", [lambda rounds: [row]])
    run.main(["--out", str(out)])
    (kept,) = recorded(out)
    assert kept.items() >= row.items()
    assert kept.keys() >= {"date", "device", "torch", "python", "command"}


@pytest.mark.slow
def test_kernels_have_seconds_bytes_and_operations(monkeypatch, tmp_path):
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)  # takes a minute
    out = tmp_path / "kernels.jsonl"
    kernels.main(["--small", "--rounds", "2", "--out", str(out)])
    rows = recorded(out)
    assert {row["kernel"] for row in rows} == {
        *("copy", "RMSNorm", "RoPE", "product", "decode attention", "causal attention"),
        *("decoding step", "prompt", "training step"),
    }
    assert all(row["seconds"] > 0 and row["traffic_bytes"] > 0 for row in rows)
    # Weights without the embedding, and two caches of 32 tokens: 2 layers of 2 heads of 16.
    step = recorded(out, kernel="decoding step", way="eager")[1]
    weights = step["shape"]["parameters"] - 100 * 64
    assert step["traffic_bytes"] == 2 * weights + 2 * (2 * 2 * 2 * 16 * 32 * 2)
    scores = 2 * (2 * 4 * 4 * 16 * 32)
    assert step["operations"] == 2 * 2 * weights + scores


def test_grouped_products_are_attention(monkeypatch):
    made = {}

    def keep(self, kernel, way, run, shape, **_):
        made[kernel, way] = run()

    monkeypatch.setattr(kernels.Timer, "row", keep)
    sizes = kernels.SMALL._replace(decoding=((2, 32),))
    list(kernels.attention_rows(kernels.Timer("cpu", 1), sizes))
    fused = made["decode attention", "SDPA"]  # (2, 4, 1, 16)
    grouped = made["decode attention", "grouped products"]  # (2, 2, 2, 16)
    assert torch.allclose(grouped.flatten(1, 2), fused[:, :, 0], atol=0.02)


def test_kernels_ask_for_a_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match="no CUDA device found; try it with --small"):
        kernels.main([])
