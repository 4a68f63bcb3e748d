"""Our rotation equals each library's, and how far each is from float64.

Where a peer is inexact, its error is pinned on both sides: if a new version is better or worse,
the test says so, and the book's table must change.
"""

import pytest
import rotary_embedding_torch
import torch
from torch import Tensor
from torchtune_file import torchtune_file
from transformers import GPTNeoXConfig, LlamaConfig, RoFormerConfig
from transformers.models.gpt_neox import modeling_gpt_neox as gpt_neox
from transformers.models.llama import modeling_llama as llama
from transformers.models.roformer import modeling_roformer as roformer
from x_transformers import x_transformers

import attention_to_rope as book
from bookkit.randomness import normal

RotaryPositionalEmbeddings = torchtune_file(
    "modules/position_embeddings.py"
).RotaryPositionalEmbeddings
HEAD_DIM = 128
FAR = 131_072


def llama_rotary(x: Tensor, positions: Tensor) -> Tensor:
    config = LlamaConfig(hidden_size=HEAD_DIM, num_attention_heads=1, head_dim=HEAD_DIM)
    cos, sin = llama.LlamaRotaryEmbedding(config)(x, positions[None])
    return llama.apply_rotary_pos_emb(x, x, cos, sin)[0]


def gpt_neox_rotary(x: Tensor, positions: Tensor, rotary_dim: int = HEAD_DIM) -> Tensor:
    config = GPTNeoXConfig(
        hidden_size=HEAD_DIM,
        num_attention_heads=1,
        rope_parameters={
            "rope_type": "default",
            "rope_theta": 10000.0,
            "partial_rotary_factor": rotary_dim / HEAD_DIM,
        },
    )
    cos, sin = gpt_neox.GPTNeoXRotaryEmbedding(config)(x, positions[None])
    return gpt_neox.apply_rotary_pos_emb(x, x, cos, sin)[0]


def roformer_rotary(x: Tensor, positions: Tensor) -> Tensor:
    table = roformer.RoFormerSinusoidalPositionalEmbedding(int(positions.max()) + 1, HEAD_DIM)
    table.weight = torch.nn.Parameter(table.create_weight(), requires_grad=False)
    sinusoidal = table(x.shape[:2], position_ids=positions)[None, None]
    attention = roformer.RoFormerSelfAttention
    return attention.apply_rotary_position_embeddings(sinusoidal, x, x)[0]


def torchtune_rotary(x: Tensor, positions: Tensor) -> Tensor:
    rope = RotaryPositionalEmbeddings(HEAD_DIM, max_seq_len=int(positions.max()) + 1)
    return rope(x.transpose(1, 2), input_pos=positions[None]).transpose(1, 2)


def lucidrains_rotary(x: Tensor, positions: Tensor) -> Tensor:
    rope = rotary_embedding_torch.RotaryEmbedding(HEAD_DIM)
    return rope.rotate_queries_or_keys(x, offset=int(positions[0]))


def x_transformers_rotary(x: Tensor, positions: Tensor) -> Tensor:
    freqs, _ = x_transformers.RotaryEmbedding(HEAD_DIM)(positions)
    return x_transformers.apply_rotary_pos_emb(x, freqs)


PEERS = {
    "transformers Llama": ("half", llama_rotary),
    "transformers GPT-NeoX": ("half", gpt_neox_rotary),
    "transformers RoFormer": ("interleaved", roformer_rotary),
    "torchtune": ("interleaved", torchtune_rotary),
    "rotary-embedding-torch": ("interleaved", lucidrains_rotary),
    "x-transformers": ("interleaved", x_transformers_rotary),
}


def ours(x: Tensor, positions: Tensor, layout: str, rotary_dim: int | None = None) -> Tensor:
    frequencies = book.rotary_frequencies(HEAD_DIM if rotary_dim is None else rotary_dim)
    table = book.rotary_table(positions, frequencies, dtype=x.dtype)
    return book.rotate(x, table, layout=layout, rotary_dim=rotary_dim)


def errors(name: str, dtype: torch.dtype, start: int, count: int = 64) -> tuple[float, float]:
    """The largest deviation from float64, of the peer and of ours, on unit-size vectors."""
    layout, peer = PEERS[name]
    x = normal(1, 2, count, HEAD_DIM, seed=0, dtype=dtype)
    positions = torch.arange(start, start + count)
    exact = ours(x.double(), positions, layout)
    theirs = (peer(x, positions).double() - exact).abs().max()
    own = (ours(x, positions, layout).double() - exact).abs().max()
    return float(theirs), float(own)


@pytest.mark.parametrize("name", PEERS)
def test_same_rotation_at_small_positions(name: str) -> None:
    theirs, own = errors(name, torch.float32, 0)
    assert theirs <= 3e-5
    assert own <= 1e-6


@pytest.mark.parametrize("name", PEERS)
def test_other_layout_is_another_rotation(name: str) -> None:
    layout, peer = PEERS[name]
    wrong = {"half": "interleaved", "interleaved": "half"}[layout]
    x = normal(1, 1, 8, HEAD_DIM, seed=0, dtype=torch.float32)
    positions = torch.arange(8)
    assert (peer(x, positions) - ours(x, positions, wrong)).abs().max() > 0.5


@pytest.mark.parametrize("name", [name for name in PEERS if "RoFormer" not in name])
def test_float32_angles_drift_near_131072_and_ours_do_not(name: str) -> None:
    theirs, own = errors(name, torch.float32, FAR - 64)
    assert 1e-3 <= theirs <= 6e-2
    assert own <= 1e-6


