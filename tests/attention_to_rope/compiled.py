"""Compile and export every part of the library and print what went wrong; run by test_compile.py.

In a process of its own, because the hook that checks shapes in tests cannot be compiled. Nothing
but the library is imported there, so it also prints what importing the library brings along.
"""

import json
import sys
import traceback
from collections.abc import Callable

import torch
from torch import nn

import attention_to_rope as book
from attention_to_rope.fast import blockwise_attention
from attention_to_rope.recurrent_attention import delta_rule_steps

torch.manual_seed(0)
X = torch.randn(2, 3, 4, 16)
TABLE = book.rotary_table(torch.arange(4), book.rotary_frequencies(16))
ROTARY = book.Rotary(book.rotary_frequencies(8), layout="interleaved")
SHAPE = book.Architecture(d=16, heads=2, layers=1, norm="rms", activation="swiglu")
MASK = book.causal_mask(4)
HEADS = book.MultiHeadAttention(16, 2, seed=0)
LATENTS = book.LatentAttention(16, 2, head_dim=4, rotary_dim=8, latent_dim=4, seed=0)
DECODER = book.Decoder(7, SHAPE, seed=0, scheme=ROTARY)


class Function(nn.Module):
    """A function as a module, which is what can be exported."""

    def __init__(self, function: Callable) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


GROUPS = {
    "attention": Function(lambda x: book.attention(x, x, x, mask=MASK, soft_cap=5.0)),
    "rope, half": Function(lambda x: book.rotate(x, TABLE, layout="half")),
    "rope, interleaved": Function(lambda x: book.rotate(x, TABLE, layout="interleaved")),
    "norms and feed-forward": nn.Sequential(
        book.RMSNorm(16), book.LayerNorm(16), book.FeedForward(16, activation="geglu", seed=0)
    ),
    "heads": Function(lambda x: HEADS(x[0], causal=True, scheme=ROTARY)),
    "latents": Function(lambda x: LATENTS(x[0], scheme=ROTARY)[0]),
    "decoder": Function(lambda x: DECODER(x[0, :, :, 0].abs().long() % 7)),
    "recurrence": Function(lambda x: delta_rule_steps(x, x, x, x[..., 0])[0]),
    "blocks": Function(lambda x: blockwise_attention(x, x, x, causal=True, q_block=2, k_block=2)),
}
# A mixture of experts is left out: which expert computes what is data.


def fault(module: nn.Module) -> str:
    """Why the compiled or the exported form does not give the same as the plain one, or nothing."""
    expected = module(X)
    try:
        compiled = torch.compile(module, fullgraph=True, backend="eager")(X)
        torch.testing.assert_close(compiled, expected)
        exported = torch.export.export(module, (X,), strict=False).module()(X)
        torch.testing.assert_close(exported, expected)
    except Exception:
        return traceback.format_exc()
    return ""


def fault_of_lengths() -> str:
    """Why a decoder compiled in one graph, or exported, does not take texts of other lengths."""
    try:
        compiled = torch.compile(DECODER, fullgraph=True, backend="eager")
        length = torch.export.Dim("length", min=2, max=64)
        example = torch.arange(6)[None] % 7
        exported = torch.export.export(
            DECODER, (example,), dynamic_shapes={"tokens": {1: length}}, strict=False
        ).module()
        for n in (4, 7, 9, 2):
            tokens = torch.arange(n)[None] % 7
            expected = DECODER(tokens)
            torch.testing.assert_close(compiled(tokens), expected)
            torch.testing.assert_close(exported(tokens), expected)
        one = torch.tensor([[3]])
        torch.testing.assert_close(compiled(one), DECODER(one))
    except Exception:
        return traceback.format_exc()
    return ""


if __name__ == "__main__":
    heavy = {"matplotlib", "scipy", "beartype", "bookcheck", "bookformat", "torch._dynamo"}
    found = {"imported": sorted(heavy & sys.modules.keys()), "lengths": fault_of_lengths()}
    print(json.dumps(found | {name: fault(module) for name, module in GROUPS.items()}))
