"""What hurts in longer texts: new angles, more keys, or flatter weights? For stretching.

    python -m laboratory.angles    # ten minutes on a CPU, with the book's stored model

Each row is the loss of the last 256 bytes of several held-out texts, with one thing changed:

angles      offsets that training never had are replaced by its largest one, or each query sees no
            more keys than in training, or both
far         such offsets are replaced by random ones from the far or the near half of training, or
            from the nearest
window      the mask hides what is farther back than in training, beside a cut text and YaRN
keys        three times as many keys as in training and no new angle, with YaRN's factors
faster      YaRN's frequencies, and the same pairs made faster by as much, with two factors; also
            the mean entropy of the weights
growing     dynamic NTK with a cache of rotated keys, 16 bytes at a time: the scale of the whole
            text from the start, or one that grows with the text; beside no rule
"""

import argparse
import hashlib
import math
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from attention_to_rope.context_extension import dynamic_ntk
from bookkit import book_model
from bookkit.randomness import generator
from bookkit.records import RESULTS, Row
from bookkit.trained.model import TRAINED_LENGTH, loss_by_position
from bookkit.trained.probes import projections
from bookkit.trained.stretching import stretched
from bookkit.trained.text import HELD_OUT, START, sources_of
from laboratory.record import origin, write
from laboratory.text import packed
from one_file.llama import Block, Model, rotate

LAST = 256
NEVER = 10**6  # no offset is as large
TOGETHER = 16  # bytes that dynamic NTK reads at once
NEAREST = 64  # offsets
DRAWN = 4  # different offsets, of which one is drawn for each pair of a query and a far key
Measured = tuple[float, float]  # loss, and entropy of the weights
Scores = Callable[[Model, Tensor, Tensor], Tensor]  # of unrotated queries and keys


def distances(length: int, device: torch.device) -> Tensor:
    """How far each key is behind each query."""
    m = torch.arange(length, device=device)
    return m[:, None] - m


def usual(model: Model, q: Tensor, k: Tensor) -> Tensor:
    """The scores of the model."""
    table = model.table(torch.arange(q.shape[-2], device=q.device))
    return rotate(q, table) @ rotate(k, table).mT


def at_offset(model: Model, q: Tensor, k: Tensor, offset: int) -> Tensor:
    """Scores as if every key were so far behind its query."""
    there = torch.full((q.shape[-2],), offset, device=q.device)
    return rotate(q, model.table(there)) @ k.mT


def clamped(model: Model, q: Tensor, k: Tensor, reach: int) -> Tensor:
    """Scores in which no offset is larger than `reach`."""
    near = distances(q.shape[-2], q.device) < reach
    return torch.where(near, usual(model, q, k), at_offset(model, q, k, reach))


def replaced(model: Model, q: Tensor, k: Tensor, reach: int, low: int, high: int) -> Tensor:
    """Scores in which each offset of `reach` or more is a random one between low and high."""
    rng = generator(low)
    length = q.shape[-2]
    scores = usual(model, q, k)
    which = torch.from_numpy(rng.integers(DRAWN, size=(length, length))).to(q.device)
    far = distances(length, q.device) >= reach
    for number, offset in enumerate(rng.integers(low, high, size=DRAWN).tolist()):
        scores = torch.where(far & (which == number), at_offset(model, q, k, int(offset)), scores)
    return scores


@torch.no_grad()
def read(
    model: Model,
    tokens: Tensor,
    scores: Scores = usual,
    visible: Tensor | None = None,
    factor: float = 1.0,
) -> Measured:
    """The loss of the end of a text, and the mean entropy of the weights of these tokens.

    factor: on the table of cosines and sines, so the scores are multiplied by its square.
    """
    length = tokens.shape[1]
    hidden = distances(length, tokens.device) < 0
    if visible is not None:
        hidden |= ~visible
    x = model.embed_tokens(tokens)
    entropies = []
    for block in model.layers:
        assert isinstance(block, Block)
        q, k, v = projections(block.self_attn, block.input_layernorm(x))
        found = scores(model, q, k) * factor**2 / q.shape[-1] ** 0.5
        weights = found.masked_fill(hidden, -math.inf).softmax(-1)
        entropies.append(-torch.special.xlogy(weights, weights)[..., -LAST:, :].sum(-1).mean())
        x = x + block.self_attn.o_proj((weights @ v).transpose(1, 2).flatten(-2))
        x = x + block.mlp(block.post_attention_layernorm(x))
    logits = model.lm_head(model.norm(x))[:, :-1]
    losses = -logits.log_softmax(-1).gather(2, tokens[:, 1:, None])[:, -LAST:]
    return losses.mean().item(), torch.stack(entropies).mean().item()


@torch.no_grad()
def growing(model: Model, tokens: Tensor, length_of: Callable[[int], int]) -> Measured:
    """The loss of the end, read in small parts, each with dynamic NTK's scale for a length."""
    trained = model.frequencies
    caches = ()
    losses = []
    for length in range(TRAINED_LENGTH, tokens.shape[1], TOGETHER):
        model.frequencies = dynamic_ntk(
            trained, 2.0, length=length_of(length), original_length=TRAINED_LENGTH
        )
        start = length - TOGETHER if caches else 0
        logits, caches = model(tokens[:, start:length], caches)
        after = tokens[:, start + 1 : length + 1, None]
        losses.append(-logits.log_softmax(-1).gather(2, after))
    model.frequencies = trained
    return torch.cat(losses, dim=1)[:, -LAST:].mean().item(), math.nan


