"""Bytes of stored weights, numbers of GPUs, and the scale of the softmax."""

import json
import math

import pytest
from reader import call, is_near, run_reader

from bookkit.weights import config_weights, stored_weights
from booksite.read_model import run_reports

MISTRAL = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 32,
    "max_position_embeddings": 32768,
    "rope_theta": 1e6,
    "vocab_size": 32000,
}
# What quantization_config says, and the bits of a weight; None: nobody knows.
STORED = {
    "fp8": ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 8),
    "gptq": ({"quant_method": "gptq", "bits": 4, "group_size": 128}, 4 + 20 / 128),
    "gptq, one group": ({"quant_method": "gptq", "bits": 4, "group_size": -1}, 4),
    "awq": ({"quant_method": "awq", "bits": 4, "group_size": 64}, 4 + 20 / 64),
    "awq, older names": ({"w_bit": 4, "q_group_size": 128, "quant_method": "AWQ"}, 4 + 20 / 128),
    "mxfp4": ({"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}, 4.25),
    "bitsandbytes": ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4.5),
    "bitsandbytes, 8": ({"_load_in_8bit": True, "_load_in_4bit": False}, 8),
    "compressed-tensors": (
        {
            "quant_method": "compressed-tensors",
            "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}},
        },
        8,
    ),
    "two kinds": (
        {"config_groups": {"a": {"weights": {"num_bits": 8}}, "b": {"weights": {"num_bits": 4}}}},
        None,
    ),
    "no kinds": ({"quant_method": "compressed-tensors", "config_groups": {}}, None),
    "modelopt": ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, 4.5),
    "an algorithm alone": ({"quant_algo": "FP8"}, 8),
    "unheard of": ({"quant_method": "magic"}, None),
    "a word for bits": ({"quant_method": "gptq", "bits": "4"}, None),
    "no whole number": ({"quant_method": "gptq", "bits": 1.58}, None),
    "a list for a name": ({"quant_method": [1]}, None),
    "a name of Object": ({"quant_method": "constructor"}, None),
}


@pytest.mark.parametrize("name", STORED)
def test_bits_of_stored_weights(name):
    held, bits = STORED[name]
    stored = stored_weights({"quantization_config": held})
    assert stored is not None
    assert stored.bits == bits
    (answer,) = run_reader([call("weightBits", {"quantization_config": held})])
    assert answer == stored._asdict()


@pytest.mark.parametrize("held", [None, {}, [], "fp8", 8])
def test_no_configuration_of_stored_weights(held):
    assert stored_weights({"quantization_config": held}) is None
    assert run_reader([call("weightBits", {"quantization_config": held})]) == [None]


def test_matrices_have_the_bits_of_the_file_and_the_rest_sixteen():
    stored = {"quant_method": "gptq", "bits": 4, "group_size": 128}
    config = {**MISTRAL, "quantization_config": stored}
    wishes = [{}, {"weight_bytes": 2}, {"parameters": 1e9}, {"weights_bytes": 4e9}]
    read, chosen, typed, given = run_reader([call("readModel", config, one) for one in wishes])
    weights = config_weights(MISTRAL)
    bits = 4 + 20 / 128
    expected = weights.matrices * bits / 8 + (weights.parameters - weights.matrices) * 2
    assert is_near(read["weights"]["bytes"], expected)
    assert is_near(read["wanted"]["weight_bytes"], expected / weights.parameters)
    assert chosen["weights"]["bytes"] == 2 * weights.parameters
    assert is_near(typed["weights"]["bytes"], 1e9 * bits / 8)
    assert given["weights"]["bytes"] == 4e9
    said = [{one["key"] for one in answer["warnings"]} for answer in (read, chosen, typed, given)]
    assert ["stored_bits" in keys for keys in said] == [True, False, True, False]
    unknown = {**MISTRAL, "quantization_config": {"quant_method": "magic"}}
    (answer,) = run_reader([call("readModel", unknown)])
    assert "stored_unknown" in {one["key"] for one in answer["warnings"]}
    assert answer["weights"]["bytes"] == 2 * weights.parameters


def memory_of(config, weights, length=1):
    (answer,) = run_reader(
        [call("readModel", config, {"weights_bytes": weights, "length": length})]
    )
    return answer["memory"]


def test_the_fewest_gpus_share_the_heads_equally():
    capacity = memory_of(MISTRAL, 1e9)["capacity"]
    three = memory_of(MISTRAL, 2.5 * capacity)
    assert (three["by_bytes"], three["fewest_gpus"]) == (3, 4)
    assert three["possible"] == [1, 2, 4, 8, 16, 32]
    assert not three["fits"]
    odd = {**MISTRAL, "num_attention_heads": 40, "hidden_size": 5120}
    assert memory_of(odd, 1e9)["possible"] == [1, 2, 4, 8, 40]
    six = {**MISTRAL, "num_attention_heads": 24, "num_key_value_heads": 6, "hidden_size": 3072}
    found = memory_of(six, 2.5 * capacity)
    assert (found["by_bytes"], found["fewest_gpus"]) == (3, 3)
    (answer,) = run_reader([call("readModel", MISTRAL, {"weights_bytes": 1e9, "gpus": 3})])
    assert not answer["memory"]["shares"]


