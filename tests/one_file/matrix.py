"""The two files that readers copy, in each dtype and each way of use, against float64.

test_matrix.py runs these cases on the CPU. For a table of all of them on the device that is there:

    python3 tests/one_file/matrix.py

It needs PyTorch alone. With a GPU it compiles with Inductor and takes longer texts, in which half
precision has no numbers for all positions. The exit code counts the failures.
"""

import argparse
import importlib.util
import math
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

SOURCES = Path(__file__).parents[2] / "src" / "one_file"
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
# A norm, three matrices in parallel, the norm of queries and keys, a rotation, averages, a matrix,
# a sum; then a norm, a matrix, its SiLU, a product, a matrix, a sum.
ROUNDINGS_OF_A_LLAMA_BLOCK = 13
# Matrices, averages, a matrix, a sum, a norm; once more for the source; then two matrices, ReLU, a
# sum, a norm. The memory has gone through the encoder's blocks before.
ROUNDINGS_OF_A_DECODER_BLOCK = 15


class Use(NamedTuple):
    """Where a case runs."""

    device: str
    dtype: torch.dtype
    backend: str = "eager"  # of torch.compile
    length: int = 40  # of the longest text


class Found(NamedTuple):
    """The largest relative error of a vector of logits, and what the dtype allows."""

    error: float
    allowed: float


