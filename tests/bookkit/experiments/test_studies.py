"""The fleet is the book's decoder, many times; studies stop, resume and say what they are."""

import dataclasses

import numpy as np
import pytest
import torch

from attention_to_rope import ALiBi, Learned, PositionalScheme, Rotary, Sinusoidal, T5Bias
from attention_to_rope.transformer import Architecture, Decoder
from bookkit.experiments.training import recall, studies
from bookkit.experiments.training.fleet import SCHEMES, Member, build, forward, losses, stream
from bookkit.experiments.training.studies import (
    SIZES,
    Job,
    extensions,
    flat,
    identity,
    loss_table,
    main,
    members,
    plan,
    read_rows,
    to_do,
    train,
    work,
)

MODEL = Architecture(d=16, heads=2, layers=4, norm="rms", activation="gelu")


def book_logits(fleet, index, tokens):
    """What the book's decoder gives with the weights of one model of a fleet."""
    member = fleet.members[index]
    scheme = SCHEMES[member.scheme]
    decoder = Decoder(fleet.vocabulary, MODEL, seed=0)
    state = {}
    for name, w in fleet.weights.items():
        if name.startswith("block."):
            for layer in range(MODEL.layers):
                state[f"blocks.{layer}.{name.removeprefix('block.')}"] = w[layer, index]
        elif name != "position":
            state[name] = w[index]
    decoder.load_state_dict(state)
    table = fleet.weights["position"][index] if "position" in fleet.weights else None
    if scheme.kind == "learned":
        position = Learned(len(table), MODEL.d, seed=0)
        position.table.rows.data = table
    elif scheme.kind == "T5":
        position = T5Bias(MODEL.heads, bidirectional=False, seed=0)
        position.table.rows.data = table
    elif scheme.kind == "ALiBi":
        position = ALiBi(MODEL.heads)
    else:
        position = Sinusoidal() if scheme.sinusoid else PositionalScheme()
    places = torch.arange(tokens.shape[-1])
    x = position.embed(decoder.embedding(tokens) * MODEL.d**0.5, places)
    mask = places <= places[:, None]
    for layer, block in enumerate(decoder.blocks):
        theta = scheme.frequencies(MODEL)[layer]
        on_scores = position if scheme.kind in ("T5", "ALiBi") else None
        turned = Rotary(theta, layout="half") if theta.any() else on_scores
        x = block(x, mask=mask, position=turned, positions=places)
    return decoder.head(decoder.norm(x))


@pytest.mark.parametrize("kind", ["plain", "learned", "T5", "ALiBi"])
def test_every_model_of_a_fleet_is_the_books_decoder(kind):
    names = [name for name, scheme in SCHEMES.items() if scheme.kind == kind]
    fleet = build(MODEL, 11, [Member(n, seed, 1e-3) for n in names for seed in (0, 1)], 12)
    tokens = torch.from_numpy(stream(5, "test").integers(0, 11, size=(len(fleet.members), 3, 12)))
    found = forward(fleet, tokens)
    for index in range(len(fleet.members)):
        expected = book_logits(fleet, index, tokens[index])
        torch.testing.assert_close(found[index], expected, rtol=1e-4, atol=1e-4)


def test_schemes_turn_what_their_names_say():
    pairs = MODEL.d // MODEL.heads // 2
    turning = {name: (s.frequencies(MODEL) != 0).sum(-1) for name, s in SCHEMES.items()}
    assert turning["RoPE"].tolist() == [pairs] * 4
    assert turning["hybrid"].tolist() == [pairs, pairs, pairs, 0]
    assert turning["p-RoPE"].tolist() == [3] * 4
    assert turning["partial RoPE"].tolist() == [2] * 4
    assert turning["none"].tolist() == turning["ALiBi"].tolist() == [0] * 4
    whole, squeezed = (SCHEMES[n].frequencies(MODEL)[0] for n in ("p-RoPE", "partial RoPE"))
    assert whole[2] == SCHEMES["RoPE"].frequencies(MODEL)[0, 2]
    assert squeezed[1] == 10000.0**-0.5


def test_random_parts_of_one_seed_are_independent_and_seeds_too():
    fleet = build(MODEL, 40, [Member("learned", 3, 1e-3), Member("learned", 4, 1e-3)], 40)
    rows, table = fleet.weights["embedding.rows"], fleet.weights["position"]
    flat_rows = [part.detach().flatten().numpy() for part in (*rows, *table)]
    correlation = np.corrcoef(flat_rows)
    assert np.abs(correlation - np.eye(4)).max() < 0.15


def test_a_fleet_of_two_kinds_is_refused():
    with pytest.raises(ValueError, match="schemes of one kind"):
        build(MODEL, 11, [Member("T5", 0, 1e-3), Member("none", 0, 1e-3)], 12)


