"""A config.json, alone or beside a function; folders of transformers models."""

import json

import pytest
import torch
from rotations import rope, with_table

import attention_to_rope as book
from attention_to_rope.checkpoints import rotary_settings
from rope_doctor import adapters, examine, read_config
from rope_doctor.__main__ import main

LLAMA = {
    "model_type": "llama",
    "head_dim": 32,
    "rope_theta": 5e5,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}
GEMMA = {
    "model_type": "gemma3_text",
    "head_dim": 32,
    "layer_types": ["sliding_attention", "full_attention"],
    "rope_parameters": {
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
    },
}
DEEPSEEK = {
    "model_type": "deepseek_v3",
    "qk_rope_head_dim": 64,
    "rope_theta": 1e4,
    "max_position_embeddings": 163840,
    "rope_scaling": {
        "type": "yarn",
        "factor": 40.0,
        "original_max_position_embeddings": 4096,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
    },
}


def rotation_of(config, **options):
    """A right function for a configuration."""
    settings = rotary_settings(config, **options)

    def function(x, positions):
        table = book.rotary_table(
            positions, settings.frequencies, attention_factor=settings.attention_factor
        )
        return book.rotate(x, table, layout=settings.layout, rotary_dim=settings.rotary_dim)

    return function


def test_a_function_is_compared_with_a_configuration():
    report = examine(rotation_of(LLAMA), config=LLAMA)
    assert report.sound, report
    plain = {key: value for key, value in LLAMA.items() if key != "rope_scaling"}
    (change,) = examine(rotation_of(plain), config=LLAMA).changes
    assert change == "scaling: none was measured, the model has llama3: ×8 from 8192"


@pytest.mark.parametrize("kind", ["sliding_attention", "full_attention"])
def test_any_kind_of_layer_will_do_unless_one_is_named(kind):
    function = rotation_of(GEMMA, layer_type=kind)
    report = examine(function, config=GEMMA)
    assert report.sound, report
    assert any(note.endswith(f"that of {kind}") for note in report.notes)
    assert examine(function, config=GEMMA, layer_type=kind).sound
    other = ({"sliding_attention", "full_attention"} - {kind}).pop()
    assert not examine(function, config=GEMMA, layer_type=other).sound


def test_the_scale_of_the_softmax_is_named_where_a_configuration_has_it():
    report = examine(rotation_of(DEEPSEEK), config=DEEPSEEK)
    assert report.sound, report
    assert any("multiply 1/√d by 1.87385" in note for note in report.notes)
    assert "softmax scale × 1.87385" in str(read_config(DEEPSEEK))
    assert not any("softmax" in note for note in read_config(LLAMA).notes)


def test_what_contradicts_itself_in_a_configuration_is_a_fault():
    scaling = {"rope_type": "linear", "type": "yarn", "factor": 0.5}
    reading = read_config({"head_dim": 32, "rope_theta": 1e4, "rope_scaling": scaling})
    assert [fault.split(".")[0] for fault in reading.faults] == [
        "Two kinds of scaling: rope_type says 'linear', type says 'yarn'",
        "The factor 0",
    ]
    assert any("layout" in note for note in reading.notes)
    short = {**DEEPSEEK, "max_position_embeddings": 400_000}
    assert any("4096 × 40 = 163840" in note for note in read_config(short).notes)


def test_a_scale_of_the_queries_is_a_note_and_no_rotation():
    scaling = {**DEEPSEEK["rope_scaling"], "llama_4_scaling_beta": 0.1}
    reading = read_config({**DEEPSEEK, "rope_scaling": scaling})
    assert torch.equal(
        reading.wanted[0].settings.frequencies, rotary_settings(DEEPSEEK).frequencies
    )
    assert any("1 + 0.1 ln(1 + ⌊m / 4096⌋)" in note for note in reading.notes)


def written(folder, config):
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return str(folder / "config.json")


def test_the_command_with_a_configuration(tmp_path, capsys):
    file = written(tmp_path, GEMMA)
    assert main(["--config", file]) == 0
    said = capsys.readouterr().out
    assert "sliding_attention: layout half, base 10000" in said
    assert "full_attention: layout half, base 1e+06" in said
    assert main(["--config", file, "--layer-type", "full_attention", "--json"]) == 0
    (rotation,) = json.loads(capsys.readouterr().out)["rotations"]
    assert rotation["kind"] == "linear"
    assert main(["--config", written(tmp_path, {"head_dim": 32})]) == 2
    assert "names no base" in capsys.readouterr().err
    assert main(["--config", written(tmp_path, [1])]) == 2
    bad = {
        "head_dim": 32,
        "rope_theta": 1e4,
        "rope_scaling": {"rope_type": "linear", "factor": 0.5},
    }
    assert main(["--config", written(tmp_path, bad)]) == 1


