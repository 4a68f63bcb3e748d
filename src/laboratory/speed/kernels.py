"""Seconds of the pieces of a decoder, each with the bytes and operations that it needs at least.

A norm, RoPE, a matrix product of a growing number of rows, attention of one new token and of a
whole text, one decoding step and the reading of a prompt by a whole model, one training step. A
row has the seconds and, from `bookkit.seconds`, the traffic and the operations, so that a page can
set them against max(operations / peak, bytes / bandwidth).

In the recorded run, decoding steps with a compiled layer take longer than eager ones, the more the
larger the cache: the layer writes into a slice of its argument, and the time suggests that the
compiled code copies the whole cache. Pages show the eager rows.

python -m laboratory.speed.kernels                a GPU, a few minutes
python -m laboratory.speed.kernels --small --out FILE    a CPU, tiny sizes, only to try it
"""

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import cross_entropy, linear, rms_norm, scaled_dot_product_attention, silu

from attention_to_rope import rotary_frequencies, rotary_table
from bookkit.published_forms import rotated_half
from bookkit.records import RESULTS, Row
from bookkit.seconds import (
    cache_bytes,
    causal_attention_operations,
    decode_attention_operations,
    decoder_parameters,
    weights_bytes,
)
from laboratory.record import origin, write
from laboratory.speed.measure import Candidate, compare
from one_file.llama import Config, Model

COMMAND = "python -m laboratory.speed.kernels"
BYTES = torch.bfloat16.itemsize
STEPS = tuple((batch, 4096) for batch in (1, 2, 4, 8, 16, 32, 64, 128))


class Sizes(NamedTuple):
    """The sizes of everything that is timed; the first are those of Llama 3.1 8B."""

    width: int = 4096
    hidden: int = 14336
    heads: int = 32
    kv_heads: int = 8
    head_dim: int = 128
    layers: int = 32
    vocabulary: int = 128256
    text: int = 8192  # tokens of a text that is read at once
    products: tuple[int, ...] = (1, 4, 16, 64, 128, 256, 512, 1024, 4096, 16384)  # rows
    # Sequences, and tokens in the cache of each.
    decoding: tuple[tuple[int, int], ...] = ((1, 8192), (8, 8192), (64, 8192), (1, 131072))
    steps: tuple[tuple[int, int], ...] = (*STEPS, (1, 131072))
    prompts: tuple[int, ...] = (512, 2048, 8192)
    # A small decoder to train: layers, width, heads of 64, hidden, batch, tokens.
    training: tuple[int, ...] = (12, 768, 12, 2048, 16, 1024)


LARGE = Sizes()
SMALL = Sizes(
    width=64,
    hidden=96,
    heads=4,
    kv_heads=2,
    head_dim=16,
    layers=2,
    vocabulary=100,
    text=32,
    products=(1, 8),
    decoding=((1, 32), (2, 32)),
    steps=((1, 32), (2, 32)),
    prompts=(16,),
    training=(2, 64, 1, 96, 2, 16),
)


def layer_group(sizes: Sizes, count: int) -> list[dict[str, int]]:
    """Layers as `bookkit.seconds` counts them."""
    return [{"count": count, "kv_heads": sizes.kv_heads, "head_dim": sizes.head_dim}]


class Timer:
    """Draws random tensors in bfloat16 and times candidates, on one device."""

    def __init__(self, device: str, rounds: int) -> None:
        self.device = device
        self.rounds = rounds
        self.generator = torch.Generator(device).manual_seed(0)

    def draw(self, *shape: int, scale: float = 1.0) -> Tensor:
        """Normal numbers."""
        numbers = torch.empty(shape, device=self.device, dtype=torch.bfloat16)
        return numbers.normal_(0.0, scale, generator=self.generator)

    def row(
        self,
        kernel: str,
        way: str,
        run: Candidate,
        shape: Any,
        *,
        operations: float,
        traffic: float,
        repeats: int = 10,
    ) -> Row:
        """One candidate, timed: called from Python and, on a GPU, replayed from a graph."""
        repeats = repeats if self.device == "cuda" else 1
        (timed,) = compare(
            {way: run}, floor=way, device=self.device, rounds=self.rounds, repeats=repeats
        )
        kept = {key: value for key, value in timed.items() if key.endswith("seconds")}
        about = {"kernel": kernel, "way": way, "shape": shape, "dtype": "bfloat16"}
        counts = {"operations": operations, "traffic_bytes": traffic}
        return {**about, **counts, **kept}


