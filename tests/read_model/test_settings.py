"""Settings for a longer text, and test vectors: what a reader takes away from the page."""

import json

import pytest
import torch
from reader import call, is_near, run_reader

from attention_to_rope.checkpoints import rotary_settings
from attention_to_rope.checkpoints.config_remarks import rule_remarks
from attention_to_rope.context_extension import ntk_aware
from attention_to_rope.rope import rotary_frequencies
from bookformat.paths import STATIC
from rope_doctor.families import FAMILIES

BODY = {
    "hidden_size": 1024,
    "num_attention_heads": 8,
    "num_hidden_layers": 2,
    "max_position_embeddings": 8192,
}
CONFIGS = {
    "old keys": {**BODY, "model_type": "llama", "rope_theta": 5e5},
    "new keys": {
        **BODY,
        "model_type": "qwen3",
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
    },
    "a part of a head": {
        **BODY,
        "model_type": "phi",
        "rope_theta": 1e4,
        "partial_rotary_factor": 0.5,
    },
    "GPT-NeoX": {**BODY, "model_type": "gpt_neox", "rotary_emb_base": 10000, "rotary_pct": 0.25},
    "latent": {
        **BODY,
        "model_type": "deepseek_v3",
        "rope_theta": 10000,
        "qk_rope_head_dim": 64,
        "qk_nope_head_dim": 128,
        "kv_lora_rank": 512,
        "rope_scaling": {
            "type": "yarn",
            "factor": 2.0,
            "original_max_position_embeddings": 4096,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
        },
    },
}
WANTED = {"length": 32768}


@pytest.fixture(scope="module")
def settings():
    answers = run_reader([call("readModel", config, WANTED) for config in CONFIGS.values()])
    return dict(zip(CONFIGS, (answer["settings"] for answer in answers), strict=True))


@pytest.mark.parametrize("name", CONFIGS)
def test_the_library_reads_both_fragments_as_the_page_says(settings, name):
    found = settings[name]
    assert found["needed"]
    assert [entry["rule"] for entry in found["rules"]] == ["linear", "ntk", "yarn", "llama3"]
    for entry in found["rules"]:
        frequencies = torch.tensor(entry["frequencies"], dtype=torch.float64)
        for version in ("transformers4", "transformers5"):
            fragment = entry[version]
            kept = {k: v for k, v in CONFIGS[name].items() if k not in fragment["remove"]}
            read = rotary_settings(kept | fragment["add"], length=WANTED["length"])
            assert torch.allclose(read.frequencies, frequencies, rtol=1e-12, atol=0)
            assert is_near(read.attention_factor, entry["attention_factor"])


def test_the_factor_is_the_wanted_length_over_the_trained_one(settings):
    assert settings["old keys"]["factor"] == 4
    assert settings["latent"]["factor"] == 8  # from 4096, before its own rule
    assert [note["key"] for note in settings["latent"]["notes"]] == ["has_rule"]
    (yarn,) = (one for one in settings["latent"]["rules"] if one["rule"] == "yarn")
    assert yarn["transformers4"]["add"]["rope_scaling"]["mscale_all_dim"] == 1


def test_ntk_is_that_of_the_library(settings):
    (entry,) = (one for one in settings["old keys"]["rules"] if one["rule"] == "ntk")
    expected = ntk_aware(rotary_frequencies(128, 5e5), 4.0)
    found = torch.tensor(entry["frequencies"], dtype=torch.float64)
    assert torch.allclose(found, expected, rtol=1e-12, atol=0)


def test_arguments_for_engines(settings):
    (yarn,) = (one for one in settings["old keys"]["rules"] if one["rule"] == "yarn")
    flags = "--rope-scaling yarn --rope-scale 4 --yarn-orig-ctx 8192 -c 32768"
    assert yarn["llama_cpp"] == flags
    override, length = yarn["vllm"].split("' ")
    assert length == "--max-model-len 32768"
    written = json.loads(override.removeprefix("--hf-overrides '"))
    assert written == {"rope_parameters": yarn["transformers5"]["add"]["rope_parameters"]}


def test_a_length_that_is_offered_needs_nothing():
    (answer,) = run_reader([call("readModel", CONFIGS["old keys"], {"length": 8192})])
    assert not answer["settings"]["needed"]
    assert answer["settings"]["rules"] == []


@pytest.mark.parametrize("name", FAMILIES)
def test_vectors_are_those_that_the_site_offers(name):
    index = json.loads((STATIC / "rope-vectors" / "index.json").read_text(encoding="utf-8"))
    stored = json.loads((STATIC / "rope-vectors" / index[name]).read_text(encoding="utf-8"))
    kind = stored["layer_type"] or "full_attention"
    config = {
        **stored["config"],
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "sliding_window": 16,
        "layer_types": [kind],
    }
    (answer,) = run_reader([call("testVectors", config, {"length": 1})])
    (found,) = answer["vectors"]
    for key in ("head_dim", "rotary_dim", "attention_factor", "score_factor"):
        assert is_near(found[key], stored[key])
    assert len(found["cases"]) == len(stored["cases"])
    for one, other in zip(found["cases"], stored["cases"], strict=True):
        assert one["position"] == other["position"]
        if found["layout"] is not None:  # a configuration without a type of model has none
            assert found["layout"] == stored["layout"]
            # The largest position times the rounding of a frequency.
            assert one["rotated"] == pytest.approx(other["rotated"], abs=1e-9)
        for key in ("cos", "sin"):
            assert one[key] == pytest.approx(other[key], abs=1e-9)