def test_a_folder_proves_nothing_without_transformers(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(adapters, "rotary_of_folder", lambda folder: None)
    written(tmp_path, LLAMA)
    assert main(["--model", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert "scaling llama3" in said.out
    assert "nothing is proved" in said.err


def test_a_function_of_a_file_and_a_configuration(tmp_path, monkeypatch, capsys):
    (tmp_path / "of_mine.py").write_text(
        "import torch, attention_to_rope as book\n"
        "def rope(positions, query, key):\n"
        "    table = book.rotary_table(positions, book.rotary_frequencies(32))\n"
        "    rotate = lambda x: book.rotate(x, table, layout='half', sequence_axis=-3)\n"
        "    return rotate(query), rotate(key)\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    file = written(tmp_path, {"model_type": "llama", "head_dim": 32, "rope_theta": 1e4})
    assert main(["of_mine:rope", "--config", file]) == 0
    assert "positions" in capsys.readouterr().out
    assert main(["of_mine:rope", "--config", written(tmp_path, LLAMA)]) == 1
    assert "base: 10000 to 500000" in capsys.readouterr().out


def test_layers_that_do_not_rotate_are_no_rotation_to_compare_with():
    config = {**LLAMA, "num_hidden_layers": 4, "no_rope_layers": [1, 1, 1, 0]}
    reading = read_config(config)
    assert [wanted.settings.rotary_dim for wanted in reading.wanted] == [32, 0]
    assert examine(rotation_of(LLAMA), config=config).sound
    assert torch.equal(reading.wanted[0].settings.frequencies, rotary_settings(LLAMA).frequencies)


PARTIAL = {"model_type": "phi", "head_dim": 80, "rope_theta": 1e4, "partial_rotary_factor": 0.4}


def turned(x, cos, sin):
    """Halves; the width of cos says how many dimensions rotate."""
    width = cos.shape[-1]
    part, rest = x[..., :width], x[..., width:]
    other = torch.cat((-part[..., width // 2 :], part[..., : width // 2]), -1)
    return torch.cat((part * cos + other * sin, rest), -1)


def test_a_table_is_as_wide_as_the_part_that_rotates():
    def function(q, k, cos, sin):
        cos, sin = cos[:, None], sin[:, None]
        return turned(q, cos, sin), turned(k, cos, sin)

    report = examine(function, config=PARTIAL)
    assert report.sound, report
    whole = examine(function, config={"model_type": "llama", "head_dim": 80, "rope_theta": 1e4})
    assert whole.sound, whole


def test_neighbours_with_a_table_of_halves_are_told():
    def function(q, k, cos, sin):
        def one(x):
            other = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
            return x * cos[:, None] + other * sin[:, None]

        return one(q), one(k)

    report = examine(function, config=LLAMA)
    assert any(text.startswith("table: it rotates with neighbours") for text in report.changes)
    glm = {"model_type": "glm", "head_dim": 32, "rope_theta": 1e4, "partial_rotary_factor": 1.0}
    assert examine(function, config=glm).sound


def test_exponents_over_another_length_are_told():
    config = {"model_type": "llama", "head_dim": 32, "rope_theta": 1e6, "hidden_size": 160}

    def function(x, positions):
        table = book.rotary_table(positions, book.rotary_frequencies(40, 1e6)[:16])
        return book.rotate(x, table, layout="half")

    changes = examine(function, config=config).changes
    assert any("base 1e+06 with the exponents 2i/40 in place of 2i/32" in text for text in changes)


def test_a_factor_that_is_there_twice_is_told():
    rope = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}
    config = {"model_type": "llama", "head_dim": 32, "rope_theta": 1e6, "rope_scaling": rope}
    right = rotation_of(config)
    factor = rotary_settings(config).attention_factor
    report = examine(lambda x, positions: factor * right(x, positions), config=config)
    assert any("it is there twice" in text for text in report.changes)


HUNYUAN = {
    "model_type": "hunyuan_v1_dense",
    "head_dim": 32,
    "max_position_embeddings": 32768,
    "rope_theta": 1e4,
    "rope_scaling": {
        "type": "dynamic",
        "alpha": 1000.0,
        "factor": 1.0,
        "beta_fast": 32,
        "beta_slow": 1,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
    },
}


def rotation_of_base(base):
    return rotation_of({"model_type": "llama", "head_dim": 32, "rope_theta": base})


@pytest.mark.parametrize("power", [32 / 30, 1.0, 0.0])
def test_hunyuans_alpha_raises_the_base_by_its_power(power):
    report = examine(rotation_of_base(1e4 * 1000**power), config=HUNYUAN)
    assert report.sound == (power > 1), report
    left_out = any("without the power d/(d − 2)" in text for text in report.changes)
    assert left_out == (power == 1)
    assert any(note.startswith("alpha: ") for note in report.notes)
    assert not any("change with the length" in note for note in report.notes)


def test_hunyuans_keys_are_read_in_a_text_part_and_under_the_newer_name():
    renamed = {key: value for key, value in HUNYUAN.items() if key != "rope_scaling"}
    renamed["rope_parameters"] = HUNYUAN["rope_scaling"] | {"rope_theta": renamed.pop("rope_theta")}
    for config in (HUNYUAN, renamed, {"text_config": HUNYUAN}):
        (wanted,) = read_config(config).wanted
        assert wanted.settings.base == pytest.approx(1e4 * 1000 ** (32 / 30))


def test_alpha_of_another_model_is_refused_with_what_to_give_instead():
    with pytest.raises(ValueError, match=r"give rope_theta = base · alpha\^"):
        read_config(HUNYUAN | {"model_type": "llama"})


YARN = {
    "model_type": "qwen3",
    "head_dim": 128,
    "max_position_embeddings": 131_072,
    "rope_theta": 1e6,
    "rope_scaling": {
        "rope_type": "yarn",
        "factor": 4.0,
        "original_max_position_embeddings": 32_768,
    },
}


LONGROPE = {
    "model_type": "phi3",
    "head_dim": 32,
    "rope_theta": 1e4,
    "max_position_embeddings": 8192,
    "original_max_position_embeddings": 4096,
    "rope_scaling": {
        "type": "longrope",
        "short_factor": [1 + 0.1 * pair for pair in range(16)],
        "long_factor": [2 + 0.3 * pair for pair in range(16)],
    },
}


def with_scaling(config, **changed):
    return {**config, "rope_scaling": {**config["rope_scaling"], **changed}}


@pytest.mark.parametrize(
    ("config", "changed", "words"),
    [
        (LLAMA, {"high_freq_factor": 2.0}, "high_freq_factor 2, the configuration has 4.0"),
        (LLAMA, {"low_freq_factor": 0.5}, "low_freq_factor 0.5, the configuration has 1.0"),
        (YARN, {"beta_fast": 8}, "beta_fast 8, the configuration has 32"),
        (YARN, {"beta_fast": 64, "beta_slow": 4}, "beta_fast 64 and beta_slow 4, the config"),
        (
            LONGROPE,
            {
                "short_factor": LONGROPE["rope_scaling"]["long_factor"],
                "long_factor": LONGROPE["rope_scaling"]["short_factor"],
            },
            "short_factor and long_factor exchanged",
        ),
    ],
)
def test_a_setting_that_was_read_otherwise_is_told(config, changed, words):
    rotation = rotary_settings(with_scaling(config, **changed))

    def function(x, positions):
        factor = rotation.attention_factor
        return rope(x, positions, theta=rotation.frequencies, factor=factor)

    for given in (config, {"text_config": config}):
        report = examine(function, config=given)
        assert any(words in text for text in report.changes), report
        assert not any("by no rule" in text for text in [*report.changes, *report.doubts])
        assert not report.sound


def test_frequencies_of_no_setting_stay_unexplained():
    theta = rotary_settings(YARN).frequencies * torch.linspace(1, 0.9, 64).double() ** 2
    report = examine(lambda x, m: rope(x, m, theta=theta), config=YARN)
    assert any("no rule gives" in text for text in report.changes), report


def test_rounded_frequencies_of_a_scaling_are_that_fault_alone():
    theta = rotary_settings(LLAMA).frequencies.bfloat16().double()
    report = examine(lambda x, m: rope(x, m, theta=theta), config=LLAMA)
    assert [text.partition(":")[0] for text in report.faults] == ["half frequencies"]
    assert report.changes == []


def test_a_table_that_raises_beyond_its_end_is_a_note():
    plain = {"model_type": "llama", "head_dim": 32, "rope_theta": 1e4}
    plain["max_position_embeddings"] = 16_384
    cos, sin = book.rotary_table(torch.arange(5000), book.rotary_frequencies(32))

    def function(x, positions):
        return with_table(x, cos[positions], sin[positions])

    report = examine(function, config=plain)
    assert report.sound, report
    assert any("position 16,383 raises IndexError" in note for note in report.notes)


def test_a_base_that_is_raised_too_early_is_told():
    config = {
        "model_type": "llama",
        "head_dim": 32,
        "max_position_embeddings": 4096,
        "rope_theta": 1e4,
        "rope_scaling": {"rope_type": "dynamic", "factor": 2.0},
    }
    theta = book.rotary_frequencies(32, 10_000.0 * 2 ** (32 / 30))
    report = examine(lambda x, m: rope(x, m, theta=theta), config=config)
    assert any("none up to the trained length" in text for text in report.changes), report


def test_a_factor_of_the_queries_alone_is_told_with_that_of_the_keys():
    theta = book.rotary_frequencies(128)

    def function(q, k, positions):
        return rope(q, positions, theta=theta) / 128**0.5, rope(k, positions, theta=theta)

    report = examine(function, family="Llama 2")
    words = "queries are multiplied by 0.0884 = 1/√128, keys by 1.0000"
    assert any(words in text for text in report.changes), report
    assert words in report.keys
    assert any(words in note for note in report.notes)
    halved = examine(lambda q, k, positions: function(q / 2, k / 2, positions), family="Llama 2")
    assert any("queries are multiplied by 0.0442, keys by 0.5000" in t for t in halved.changes)


def test_vectors_that_are_rotated_in_place_are_a_note():
    def function(x, positions):
        return x.copy_(rope(x, positions, theta=book.rotary_frequencies(32)))

    report = examine(function, head_dim=32)
    assert report.sound, report
    assert any("the input is changed in place" in note for note in report.notes)