def norm_rows(timer: Timer, sizes: Sizes) -> Iterator[Row]:
    """RMSNorm: one operation after the other, PyTorch's own, and compiled; and a copy."""
    x = timer.draw(sizes.text, sizes.width)
    weight = timer.draw(sizes.width)

    def separate() -> Tensor:
        wide = x.float()
        mean_square = wide.square().mean(-1, keepdim=True)
        return (wide * torch.rsqrt(mean_square + 1e-6)).to(x.dtype) * weight

    def fused() -> Tensor:
        return rms_norm(x, (sizes.width,), weight, 1e-6)

    # Square, add, multiply by the inverse root, multiply by the weight.
    operations = 4 * x.numel()
    traffic = 2 * x.nbytes + weight.nbytes
    ways: dict[str, Candidate] = {"separate operations": separate, "rms_norm": fused}
    ways["compiled"] = torch.compile(separate)
    for way, run in ways.items():
        yield timer.row("RMSNorm", way, run, [*x.shape], operations=operations, traffic=traffic)
    yield timer.row("copy", "clone", x.clone, [*x.shape], operations=0, traffic=2 * x.nbytes)


def rope_rows(timer: Timer, sizes: Sizes) -> Iterator[Row]:
    """RoPE of the queries of one text: one operation after the other, and compiled."""
    x = timer.draw(1, sizes.heads, sizes.text, sizes.head_dim)
    positions = torch.arange(sizes.text)
    table = rotary_table(positions, rotary_frequencies(sizes.head_dim), dtype=torch.bfloat16)
    cos, sin = (torch.cat((part, part), dim=-1).to(timer.device) for part in table)

    def separate() -> Tensor:
        return rotated_half(x, cos, sin)

    operations = 3 * x.numel()  # four products and two sums for two numbers
    traffic = 2 * x.nbytes + cos.nbytes + sin.nbytes
    ways = {"separate operations": separate, "compiled": torch.compile(separate)}
    for way, run in ways.items():
        yield timer.row("RoPE", way, run, [*x.shape], operations=operations, traffic=traffic)


def product_rows(timer: Timer, sizes: Sizes) -> Iterator[Row]:
    """A product of (rows, d) and (d, hidden), from one row to many."""
    weight = timer.draw(sizes.width, sizes.hidden, scale=0.01)
    for rows in sizes.products:
        x = timer.draw(rows, sizes.width)
        traffic = x.nbytes + weight.nbytes + rows * sizes.hidden * BYTES
        operations = 2 * rows * weight.numel()
        shape = [rows, sizes.width, sizes.hidden]

        def product(x: Tensor = x) -> Tensor:
            return x @ weight

        yield timer.row("product", "@", product, shape, operations=operations, traffic=traffic)


def attention_rows(timer: Timer, sizes: Sizes) -> Iterator[Row]:
    """Attention of one new token for each sequence, and of a whole causal text."""
    one_layer = layer_group(sizes, 1)
    for batch, tokens in sizes.decoding:
        q = timer.draw(batch, sizes.heads, 1, sizes.head_dim)
        k = timer.draw(batch, sizes.kv_heads, tokens, sizes.head_dim)
        v = timer.draw(batch, sizes.kv_heads, tokens, sizes.head_dim)
        operations = batch * decode_attention_operations(one_layer, sizes.heads, tokens)
        traffic = k.nbytes + v.nbytes + 2 * q.nbytes
        shape = {"batch": batch, "heads": sizes.heads, "kv_heads": sizes.kv_heads}
        shape |= {"tokens": tokens, "head_dim": sizes.head_dim}

        def grouped(q: Tensor = q, k: Tensor = k, v: Tensor = v) -> Tensor:
            together = q.unflatten(1, (sizes.kv_heads, -1)).squeeze(3)  # (B, g, h/g, d_k)
            scores = together @ k.mT / sizes.head_dim**0.5
            output: Tensor = scores.float().softmax(-1).to(v.dtype) @ v
            return output

        def fused(q: Tensor = q, k: Tensor = k, v: Tensor = v) -> Tensor:
            return scaled_dot_product_attention(q, k, v, enable_gqa=True)

        ways: dict[str, Candidate] = {"grouped products": grouped, "SDPA": fused}
        for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION):
            ways[f"SDPA, {backend.name}"] = chosen(backend, fused)
        for way, run in ways.items():
            if works(run):
                counts = {"operations": operations, "traffic": traffic}
                yield timer.row("decode attention", way, run, shape, **counts)
    yield from causal_rows(timer, sizes)


