"""Every peer goes through the doctor; the table of results is data for the book.

`python tests/peers/test_doctor.py` writes the table again, with versions and date; the tests say
when a peer no longer does what the table tells.
"""

import datetime
import importlib
import importlib.metadata
import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import rotary_embedding_torch
import torch
from rotary_classes import build, rotary_classes
from torch import Tensor
from torchtune_file import torchtune_file
from transformers import (
    CohereConfig,
    DeepseekV3Config,
    Gemma3TextConfig,
    GlmConfig,
    GPTNeoXConfig,
    GptOssConfig,
    LlamaConfig,
    Qwen3Config,
)
from transformers.models.cohere import modeling_cohere as cohere
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek
from transformers.models.gemma3 import modeling_gemma3 as gemma
from transformers.models.glm import modeling_glm as glm
from transformers.models.gpt_neox import modeling_gpt_neox as gpt_neox
from transformers.models.gpt_oss import modeling_gpt_oss as gpt_oss
from transformers.models.llama import modeling_llama as llama
from transformers.models.llama4 import modeling_llama4 as llama4
from transformers.models.qwen3 import modeling_qwen3 as qwen
from transformers.models.roformer import modeling_roformer as roformer
from x_transformers import x_transformers

import attention_to_rope as book
from rope_doctor import FAMILIES, adapters, examine

Rotation = Callable[[Tensor, Tensor], Tensor]
TABLE = Path(book.__file__).parents[1] / "bookkit" / "results" / "doctor.jsonl"
PACKAGES = ("torch", "transformers", "torchtune", "rotary-embedding-torch", "x-transformers")


def of_transformers(
    module: ModuleType,
    rotary: type,
    config: Any,
    *,
    layer_type: str | None = None,
    apply: str = "apply_rotary_pos_emb",
) -> Rotation:
    rope = rotary(config)

    def rotation(x: Tensor, positions: Tensor) -> Tensor:
        ids = positions if positions.ndim == 2 else positions[None]
        cos, sin = rope(x, ids) if layer_type is None else rope(x, ids, layer_type)
        turned: Tensor = getattr(module, apply)(x, x, cos, sin)[0]
        return turned

    return rotation


def settings(family: str, **others: Any) -> dict[str, Any]:
    """The family's rope parameters in the way transformers 5 writes them."""
    config = FAMILIES[family].config
    return {"rope_theta": config["rope_theta"], **config.get("rope_scaling", {}), **others}


def of_llama(family: str) -> Rotation:
    config = LlamaConfig(head_dim=128, rope_parameters=settings(family))
    return of_transformers(llama, llama.LlamaRotaryEmbedding, config)


def of_gemma(layer_type: str) -> Rotation:
    config = Gemma3TextConfig(
        head_dim=128, rope_parameters=FAMILIES["Gemma 3 global"].config["rope_parameters"]
    )
    return of_transformers(gemma, gemma.Gemma3RotaryEmbedding, config, layer_type=layer_type)


@cache
def roformer_table(head_dim: int) -> Any:
    """16,384 positions only: it is built whole, in float64, number by number."""
    table = roformer.RoFormerSinusoidalPositionalEmbedding(16_384, head_dim)
    table.weight = torch.nn.Parameter(table.create_weight(), requires_grad=False)
    return table


def of_roformer(x: Tensor, positions: Tensor) -> Tensor:
    table = roformer_table(x.shape[-1])
    sinusoids = table(x.shape[:2], position_ids=positions)[None, None].to(x.dtype)
    attention = roformer.RoFormerSelfAttention
    return attention.apply_rotary_position_embeddings(sinusoids, x, x)[0]


def of_torchtune(file: str, name: str, **options: Any) -> Rotation:
    rope = getattr(torchtune_file(file), name)(128, max_seq_len=2**17, **options)

    def rotation(x: Tensor, positions: Tensor) -> Tensor:
        ids = positions if positions.ndim == 2 else positions[None]
        turned: Tensor = rope(x.transpose(1, 2), input_pos=ids).transpose(1, 2)
        return turned

    return rotation