def test_training_together_is_training_alone():
    """A model's neighbours in the fleet, with other seeds and rates, change nothing for it."""
    study = dataclasses.replace(SIZES["small"]["lengths"], steps=12)
    job = Job("lengths", "parity", "T5", (0, 1))
    draw = studies.batches(job, study, None)
    alone = [Member("T5", 1, 3e-3, 10.0)]
    together = [Member("T5", 0, 1e-2), *alone, Member("T5", 1, 1e-3)]
    fleets = [build(study.architecture, 15, chosen, 40) for chosen in (alone, together)]
    last = [train(fleet, draw, study, float("inf")) for fleet in fleets]
    assert last[0][0] == pytest.approx(last[1][1], rel=1e-3)
    assert last[0][0] != pytest.approx(last[1][2], rel=1e-3)


def test_one_step_is_adamw():
    study = SIZES["small"]["lengths"]
    fleet = build(MODEL, 11, [Member("none", 0, 0.01)], 12)
    tokens = torch.from_numpy(stream(0, "test").integers(0, 11, size=(1, 4, 12)))
    twin = {name: w.detach().clone().requires_grad_() for name, w in fleet.weights.items()}
    optimiser = torch.optim.AdamW(
        twin.values(), lr=0.01, betas=studies.BETAS, weight_decay=studies.DECAY
    )
    state = [{name: torch.zeros_like(w) for name, w in twin.items()} for _ in range(2)]
    for step in range(3):
        gradients = torch.autograd.grad(losses(fleet, tokens).mean(), fleet.weights.values())
        for weight, gradient in zip(twin.values(), gradients, strict=True):
            weight.grad = gradient.clone()
        torch.nn.utils.clip_grad_norm_(twin.values(), studies.CLIP)
        optimiser.step()
        with torch.no_grad():
            rates, faster = torch.tensor([0.01]), torch.ones(1)
            studies._update(fleet, gradients, *state, rates, faster, step)
    for name, weight in fleet.weights.items():
        torch.testing.assert_close(weight, twin[name], rtol=1e-4, atol=1e-6)
    assert study.steps > 0


def test_recall_asks_for_what_stands_there_once():
    rng = stream(0, "test")
    tokens, scored = recall.test_batch(16, 4, 10, rng)
    assert tokens.shape == (40, recall.width(16, 1))
    assert scored.sum(1).tolist() == [1] * 40
    for row, (line, mark) in enumerate(zip(tokens, scored, strict=True)):
        asked, answer = line[-2], line[-1]
        assert mark[-1]
        (place,) = np.flatnonzero(line[1:-3:2] == asked)
        assert line[2 + 2 * place] == answer
        assert place * 4 // 16 == row // 10
    tokens, scored = recall.training_batch(5, 6, 3, rng, recall.width(6, 3))
    assert tokens.shape == (5, recall.width(6, 3))
    assert scored.sum(1).tolist() == [3] * 5
    assert (tokens[scored] >= recall.KEYS).all()
    with pytest.raises(ValueError, match="asks for pairs below"):
        recall.batch(np.array([2]), np.array([[2]]), rng, 10)


def test_lists_of_recall_grow_during_the_first_half():
    longest = [recall.longest_list(32, done) for done in (0.0, 0.125, 0.25, 0.375, 0.5, 1.0)]
    assert longest == [2, 4, 8, 16, 32, 32]
    draw = studies.batches(Job("recall", None, "plain", (0,)), SIZES["full"]["recall"], None)
    pairs = [
        (draw(stream(0, "batches"), done)[0] == recall.EQUALS).argmax(1).max() // 2
        for done in (0.0, 1.0)
    ]
    assert pairs[0] == 2
    assert 16 < pairs[1] <= 32


def test_a_flat_curve_is_the_loss_of_moved_windows():
    fleet = build(MODEL, 256, [Member("RoPE", 0, 1e-3)], 129)
    text = stream(0, "test").integers(0, 256, size=(2, 129))
    level = flat(fleet, text, 32)
    assert len(level[0]) == studies.BINS
    inside = loss_table(fleet, text[:, :33])[0].reshape(8, 4).mean(1)
    assert level[0][:8] == pytest.approx(inside.tolist(), abs=1e-4)
    last = loss_table(fleet, text[:, -33:])[0][-4:].mean()
    assert level[0][-1] == pytest.approx(last, abs=1e-4)


def test_every_method_stretches_and_the_factor_is_yarns_alone():
    methods = extensions(MODEL, 10000.0, 4.0, 32)
    assert {name for name, (_, factor) in methods.items() if factor != 1} == {"YaRN"}
    fleet = build(MODEL, 11, [Member("hybrid", 0, 1e-3)], 12)
    theta, factor = methods["YaRN"]
    longer = fleet.stretched(theta, factor)
    assert torch.equal(longer.frequencies[0, 0], theta)
    assert not longer.frequencies[0, 3].any()