def causal_rows(timer: Timer, sizes: Sizes) -> Iterator[Row]:
    """Attention of a whole causal text."""
    q = timer.draw(1, sizes.heads, sizes.text, sizes.head_dim)
    k = timer.draw(1, sizes.kv_heads, sizes.text, sizes.head_dim)
    v = timer.draw(1, sizes.kv_heads, sizes.text, sizes.head_dim)

    def fused() -> Tensor:
        return scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    operations = causal_attention_operations(layer_group(sizes, 1), sizes.heads, sizes.text)
    traffic = 2 * q.nbytes + k.nbytes + v.nbytes
    shape = {"batch": 1, "heads": sizes.heads, "kv_heads": sizes.kv_heads}
    shape |= {"tokens": sizes.text, "head_dim": sizes.head_dim}
    ways: dict[str, Candidate] = {"SDPA": fused}
    for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION):
        ways[f"SDPA, {backend.name}"] = chosen(backend, fused)
    for way, run in ways.items():
        if works(run):
            counts = {"operations": operations, "traffic": traffic}
            yield timer.row("causal attention", way, run, shape, **counts)


def chosen(backend: SDPBackend, run: Candidate) -> Candidate:
    """The same with one backend of SDPA."""

    def with_backend() -> Any:
        with sdpa_kernel(backend):
            return run()

    return with_backend


def works(run: Candidate) -> bool:
    """Whether a backend takes these inputs; where it does not, it is left out."""
    try:
        run()
    except RuntimeError:
        return False
    return True


class Decoder:
    """The matrix products and the attention of a decoder, with random weights and fixed caches."""

    def __init__(self, timer: Timer, sizes: Sizes) -> None:
        self.sizes = sizes
        both = sizes.heads + 2 * sizes.kv_heads
        shapes = {
            "qkv": (both * sizes.head_dim, sizes.width),
            "out": (sizes.width, sizes.heads * sizes.head_dim),
            "gate": (2 * sizes.hidden, sizes.width),
            "down": (sizes.width, sizes.hidden),
        }
        self.layers = [
            {name: timer.draw(*shape, scale=0.01) for name, shape in shapes.items()}
            for _ in range(sizes.layers)
        ]
        self.norm = timer.draw(sizes.width)
        self.logits = timer.draw(sizes.vocabulary, sizes.width, scale=0.01)

    def layer(
        self, x: Tensor, weights: dict[str, Tensor], cache: Tensor, table: tuple[Tensor, Tensor]
    ) -> Tensor:
        """New tokens x, (B, N, d), write into the last slots of a cache (2, B, g, N_k, d_k)."""
        sizes = self.sizes
        cos, sin = table
        new = x.shape[1]
        normed = rms_norm(x, (sizes.width,), self.norm)
        heads = linear(normed, weights["qkv"]).unflatten(-1, (-1, sizes.head_dim))
        q, k, v = heads.transpose(1, 2).split([sizes.heads, sizes.kv_heads, sizes.kv_heads], 1)
        q = rotated_half(q, cos, sin)
        k = rotated_half(k, cos, sin)
        cache[0, :, :, -new:] = k
        cache[1, :, :, -new:] = v
        # One new token sees every key; a whole text is causal.
        y = scaled_dot_product_attention(q, cache[0], cache[1], is_causal=new > 1, enable_gqa=True)
        x = x + linear(y.transpose(1, 2).flatten(-2), weights["out"])
        normed = rms_norm(x, (sizes.width,), self.norm)
        gate, up = linear(normed, weights["gate"]).chunk(2, dim=-1)
        return x + linear(silu(gate) * up, weights["down"])

    def run(
        self,
        layer: Callable[..., Tensor],
        x: Tensor,
        caches: list[Tensor],
        table: tuple[Tensor, Tensor],
    ) -> Tensor:
        """All layers, then the logits of the last token."""
        for weights, cache in zip(self.layers, caches, strict=True):
            x = layer(x, weights, cache, table)
        return linear(rms_norm(x[:, -1:], (self.sizes.width,), self.norm), self.logits)