def test_the_report_says_why_four_gpus_and_not_three():
    wanted = {"weights_bytes": 2.5 * memory_of(MISTRAL, 1e9)["capacity"], "length": 1}
    (answer,) = run_reports([{"config": MISTRAL, "wanted": wanted}], {}, [])
    assert "All of it fits on 4 such GPUs. By bytes alone 3 would do" in answer["html"]
    assert "the heads must divide by the number: 1, 2, 4, 8, 16, 32." in answer["html"]


def test_a_latent_that_each_gpu_keeps_may_fit_on_no_number_of_them():
    wanted = {"weights_bytes": 671e9, "batch": 4096, "length": 131072}
    (answer,) = run_reports([{"config": LATENT, "wanted": wanted}], {}, [])
    assert "No number of such GPUs is enough" in answer["html"]
    wanted = {"weights_bytes": 671e9, "gpus": 3, "length": 4096}
    (answer,) = run_reports([{"config": LATENT, "wanted": wanted}], {}, [])
    assert "3 GPUs cannot have equally many heads" in answer["html"]
    assert "1, 2, 4, 8, 16, … 128." in answer["html"]


LATENT = {
    "model_type": "deepseek_v3",
    "num_hidden_layers": 2,
    "hidden_size": 7168,
    "num_attention_heads": 128,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "max_position_embeddings": 163840,
    "rope_theta": 10000.0,
    "rope_scaling": {
        "type": "yarn",
        "factor": 40,
        "original_max_position_embeddings": 4096,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
    },
}
GEMMA = {
    "model_type": "gemma3_text",
    "num_hidden_layers": 2,
    "hidden_size": 5376,
    "num_attention_heads": 32,
    "num_key_value_heads": 16,
    "head_dim": 128,
    "query_pre_attn_scalar": 168,
    "layer_types": ["full_attention"] * 2,
    "rope_theta": 1e6,
}
GRANITE = {**MISTRAL, "model_type": "granite", "attention_multiplier": 0.0078125}
FACTOR = (1 + 0.1 * math.log(40)) ** 2
SCALES = {
    "a root": (MISTRAL, "1/√128 = 0.0884<", 128**-0.5),
    "another root": (GEMMA, "1/√168 = 0.0772; from query_pre_attn_scalar, not 1/√128<", 168**-0.5),
    "a number": (GRANITE, "0.00781; from attention_multiplier, not 1/√128<", 0.0078125),
    "latent, with YaRN": (
        LATENT,
        "1.87/√192 = 0.135; 1.87: the square of mscale_all_dim&#39;s factor<",
        FACTOR * 192**-0.5,
    ),
}


@pytest.mark.parametrize("name", SCALES)
def test_the_scale_of_the_softmax_and_its_reason_stand_in_one_place(name):
    config, words, scale = SCALES[name]
    (answer,) = run_reader([call("readModel", config)])
    assert is_near(answer["layers"][0]["attention"]["scale"], scale)
    (answer,) = run_reports([{"config": config, "wanted": {}}], {}, [])
    html = answer["html"].replace("'", "&#39;")
    assert f'<th scope="row">Scale of the softmax</th><td>{words}' in html
    assert "divided by" not in html


def test_scales_of_the_table():
    names = ["Gemma 3-27B", "DeepSeek-V3", "Gemma 4-31B", "Llama 3.1-8B"]
    answers = run_reader([call("readTableModel", name) for name in names])
    scales = [answer["layers"][0]["attention"]["scale"] for answer in answers]
    assert scales == pytest.approx([168**-0.5, FACTOR * 192**-0.5, 1.0, 128**-0.5])


def test_one_and_several():
    one = {**MISTRAL, "num_hidden_layers": 1}
    answers = run_reports([{"config": one, "wanted": {"batch": n}} for n in (1, 8)], {}, [])
    single, eight = [json.dumps(answer["html"], ensure_ascii=False) for answer in answers]
    assert "full attention, 1 layer<" in single
    assert "Cache of one text" in single
    assert "Cache of 8 texts" in eight
    assert "Cache of one text" not in eight


def test_what_the_file_says_of_the_layout_is_repeated():
    said = {}
    for switch in (None, True, False):
        config = LATENT if switch is None else {**LATENT, "rope_interleave": switch}
        (answer,) = run_reports([{"config": config, "wanted": {}}], {}, [])
        said[switch] = answer["html"]
    assert "rope_interleave, which the file does not have; it then pairs neighbours" in said[None]
    assert "The file says true." in said[True]
    assert "The file says false." in said[False]
    assert "half: dimension i with i + 32" in said[False]


def test_an_error_stands_first_and_is_marked():
    config = {**MISTRAL, "rope_scaling": {"rope_type": "yarn", "factor": -4.0}}
    (answer,) = run_reports([{"config": config, "wanted": {}, "settings": True}], {}, [])
    html = answer["html"]
    assert "there is nothing to add" not in html
    assert html.index("<h4>Error</h4>") < html.index('<dl class="tiles">')
    assert "The rotation is not read: factor must be a positive finite number" in html


def test_the_length_of_a_rule_is_not_called_that_of_training():
    answers = run_reports(
        [{"name": name, "wanted": {}} for name in ("Llama 3.1-8B", "Qwen3-8B")], {}, []
    )
    llama, qwen = [answer["html"].split("</p>")[0] for answer in answers]
    assert llama.endswith("offers 131,072 tokens · its rule starts from 8,192")
    assert qwen.endswith("offers 40,960 tokens · trained on 32,768 tokens")
