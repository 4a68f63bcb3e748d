"""Modules with a rotary class as transformers has them: a table, and a function of the file."""

import json
import sys
import types

import pytest
import torch
from torch import nn

import attention_to_rope as book
from attention_to_rope.context_extension import yarn
from rope_doctor import adapters, examine
from rope_doctor.__main__ import main

DIM = 32


class Config:
    """What the doctor reads of a configuration of transformers."""

    layer_types = None

    def __init__(self, **settings):
        self.settings = {"model_type": "llama", "head_dim": DIM, "rope_theta": 1e4, **settings}
        self.layer_types = settings.get("layer_types")

    def to_dict(self):
        return dict(self.settings)

    def get_text_config(self):
        return self


def inverse(base, dim=DIM):
    return 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))


class LlamaRotaryEmbedding(nn.Module):
    """A table for the positions, in the dtype of x."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.register_buffer("inv_freq", inverse(config.settings["rope_theta"]), persistent=False)

    def forward(self, x, position_ids):
        angles = position_ids[..., None].float() * self.inv_freq
        angles = torch.cat((angles, angles), -1)
        return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


class GemmaRotaryEmbedding(nn.Module):
    """Tables by kind of layer."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        for kind, parameters in config.settings["rope_parameters"].items():
            self.register_buffer(f"{kind}_inv_freq", inverse(parameters["rope_theta"]))

    def forward(self, x, position_ids, layer_type=None):
        angles = position_ids[..., None].float() * getattr(self, f"{layer_type}_inv_freq")
        angles = torch.cat((angles, angles), -1)
        return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


class ComplexRotaryEmbedding(LlamaRotaryEmbedding):
    """Complex numbers in place of cos and sin."""

    def forward(self, x, position_ids):
        angles = position_ids[..., None].float() * self.inv_freq
        return torch.polar(torch.ones_like(angles), angles)


class OlderRotaryEmbedding(LlamaRotaryEmbedding):
    """The table of all positions up to a length, as before transformers 4.38."""

    def forward(self, x, seq_len=None):
        angles = torch.arange(seq_len)[:, None].float() * self.inv_freq
        angles = torch.cat((angles, angles), -1)
        return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


class OwnRotary(nn.Module):
    """A class that rotates by itself."""

    def forward(self, q, k, positions):
        table = book.rotary_table(positions, book.rotary_frequencies(DIM))
        return book.rotate(q, table, layout="half"), book.rotate(k, table, layout="half")


class QueriesOrKeys(nn.Module):
    """As the package rotary-embedding-torch has it."""

    dim = DIM

    def rotate_queries_or_keys(self, t, offset=0):
        positions = torch.arange(t.shape[-2]) + offset
        table = book.rotary_table(positions, book.rotary_frequencies(DIM), dtype=t.dtype)
        return book.rotate(t, table, layout="interleaved")


class QueriesOrKeysRotary(QueriesOrKeys):
    pass


def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1):
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    half = q.shape[-1] // 2

    def one(x):
        return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin

    return one(q), one(k)


def apply_rotary_pos_emb_vision(q, k, cos, sin):
    raise NotImplementedError


def interleaved(x, freqs_cis):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * freqs_cis).flatten(-2).type_as(x)


def heads_last(xq, xk, freqs_cis):
    return tuple(interleaved(x, freqs_cis[:, :, None]) for x in (xq, xk))


def heads_first(xq, xk, freqs_cis):
    return tuple(interleaved(x, freqs_cis[:, None]) for x in (xq, xk))


class Model(nn.Module):
    """A model around a rotary class."""

    def __init__(self, rotary, config):
        super().__init__()
        self.config = config
        self.vision_tower = nn.ModuleDict(
            {"rotary": LlamaRotaryEmbedding(Config(rope_theta=100.0))}
        )
        self.layers = nn.ModuleList([nn.Linear(4, 4)])
        self.rotary_emb = rotary


def test_a_model_is_examined_by_its_rotary_class_and_its_configuration():
    config = Config()
    report = examine(Model(LlamaRotaryEmbedding(config), config))
    assert report.sound, report
    assert report.layout == "half"
    assert "examined: LlamaRotaryEmbedding of the model" in report.notes
    other = examine(Model(LlamaRotaryEmbedding(Config(rope_theta=1e6)), config))
    assert other.changes == ["base: 1000000 to 10000"] or other.changes == ["base: 1e+06 to 10000"]


