"""The book's model: the stored weights, the library's decoder, and looking inside."""

import copy
import hashlib
import importlib.metadata
import json
from dataclasses import asdict

import pytest
import torch
from safetensors.torch import load_file

from attention_to_rope.checkpoints import load_hugging_face
from bookkit import book_model, trained
from bookkit.records import recorded
from bookkit.trained import probes, text, waves
from bookkit.trained.model import CONFIG, STEPS
from bookkit.trained.schemes import by_loss
from bookkit.trained.stretching import stretched

TOKENS = trained.held_out(96, start=4_000)
RULES = ("PI", "NTK-aware", "by parts", "YaRN", "YaRN without factor", "Llama 3")


@pytest.fixture(scope="module")
def model():
    return book_model()


def test_the_stored_file_is_small_and_complete():
    assert trained.STORED.stat().st_size < 8e6
    assert sum(one.numel() for one in load_file(trained.STORED).values()) == 2_411_136


def test_it_is_in_float32_on_every_page():
    torch.set_default_dtype(torch.float64)
    try:
        models = trained.untrained(), book_model()
    finally:
        torch.set_default_dtype(torch.float32)
    assert {weight.dtype for one in models for weight in one.parameters()} == {torch.float32}


def test_the_library_computes_the_same_logits(model):
    config = asdict(CONFIG) | {"model_type": "llama", "hidden_act": "silu"}
    config = {name: value for name, value in config.items() if name != "qk_norm"}
    weights = {f"model.{k}": v.float() for k, v in load_file(trained.STORED).items()}
    decoder = load_hugging_face(config, weights)
    with torch.no_grad():
        torch.testing.assert_close(decoder(TOKENS), model(TOKENS)[0], rtol=1e-4, atol=1e-4)


def test_it_has_learned_what_the_record_says(model):
    (last,) = recorded("trained/training.jsonl", seed=0, step=STEPS)
    assert trained.loss(model, trained.held_out(1024, start=4_000)) < last["held_out"] + 0.5
    assert trained.loss(trained.untrained(), TOKENS) > 5


def test_a_trace_ends_with_the_models_own_logits(model):
    found = trained.trace(model, TOKENS)
    torch.testing.assert_close(found.logits, model(TOKENS)[0].detach(), rtol=1e-4, atol=1e-4)
    assert probes.score_spread(found).shape == probes.weight_on_first(found).shape == (6, 6)
    assert probes.stream_size(found).shape == (7,)
    torch.testing.assert_close(probes.frequency_share(found).sum(-1), torch.ones(6, 6))


