"""Continue prompts token by token: greedily or by sampling, with a cache or without."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Integer
from torch import Tensor
from torch.nn import functional

from attention_to_rope.key_value_cache import Cache
from attention_to_rope.layers import Seed, check_at_least, stream_of
from attention_to_rope.masks import check_range
from attention_to_rope.scaled_dot_product import softmax
from attention_to_rope.transformer import Decoder


def keep_top_k(logits: Float[Tensor, "b v"], k: int) -> Float[Tensor, "b v"]:
    """The k largest logits of each row, −inf elsewhere; those equal to the k-th stay.

    >>> keep_top_k(torch.tensor([[1.0, 3.0, 2.0]]), 2)
    tensor([[-inf, 3., 2.]])
    """
    check_at_least("k", k, 1)
    smallest = logits.topk(min(k, logits.shape[-1])).values[:, -1:]
    return logits.masked_fill(logits < smallest, -torch.inf)


def keep_top_p(logits: Float[Tensor, "b v"], p: float) -> Float[Tensor, "b v"]:
    """The fewest most likely tokens whose weights reach p, −inf elsewhere; at least one.

    >>> keep_top_p(torch.tensor([[0.5, 0.3, 0.2]]).log(), 0.6).isfinite()
    tensor([[ True,  True, False]])
    """
    if not 0 < p <= 1:
        raise ValueError(f"p must be above 0 and at most 1, got {p}")
    if p == 1:  # all stay; rounded sums would remove some
        return logits
    ordered, order = logits.sort(descending=True, stable=True)
    weights = softmax(ordered.double())
    stays = weights.cumsum(-1) - weights < p  # those before it sum to less than p
    stays[:, 0] = True
    kept = torch.zeros_like(stays).scatter(-1, order, stays)  # in the order of the logits
    return logits.masked_fill(~kept, -torch.inf)


def sample_token(
    logits: Float[Tensor, "b v"],
    uniform: Float[Tensor, "b 1"],
    *,
    temperature: float | None,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Integer[Tensor, " b"]:
    """The token of each row that a uniform number in [0, 1) chooses from softmax(logits / T).

    It is the one where the cumulated probabilities pass the number. Without a temperature T, and
    at its limit 0, it is the token of the largest logit (greedy). `top_k` and `top_p` leave the
    most likely tokens only.

    >>> sample_token(torch.tensor([[0.0, 0.0]]), torch.tensor([[0.7]]), temperature=1.0)
    tensor([1])
    """
    _check_temperature(temperature)
    largest = logits.amax(-1, keepdim=True)
    if not bool(largest.isfinite().all()):
        raise ValueError("logits must have a finite maximum in every row, got NaN or infinity")
    if temperature is None and (top_k is not None or top_p is not None):
        raise ValueError("top_k and top_p belong to sampling: give a temperature")
    if temperature is None or temperature == 0:
        return logits.argmax(-1)
    # From the largest down, so that no temperature makes a logit infinite. In float64, because in
    # half precision a difference is rounded, or overflows, before the temperature makes it small.
    scaled = (logits.double() - largest.double()) / temperature
    if top_k is not None:
        scaled = keep_top_k(scaled, top_k)
    if top_p is not None:
        scaled = keep_top_p(scaled, top_p)
    summed = softmax(scaled).cumsum(-1)  # (b, v)
    # Scaled by the last sum, which rounding leaves a little off 1: no token past the end.
    drawn = uniform * summed[:, -1:]  # (b, 1)
    return torch.searchsorted(summed, drawn, right=True).squeeze(-1)


@torch.no_grad()
def generate(
    decoder: Decoder,
    prompt: Integer[Tensor, "b n"],
    steps: int,
    *,
    lengths: Integer[Tensor, " b"] | None = None,
    end: int | None = None,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: Seed | None = None,
    memory: Float[Tensor, "b m d"] | None = None,
    memory_mask: Tensor | None = None,
    use_cache: bool = True,
    capacity: int | None = None,
) -> Integer[Tensor, "b total"]:
    """Continue every prompt by `steps` tokens.

    lengths: row b's prompt is its first `lengths[b]` tokens; its continuation follows at once, and
    the row ends with `end` or 0. end: a row that has written this token writes no other.

    Greedy without `temperature`, or with 0; a positive one samples and needs a `seed`, from which
    each row gets its own random numbers. The cache changes the cost of a step and not the result.

    capacity: keep keys and values in a `StaticCache` of so many positions. All steps are then one
    graph for a compiler, `decoder.extend = torch.compile(decoder.extend, fullgraph=True)`.

    >>> from attention_to_rope import Architecture
    >>> model = Decoder(5, Architecture(d=8, heads=2, layers=1), seed=0)
    >>> generate(model, torch.tensor([[1, 2]]), 3).shape
    torch.Size([1, 5])
    """
    _check_temperature(temperature)
    check_at_least("steps", steps, 0)
    batch, width = prompt.shape
    choose = partial(sample_token, temperature=temperature, top_k=top_k, top_p=top_p)
    uniform = _uniform(seed, temperature, batch, steps).to(prompt.device)  # (b, steps)
    fill = 0 if end is None else end  # what a row that has ended goes on with
    tokens, padding = _aligned(prompt, lengths, steps, fill)  # (b, width + steps) and (b)
    known = None if memory is None else decoder.remember(memory)
    options: dict[str, Any] = {"memory": known, "memory_mask": memory_mask}
    caches = _empty_caches(decoder, batch, width + steps, capacity, use_cache)
    start = 0  # how many tokens the caches hold
    ended = torch.zeros(batch, dtype=torch.bool, device=prompt.device)
    for length in range(width, width + steps):
        if not use_cache:
            caches = decoder.empty_caches()
            start = 0
        if lengths is not None:
            options |= _without_padding(padding, caches[0].total(length - start))
        logits, caches = decoder.extend(tokens[:, start:length], caches, **options)
        start = length
        chosen = choose(logits[:, -1], uniform[:, length - width, None])  # (b)
        tokens[:, length] = torch.where(ended, fill, chosen)
        if end is not None:
            ended = ended | (tokens[:, length] == end)
            if bool(ended.all()):
                break
    return _moved_back(tokens, padding, fill)


def _empty_caches(
    decoder: Decoder, batch: int, total: int, capacity: int | None, use_cache: bool
) -> Sequence[Cache]:
    """Caches for so many tokens: those that grow, or of fixed size if a capacity is given."""
    if capacity is None:
        return decoder.empty_caches(capacity=total)
    if capacity < total:
        raise ValueError(
            f"prompt and steps are {total} tokens, which a capacity of {capacity} does not hold"
        )
    if not use_cache:
        raise ValueError("capacity is that of a cache, which use_cache=False leaves out")
    return decoder.static_caches(batch, capacity=capacity)


def _aligned(
    prompt: Integer[Tensor, "b n"], lengths: Integer[Tensor, " b"] | None, steps: int, fill: int
) -> tuple[Integer[Tensor, "b total"], Integer[Tensor, " b"]]:
    """Prompts with room for `steps` tokens, and how far each was moved to the right.

    They all end at the same slot, so that all rows continue there.
    """
    width = prompt.shape[1]
    if width == 0:
        raise ValueError("prompt must have at least one token, such as that of the start of a text")
    padding = torch.zeros_like(prompt[:, 0])  # (b)
    if lengths is not None:
        check_range("lengths", lengths, 1, width)  # beyond, the prompt itself would be rewritten
        padding = width - lengths
    tokens = _moved(prompt.long(), padding)  # (b, n)
    return functional.pad(tokens, (0, steps), value=fill), padding


def _without_padding(padding: Integer[Tensor, " b"], keys: int) -> dict[str, Tensor]:
    """Positions that count from the first token of each row, and a mask that hides the padding."""
    positions = torch.arange(keys, device=padding.device) - padding[:, None]  # (b, keys)
    mask = (positions >= 0).unsqueeze(1)  # (b, 1, keys)
    return {"mask": mask, "positions": positions.clamp_min(0)}


def _moved_back(
    tokens: Integer[Tensor, "b n"], padding: Integer[Tensor, " b"], fill: int
) -> Integer[Tensor, "b n"]:
    """Every row moved to the left by its padding, with what it does not use at its end."""
    total = tokens.shape[1]
    slots = torch.arange(total, device=tokens.device)
    unused = slots >= total - padding[:, None]  # (b, n)
    return _moved(tokens, -padding).masked_fill(unused, fill)


def _moved(rows: Integer[Tensor, "b n"], by: Integer[Tensor, " b"]) -> Integer[Tensor, "b n"]:
    """Each row moved to the right; what comes in repeats the first or the last entry."""
    width = rows.shape[1]
    columns = torch.arange(width, device=rows.device) - by[:, None]  # (b, n)
    return rows.gather(1, columns.clamp(0, width - 1))


def _uniform(seed: Seed | None, temperature: float | None, batch: int, steps: int) -> Tensor:
    """A stream of uniform numbers in [0, 1) for every row, (b, steps); zeros if it is greedy."""
    if temperature is None and seed is not None:
        raise ValueError("seed belongs to sampling: give a temperature, or leave out the seed")
    if temperature is None or temperature == 0:
        return torch.zeros(batch, steps, dtype=torch.float64)
    if seed is None:
        raise ValueError(f"sampling at temperature {temperature} needs a seed")
    numbers = np.empty((batch, steps))
    for row, stream in enumerate(stream_of(seed, "generate").spawn(batch)):
        numbers[row] = stream.random(steps)
    return torch.from_numpy(numbers)


def _check_temperature(temperature: float | None) -> None:
    """Raise unless it is left out, 0 or a positive number; NaN and infinity are refused."""
    if temperature is not None and not 0 <= temperature < math.inf:
        raise ValueError(f"temperature must be 0 (greedy) or a positive number, got {temperature}")