def test_half_frequencies_of_a_model_that_was_cast():
    config = Config()
    report = examine(LlamaRotaryEmbedding(config).half())
    assert any(fault.startswith("half frequencies") for fault in report.faults), report


def test_only_the_rotary_dimensions_are_handed_over_where_the_function_wants_that():
    config = Config(model_type="phi", head_dim=2 * DIM, partial_rotary_factor=0.5)
    report = examine(LlamaRotaryEmbedding(config))
    assert report.sound, report
    assert report.turned.startswith("32 of 64")


class LatentAttention(nn.Module):
    """What the doctor reads of DeepSeek's attention."""

    qk_head_dim = 192

    def __init__(self, factor):
        super().__init__()
        self.scaling = factor * self.qk_head_dim**-0.5


@pytest.mark.parametrize(("factor", "faults"), [(1.8738542, 0), (1.0, 1)])
def test_the_scale_of_latent_attention_is_compared_with_the_configuration(factor, faults):
    scaling = {"rope_type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096}
    scaling |= {"mscale": 1.0, "mscale_all_dim": 1.0}
    config = Config(
        model_type="deepseek_v3", rope_interleave=False, qk_rope_head_dim=DIM, rope_scaling=scaling
    )
    del config.settings["head_dim"]
    rotary = LlamaRotaryEmbedding(config)
    plain = book.rotary_frequencies(DIM)
    rotary.inv_freq = yarn(plain, 40.0, original_length=4096).float()
    model = Model(rotary, config)
    model.attention = LatentAttention(factor)
    report = examine(model)
    assert len(report.faults) == faults, report
    assert all(fault.startswith("softmax scale") for fault in report.faults)


KINDS = {
    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
    "full_attention": {"rope_type": "default", "rope_theta": 1e6},
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_layers(kind):
    config = Config(
        model_type="gemma3_text", rope_theta=None, layer_types=list(KINDS), rope_parameters=KINDS
    )
    rotary = GemmaRotaryEmbedding(config)
    assert adapters.kinds_of_layers(rotary) == list(KINDS)
    assert examine(rotary).sound
    report = examine(rotary, layer_type=kind)
    assert report.sound, report
    assert float(report.base) == KINDS[kind]["rope_theta"]


@pytest.mark.parametrize("apply", [heads_last, heads_first])
def test_complex_numbers_in_either_order_of_heads(apply):
    function = adapters.joined(ComplexRotaryEmbedding(Config()), apply, None)
    report = examine(function, head_dim=DIM)
    assert report.sound, report
    assert report.layout == "interleaved"


def test_a_table_of_all_positions_up_to_a_length():
    report = examine(OlderRotaryEmbedding(Config()))
    assert report.sound, report


def test_classes_that_rotate_by_themselves():
    assert examine(OwnRotary(), head_dim=DIM).sound
    report = examine(nn.Sequential(QueriesOrKeysRotary()))
    assert report.sound, report
    assert report.layout == "interleaved"


def test_a_table_without_a_function_is_examined_with_halves(monkeypatch):
    monkeypatch.setattr(adapters, "find_apply", lambda *_: None)
    report = examine(LlamaRotaryEmbedding(Config()))
    assert report.sound, report
    assert any("with halves" in note for note in report.notes)


def test_a_configuration_that_cannot_be_read_proves_nothing_but_is_no_fault():
    report = examine(LlamaRotaryEmbedding(Config(model_type="nanochat")))
    assert report.sound, report
    assert any("proves nothing" in note for note in report.notes)


def test_a_folder_with_transformers_installed(tmp_path, monkeypatch, capsys):
    config = Config()
    config.__class__ = type("FakeConfig", (Config,), {"__module__": "fake.configuration_fake"})
    modeling = types.ModuleType("fake.modeling_fake")
    modeling.FakeRotaryEmbedding = LlamaRotaryEmbedding
    modeling.FakeVisionRotaryEmbedding = nn.Module
    transformers = types.ModuleType("transformers")
    transformers.AutoConfig = types.SimpleNamespace(from_pretrained=lambda *_, **__: config)
    for name, module in {
        "fake": types.ModuleType("fake"),
        "fake.modeling_fake": modeling,
        "transformers": transformers,
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    (tmp_path / "config.json").write_text(json.dumps(config.to_dict()), encoding="utf-8")
    assert main(["--model", str(tmp_path)]) == 0
    assert "sound" in capsys.readouterr().out
    del modeling.FakeRotaryEmbedding
    assert main(["--model", str(tmp_path)]) == 2
    assert "no rotary class" in capsys.readouterr().err
