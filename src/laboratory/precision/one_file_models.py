"""The two files that readers copy, in each dtype and each way of use, against float64."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from laboratory.precision.found import Found
from one_file import llama
from one_file import transformer_2017 as original

# Matrices, averages, a matrix, a sum, a norm; once more for the source; then two matrices, ReLU, a
# sum, a norm. The memory has gone through the encoder's blocks before.
ROUNDINGS_OF_A_DECODER_BLOCK = 15


class Use(NamedTuple):
    """Where a case runs."""

    device: str
    dtype: torch.dtype
    backend: str = "eager"  # of torch.compile
    length: int = 40  # of the longest text


def error_of_angles(use: Use) -> float:
    """What float32 leaves of an angle, in every dtype.

    At the last position, frequency and product are each rounded by at most eps/2 of the angle.
    """
    return torch.finfo(torch.float32).eps * use.length


def largest_error(found: Tensor, exact: Tensor) -> float:
    """The largest error of a vector, as a share of its length; infinite if a number is NaN."""
    exact = exact.detach()
    error = (found.detach().double() - exact).norm(dim=-1) / exact.norm(dim=-1)
    return float(error.max().nan_to_num(nan=math.inf))


@torch.no_grad()
def redraw(model: nn.Module) -> nn.Module:
    """The same model with random matrices that keep sizes, and gains and biases of their own."""
    draw = torch.Generator().manual_seed(0)
    for name, weight in model.named_parameters():
        new = torch.randn(weight.shape, generator=draw)
        if weight.dim() == 2:
            weight.copy_(new / math.sqrt(weight.shape[1]))
        elif name.endswith("bias"):
            weight.copy_(0.2 * new)
        else:
            weight.copy_(1 + 0.2 * new)
    return model


def random_tokens(*shape: int, seed: int = 1) -> Tensor:
    """Tokens that are neither padding nor a start or an end."""
    return torch.randint(3, 50, shape, generator=torch.Generator().manual_seed(seed))


# -- llama.py ----


def llama_config() -> llama.Config:
    """Two layers with grouped heads and a norm on queries and keys."""
    return llama.Config(
        vocab_size=50,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        rope_parameters={"rope_theta": 10_000.0},
        qk_norm=True,
    )


Rounding = Callable[[Tensor], Tensor]
RANDOM_RUNS = 8


def at_random(dtype: torch.dtype, seed: int) -> Rounding:
    """Round float64 to one of the two neighbours in this dtype, the nearer one more often.

    Random rounding is on average √2 times as far off as rounding to the nearest.
    """
    draw = torch.Generator().manual_seed(seed)
    eps = torch.finfo(dtype).eps

    def rounded(x: Tensor) -> Tensor:
        _, exponent = torch.frexp(x)
        spacing = torch.ldexp(torch.full_like(x, eps / 2), exponent)  # of numbers as large as x
        spacing = spacing.masked_fill(x == 0, 0)
        shift = torch.rand(x.shape, generator=draw, dtype=x.dtype) - 0.5
        return (x + shift * spacing).to(dtype).double()

    return rounded


def rounded_logits(model: Any, tokens: Tensor, rounded: Rounding) -> Tensor:
    """What llama.py computes for whole texts, with every result that a dtype would round rounded.

    The model is in float64, so sums are exact. As in llama.py, a rotation is rounded once.
    """
    table = model.table(torch.arange(tokens.shape[1]))
    x = model.embed_tokens(tokens)
    for block in model.layers:
        attention = block.self_attn
        y = rounded(block.input_layernorm(x))
        q = rounded(attention.split(attention.q_proj(y)))
        k = rounded(attention.split(attention.k_proj(y)))
        v = rounded(attention.split(attention.v_proj(y)))
        q = rounded(llama.rotate(rounded(attention.q_norm(q)), table))
        k = rounded(llama.rotate(rounded(attention.k_norm(k)), table))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        joined = rounded(mixed).transpose(1, 2).flatten(-2)
        x = rounded(x + rounded(attention.o_proj(joined)))
        y = rounded(block.post_attention_layernorm(x))
        gate = rounded(nn.functional.silu(rounded(block.mlp.gate_proj(y))))
        hidden = rounded(gate * rounded(block.mlp.up_proj(y)))
        x = rounded(x + rounded(block.mlp.down_proj(hidden)))
    return rounded(model.lm_head(rounded(model.norm(x))))


@cache
@torch.no_grad()
def error_of_random_rounding(dtype: torch.dtype, length: int) -> float:
    """The largest error of a logit vector in several runs that round each result at random."""
    _, exact = llama_pair(Use("cpu", dtype))
    tokens = random_tokens(3, length)
    logits = exact(tokens)[0]
    errors = []
    for seed in range(RANDOM_RUNS):
        found = rounded_logits(exact, tokens, at_random(dtype, seed))
        errors.append(largest_error(found, logits))
    return max(errors)


def allowed_of_llama(use: Use) -> float:
    """Measured, not argued: the largest error of random rounding, and that within operations.

    How much softmax and the norms enlarge an error is in it, because the same model is run. Random
    rounding sees only results. Within a sum, float32 rounds each addition by at most eps/2 in every
    dtype. Twice this for the keys of the longest text is what we allow; angles are in float64.
    """
    within_sums = torch.finfo(torch.float32).eps * use.length
    return error_of_random_rounding(use.dtype, use.length) + within_sums


def llama_pair(use: Use) -> tuple[Any, Any]:
    """A model in this dtype on this device, and the same weights in float64 on the CPU."""
    model = redraw(llama.Model(llama_config())).to(use.device, use.dtype)
    exact = llama.Model(llama_config()).load(model.state_dict(), torch.float64).cpu()
    return model, exact


def left_padded(lengths: tuple[int, ...], device: str) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Texts of these lengths, padded on the left with a token that also occurs, and their mask."""
    texts = [random_tokens(1, length, seed=length) for length in lengths]
    longest = max(lengths)
    tokens = torch.cat([nn.functional.pad(text, (longest - text.shape[1], 0)) for text in texts])
    mask = torch.cat(
        [nn.functional.pad(0 * text + 1, (longest - text.shape[1], 0)) for text in texts]
    )
    return tokens.to(device), mask.to(device), texts