def test_every_model_is_planned_once_and_position_parameters_have_two_rates():
    jobs = plan("full", list(SIZES["full"]), 5)
    names = [
        identity({"study": job.study, "task": job.task, **member._asdict()})
        for job in jobs
        for member in members(job, SIZES["full"][job.study])
    ]
    assert len(set(names)) == len(names)
    t5 = members(Job("language", None, "T5", (0,)), SIZES["full"]["language"])
    assert {(m.rate, m.position_rate) for m in t5} == {
        (rate, faster) for rate in (3e-4, 1e-3, 3e-3) for faster in (1.0, 10.0)
    }


def test_a_study_writes_rows_stops_in_time_and_goes_on(tmp_path, capsys, monkeypatch):
    short = dataclasses.replace(SIZES["small"]["recall"], steps=3, tests=2)
    monkeypatch.setitem(SIZES["small"], "recall", short)
    out = tmp_path / "rows.jsonl"
    arguments = ["--study", "recall", "--seeds", "1", "--device", "cpu", "--out", str(out)]
    main([*arguments, "--minutes", "0"])
    assert read_rows(out) == []
    assert "left out" in capsys.readouterr().out
    main(arguments)
    rows = read_rows(out)
    assert {row["scheme"] for row in rows} == set(SCHEMES)
    rope = next(row for row in rows if row["scheme"] == "RoPE")
    assert set(rope["accuracy"]) == {"2", "4", "8", "16"}
    assert len(rope["accuracy"]["16"]) == studies.DEPTHS
    assert set(rope["extended"]) == set(extensions(MODEL, 10000.0, 4.0, 32))
    assert to_do(plan("small", ["recall"], 1), "small", rows) == []
    kept = [row for row in rows if row["scheme"] != "ALiBi"]
    assert [job.kind for job in to_do(plan("small", ["recall"], 1), "small", kept)] == ["ALiBi"]


def test_the_language_study_has_curves_of_the_same_bytes(monkeypatch):
    short = dataclasses.replace(SIZES["small"]["language"], steps=20)
    monkeypatch.setitem(SIZES["small"], "language", short)
    rows, told = work(Job("language", None, "plain", (0,)), "small", "cpu", None, float("inf"))
    assert "7 models" in told
    rope = next(row for row in rows if row["scheme"] == "RoPE")
    inside = studies.BINS // 4
    assert rope["loss"][:inside] == pytest.approx(rope["flat"][:inside], abs=2e-4)
    assert rope["extended"]["dynamic NTK"][:inside] == pytest.approx(
        rope["loss"][:inside], abs=2e-4
    )
    assert rope["training_loss"] < 5


def test_a_fleet_that_fails_costs_the_others_nothing(tmp_path, monkeypatch, capsys):
    def pretend(job, *others):
        if job.kind == "T5":
            raise RuntimeError("no memory left")
        return [{"study": job.study, "kind": job.kind}], f"{job.kind}: fine"

    monkeypatch.setattr(studies, "work", pretend)
    out = tmp_path / "rows.jsonl"
    with pytest.raises(SystemExit, match="1 fleets failed"):
        main(["--study", "recall", "--seeds", "1", "--device", "cpu", "--out", str(out)])
    assert [row["kind"] for row in read_rows(out)] == ["plain", "learned", "ALiBi"]
    assert "no memory left" in capsys.readouterr().out


def test_biased_fleets_read_fewer_long_windows_at_once():
    plain, biased = (build(MODEL, 11, [Member(n, 0, 1e-3)], 12) for n in ("RoPE", "ALiBi"))
    assert studies.at_a_time(plain, 64) == studies.at_a_time(biased, 64) == 2**15 // 64
    assert studies.at_a_time(biased, 4096) == 1
    assert studies.at_a_time(plain, 4096) == 8


def test_kinds_choose_the_fleets():
    assert {job.kind for job in plan("full", ["language"], 3, ["plain"])} == {"plain"}
    assert {job.kind for job in plan("full", ["language"], 3)} == {
        "plain",
        "learned",
        "T5",
        "ALiBi",
    }


def test_studies_without_text_need_no_corpus(tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "work", lambda job, *others: ([], job.kind))
    options = ["--seeds", "1", "--kinds", "ALiBi", "--out", str(tmp_path / "rows.jsonl")]
    missing = ["--corpus", str(tmp_path / "none.bin")]
    main(["--study", "recall", *options, *missing])
    with pytest.raises(FileNotFoundError):
        main(["--study", "longer", *options, *missing])


def test_the_laptop_trains_the_published_schemes_alone(capsys):
    jobs = plan("laptop", ["lengths"], 3)
    study = SIZES["laptop"]["lengths"]
    assert {job.kind for job in jobs} == {"plain", "T5", "ALiBi"}  # no fleet without a model
    found = {member.scheme for job in jobs for member in members(job, study)}
    assert found == set(studies.PUBLISHED)
    assert {job.task for job in plan("laptop", ["lengths"], 3, of_lengths=["parity"])} == {"parity"}
    with pytest.raises(SystemExit):
        main(["--size", "laptop", "--study", "recall"])
    assert "the size laptop has the studies ['lengths']" in capsys.readouterr().err