def settings(model: Model) -> Iterator[tuple[str, str, float, int, Callable[[Tensor], Measured]]]:
    """Group, case, factor, length and measurement."""
    end = TRAINED_LENGTH - 1
    half = TRAINED_LENGTH // 2
    trained = model.frequencies
    device = model.embed_tokens.weight.device  # the frequencies stay on the CPU

    def with_frequencies(frequencies: Tensor, tokens: Tensor, factor: float) -> Measured:
        model.frequencies = frequencies
        found = read(model, tokens, factor=factor)
        model.frequencies = trained
        return found

    longer = 3 * TRAINED_LENGTH // 2
    few = (torch.arange(longer, device=device) < half) | (distances(longer, device) < half)
    for case, reach, visible in (
        ("as trained", NEVER, None),
        ("at most 1,024 keys", NEVER, few),
        ("offsets up to 1,023", end, None),
        ("offsets up to 1,023, at most 1,024 keys", end, few),
        ("offsets up to 511", half - 1, None),
    ):
        scores = partial(clamped, reach=reach)
        yield "angles", case, 1.0, longer, partial(read, model, scores=scores, visible=visible)

    twice = 2 * TRAINED_LENGTH
    far = partial(replaced, reach=TRAINED_LENGTH)
    yield "far", "as trained", 1.0, twice, partial(read, model)
    for case, low, high in (
        ("far half", half, TRAINED_LENGTH),
        ("near half", 0, half),
        ("nearest", 0, NEAREST),
    ):
        yield "far", case, 1.0, twice, partial(read, model, scores=partial(far, low=low, high=high))

    within = distances(twice, device) < TRAINED_LENGTH
    yield "window", "window", 1.0, twice, partial(read, model, visible=within)

    def cut(tokens: Tensor) -> Measured:
        short = tokens[:, -TRAINED_LENGTH:].clone()
        short[:, 0] = START
        return read(model, short)

    yield "window", "cut", 1.0, twice, cut
    frequencies, factor = stretched(trained, "YaRN", 2)
    yield "window", "YaRN", factor, twice, partial(with_frequencies, frequencies, factor=factor)

    scores = partial(clamped, reach=half - 1)
    for times in (1, 3):
        for excess in (0.0, 0.05, 0.1):
            factor = round(1 + excess * math.log(3), 4)
            reading = partial(read, model, scores=scores, factor=factor)
            yield "keys", f"{times} times", factor, times * TRAINED_LENGTH, reading

    slower = stretched(trained, "YaRN", 4)[0]
    for case, theta in (("none", trained), ("YaRN", slower), ("faster", trained**2 / slower)):
        for factor in (1.0, 1.07):
            changed = partial(with_frequencies, theta, factor=factor)
            yield "faster", case, factor, TRAINED_LENGTH, changed

    def from_start(length: int) -> int:
        return longer

    def so_far(length: int) -> int:
        return length

    for case, length_of in (("from the start", from_start), ("growing", so_far)):
        by_length = partial(growing, model, length_of=length_of)
        yield "growing", case, 1.0, longer + 1, by_length

    def no_rule(tokens: Tensor) -> Measured:
        with torch.no_grad():
            return loss_by_position(model, tokens)[0, -LAST:].mean().item(), math.nan

    yield "growing", "no rule", 1.0, longer + 1, no_rule


def rows(text: bytes, device: torch.device, texts: int = 8) -> Iterator[Row]:
    """The losses of all cases, one for each text."""
    model = book_model().to(device)
    for group, case, factor, length, measure in settings(model):
        row: Row = {"group": group, "case": case, "factor": factor, "length": length}
        starts = [70_000 * number + 30_000 for number in range(texts)]
        pieces = [[START, *text[start : start + length - 1]] for start in starts]
        found = [measure(torch.tensor([piece], device=device)) for piece in pieces]
        row["loss"] = [round(loss, 4) for loss, _ in found]
        if group == "faster":
            row["entropy"] = [round(entropy, 4) for _, entropy in found]
        print(group, case, factor, row["loss"], flush=True)
        yield row


def main(arguments: list[str]) -> None:
    """Measure all cases."""
    parser = argparse.ArgumentParser(prog="python -m laboratory.angles", description=__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cpu")
    parser.add_argument("--texts", type=int, default=8)
    parser.add_argument("--text", type=Path, help="a packed text, not the installed packages")
    parser.add_argument("--file", type=Path, default=RESULTS / "trained" / "angles.jsonl")
    given = parser.parse_args(arguments)
    if given.text is None:
        text = sources_of(HELD_OUT)
    else:
        text = packed(given.text).held_out.numpy().tobytes()
    about = origin(f"python -m laboratory.angles --device {given.device}", given.device)
    about |= {"held_out_sha256": hashlib.sha256(text).hexdigest()}
    write(given.file, rows(text, torch.device(given.device), given.texts), about)


if __name__ == "__main__":
    main(sys.argv[1:])