@torch.no_grad()
def model_rows(timer: Timer, sizes: Sizes) -> Iterator[Row]:
    """A whole decoder: a step for each number of sequences, then prompts of several lengths."""
    decoder = Decoder(timer, sizes)
    parameters = decoder_parameters(
        width=sizes.width,
        heads=sizes.heads,
        kv_heads=sizes.kv_heads,
        head_dim=sizes.head_dim,
        hidden=sizes.hidden,
        layers=sizes.layers,
        vocabulary=sizes.vocabulary,
    )
    layers = layer_group(sizes, sizes.layers)
    # The input embedding is a lookup of one row: neither read nor multiplied as a whole.
    used = parameters - sizes.vocabulary * sizes.width
    cases = [("decoding step", batch, 1, tokens) for batch, tokens in sizes.steps]
    cases += [("prompt", 1, tokens, tokens) for tokens in sizes.prompts]
    for kernel, batch, new, tokens in cases:
        x = timer.draw(batch, new, sizes.width)
        held = (2, batch, sizes.kv_heads, tokens, sizes.head_dim)
        caches = [timer.draw(*held) for _ in range(sizes.layers)]
        table = (timer.draw(new, sizes.head_dim), timer.draw(new, sizes.head_dim))
        own_cache_bytes = cache_bytes(layers, tokens)
        if new == 1:
            attention = batch * decode_attention_operations(layers, sizes.heads, tokens)
        else:
            attention = causal_attention_operations(layers, sizes.heads, tokens)
        # The logits are computed for the last token only.
        inner = used - sizes.vocabulary * sizes.width
        operations = 2 * batch * (inner * new + sizes.vocabulary * sizes.width) + attention
        traffic = weights_bytes(used) + batch * own_cache_bytes
        shape = {"batch": batch, "new": new, "tokens": tokens, "parameters": parameters}
        # One layer is compiled and called for all of them: compiling the whole loop takes minutes.
        torch.compiler.reset()
        compiled = torch.compile(decoder.layer, dynamic=False)
        ways: dict[str, Callable[..., Tensor]] = {"eager": decoder.layer, "compiled": compiled}
        for way, layer in ways.items():
            run = partial(decoder.run, layer, x, caches, table)
            counts = {"operations": operations, "traffic": traffic}
            yield timer.row(kernel, way, run, shape, repeats=2, **counts)
        del caches, run  # before the next ones are drawn


def training_rows(timer: Timer, sizes: Sizes) -> Iterator[Row]:
    """One training step of a small decoder: forward, backward, AdamW."""
    count, width, heads, hidden, batch, tokens = sizes.training
    config = Config(
        vocab_size=sizes.vocabulary if sizes is SMALL else 32768,
        hidden_size=width,
        intermediate_size=hidden,
        num_hidden_layers=count,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=64,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    model = Model(config).to(timer.device, torch.bfloat16)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    text = torch.randint(config.vocab_size, (batch, tokens + 1), device=timer.device)
    layers = [{"count": count, "kv_heads": heads, "head_dim": 64}]
    attention = batch * causal_attention_operations(layers, heads, tokens)
    # Forward once and backward twice: a gradient of the input and one of the weight.
    operations = 3 * (2 * parameters * batch * tokens + attention)
    # Weights read twice and written once, gradients and both averages of Adam written and read.
    traffic = BYTES * parameters * (3 + 2 + 2 * 2)
    fused = timer.device == "cuda"
    for way, function in {"eager": model, "compiled": torch.compile(model)}.items():
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=fused)

        def step(function: Any = function, optimizer: Any = optimizer) -> None:
            logits, _ = function(text[:, :-1])
            loss = cross_entropy(logits.flatten(0, 1).float(), text[:, 1:].flatten())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if fused:
                torch.cuda.synchronize()

        # By the clock of the wall: a training step is not recorded as a graph here.
        (timed,) = compare({way: step}, floor=way, rounds=timer.rounds, repeats=3)
        shape = {"layers": count, "width": width, "heads": heads, "hidden": hidden}
        shape |= {"batch": batch, "tokens": tokens, "parameters": parameters}
        row = {"kernel": "training step", "way": way, "shape": shape, "dtype": "bfloat16"}
        counts = {"operations": operations, "traffic_bytes": traffic}
        yield {**row, **counts, "seconds": timed["seconds"]}


PARTS = (norm_rows, rope_rows, product_rows, attention_rows, model_rows, training_rows)


def measured(timer: Timer, sizes: Sizes) -> Iterator[Row]:
    """The rows of all parts, each printed as it comes."""
    for part in PARTS:
        for row in part(timer, sizes):
            seconds = row["seconds"]
            rates = f"{row['traffic_bytes'] / seconds / 1e12:6.2f} TB/s"
            rates += f" {row['operations'] / seconds / 1e12:7.1f} TFLOP/s"
            print(f"{row['kernel']:17} {row['way']:28} {seconds:.3e} s {rates}", row["shape"])
            yield row


def main(arguments: list[str] | None = None) -> None:
    """Time everything; print and record each row."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--small", action="store_true", help="tiny sizes, on a CPU too")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--out", type=Path, default=RESULTS / "speed" / "gpu-kernels.jsonl")
    given = parser.parse_args(arguments)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and not given.small:
        raise SystemExit("no CUDA device found; try it with --small --out FILE")
    timer = Timer(device, given.rounds)
    sizes = SMALL if given.small else LARGE
    write(given.out, measured(timer, sizes), origin(COMMAND, device))
    print(f"recorded in {given.out}")


if __name__ == "__main__":
    main()
