"""Compile and export every part of the library and print what went wrong; run by test_compile.py.

In a process of its own, because the hook that checks shapes in tests cannot be compiled. Nothing
but the library is imported there, so it also prints what importing the library brings along.
"""

import json
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial

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
# Which expert computes which token is data: the compiler gives their number a symbol.
MIXTURE = partial(book.MixtureOfExperts, 16, 8, experts=4, k=2, shared=1)
EXPERTS = book.Decoder(
    7, SHAPE, seed=0, layers=[book.LayerPattern(scheme=ROTARY, feed_forward=MIXTURE)]
)


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
    "latents": Function(lambda x: LATENTS(x[0], causal=True, scheme=ROTARY)),
    "decoder": Function(lambda x: DECODER(x[0, :, :, 0].abs().long() % 7)),
    "decoder with experts": Function(lambda x: EXPERTS(x[0, :, :, 0].abs().long() % 7)),
    "recurrence": Function(lambda x: delta_rule_steps(x, x, x, x[..., 0].sigmoid())[0]),
    "blocks": Function(lambda x: blockwise_attention(x, x, x, causal=True, q_block=2, k_block=2)),
}


def fault(module: nn.Module) -> str:
    """Why the compiled or the exported form does not give the same as the plain one, or nothing."""
    torch._dynamo.reset()  # it counts all functions together, and gives up after eight
    expected = module(X)
    try:
        compiled = torch.compile(module, fullgraph=True, backend="eager")(X)
        torch.testing.assert_close(compiled, expected)
        exported = torch.export.export(module, (X,), strict=False).module()(X)
        torch.testing.assert_close(exported, expected)
    except Exception:
        return traceback.format_exc()
    return ""


@torch.no_grad()
def fault_of_decoding(decoder: book.Decoder, steps: int = 20) -> str:
    """Why compiled steps with a static cache are not one graph, or not right; or nothing."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    total = steps + 4
    text = torch.arange(2 * total).view(2, total) % 7
    step = torch.compile(decoder.extend, fullgraph=True, backend="eager")
    try:
        for _ in range(2):  # a second text needs no second graph
            caches = decoder.static_caches(2, capacity=total)
            decoder.extend(text[:, :4], caches)
            _, growing = decoder.extend(text[:, :4], decoder.empty_caches())
            for i in range(4, total):
                logits, caches = step(text[:, i : i + 1], caches)
                expected, growing = decoder.extend(text[:, i : i + 1], growing)
                unit = torch.finfo(logits.dtype).eps * float(expected.abs().max())
                torch.testing.assert_close(logits, expected, rtol=0, atol=8 * unit)
        if graphs() != 1:
            return f"{steps} steps were {graphs()} graphs"
        try:
            step(text[:, :1], caches)
        except (IndexError, RuntimeError):
            return fault_of_generating(decoder, text[:, :4], steps)
        return "a full cache was written without an error"
    except Exception:
        return traceback.format_exc()


def fault_of_generating(decoder: book.Decoder, prompt: torch.Tensor, steps: int) -> str:
    """The same for `generate`, with the decoder compiled as its docstring says."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    capacity = prompt.shape[1] + steps
    expected = book.generate(decoder, prompt, steps, capacity=capacity)
    decoder.extend = torch.compile(decoder.extend, fullgraph=True, backend="eager")
    for _ in range(2):
        written = book.generate(decoder, prompt, steps, capacity=capacity)
        if not torch.equal(written, expected):
            return "compiled steps write another text"
    if graphs() != 2:
        return f"a prompt and {steps} steps were {graphs()} graphs"
    return ""


def graphs() -> int:
    """How many graphs were compiled."""
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]


LATENT = partial(book.LatentAttention, 16, 2, head_dim=4, rotary_dim=8, latent_dim=4)
WINDOWED = book.LayerPattern(window=5, scheme=ROTARY)
GROUPED = replace(SHAPE, kv_heads=1, layers=2)
DECODING = {
    "decoding": DECODER,
    "decoding in bfloat16": book.Decoder(
        7, GROUPED, seed=0, layers=[WINDOWED, book.LayerPattern(scheme=ROTARY)]
    ).bfloat16(),
    "decoding with experts": EXPERTS,
    "decoding with latents": book.Decoder(
        7, SHAPE, seed=0, layers=[book.LayerPattern(scheme=ROTARY, attention=LATENT)]
    ),
}


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
    found |= {name: fault(module) for name, module in GROUPS.items()}
    found |= {name: fault_of_decoding(decoder) for name, decoder in DECODING.items()}
    print(json.dumps(found))
