"""Results stand where the inputs stand, whatever device new tensors would go to by default."""

import queue
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import attention_to_rope as book
from attention_to_rope.fast.ring import SimulatedRing, ring_attention
from bookkit.randomness import normal

CPU = torch.device("cpu")
FREQUENCIES = book.rotary_frequencies(8)
POSITIONS = torch.arange(5)
X = normal(1, 2, 5, 8, seed=0)
TOKENS = torch.tensor([[1, 2, 3]])
ROTARY = book.Rotary(book.rotary_frequencies(4), layout="half")
HEADS = book.MultiHeadAttention(8, 2, seed=0).double().requires_grad_(False)
LATENT = book.LatentAttention(8, 2, latent_dim=4, head_dim=4, rotary_dim=4, seed=0).double()
LATENT.requires_grad_(False)
LENGTHS = torch.tensor([2])
DECODER = book.Decoder(
    9, book.Architecture(d=8, heads=2, layers=1), seed=0, position=book.Sinusoidal()
).requires_grad_(False)

CALLS: dict[str, Callable[[], Tensor]] = {
    "attention": lambda: book.attention(X, X, X, mask=book.causal_mask(5, device=CPU)),
    "padding_mask": lambda: book.padding_mask(torch.tensor([2, 3], device=CPU), 4),
    "global_mask": lambda: book.global_mask(4, torch.tensor([1], device=CPU)),
    "sliding_window_mask": lambda: book.sliding_window_mask(4, window=2, causal=True, device=CPU),
    "sinusoidal": lambda: book.sinusoidal(POSITIONS, 4),
    "t5_bucket": lambda: book.t5_bucket(40 * POSITIONS, bidirectional=True),
    "ALiBi": lambda: book.ALiBi(2).bias(POSITIONS, POSITIONS),
    "rotary_frequencies": lambda: book.rotary_frequencies(8, device=CPU),
    "rotary_table": lambda: book.rotary_table(POSITIONS, FREQUENCIES).cos,
    "rotation_matrix": lambda: book.rotation_matrix(POSITIONS, FREQUENCIES, layout="half"),
    "Rotary": lambda: book.Rotary(FREQUENCIES, layout="half").rotate(X, POSITIONS),
    "ntk_aware": lambda: book.ntk_aware(FREQUENCIES, 2.0),
    "yarn": lambda: book.yarn(FREQUENCIES, 2.0, original_length=64),
    "blockwise_attention": lambda: book.blockwise_attention(X, X, X, causal=True, k_block=2),
    "heads": lambda: HEADS(X[0], position=ROTARY),
    "extended heads": lambda: HEADS.extend(X[0], book.KeyValueCache(), position=ROTARY)[0],
    "decoder": lambda: DECODER(TOKENS),
    "extended decoder": lambda: DECODER.extend(TOKENS, DECODER.empty_caches())[0],
    "proportional_frequencies": lambda: book.proportional_frequencies(8, share=0.5, device=CPU),
    "axial_table": lambda: book.axial_table(POSITIONS.expand(2, 5), FREQUENCIES, [0, 1, 0, 1]).sin,
    "latent attention": lambda: LATENT(X[0], position=ROTARY)[0],
    "greedy": lambda: book.generate(DECODER, TOKENS, 2),
    "unequal prompts": lambda: book.generate(DECODER, TOKENS, 2, lengths=LENGTHS, end=0),
    "linear attention": lambda: book.linear_attention_steps(X, X, X)[0],
    "ring": lambda: ring_attention(
        X[..., :4, :],
        X[..., :4, :],
        X[..., :4, :],
        order="zigzag",
        causal=True,
        ring=SimulatedRing(0, [queue.Queue()]),
    ),
    "generate": lambda: book.generate(DECODER, TOKENS, 2, temperature=1.0, seed=0),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_default_device_does_not_matter(name: str) -> None:
    expected = CALLS[name]()
    # Tensors made without a device land on "meta" here and have no values.
    with torch.device("meta"):
        result = CALLS[name]()
    assert result.device == CPU
    assert torch.equal(result, expected)