def copy_of(name: str) -> ModuleType:
    """A file of the folder, executed as a reader's copy of it."""
    spec = importlib.util.spec_from_file_location(f"{name}_copy", SOURCES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for their module there
    spec.loader.exec_module(module)
    return module


llama = copy_of("llama")
original = copy_of("transformer_2017")


def allowed(use: Use, roundings: int, enlarged: float = 1.0) -> float:
    """The relative error that the dtype may leave after so many roundings in a row.

    A rounding moves a number by at most eps/2 of its size. Roundings are independent, so their
    errors grow like the root of their number, not like the number. Angles are float32 in every
    dtype: at the last position, frequency and product are each rounded by eps/2 of the angle.
    """
    of_results = torch.finfo(use.dtype).eps / 2 * math.sqrt(roundings)
    of_angles = torch.finfo(torch.float32).eps * use.length
    return enlarged * of_results + of_angles


def largest_error(found: Tensor, exact: Tensor) -> float:
    """The largest error of a vector, as a share of its length; infinite if a number is NaN."""
    error = (found.double() - exact).norm(dim=-1) / exact.norm(dim=-1)
    return error.max().nan_to_num(nan=math.inf).item()


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
    return torch.randint(3, 50, shape, generator=torch.Generator().manual_seed(seed))


# -- llama.py ----


def llama_config() -> Any:
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


LLAMA_ROUNDINGS = 2 * ROUNDINGS_OF_A_LLAMA_BLOCK + 2  # and the last norm and matrix
# Normalized queries and keys have scores of size 1 to 4, and softmax turns an error of a score
# into a relative error of a weight: a relative error can double here.
ENLARGED = 2.0


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
    model, exact = llama_pair(use)
    tokens = random_tokens(3, use.length)
    logits, caches = model(tokens.to(use.device))
    assert logits.dtype == caches[0][0].dtype == caches[0][1].dtype == use.dtype
    error = largest_error(logits.cpu(), exact(tokens)[0])
    return Found(error, allowed(use, LLAMA_ROUNDINGS, ENLARGED))


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
    return Found(error, allowed(use, LLAMA_ROUNDINGS, ENLARGED))


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
        logits, padded_caches = model(tokens[:, start:stop], padded_caches, mask[:, :stop])
        padded_rows.append(logits)
        logits, whole_caches = model(tokens[:1, start:stop], whole_caches)
        whole_rows.append(logits)
    error = error_of_texts(torch.cat(padded_rows, dim=1), exact, texts)
    whole = error_of_texts(torch.cat(whole_rows, dim=1), exact, texts[:1])
    return Found(max(error, whole), allowed(use, LLAMA_ROUNDINGS, ENLARGED))


def llama_compiled(use: Use) -> Found:
    """In one graph, in several lengths, with padding and without, and through `generate`."""
    torch._dynamo.reset()
    model, exact = llama_pair(use)
    compiled = torch.compile(model, fullgraph=True, backend=use.backend)
    errors = []
    for length in (use.length, 21, 33):
        tokens = random_tokens(2, length)
        logits, _ = compiled(tokens.to(use.device))
        errors.append(largest_error(logits.cpu(), exact(tokens)[0]))
        tokens, mask, texts = left_padded((length, 10), use.device)
        logits, _ = compiled(tokens, mask=mask)
        errors.append(error_of_texts(logits, exact, texts))
    assert llama.generate(compiled, tokens, 4, mask, temperature=0).shape == (2, 37)
    return Found(max(errors), allowed(use, LLAMA_ROUNDINGS, ENLARGED))


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
    return Found(error, allowed(use, LLAMA_ROUNDINGS, ENLARGED))


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
    return Found(worst, 2 * allowed(use, LLAMA_ROUNDINGS, ENLARGED))


# -- transformer_2017.py ----

ORIGINAL_SIZES = {"words": 50, "d": 32, "h": 4, "d_f": 48, "layers": 2}
# The encoder's two blocks have two sublayers of five roundings each; embedding and logits.
ORIGINAL_ROUNDINGS = 2 * 10 + 2 * ROUNDINGS_OF_A_DECODER_BLOCK + 2


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
    model, exact = original_pair(use)
    source = random_tokens(3, use.length)
    target = random_tokens(3, use.length, seed=2)
    logits, caches = model.decode(target.to(use.device), model.encode(source.to(use.device)))
    assert logits.dtype == caches[0][0].dtype == caches[0][1].dtype == use.dtype
    error = largest_error(logits.cpu(), exact.decode(target, exact.encode(source))[0])
    return Found(error, allowed(use, ORIGINAL_ROUNDINGS))


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
    return Found(error, allowed(use, ORIGINAL_ROUNDINGS))


def original_cached(use: Use) -> Found:
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
    return Found(error, allowed(use, ORIGINAL_ROUNDINGS))


def original_compiled(use: Use) -> Found:
    """In one graph, in several lengths: logits, and the loss with its gradient."""
    torch._dynamo.reset()
    model, exact = original_pair(use)

    def logits_of(source: Tensor, target: Tensor) -> Tensor:
        return model.decode(target, model.encode(source))[0]

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
    return Found(error, allowed(use, ORIGINAL_ROUNDINGS))


def original_from_meta(use: Use) -> Found:
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
    return Found(error_of_targets(expected, exact, texts), allowed(use, ORIGINAL_ROUNDINGS))


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
    return Found(worst, 2 * allowed(use, ORIGINAL_ROUNDINGS))


CASES: dict[str, Callable[[Use], Found]] = {
    "llama, batched": llama_batched,
    "llama, padded": llama_padded,
    "llama, cached steps": llama_cached,
    "llama, from meta": llama_from_meta,
    "llama, generation": llama_generates,
    "llama, compiled": llama_compiled,
    "2017, batched": original_batched,
    "2017, padded": original_padded,
    "2017, cached steps": original_cached,
    "2017, from meta": original_from_meta,
    "2017, generation": original_generates,
    "2017, compiled": original_compiled,
}


def rows_of_table(device: str, backend: str, length: int) -> Iterator[tuple[str, bool]]:
    """A line for each case and dtype, and whether it holds."""
    for name, case in CASES.items():
        for dtype in DTYPES:
            line = f"| {name} | {str(dtype).removeprefix('torch.')} |"
            try:
                found = case(Use(device, dtype, backend, length))
                holds = found.error <= found.allowed
                yield f"{line} {found.error:.1e} | {found.allowed:.1e} | {holds} |", holds
            except Exception:
                yield f"{line} {traceback.format_exc(limit=-2)} |", False


def main() -> int:
    """Print the table; the result counts the failures."""
    has_gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if has_gpu else "cpu")
    parser.add_argument("--backend", default="inductor" if has_gpu else "eager")
    parser.add_argument("--length", type=int, default=1000 if has_gpu else 40)
    options = parser.parse_args()
    print(f"PyTorch {torch.__version__}, {options.device}, compiled with {options.backend}")
    print("| case | dtype | largest relative error | allowed | holds |\n|---|---|---|---|---|")
    failures = 0
    for line, holds in rows_of_table(options.device, options.backend, options.length):
        print(line, flush=True)
        failures += not holds
    print(f"{failures} failures")
    return min(failures, 100)


if __name__ == "__main__":
    sys.exit(main())