def test_a_rule_that_the_file_has_keeps_its_other_keys(settings):
    config = {
        **BODY,
        "model_type": "gpt_oss",
        "rope_theta": 150000.0,
        "head_dim": 64,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 32.0,
            "original_max_position_embeddings": 256,
            "beta_fast": 16.0,
            "truncate": False,
        },
    }
    (answer,) = run_reader([call("readModel", config, WANTED)])
    found = {one["rule"]: one for one in answer["settings"]["rules"]}
    written = found["yarn"]["transformers5"]["add"]["rope_parameters"]
    assert written["truncate"] is False
    assert written["beta_fast"] == 16
    assert written["factor"] == 128
    assert "truncate" not in found["linear"]["transformers5"]["add"]["rope_parameters"]


def test_a_model_of_the_table_has_settings_where_its_layers_rotate_alike():
    names = ["Qwen3-8B", "Gemma 3-27B", "Jamba v0.1", "Mistral Large 4"]
    answers = run_reader([call("readTableModel", name, {"length": 2**21}) for name in names])
    qwen, gemma, jamba, mistral = [answer["settings"] for answer in answers]
    assert qwen["factor"] == 2**21 / 32768  # the length of training, not the offered one
    entry = {one["rule"]: one for one in qwen["rules"]}["yarn"]
    read = rotary_settings({"head_dim": 128, **entry["transformers5"]["add"]})
    expected = torch.tensor(entry["frequencies"], dtype=torch.float64)
    assert torch.allclose(read.frequencies, expected, rtol=1e-12, atol=0)
    assert [note["key"] for note in gemma["notes"]] == ["kinds_differ"]
    assert [note["key"] for note in jamba["notes"]] == ["nothing_rotates"]
    assert mistral is None  # its frequencies are learned


def test_room_for_an_answer_is_no_length_of_training():
    """Qwen3's files offer 40,960 tokens and were trained on 32,768; a rule of theirs says so."""
    config = {**CONFIGS["new keys"], "max_position_embeddings": 40960}
    rule = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
    told = {**config, "rope_parameters": {**config["rope_parameters"], **rule}}
    other = {**config, "model_type": "qwen2"}
    requests = [call("readModel", one, {"length": 2**17}) for one in (config, told, other)]
    requests.append(call("readModel", config, {"length": 40960}))
    plain, stretched, unknown, short = run_reader(requests)
    assert plain["trained_length"] == stretched["trained_length"] == 32768
    assert plain["settings"]["factor"] == 4
    assert unknown["settings"]["factor"] == 3.2
    said = [{one["key"] for one in answer["warnings"]} for answer in (plain, stretched, unknown)]
    assert ["room_for_output" in keys for keys in said] == [True, False, False]
    library = [{one.name for one in rule_remarks(given)} for given in (config, told, other)]
    assert ["room_for_output" in names for names in library] == [True, False, False]
    assert [note["key"] for note in short["settings"]["notes"]] == ["already_offered"]


WRONG = {
    "no factor": {"rope_type": "yarn", "original_max_position_embeddings": 4096},
    "two kinds": {"rope_type": "yarn", "type": "linear", "factor": 4.0},
    "a factor below 1": {"rope_type": "yarn", "factor": 0.25},
    "an unknown key": {"rope_type": "yarn", "factor": 4.0, "stretch": 2},
    "a negative factor": {"rope_type": "yarn", "factor": -4.0},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_has_no_settings_and_is_not_called_enough(name):
    config = {**BODY, "model_type": "llama", "rope_theta": 1e4, "rope_scaling": WRONG[name]}
    if name == "no factor":
        del config["max_position_embeddings"]  # the factor would follow from both lengths
    (answer,) = run_reader([call("readModel", config, {"length": 4096})])
    assert answer["faulty"]
    assert answer["settings"]["rules"] == []
    assert [note["key"] for note in answer["settings"]["notes"]] == ["mend_first"]


def test_yarn_reaches_as_far_as_it_stretches():
    rule = {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 4096}
    config = {**BODY, "model_type": "llama", "rope_theta": 1e4, "rope_scaling": rule}
    config["max_position_embeddings"] = 32768
    requests = [call("readModel", config, {"length": length}) for length in (8192, 16384)]
    near, far = run_reader(requests)
    assert not near["settings"]["needed"]
    assert far["settings"]["factor"] == 4