def test_roformer_builds_its_table_in_float64() -> None:
    theirs, own = errors("transformers RoFormer", torch.float32, 8192 - 64)
    assert theirs <= 1e-6
    assert own <= 1e-6


@pytest.mark.parametrize("name", ["transformers Llama", "torchtune", "x-transformers"])
def test_bfloat16_near_131072(name: str) -> None:
    theirs, own = errors(name, torch.bfloat16, FAR - 64)
    assert own <= 2**-8 * 4.5  # one rounding of the largest number, about 4.5
    assert theirs >= own


def test_rotary_embedding_torch_collapses_positions_in_bfloat16() -> None:
    """Positions themselves are bfloat16 there: many become one, and the error is that of chance."""
    theirs, own = errors("rotary-embedding-torch", torch.bfloat16, FAR - 64)
    assert theirs > 2
    assert own <= 2**-8 * 4.5
    rope = rotary_embedding_torch.RotaryEmbedding(HEAD_DIM)
    x = torch.ones(1, 1, 4096, HEAD_DIM, dtype=torch.bfloat16)
    distinct = len(torch.unique(rope.rotate_queries_or_keys(x)[0, 0].float(), dim=0))
    assert distinct == 769
    mine = ours(x, torch.arange(4096), "interleaved")
    assert len(torch.unique(mine[0, 0].float(), dim=0)) == 4096


def test_rotary_embedding_torch_keeps_the_spoiled_table() -> None:
    rope = rotary_embedding_torch.RotaryEmbedding(HEAD_DIM)
    x = normal(1, 1, 4096, HEAD_DIM, seed=0, dtype=torch.float32)
    clean = rope.rotate_queries_or_keys(x)
    poisoned = rotary_embedding_torch.RotaryEmbedding(HEAD_DIM)
    poisoned.rotate_queries_or_keys(x.bfloat16())
    assert (poisoned.rotate_queries_or_keys(x) - clean).abs().max() > 1


def test_casting_a_llama_module_spoils_its_frequencies_and_casting_ours_does_not() -> None:
    config = LlamaConfig(hidden_size=HEAD_DIM, num_attention_heads=1, head_dim=HEAD_DIM)
    x = normal(1, 1, 8, HEAD_DIM, seed=0, dtype=torch.float32)
    positions = torch.arange(2048, 2056)
    clean, spoiled = llama.LlamaRotaryEmbedding(config), llama.LlamaRotaryEmbedding(config)
    spoiled.to(torch.bfloat16)
    difference = clean(x, positions[None])[0] - spoiled(x, positions[None])[0]
    assert difference.abs().max() > 0.5
    scheme = book.Rotary(book.rotary_frequencies(HEAD_DIM), layout="half")
    before = scheme.rotate(x, positions)
    assert torch.equal(scheme.to(torch.bfloat16).rotate(x, positions), before)


@pytest.mark.parametrize("rotary_dim", [32, 64])
def test_gpt_neox_partial_rotary(rotary_dim: int) -> None:
    x = normal(1, 2, 16, HEAD_DIM, seed=0, dtype=torch.float32)
    positions = torch.arange(16)
    theirs = gpt_neox_rotary(x, positions, rotary_dim)
    assert (theirs - ours(x, positions, "half", rotary_dim)).abs().max() <= 3e-6


def test_torchtune_takes_minus_one_for_the_last_position() -> None:
    """A negative index wraps there; here it turns backwards, as the formula says."""
    rope = RotaryPositionalEmbeddings(HEAD_DIM, max_seq_len=16)
    x = normal(1, 1, 1, HEAD_DIM, seed=0, dtype=torch.float32)
    wrapped = rope(x.transpose(1, 2), input_pos=torch.tensor([[-1]])).transpose(1, 2)
    assert (wrapped - ours(x, torch.tensor([15]), "interleaved")).abs().max() <= 1e-5
    backwards = ours(x, torch.tensor([-1]), "interleaved")
    forwards = ours(backwards, torch.tensor([1]), "interleaved")
    assert (forwards - x).abs().max() <= 1e-6


def test_converted_llama_weights_give_the_same_scores() -> None:
    """Weights in meta-llama's interleaved layout, used by the half-split code of transformers."""
    heads, d_k = 2, HEAD_DIM
    x = normal(1, 6, 16, seed=0, dtype=torch.float32)
    W_Q, W_K = (normal(16, heads * d_k, seed=s, dtype=torch.float32) / 4 for s in (1, 2))
    positions = torch.arange(6)

    def split(y: Tensor) -> Tensor:
        return y.reshape(1, 6, heads, d_k).transpose(1, 2)

    q, k = (ours(split(x @ W), positions, "interleaved") for W in (W_Q, W_K))
    convert = {"heads": heads, "source": "interleaved", "target": "half", "axis": -1}
    q_half, k_half = (
        llama_rotary(split(x @ book.convert_projection_layout(W, **convert)), positions)
        for W in (W_Q, W_K)
    )
    assert (q @ k.mT - q_half @ k_half.mT).abs().max() <= 2e-3


def test_roformer_config_names_the_same_base() -> None:
    """RoFormer's table has no option for the base: 10000, our default."""
    assert not hasattr(RoFormerConfig(), "rope_theta")
    theirs = roformer.RoFormerSinusoidalPositionalEmbedding(4, 8).create_weight()
    table = book.rotary_table(torch.arange(4), book.rotary_frequencies(8))
    assert torch.equal(theirs, torch.cat((table.sin, table.cos), dim=-1))