def of_rotary_embedding_torch(x: Tensor, offset: int) -> Tensor:
    if offset > 2**17:
        raise MemoryError("it makes the table of all positions before")
    rope = rotary_embedding_torch.RotaryEmbedding(x.shape[-1])
    return rope.rotate_queries_or_keys(x, offset=offset)


def of_x_transformers(x: Tensor, positions: Tensor) -> Tensor:
    frequencies, _ = x_transformers.RotaryEmbedding(x.shape[-1])(positions)
    return x_transformers.apply_rotary_pos_emb(x, frequencies)


def of_this_book(x: Tensor, positions: Tensor) -> Tensor:
    table = book.rotary_table(positions, book.rotary_frequencies(x.shape[-1]), dtype=x.dtype)
    return book.rotate(x, table, layout="half")


# peer → the rotation, the length of a head, the family it should match (None: none of the list)
PEERS: dict[str, tuple[Callable[..., Any], int, str | None]] = {
    "this book": (of_this_book, 128, "Llama 2"),
    "transformers Llama 2": (of_llama("Llama 2"), 128, "Llama 2"),
    "transformers Llama 3.1": (of_llama("Llama 3.1"), 128, "Llama 3.1"),
    "transformers Qwen3": (
        of_transformers(
            qwen,
            qwen.Qwen3RotaryEmbedding,
            Qwen3Config(head_dim=128, rope_parameters=settings("Qwen3")),
        ),
        128,
        "Qwen3",
    ),
    "transformers Gemma 3 local": (of_gemma("sliding_attention"), 128, "Gemma 3 local"),
    "transformers Gemma 3 global": (of_gemma("full_attention"), 128, "Gemma 3 global"),
    "transformers GPT-NeoX": (
        of_transformers(
            gpt_neox,
            gpt_neox.GPTNeoXRotaryEmbedding,
            GPTNeoXConfig(),  # of the 20B model
        ),
        96,
        "GPT-NeoX-20B",
    ),
    "transformers GLM": (
        of_transformers(glm, glm.GlmRotaryEmbedding, GlmConfig(head_dim=128)),
        128,
        "GLM",
    ),
    "transformers Cohere": (
        of_transformers(
            cohere,
            cohere.CohereRotaryEmbedding,
            CohereConfig(
                hidden_size=128,
                num_attention_heads=1,
                rope_parameters={"rope_type": "default", "rope_theta": 5e4},
            ),
        ),
        128,
        "Command R7B",
    ),
    "transformers DeepSeek-V3": (
        of_transformers(
            deepseek,
            deepseek.DeepseekV3RotaryEmbedding,
            DeepseekV3Config(rope_parameters=settings("DeepSeek-V3")),
            apply="apply_rotary_pos_emb_interleave",
        ),
        64,
        "DeepSeek-V3",
    ),
    "transformers gpt-oss": (
        of_transformers(
            gpt_oss,
            gpt_oss.GptOssRotaryEmbedding,
            GptOssConfig(rope_parameters=settings("gpt-oss")),
        ),
        64,
        "gpt-oss",
    ),
    "transformers RoFormer": (of_roformer, 128, None),
    "torchtune": (
        of_torchtune("modules/position_embeddings.py", "RotaryPositionalEmbeddings"),
        128,
        None,
    ),
    "torchtune Llama 3.1": (
        of_torchtune(
            "models/llama3_1/_position_embeddings.py",
            "Llama3ScaledRoPE",
            base=500000.0,
            scale_factor=8,
        ),
        128,
        None,
    ),
    "rotary-embedding-torch": (of_rotary_embedding_torch, 128, None),
    "x-transformers": (of_x_transformers, 128, None),
}


def row(name: str) -> dict[str, Any]:
    """What the doctor says of a peer: float32 in full, and the errors in bfloat16."""
    function, head_dim, _ = PEERS[name]
    report = examine(function, head_dim=head_dim)
    half = examine(function, head_dim=head_dim, dtype=torch.bfloat16)
    described = {**report.__dict__, "errors": {str(m): e for m, e in report.errors.items()}}
    return {
        "peer": name,
        **described,
        "errors_bfloat16": {str(m): error for m, error in half.errors.items()},
    }


