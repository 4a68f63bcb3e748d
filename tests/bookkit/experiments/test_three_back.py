"""The record of the deeper page of chapter 9 is made as it says, and says where it comes from."""

import torch

from bookkit.experiments import three_back
from bookkit.experiments.record import recorded
from bookkit.experiments.three_back import BACK, SCHEMES, SYMBOLS, right_share


def test_an_answer_is_right_if_it_is_the_token_three_before():
    class Copies(torch.nn.Module):
        def forward(self, tokens, positions):
            assert positions[0] == 7
            said = tokens.roll(BACK, 1)
            said[:100] += 1  # half of the sequences are answered wrongly
            return torch.nn.functional.one_hot(said % SYMBOLS, SYMBOLS).float()

    assert right_share(Copies(), seed=0, length=20, first=7) == 0.5


def test_the_variant_without_feed_forward_keeps_it_at_zero_and_learns_otherwise(monkeypatch):
    models = []

    def keep(model, seed, **options):
        models.append(model)
        return 0.0

    monkeypatch.setattr(three_back, "right_share", keep)
    for scheme in ("ALiBi", "ALiBi, no feed-forward"):
        assert [row["steps"] for row in three_back.run(scheme, 0, (1, 2))] == [1, 2]
    with_it, without = models[0], models[-1]
    assert not without.blocks[0].feed_forward.down.W.any()
    assert with_it.blocks[0].feed_forward.down.W.any()


def test_the_record_has_eight_seeds_of_every_scheme_and_its_origin():
    rows = recorded("three_back.jsonl")
    runs = {(row["scheme"], row["seed"], row["steps"]) for row in rows}
    assert runs == {(s, seed, steps) for s in SCHEMES for seed in range(8) for steps in (100, 500)}
    assert all(row[fact] for row in rows for fact in ("date", "device", "torch", "command"))
