"""The programs that train and measure the book's model do what their records say."""

import math
import statistics
from dataclasses import replace
from functools import partial

import pytest
import torch
from safetensors.torch import load_file

from attention_to_rope import rotate
from bookkit import book_model, trained
from bookkit.records import recorded
from bookkit.trained.model import CONFIG, TRAINED_LENGTH
from laboratory import probes, stretch, text, train, waves
from one_file import llama
from one_file.llama import Model

TOKENS = trained.held_out(96, start=4_000)


@pytest.fixture(scope="module")
def model():
    return book_model()


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A few steps of a tiny model on short texts, so that a command takes seconds."""
    tiny = replace(CONFIG, num_hidden_layers=2, hidden_size=48, intermediate_size=64)
    tiny = replace(tiny, num_attention_heads=2, num_key_value_heads=1)
    for module in (trained.model, train, probes):
        monkeypatch.setattr(module, "CONFIG", tiny)
        monkeypatch.setattr(module, "TRAINED_LENGTH", 320)
    monkeypatch.setattr(stretch, "TRAINED_LENGTH", 192)
    monkeypatch.setattr(stretch, "RULES", ("YaRN",))
    monkeypatch.setattr(stretch, "TRIED_AFTER_TRAINING", ("YaRN",))
    monkeypatch.setattr(stretch, "LAST", 16)
    monkeypatch.setattr(stretch, "BINS", 8)
    part = text.Text(*(torch.frombuffer(bytearray(b"x = 1\n" * 1000), dtype=torch.uint8),) * 2, "")
    monkeypatch.setattr(text, "installed", lambda: part)
    return tmp_path


def test_a_question_counts_as_answered_if_all_four_digits_are_the_likeliest():
    tokens = torch.arange(24).view(2, 12)
    logits = torch.nn.functional.one_hot(tokens[:, 1:], 30).float()
    assert train.recalled(lambda _: (logits, ()), tokens).tolist() == [True, True]
    logits[1, -3, 0] = 2.0
    assert train.recalled(lambda _: (logits, ()), tokens).tolist() == [True, False]


def test_pairs_that_do_not_rotate_see_no_position_and_removed_ones_no_content(model):
    every, before = [*range(16)], trained.loss(model, TOKENS)
    logits = trained.trace(model, TOKENS, torch.zeros(96)).logits[0, :-1]
    expected = float(torch.nn.functional.cross_entropy(logits, TOKENS[0, 1:]))
    assert waves.loss_with(model, TOKENS, every, removed=False) == pytest.approx(expected, 1e-4)
    kept = [block.self_attn.q_proj.weight.detach().clone() for block in model.layers]
    without = waves.loss_with(model, TOKENS, every, removed=True)
    for block in model.layers:
        block.self_attn.q_proj.weight.data.zero_()
    assert trained.loss(model, TOKENS) == pytest.approx(without, 1e-4)
    for block, weight in zip(model.layers, kept, strict=True):
        block.self_attn.q_proj.weight.data.copy_(weight)
    assert trained.loss(model, TOKENS) == before


def test_a_row_of_waves_has_losses_of_neighbouring_pairs_and_other_heads_as_control(
    model, monkeypatch
):
    seen = []
    monkeypatch.setattr(waves, "models", lambda _: [(2, model)])
    monkeypatch.setattr(waves, "loss", lambda _, tokens: seen.append(tokens) or 0.5)
    monkeypatch.setattr(waves, "loss_with", lambda *given, removed: sum(given[2]) + removed / 4)
    (row,) = waves.rows(None, texts=2, length=96)
    assert row["not_rotated"] == [4 * i + 0.5 for i in range(8)]  # pairs 2i and 2i + 1
    assert row["removed"] == [4 * i + 0.75 for i in range(8)]
    assert torch.equal(seen[0][1:], trained.held_out(96, start=440_000))
    curves = waves.by_distance(model, seen[0], torch.arange(64))
    shares = [
        [float(waves.explained(one, other)) for other in curves[1].flatten(0, 1)]
        for one in curves[0].flatten(0, 1)
    ]
    assert row["explained"] == pytest.approx([shares[h].pop(h) for h in range(36)], abs=6e-4)
    assert row["explained_by_others"] == pytest.approx([*map(statistics.median, shares)], abs=6e-4)


def test_facts_are_recalled_as_they_were_to_be_remembered():
    draw = torch.Generator().manual_seed(0)
    slots = train.draw_slots(torch.zeros(3, 1), 160, 4, draw)  # all that there are, in any order
    assert slots.sort().values.tolist() == [[1, 33, 65, 97]] * 3  # behind the start token
    source = torch.frombuffer(bytearray(b"." * 5_000), dtype=torch.uint8)
    for row in train.batch(source, 16, 512, draw)[:4]:
        said = bytes(row[1:].tolist()).split(b"\n")
        remembered = [line[11:] for line in said if line.startswith(b"# remember ")]
        assert remembered
        assert sorted(remembered) == sorted(x[9:] for x in said if x.startswith(b"# recall "))
    for row in train.questions(source, 3, 512, draw):
        said = bytes(row[1:].tolist())
        asked = said.rpartition(b"# recall ")[2]
        assert said.count(b"# remember ") == 4
        assert b"# remember " + asked in said
        assert said.endswith(asked)


def test_a_cut_text_is_the_end_of_the_whole_one(monkeypatch):
    seen, N, draw = [], TRAINED_LENGTH, torch.Generator().manual_seed(0)

    def losses(_, tokens):  # the position
        assert not torch.is_autocast_enabled("cpu")  # bfloat16 is for GPUs
        seen.append(tokens)
        return torch.arange(tokens.shape[1] - 1.0).expand(len(tokens), -1)

    def answers(_, tokens):  # one of four is right
        seen.append(tokens)
        return torch.arange(len(tokens)) % 4 == 0

    monkeypatch.setattr(stretch, "loss_by_position", losses)
    monkeypatch.setattr(stretch, "recalled", answers)
    source = torch.randint(256, (4 * N,), generator=draw).byte()
    for kept in (2 * N, N):
        row = stretch.measure(None, text.Text(source, source, ""), 2, 0, 3, kept)
        assert (row["loss"], row["recall"]) == (kept - (stretch.LAST + 1) / 2, 0.25)
        assert row["bins"][0] == (kept / stretch.BINS - 1) / 2
    whole, asked, cut, asked_cut = seen
    assert (len(whole), len(asked)) == (3, 12)
    assert (cut.shape[1], asked_cut.shape[1]) == (N + 1, N)
    assert torch.equal(whole[:, -N:], cut[:, 1:])
    assert torch.equal(asked[:, 1 - N :], asked_cut[:, 1:])


def test_the_rate_rises_to_its_top_and_falls_to_a_tenth(small, monkeypatch):
    rates = []

    class Logged(torch.optim.AdamW):
        def step(self):
            rates.append(self.param_groups[0]["lr"])
            super().step()

    monkeypatch.setattr(torch.optim, "AdamW", Logged)
    sizes = {"steps": 12, "count": 1, "length": 320, "rate": 1e-3}
    assert len(list(train.train(Model(train.CONFIG), text.installed(), seed=0, **sizes))) == 1
    assert rates[:2] == pytest.approx([5e-4, 1e-3])  # the warm-up
    assert rates[6] == pytest.approx(5.5e-4)
    assert rates[-1] == pytest.approx(1e-4)


def test_half_the_frequencies_are_tried_on_four_texts_within_and_beyond(model, monkeypatch):
    seen, N = [], TRAINED_LENGTH

    def positions(model, tokens):
        seen.append((tokens, model.frequencies))
        return torch.arange(2.0 * N - 1).expand(len(tokens), -1)

    monkeypatch.setattr(probes, "loss_by_position", positions)
    row = probes.halved(model, 1)
    assert row == {name: [N - 129.5, 2 * N - 129.5] for name in ("none", "slow", "fast")}
    assert torch.equal(seen[0][0][3:], trained.held_out(2 * N, start=275_000))
    assert [len(tokens) for tokens, _ in seen] == [4, 4, 4]
    theta = model.frequencies
    slow = theta < 2 * torch.pi / N  # no full rotation within the trained length
    for (_, found), halved in zip(seen, (slow & ~slow, slow, ~slow), strict=True):
        assert torch.equal(found, torch.where(halved, theta / 2, theta))


def test_a_training_writes_weights_and_rows(small):
    train.main([str(small), "--steps", "1", "--batch", "2", "--seed", "5"])
    assert recorded(small / "training-5.jsonl")[0]["step"] == 1
    assert len(load_file(small / "model-5.safetensors")) == 2 * 9 + 2


@pytest.mark.slow
def test_the_commands_write_weights_and_rows(small):
    train.main([str(small), "--steps", "2", "--batch", "4", "--seed", "5"])
    stretch.main([str(small), "--steps", "1", "--batch", "4", "--sequences", "1", "--seed", "5"])
    rows = recorded(small / "stretch-5.jsonl")
    assert {row["rule"] for row in rows} == {"none", "cut", "YaRN"}
    for rule in ("none", "cut"):
        assert [row["times"] for row in rows if row["rule"] == rule] == [1, 2, 4, 8]
    assert recorded(small / "training-5.jsonl")[0]["step"] == 2
    assert rows[0]["command"].endswith(" FOLDER --steps 1 --batch 4 --sequences 1 --seed 5")
    assert len(load_file(small / "model-5.safetensors")) == 2 * 9 + 2
    (first, second) = probes.rows(small, length=128)
    assert (first["trained"], second["trained"]) == (True, False)
    assert len(first["spread"]) == 2 * 2
    shares = first["fewer"]["found"]
    assert all(0 < share <= 1 for pair in shares.values() for share in pair)
    assert shares["32"] == pytest.approx([1, 1], abs=0.01)
    probes.main("waves", lambda folder: waves.rows(folder, texts=1, length=96), [str(small)])
    (row,) = recorded(small / "waves.jsonl")
    assert row["command"] == "python -m laboratory.waves FOLDER"
    assert len(row["removed"]) == len(row["not_rotated"]) == 8


def test_logarithms_of_sums_are_means_between_powers_of_two(small):
    model = trained.untrained()
    for block in model.layers:
        block.self_attn.q_proj.weight.data.zero_()  # all scores are 0, so token n sums n + 1 ones
    *found, beyond = probes.measured(model, 0)["log_total"]
    logarithms = torch.arange(1, 321).log()
    expected = [float(logarithms[2**i : 2 ** (i + 1)].mean()) for i in range(5, 9)]
    assert found == pytest.approx(expected, abs=1e-4)
    assert math.isnan(beyond)  # no token from 512 on in a text of 320


def test_the_other_layout_is_that_of_weights_that_nobody_converted(model, monkeypatch):
    found = probes.loss_in_other_layout(model, TOKENS)
    before = trained.loss(model, TOKENS)
    assert found > before + 1
    monkeypatch.setattr(llama, "rotate", partial(rotate, layout="interleaved"))
    assert trained.loss(model, TOKENS) == pytest.approx(found, rel=1e-4)


def test_queries_that_may_see_all_keys_give_the_models_own_logits(model):
    everything = torch.tensor(True)
    logits = probes.logits_attending(model, TOKENS, lambda layer, q, k: everything)
    torch.testing.assert_close(logits, model(TOKENS)[0].detach(), rtol=1e-4, atol=1e-4)
    nearest = torch.ones(96, 96).triu(-3).bool()
    logits = probes.logits_attending(model, TOKENS, lambda layer, q, k: nearest)
    assert not torch.allclose(logits, model(TOKENS)[0], atol=0.1)
