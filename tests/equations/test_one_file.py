"""The printed formulas of the chapter, executed with the file's own classes."""

import numpy as np
import torch

from bookcheck.equations.checks import equation, sentences
from bookkit.trained.model import CONFIG as BOOK_MODEL
from one_file.llama import Block, Config, rope_frequencies
from shared import every

CONFIG = Config(
    vocab_size=7,
    hidden_size=6,
    intermediate_size=5,
    num_hidden_layers=1,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=4,
    rope_parameters={"rope_theta": 50.0},
)


@equation("eq-file-block", vectors="row")
def test_block(rng):
    """The parts of the file's block, and the whole block as the left side."""
    torch.manual_seed(int(rng.integers(1_000_000)))
    block, N = Block(CONFIG).double(), 3
    block.input_layernorm.weight.data = torch.from_numpy(rng.uniform(0.5, 2, size=6))
    block.post_attention_layernorm.weight.data = block.input_layernorm.weight.data
    angles = torch.arange(N)[:, None] * rope_frequencies(4, CONFIG.rope_parameters)[0]
    table = angles.cos(), angles.sin()

    def called(part):
        return lambda x: part(torch.from_numpy(np.asarray(x))[None])[0].detach().numpy()

    x = torch.from_numpy(rng.normal(size=(N, 6)))
    attend = called(lambda x: block.self_attn(x, table, None)[0])
    norm = called(block.input_layernorm)
    return {
        "x": x.numpy(),
        "x'": x.numpy() + attend(norm(x)),
        "x''": block(x[None], table, None)[0][0].detach().numpy(),
        r"\operatorname{Attn}": attend,
        r"\operatorname{FFN}": called(block.mlp),
        r"\operatorname{RMSNorm}": norm,
    }


@equation("eq-file-temperature", first_index=0, equivalent=every(r"\tau"))
def test_temperature(rng):
    z, tau = rng.normal(size=5), rng.uniform(0.3, 3)

    def p(j, temperature):
        logits = torch.from_numpy(z) / temperature
        return logits.softmax(-1)[j].item()

    return {"z": z, r"\tau": tau, "p": p, "j": range(5), "l": range(5)}


test_sentences = sentences(
    "one-file", where={"start token), …": lambda rng: {"d": BOOK_MODEL.hidden_size}}
)(lambda rng: {})
