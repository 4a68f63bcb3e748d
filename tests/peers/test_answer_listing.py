"""What *A model in one file* prints for released weights answers as `transformers` does."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from transformers import LlamaConfig, LlamaForCausalLM

from bookformat.notebooks import cells_of
from bookformat.paths import CHAPTERS

PAGE = CHAPTERS / "one-file.ipynb"
PIECES = ("class Attention(nn.Module)", "class Block(nn.Module)", "class Llama(nn.Module)")
ROLES = ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
# A model of the released shape, but small; the listings name the sizes of the released one.
SIZES = {"V": 260, "d": 64, "layers": 2, "h": 4, "g": 2, "d_k": 16, "d_f": 96}


def sources(kind: str) -> list[str]:
    return [cell.source for cell in cells_of(PAGE) if cell.kind == kind]


def listing(first_use: str) -> str:
    """The one listing between the paragraphs of the page that has this line."""
    found = re.findall(r"^```python\n(.*?)^```", "\n".join(sources("markdown")), re.M | re.S)
    (chosen,) = [text for text in found if first_use in text]
    return chosen


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as a hub would give it: settings, weights in one file, a tokenizer of bytes."""
    config = LlamaConfig(
        vocab_size=SIZES["V"],
        hidden_size=SIZES["d"],
        intermediate_size=SIZES["d_f"],
        num_hidden_layers=SIZES["layers"],
        num_attention_heads=SIZES["h"],
        num_key_value_heads=SIZES["g"],
        head_dim=SIZES["d_k"],
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        pad_token_id=None,
        bos_token_id=256,
        eos_token_id=259,
        max_position_embeddings=131_072,
        rope_parameters={
            "rope_type": "llama3",
            "rope_theta": 500_000.0,
            "factor": 32.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
    )
    torch.manual_seed(0)
    model = LlamaForCausalLM(config)
    for weight in model.parameters():
        weight.data.copy_(torch.randn_like(weight) * 0.3 + (weight.dim() == 1))
    model.save_pretrained(tmp_path)
    letters = {letter: number for number, letter in enumerate(sorted(ByteLevel.alphabet()))}
    tokenizer = Tokenizer(BPE(letters, []))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = ByteLevelDecoder()
    tokenizer.add_special_tokens(list(ROLES))
    tokenizer.save(str(tmp_path / "tokenizer.json"))

    def snapshot_download(name: str, allow_patterns: list[str]) -> str:
        assert name.startswith("meta-llama/Llama-3.2-1B")
        assert allow_patterns == ["*.json", "*.safetensors"]
        return str(tmp_path)

    hub = SimpleNamespace(snapshot_download=snapshot_download)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    return tmp_path


def pieces() -> dict[str, Any]:
    """The three pieces of the page; the model that the listing makes is a small one."""
    names: dict[str, Any] = {}
    for piece in PIECES:
        (source,) = [source for source in sources("code") if piece in source]
        exec(source.split("\n\n\nsmall = ")[0], names)
    made = names["Llama"]

    def small(**sizes: Any) -> torch.nn.Module:
        assert set(sizes) >= set(SIZES)
        model: torch.nn.Module = made(**{**sizes, **SIZES})
        return model

    names["Llama"] = small
    return names


@torch.no_grad()
def test_the_three_pieces_answer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = pieces()
    capsys.readouterr()  # what the pieces print
    exec(listing("load_state_dict(weights, assign=True)"), names)
    theirs = LlamaForCausalLM.from_pretrained(folder).eval()
    tokens = names["tokens"]
    assert (tokens >= 256).sum() == 6  # the words in <|…|> are tokens of their own
    expected = theirs.generate(tokens, max_new_tokens=20, do_sample=False, eos_token_id=None)
    assert names["answer"].tolist() == expected[0, tokens.shape[1] :].tolist()
    torch.testing.assert_close(names["llama"](tokens), theirs(tokens).logits, rtol=1e-3, atol=1e-3)
    text = names["tokenizer"].decode(names["answer"].tolist(), skip_special_tokens=False)
    assert capsys.readouterr().out == text.split("<|eot_id|>")[0] + "\n"


def test_the_file_continues_a_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    exec(listing("load_checkpoint(folder)"), names)
    assert names["written"].shape[0] == 1
    assert names["written"].shape[1] > names["tokens"].shape[1]
    assert capsys.readouterr().out.startswith("Attention is divided by")