def test_pairs_are_lengths_in_a_query_times_those_in_its_key(model):
    watched, projected = copy.deepcopy(model), []
    attention = watched.layers[0].self_attn
    for part in (attention.q_proj, attention.k_proj):
        part.register_forward_hook(lambda _part, _given, result: projected.append(result))
    found = trained.trace(watched, TOKENS).pairs[0, 0, :, 5]
    q, k = (x[0, 5].view(-1, 2, attention.d_k // 2).norm(dim=1) for x in projected)
    torch.testing.assert_close(found, q * k.repeat_interleave(len(q) // len(k), 0))


def test_weights_on_the_previous_the_first_and_the_copied_token_are_means():
    weights = torch.zeros(1, 1, 2, 6, 6)
    for row in range(1, 6):
        weights[0, 0, 0, row, row - 1] = 0.5  # the token before
        weights[0, 0, 1, row, 0] = 0.1 * row
    weights[0, 0, 0, [3, 4, 5], [1, 2, 3]] = 0.25  # after the token that stands 3 before
    found = probes.Trace(*[weights] * 6)
    torch.testing.assert_close(trained.weight_on_previous(found), torch.tensor([[0.5, 0.02]]))
    torch.testing.assert_close(probes.weight_on_first(found), torch.tensor([[0.0, 0.4]]))
    torch.testing.assert_close(trained.weight_on_copy(found), torch.tensor([[0.25, 0.0]]))


def test_without_a_head_is_as_if_its_output_were_zero(model):
    before, place = model(TOKENS)[0], torch.arange(32, 64)  # of head 1
    hook = model.layers[3].self_attn.o_proj.register_forward_pre_hook(
        lambda _, given: (given[0].index_fill(-1, place, 0.0),)
    )
    silenced = model(TOKENS)[0]
    hook.remove()
    assert not torch.equal(before, silenced)
    torch.testing.assert_close(trained.without(model, [(3, 1)])(TOKENS)[0], silenced)
    assert torch.equal(before, model(TOKENS)[0])


def test_scores_of_equal_tokens_follow_from_the_mean_query_and_key(model):
    measured, predicted = waves.by_distance(model, torch.full((1, 80), 7), torch.arange(0, 64, 9))
    torch.testing.assert_close(measured, predicted, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(waves.explained(measured, 2 + measured), torch.ones(6, 6).double())


def test_a_repeated_text_repeats_itself():
    assert trained.repeated().shape == (1, 256)
    tokens = trained.repeated(16, seed=3)[0]
    assert tokens[0] == trained.START
    assert tokens[1:16].tolist() == tokens[17:].tolist()


def test_every_rule_that_stretches_changes_what_its_name_says():
    theta = torch.tensor([1.0, 0.01, 0.0001], dtype=torch.float64)
    found = {rule: stretched(theta, rule, 4) for rule in ("none", "cut", *RULES)}
    assert [rule for rule, (_, factor) in found.items() if factor != 1] == ["YaRN"]
    for rule in ("none", "cut"):
        assert torch.equal(found[rule][0], theta)
    torch.testing.assert_close(found["PI"][0], theta / 4)
    torch.testing.assert_close(
        found["NTK-aware"][0][[0, -1]], theta[[0, -1]] / torch.tensor([1, 4])
    )
    assert torch.equal(found["YaRN"][0], found["YaRN without factor"][0])
    for rule in ("by parts", "YaRN", "Llama 3"):  # fast pairs stay, slow pairs are divided by 4
        torch.testing.assert_close(found[rule][0][[0, -1]], theta[[0, -1]] / torch.tensor([1, 4]))
    assert len({tuple(one.tolist()) for one, _ in found.values()}) == 6


def test_a_text_has_sources_of_any_platform_but_no_tests_and_no_long_files(monkeypatch, tmp_path):
    longest = b"#" * text.LONGEST
    contents = {"b.py": b"2\r\n", "a.py": b"1\n", "c.py": longest, "d.py": longest + b"#"}
    for name in (*contents, "e.txt", "version.py", "tests/f.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(contents.get(name, b""))
        contents[name] = importlib.metadata.PackagePath(name)
        contents[name].dist = importlib.metadata.PathDistribution(tmp_path / "dist-info")
    monkeypatch.setattr(importlib.metadata, "files", lambda _: contents.values())
    assert text.sources_of(("one",)) == b"# a.py\n1\n\n# b.py\n2\n\n# c.py\n" + longest + b"\n"


def test_pages_read_the_same_held_out_bytes_on_every_machine():
    # What a training read is in its record. The wheels of some of those packages differ between
    # versions of Python, so it is no promise about this machine; what pages read is one.
    sha = "28ad3c831da7889df2016356a2a61ea724d589cc45386b4969e59bc3dc9c0f8c"
    found = hashlib.sha256(text.sources_of(text.HELD_OUT[:1])).hexdigest()
    assert found == sha, "the pages' numbers were computed with networkx 3.6.1"


def test_the_record_says_which_bytes_the_model_was_trained_on():
    for name in ("training", "stretch", "schemes", "curves", "curves-twice"):
        hashes = {row["text_sha256"] for row in recorded(f"trained/{name}.jsonl")}
        assert {len(one) for one in hashes} == {64}, name


def test_schemes_are_ordered_by_the_mean_of_their_last_losses(tmp_path):
    rows = [("ALiBi", "best", [9.0, 1.2]), ("ALiBi", "best", [9.0, 1.6])]
    rows += [("hybrid, last", "best", [9.0, 1.3]), ("RoPE", "best", [0.0, 1.5])]
    rows += [("RoPE", "grid", [9.0, 0.0])]  # a grid chooses a rate and is not compared
    lines = [json.dumps({"scheme": s, "part": p, "test": t}) for s, p, t in rows]
    (tmp_path / "few.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert by_loss(str(tmp_path / "few.jsonl")) == ["RoPE/NoPE", "ALiBi", "RoPE"]
