"""The models of the chapter: what each scheme is, how the rate is chosen, what the record has."""

import math

import pytest
import torch

from attention_to_rope import Architecture, Rotary
from bookkit.records import recorded
from bookkit.trained import schemes as setup
from bookkit.trained.schemes import ROPE_NOPE, SCHEMES, build
from bookkit.trained.text import START
from laboratory import schemes, text
from laboratory.schemes import best_rate, main


@pytest.fixture
def small(monkeypatch, tmp_path):
    shape = Architecture(d=16, heads=2, layers=4, norm="rms", activation="gelu")
    small = {"ARCHITECTURE": shape, "D_K": 8, "LENGTH": 32, "BINS": 8, "BATCH": 2}
    small |= {"PASSAGE": 8, "KNOWN": 2, "FARTHER": {32: (8,), 128: (8, 120)}}
    for name, value in small.items():
        monkeypatch.setattr(setup, name, value)
    part = text.Text(*(torch.frombuffer(bytearray(b"x = 1\n" * 99), dtype=torch.uint8),) * 2, "")
    monkeypatch.setattr(text, "installed", lambda: part)
    return tmp_path


@pytest.mark.slow
def test_it_trains_tests_and_records(small):
    short = [str(small), "--steps", "2", "--rates", "1e-3", "--grid", "1", "--tests", "2"]
    main([*short, "--seeds", "1", "--schemes", "T5, fast table", "RoPE"])
    rows = recorded(small / "schemes.jsonl")
    assert [row["part"] for row in rows] == ["grid", "best"] * 2
    assert all(row["validation"] > 0 for row in recorded(small / "schemes.jsonl", part="grid"))
    found = recorded(small / "schemes.jsonl", part="best")
    assert all(row["loss"][:2] == row["cut"][:2] for row in found)
    assert all(len(row["loss"]) == len(row["cut"]) == 8 for row in found)
    assert all(len(row["copy"]) == 3 for row in found)
    assert ["YaRN" in row for row in found] == [False, True]


def test_controls_begin_with_a_start_token_and_passages_come_twice(small):
    tokens = torch.arange(2 * 129).view(2, 129)
    shorter = schemes.cut(tokens, 64)
    assert shorter[:, 0].tolist() == [START, START]
    assert torch.equal(shorter[:, 1:], tokens[:, 33:65])
    twice = schemes.repeated(tokens, 120)
    assert torch.equal(twice[:, 1:9], tokens[:, -8:])
    assert torch.equal(twice[:, 9:], tokens[:, 9:])


def test_what_a_copy_gains_is_measured_at_the_end_of_texts_of_both_lengths(small, monkeypatch):
    calls = []

    def losses(_model, tokens):
        calls.append(None)
        # The loss grows along a text, and from one call to the next.
        return len(calls) * torch.arange(tokens.shape[1] - 1.0)

    monkeypatch.setattr(schemes, "mean_losses", losses)
    found = schemes.test(None, "none", text.installed(), 2)["copy"]
    assert found == [-28.5, -124.5, -2 * 124.5]  # the means of 26 to 31 and of 122 to 127


def test_models_of_one_seed_share_their_weights_and_differ_in_their_positions():
    models = {name: build(name, 0) for name in SCHEMES}
    kinds = {name: type(model.scheme).__name__ for name, model in models.items()}
    # Each has a class of its own; RoPE/NoPE has its positions in its layers, so it has none.
    assert len({*kinds.values()}) == len(SCHEMES) - 1
    layers = models[ROPE_NOPE].patterns()
    assert [isinstance(one.scheme, Rotary) for one in layers] == [True, True, True, False]
    assert all(
        torch.equal(models["none"].embedding.rows, m.embedding.rows) for m in models.values()
    )


def test_the_best_rate_has_the_lowest_mean_and_a_broken_training_is_the_worst():
    tried = [(1, 2.0), (2, 1.5), (3, 1.0), (1, 2.0), (2, 1.6), (3, None)]
    assert best_rate([{"rate": rate, "validation": value} for rate, value in tried]) == 2


@pytest.mark.parametrize(("steps", "grid", "others"), [(600, 3, 5), (3600, 2, 10)])
def test_the_record_has_the_same_configurations_for_every_scheme_and_no_best_rate_at_an_edge(
    steps, grid, others
):
    rates = sorted({row["rate"] for row in recorded("trained/schemes.jsonl", steps=steps)})
    for scheme in SCHEMES:
        wanted = {"scheme": scheme, "steps": steps}
        tried = recorded("trained/schemes.jsonl", part="grid", **wanted)
        cases = [(row["rate"], row["seed"]) for row in tried]
        assert cases == [(rate, seed) for rate in rates for seed in range(grid)]
        best = recorded("trained/schemes.jsonl", part="best", **wanted)
        assert [row["seed"] for row in best] == [*range(grid, grid + others)]
        assert {row["rate"] for row in best} == {best_rate(tried)} <= {*rates[1:-1]}
        assert all(math.isfinite(value) for row in best for value in row["loss"])


def test_a_step_changes_weights_by_the_rate_and_t5s_table_by_ten_times_as_much(small):
    model = build("T5, fast table", 0)
    weights = model.scheme.table.rows, model.embedding.rows
    before = [weight.detach().clone() for weight in weights]
    schemes.train(model, 1e-3, 1, text.installed().train, seed=0)
    steps = [float((w.detach() - old).abs().max()) for w, old in zip(weights, before, strict=True)]
    assert steps == pytest.approx([1e-2, 1e-3], rel=0.05)


@pytest.mark.parametrize(("length", "kept"), [(0.5, 0.5), (8.0, 1.0)])
def test_gradients_are_new_and_clipped_and_the_rate_rises_and_falls(
    small, monkeypatch, length, kept
):
    model, seen = build("none", 0), []
    rows = model.embedding.rows

    class Logged(torch.optim.AdamW):
        def step(self):
            seen.append((self.param_groups[0]["lr"], float(rows.grad.norm())))
            super().step()

    monkeypatch.setattr(torch.optim, "AdamW", Logged)
    slope = length / rows.numel() ** 0.5  # a loss whose gradient has this length
    monkeypatch.setattr(schemes, "losses", lambda *_: slope * rows.sum())
    schemes.train(model, 1e-3, 12, text.installed().train, seed=0)
    rates, lengths = zip(*seen, strict=True)
    assert lengths == pytest.approx([kept] * 12, rel=1e-5)
    assert rates[:2] == pytest.approx([5e-4, 1e-3])  # the warm-up
    assert rates[-1] == pytest.approx(1e-3 * (0.55 + 0.45 * math.cos(0.75 * math.pi)))