def error_of_texts(logits: Tensor, exact: Any, texts: list[Tensor]) -> float:
    """The largest error at the end of each row, against each text alone."""
    errors = []
    for row, text in zip(logits.cpu(), texts, strict=True):
        expected = exact(text)[0][0]
        errors.append(largest_error(row[-text.shape[1] :], expected))
    return max(errors)


def llama_batched(use: Use) -> Found:
    """Three texts of the same length."""
    model, exact = llama_pair(use)
    tokens = random_tokens(3, use.length)
    logits, caches = model(tokens.to(use.device))
    assert logits.dtype == caches[0][0].dtype == caches[0][1].dtype == use.dtype
    error = largest_error(logits.cpu(), exact(tokens)[0])
    return Found(error, allowed_of_llama(use))


def llama_padded(use: Use) -> Found:
    """Padded on the left, and on the right; padding has gradients without NaN."""
    model, exact = llama_pair(use)
    tokens, mask, texts = left_padded((use.length, use.length // 2, 1), use.device)
    logits, _ = model(tokens, mask=mask)
    logits.float().square().mean().backward()
    for weight in model.parameters():
        assert weight.grad.isfinite().all()
    error = error_of_texts(logits, exact, texts)
    tokens = tokens.flip(1)
    texts = [text.flip(1) for text in texts]
    logits, _ = model(tokens, mask=mask.flip(1))
    rows = [row[: text.shape[1]] for row, text in zip(logits.cpu(), texts, strict=True)]
    for row, text in zip(rows, texts, strict=True):
        error = max(error, largest_error(row, exact(text)[0][0]))
    return Found(error, allowed_of_llama(use))


def llama_cached(use: Use) -> Found:
    """In parts of many tokens, of several and of one, with padding and without."""
    model, exact = llama_pair(use)
    n = use.length
    tokens, mask, texts = left_padded((n, n // 2, 10), use.device)
    parts = ((0, n - 15), (n - 15, n - 3), (n - 3, n - 2), (n - 2, n - 1), (n - 1, n))
    padded_rows = []
    whole_rows = []
    padded_caches: Any = ()
    whole_caches: Any = ()
    for start, stop in parts:
        logits, padded_caches = model(tokens[:, start:stop], padded_caches, mask[:, start:stop])
        padded_rows.append(logits)
        logits, whole_caches = model(tokens[:1, start:stop], whole_caches)
        whole_rows.append(logits)
    error = error_of_texts(torch.cat(padded_rows, dim=1), exact, texts)
    whole = error_of_texts(torch.cat(whole_rows, dim=1), exact, texts[:1])
    return Found(max(error, whole), allowed_of_llama(use))


def llama_compiled(use: Use) -> Found:
    """In one graph, in several lengths, with padding and without, and through `generate`."""
    torch._dynamo.reset()
    model, exact = llama_pair(use)
    compiled: Any = torch.compile(model, fullgraph=True, backend=use.backend)
    errors = []
    for length in (use.length, 21, 33):
        tokens = random_tokens(2, length)
        logits, _ = compiled(tokens.to(use.device))
        errors.append(largest_error(logits.cpu(), exact(tokens)[0]))
        tokens, mask, texts = left_padded((length, 10), use.device)
        logits, _ = compiled(tokens, mask=mask)
        errors.append(error_of_texts(logits, exact, texts))
    assert llama.generate(compiled, tokens, 4, mask, temperature=0).shape == (2, 37)
    return Found(max(errors), allowed_of_llama(use))


def llama_from_meta(use: Use) -> Found:
    """Built without memory, in three ways that people load it; the result has the same bits."""
    model, exact = llama_pair(use)
    weights = model.state_dict()
    tokens = random_tokens(2, use.length).to(use.device)
    built = []
    for _ in range(3):
        with torch.device("meta"):
            built.append(llama.Model(llama_config()))
    built[0].load(weights)
    built[1].load_state_dict(weights, assign=True)
    built[2].to(use.dtype).to_empty(device=use.device).load_state_dict(weights)
    expected, _ = model(tokens)
    for one in built:
        logits, _ = one(tokens)
        assert torch.equal(logits, expected)
    error = largest_error(expected.cpu(), exact(tokens.cpu())[0])
    return Found(error, allowed_of_llama(use))


def llama_generates(use: Use) -> Found:
    """Greedy from padded prompts: how far each chosen logit is below the largest exact one."""
    model, exact = llama_pair(use)
    tokens, mask, texts = left_padded((use.length, 20, 1), use.device)
    written = llama.generate(model, tokens, 12, mask, temperature=0).cpu()
    worst = 0.0
    for row, text in zip(written, texts, strict=True):
        whole = torch.cat((text, row[None, -12:]), dim=1)
        logits = exact(whole[:, :-1])[0][0, -12:]
        chosen = logits.gather(1, row[-12:, None])[:, 0]
        below = (logits.max(1).values - chosen) / logits.norm(dim=1)
        worst = max(worst, below.max().item())
    # Both the chosen logit and the largest one may be off.
    return Found(worst, 2 * allowed_of_llama(use))


# -- transformer_2017.py ----

ORIGINAL_SIZES = {"words": 50, "d": 32, "h": 4, "d_f": 48, "layers": 2}
# The encoder's two blocks have two sublayers of five roundings each; embedding and logits.
ORIGINAL_ROUNDINGS = 2 * 10 + 2 * ROUNDINGS_OF_A_DECODER_BLOCK + 2


def allowed_of_original(use: Use) -> float:
    """The relative error that the dtype may leave after so many roundings in a row.

    A rounding moves a number by at most eps/2 of its size. Roundings are independent, so their
    errors grow like the root of their number, not like the number.
    """
    of_results = torch.finfo(use.dtype).eps / 2 * math.sqrt(ORIGINAL_ROUNDINGS)
    return of_results + error_of_angles(use)


def original_pair(use: Use) -> tuple[Any, Any]:
    """A model in this dtype on this device, and the same weights in float64 on the CPU."""
    model = redraw(original.Transformer(**ORIGINAL_SIZES)).eval().to(use.device, use.dtype)
    exact = original.Transformer(**ORIGINAL_SIZES).eval().double()
    exact.load_state_dict(model.state_dict())
    return model, exact


def right_padded(lengths: tuple[int, ...], first: int | None = None) -> tuple[Tensor, list[Tensor]]:
    """Sequences of these lengths, padded at the end; all of them begin with `first`."""
    sequences = [random_tokens(1, length, seed=length) for length in lengths]
    for sequence in sequences:
        if first is not None:
            sequence[:, 0] = first
    longest = max(lengths)
    padded = [nn.functional.pad(one, (0, longest - one.shape[1])) for one in sequences]
    return torch.cat(padded), sequences


class Texts(NamedTuple):
    """Sources and targets of different lengths, padded on the device and each alone."""

    source: Tensor
    target: Tensor
    alone: list[tuple[Tensor, Tensor]]


def padded_texts(use: Use) -> Texts:
    """Three pairs of texts, of which the longest source has no long target."""
    n = use.length
    source, sources = right_padded((n, n // 2, 1))
    target, targets = right_padded((n // 3, n - 2, 5), first=original.START)
    return Texts(
        source.to(use.device), target.to(use.device), [*zip(sources, targets, strict=True)]
    )


def error_of_targets(logits: Tensor, exact: Any, texts: Texts) -> float:
    """The largest error of a logit vector, against each source and target alone."""
    errors = []
    for row, (source, target) in zip(logits.cpu(), texts.alone, strict=True):
        expected, _ = exact.decode(target, exact.encode(source))
        errors.append(largest_error(row[: target.shape[1]], expected[0]))
    return max(errors)


def original_batched(use: Use) -> Found:
    """Three sources and targets of the same length."""
    model, exact = original_pair(use)
    source = random_tokens(3, use.length)
    target = random_tokens(3, use.length, seed=2)
    logits, caches = model.decode(target.to(use.device), model.encode(source.to(use.device)))
    assert logits.dtype == caches[0][0].dtype == caches[0][1].dtype == use.dtype
    error = largest_error(logits.cpu(), exact.decode(target, exact.encode(source))[0])
    return Found(error, allowed_of_original(use))


def original_padded(use: Use) -> Found:
    """Sources and targets of different lengths; one source more has no word at all."""
    model, exact = original_pair(use)
    texts = padded_texts(use)
    logits, _ = model.decode(texts.target, model.encode(texts.source))
    error = error_of_targets(logits, exact, texts)
    empty = torch.full_like(texts.source[:1], original.PAD)
    source = torch.cat((texts.source, empty))
    target = torch.cat((texts.target, texts.target[:1]))
    loss = model.loss(source, target)
    assert loss.dtype == torch.float32
    loss.backward()
    for weight in model.parameters():
        assert weight.grad.isfinite().all()
    return Found(error, allowed_of_original(use))


def original_cached(use: Use) -> Found:
    """In parts of one token and of several."""
    model, exact = original_pair(use)
    texts = padded_texts(use)
    memory = model.encode(texts.source)
    n = texts.target.shape[1]
    rows = []
    caches = None
    for start, stop in ((0, 1), (1, 2), (2, n - 10), (n - 10, n - 1), (n - 1, n)):
        logits, caches = model.decode(texts.target[:, start:stop], memory, caches)
        rows.append(logits)
    error = error_of_targets(torch.cat(rows, dim=1), exact, texts)
    return Found(error, allowed_of_original(use))


def original_compiled(use: Use) -> Found:
    """In one graph, in several lengths: logits, and the loss with its gradient."""
    torch._dynamo.reset()
    model, exact = original_pair(use)

    def logits_of(source: Tensor, target: Tensor) -> Tensor:
        logits: Tensor = model.decode(target, model.encode(source))[0]
        return logits

    compiled = torch.compile(logits_of, fullgraph=True, backend=use.backend)
    compiled_loss = torch.compile(model.loss, fullgraph=True, backend=use.backend)
    texts = padded_texts(use)
    error = error_of_targets(compiled(texts.source, texts.target), exact, texts)
    for length in (21, 33):
        source = random_tokens(2, length)
        target = random_tokens(2, length + 3, seed=2)
        logits = compiled(source.to(use.device), target.to(use.device))
        expected, _ = exact.decode(target, exact.encode(source))
        error = max(error, largest_error(logits.cpu(), expected))
        loss = compiled_loss(source.to(use.device), target.to(use.device))
        exact_loss = exact.loss(source, target)
        error = max(error, abs(loss.item() / exact_loss.item() - 1))
        loss.backward()
    for weight in model.parameters():
        assert weight.grad.isfinite().all()
    return Found(error, allowed_of_original(use))


def original_from_meta(use: Use) -> Found:
    """Built without memory, in two ways that people load it; the result has the same bits."""
    model, exact = original_pair(use)
    weights = model.state_dict()
    built = []
    for _ in range(2):
        with torch.device("meta"):
            built.append(original.Transformer(**ORIGINAL_SIZES).eval())
    built[0].load_state_dict(weights, assign=True)
    built[1].to(use.dtype).to_empty(device=use.device).load_state_dict(weights)
    texts = padded_texts(use)
    expected, _ = model.decode(texts.target, model.encode(texts.source))
    for one in built:
        logits, _ = one.decode(texts.target, one.encode(texts.source))
        assert torch.equal(logits, expected)
    return Found(error_of_targets(expected, exact, texts), allowed_of_original(use))


def original_generates(use: Use) -> Found:
    """Greedy from padded sources: how far each chosen logit is below the largest exact one."""
    model, exact = original_pair(use)
    texts = padded_texts(use)
    written = model.generate(texts.source, steps=12).cpu()
    worst = 0.0
    for row, (source, _) in zip(written, texts.alone, strict=True):
        ends = (row == original.END).nonzero()
        count = int(ends[0]) + 1 if len(ends) else len(row)
        assert (row[count:] == original.PAD).all()
        target = nn.functional.pad(row[None, : count - 1], (1, 0), value=original.START)
        logits = exact.decode(target, exact.encode(source))[0][0]
        chosen = logits.gather(1, row[:count, None])[:, 0]
        below = (logits.max(1).values - chosen) / logits.norm(dim=1)
        worst = max(worst, below.max().item())
    return Found(worst, 2 * allowed_of_original(use))


CASES: dict[tuple[str, str], Callable[[Use], Found]] = {
    ("llama", "batched"): llama_batched,
    ("llama", "padded"): llama_padded,
    ("llama", "cached steps"): llama_cached,
    ("llama", "from meta"): llama_from_meta,
    ("llama", "generation"): llama_generates,
    ("llama", "compiled"): llama_compiled,
    ("transformer_2017", "batched"): original_batched,
    ("transformer_2017", "padded"): original_padded,
    ("transformer_2017", "cached steps"): original_cached,
    ("transformer_2017", "from meta"): original_from_meta,
    ("transformer_2017", "generation"): original_generates,
    ("transformer_2017", "compiled"): original_compiled,
}