def recorded() -> dict[str, dict[str, Any]]:
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return {held["peer"]: held for held in map(json.loads, lines)}


@pytest.mark.parametrize("name", PEERS)
def test_the_table_tells_what_the_peer_does(name: str) -> None:
    got, held = row(name), recorded()[name]
    expected = PEERS[name][2]
    assert got["faults"] == [] or "rotary-embedding" in name
    assert (expected in got["matches"]) == (expected is not None)
    for key in ("layout", "direction", "base", "turned", "scaling", "offset", "batch"):
        assert got[key] == held[key], key
    assert set(held["matches"]) <= set(got["matches"])
    assert got["errors"].keys() == held["errors"].keys()
    for errors in ("errors", "errors_bfloat16"):
        for position, error in got[errors].items():
            assert error <= 3 * held[errors][position] + 1e-6


@pytest.mark.parametrize("module", [llama, qwen, gpt_neox])
def test_the_bare_function_of_transformers(module: ModuleType) -> None:
    assert examine(module.apply_rotary_pos_emb, family="Qwen3").layout == "half"


def test_torchtune_and_llama_4_are_called_by_their_own_signatures() -> None:
    file = torchtune_file("modules/position_embeddings.py")
    module = file.RotaryPositionalEmbeddings(128, max_seq_len=2**14)  # (x, *, input_pos)
    report = examine(module)
    assert report.sound, report
    assert report.layout == "interleaved"
    report = examine(llama4.apply_rotary_emb)  # (xq, xk, freqs_cis), of shape (b, n, d/2)
    assert report.sound, report
    assert report.layout == "interleaved"


def main() -> None:
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    stamp = {
        "date": datetime.date.today().isoformat(),
        "versions": versions,
        "command": "PYTHONPATH=src python tests/peers/test_doctor.py",
    }
    lines = []
    for name in PEERS:
        print(name, flush=True)
        lines.append(json.dumps({**row(name), **stamp}, ensure_ascii=False))
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())


@pytest.mark.parametrize("folder", ["axk2", "deepseek_v32", "dots3_note"])
def test_an_indexer_has_a_function_of_its_own(folder: str) -> None:
    """These modules rotate the attention in interleaved pairs, and an indexer in halves."""
    module = importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")
    names = [name for name in vars(module) if name.endswith("RotaryEmbedding")]
    built = [build(folder, module, getattr(module, name)) for name in names if "Vision" not in name]
    for found in built:
        assert found is not None
        assert examine(found.built).sound


# Classes of pixels or sounds, and those whose default configuration their own code cannot rotate.
NOT_EXAMINED = {
    "efficientloftr", "eomt_dinov3", "glm4v", "glm4v_moe", "glm_image", "hunyuan_vl", "mlcd",
    "musicflamingo", "qwen3_omni_moe", "sapiens2", "wav2vec2_bert",
}  # fmt: skip
# By default 21 dimensions of 42 rotate, an odd number, which no rule explains.
NOT_PROVED = {"glm4_moe"}


def test_no_rotary_class_of_transformers_is_called_wrong() -> None:
    """Each kind of layer of each class, against the configuration that the class has by default."""
    sound = 0
    silent, doubted = set(), set()
    for found in rotary_classes():
        for kind in adapters.kinds_of_layers(found.built) or [None]:
            try:
                report = examine(found.built, layer_type=kind)
            except ValueError:  # it says that nothing rotates, and how to wrap the function
                silent.add(found.folder)
                continue
            assert not report.faults, (found.name, kind, report)
            assert not report.changes, (found.name, kind, report)
            doubted |= {found.folder} if report.doubts else set()
            sound += report.sound
    assert sound >= 180
    assert silent == NOT_EXAMINED
    assert doubted == NOT_PROVED
