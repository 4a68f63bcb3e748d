"""Continue prompts token by token: greedily or by sampling, with a cache or without."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from attention_to_rope.checks import (
    check_count,
    check_flag,
    check_float,
    check_integers,
    check_positive,
    check_same_device,
)
from attention_to_rope.key_value_cache import KeyValueCache
from attention_to_rope.layers import Seed, stream_of
from attention_to_rope.masks import padding_mask
from attention_to_rope.scaled_dot_product import softmax
from attention_to_rope.transformer import Decoder, check_tokens


def keep_top_k(logits: Tensor, k: int) -> Tensor:
    """The k largest logits of each row, −inf elsewhere; equals of the k-th stay. (B, V) → (B, V)

    >>> keep_top_k(torch.tensor([[1.0, 3.0, 2.0]]), 2)
    tensor([[-inf, 3., 2.]])
    """
    _check_logits(logits)
    check_count("k", k)
    smallest = logits.topk(min(k, logits.shape[-1])).values[:, -1:]
    return logits.masked_fill(logits < smallest, -torch.inf)


def keep_top_p(logits: Tensor, p: float) -> Tensor:
    """The fewest most likely tokens whose weights reach p, −inf elsewhere. (B, V) → (B, V)

    A token stays if those before it, sorted by weight, sum to less than p: at least one does.

    >>> keep_top_p(torch.tensor([[0.5, 0.3, 0.2]]).log(), 0.6).isfinite()
    tensor([[ True,  True, False]])
    """
    _check_logits(logits)
    check_positive("p", p)
    if p > 1:
        raise ValueError(f"p must be at most 1, got {p}")
    ordered, order = logits.sort(descending=True, stable=True)
    weights = softmax(ordered.double())
    before = weights.cumsum(-1) - weights
    stays = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, before < p)
    return logits.masked_fill(~stays, -torch.inf)


def sample_token(
    logits: Tensor,
    temperature: float,
    rng: np.random.Generator,
    *,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """Draw one token per row with weights softmax(logits / temperature). (B, V) → (B,)

    One uniform number per row, by NumPy, finds the token where the summed weights pass it. `top_k`
    and `top_p` leave the most likely tokens only, see `keep_top_k` and `keep_top_p`.
    """
    _check_logits(logits)
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"rng must be a NumPy generator such as np.random.default_rng(0), got "
            f"{type(rng).__name__}"
        )
    choice = Choice(temperature, top_k, top_p)
    uniform = torch.from_numpy(rng.random((logits.shape[0], 1))).to(logits.device)
    tokens, sound = choice.draw(logits, uniform)
    if not bool(sound.all()):
        raise ValueError(_UNSOUND)
    return tokens


_UNSOUND = (
    "logits must have a finite largest entry in every row, got NaN, +inf or −inf throughout: there "
    "is no token to choose"
)


@dataclass(frozen=True)
class Choice:
    """How a token is chosen from logits: greedily without a temperature, else by sampling."""

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None

    def __post_init__(self) -> None:
        if self.temperature is not None:
            check_positive("temperature", self.temperature)
        elif self.top_k is not None or self.top_p is not None:
            raise ValueError(
                f"top_k and top_p belong to sampling: give a temperature; got top_k={self.top_k} "
                f"and top_p={self.top_p} without"
            )
        if self.top_k is not None:
            check_count("top_k", self.top_k)
        if self.top_p is not None:
            check_positive("top_p", self.top_p)

    def draw(self, logits: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor]:
        """The token of each row (B,), and whether its logits allow a choice (B,).

        logits (B, V), uniform (B, 1) in [0, 1).
        """
        sound = logits.amax(-1).isfinite()  # NaN and +inf show in the largest, −inf if all are
        if self.temperature is None:
            return logits.argmax(-1), sound
        scaled = logits.double() / self.temperature
        scaled = scaled if self.top_k is None else keep_top_k(scaled, self.top_k)
        scaled = scaled if self.top_p is None else keep_top_p(scaled, self.top_p)
        summed = softmax(scaled).cumsum(-1)
        # Scaled by the last sum, which rounding leaves a little off 1: no token past the end.
        tokens = torch.searchsorted(summed, uniform * summed[:, -1:], right=True).squeeze(-1)
        # Where nothing can be chosen the caller is told; until then the token has to exist.
        return torch.where(sound, tokens, 0), sound


@torch.no_grad()
def generate(
    decoder: Decoder,
    prompt: Tensor,
    steps: int,
    *,
    lengths: Tensor | None = None,
    end: int | None = None,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: Seed | None = None,
    memory: Tensor | None = None,
    memory_mask: Tensor | None = None,
    use_cache: bool = True,
) -> Tensor:
    """Continue prompt (B, N) by `steps` tokens → (B, N + steps).

    lengths (B,): row b's prompt is its first `lengths[b]` tokens; its continuation follows at once,
    and the row ends with `end` or 0. end: a row that has written this token writes no other.

    Greedy without `temperature`; with it, tokens are sampled and `seed` is needed. Every row has
    its own stream of random numbers: its sample does not depend on its neighbours. With or without
    the cache the result is the same; with it each step costs one position instead of all.
    """
    _check_generation(decoder, prompt, steps, lengths, end)
    check_flag("use_cache", use_cache)
    choice = Choice(temperature, top_k, top_p)
    if (temperature is None) != (seed is None):
        raise ValueError(
            f"sampling needs both temperature and seed, greedy generation neither; got "
            f"temperature={temperature} and seed={seed}"
        )
    batch = prompt.shape[0]
    # All numbers of all steps at once: nothing has to travel to the device while it works.
    uniform = _uniform(seed, batch, steps).to(prompt.device)
    state = _Generation(decoder, prompt, steps, lengths, end, memory, memory_mask)
    sound = torch.ones(batch, dtype=torch.bool, device=prompt.device)
    for step in range(steps):
        logits = state.next_logits(step, use_cache)
        new, fine = choice.draw(logits, uniform[:, step : step + 1])
        sound &= fine
        state.write(step, new)
        if end is not None and bool(state.ended.all()):
            break
    if not bool(sound.all()):
        raise ValueError(_UNSOUND)
    return state.tokens


class _Generation:
    """The tokens written so far and the caches behind them."""

    def __init__(
        self,
        decoder: Decoder,
        prompt: Tensor,
        steps: int,
        lengths: Tensor | None,
        end: int | None,
        memory: Tensor | None,
        memory_mask: Tensor | None,
    ) -> None:
        batch, self.width = prompt.shape
        self.decoder, self.end, self.steps = decoder, end, steps
        self.prompt, self.lengths, self.memory_mask = prompt, lengths, memory_mask
        # The memory is the same at every step: its keys and values are computed once.
        self.memory = None if memory is None else decoder.remember(memory)
        fill = 0 if end is None else end
        self.tokens = prompt.new_full((batch, self.width + steps), fill)
        self.tokens[:, : self.width] = prompt
        if lengths is not None:
            keep = padding_mask(lengths, self.width)[:, 0]
            self.tokens[:, : self.width].masked_fill_(~keep, fill)
        self.ended = torch.zeros(batch, dtype=torch.bool, device=prompt.device)
        self.caches: list[KeyValueCache] = []
        self.rows = torch.arange(batch, device=prompt.device)

    def next_logits(self, step: int, use_cache: bool) -> Tensor:
        """The logits (B, V) of the token that comes next."""
        if not use_cache:
            seen = self.tokens[:, : self.width + step]
            logits = self.decoder(seen, memory=self.memory, memory_mask=self.memory_mask)
            return self._last(logits, step)
        length = self.width + step
        if step == 0 or self.decoder.changes(length - 1, length):
            self.caches = self.decoder.empty_caches(capacity=self.width + self.steps)
            logits = self._extend(self.tokens[:, :length], step)
            return self._last(logits, step)
        new = self.tokens[:, length - 1 : length]
        if self.lengths is not None:
            new = self.tokens[self.rows, self.lengths + step - 1].unsqueeze(-1)
        return self._extend(new, step)[:, -1]

    def _last(self, logits: Tensor, step: int) -> Tensor:
        """The logits at the last token of each row."""
        return logits[:, -1] if self.lengths is None else logits[self.rows, self.lengths + step - 1]

    def _extend(self, new: Tensor, step: int) -> Tensor:
        mask = positions = None
        if self.lengths is not None:
            # Rows of unequal prompts go on at slot N of the cache: the slots between are unseen.
            slots = torch.arange(self.width + step, device=new.device)
            shift = (self.width - self.lengths).unsqueeze(-1)
            positions = torch.where(slots < self.width, slots, slots - shift)
            mask = (slots < self.lengths.unsqueeze(-1)) | (slots >= self.width)
            mask = mask.unsqueeze(1)
        logits, self.caches = self.decoder.extend(
            new,
            self.caches,
            memory=self.memory,
            memory_mask=self.memory_mask,
            mask=mask,
            positions=positions,
        )
        return logits

    def write(self, step: int, new: Tensor) -> None:
        """Put the new token of each row after its last, or `end` where the row has ended."""
        if self.end is not None:
            new = torch.where(self.ended, self.end, new)
            self.ended |= new == self.end
        new = new.to(self.tokens.dtype)
        if self.lengths is None:
            self.tokens[:, self.width + step] = new
        else:
            self.tokens[self.rows, self.lengths + step] = new


def _uniform(seed: Seed | None, batch: int, steps: int) -> Tensor:
    """A stream of its own for every row: (B, steps) in [0, 1)."""
    if seed is None:
        return torch.zeros(batch, steps, device="cpu")
    streams = stream_of(seed, "generate").spawn(batch)
    drawn = np.array([stream.random(steps) for stream in streams]).reshape(batch, steps)
    return torch.from_numpy(drawn)


def _check_logits(logits: Tensor) -> None:
    check_float("logits", logits)
    if logits.ndim != 2 or logits.shape[1] == 0:
        raise ValueError(
            f"logits must have shape (B, V) with V ≥ 1, got {tuple(logits.shape)}; of a sequence "
            "take logits[:, -1]"
        )


def _check_generation(
    decoder: Decoder, prompt: Tensor, steps: int, lengths: Tensor | None, end: int | None
) -> None:
    if not isinstance(decoder, Decoder):
        raise TypeError(
            f"decoder must be a Decoder, got {type(decoder).__name__}; of an EncoderDecoder take "
            "its decoder, with memory=model.encoder(source)"
        )
    check_count("steps", steps, at_least=0)
    check_tokens(prompt, name="prompt")
    vocabulary = decoder.embedding.rows.shape[0]
    check_integers("prompt", prompt, 0, vocabulary - 1)
    if end is not None:
        check_count("end", end, at_least=0)
        if end >= vocabulary:
            raise ValueError(f"end must be a token below {vocabulary}, got {end}")
    if lengths is None:
        return
    check_integers("lengths", lengths, 1, prompt.shape[1])
    check_same_device("prompt", prompt, "lengths", lengths)
    if tuple(lengths.shape) != (prompt.shape[0],):
        raise ValueError(
            f"lengths must have shape ({prompt.shape[0]},), one per prompt; got "
            f"{tuple(lengths.shape)}"
        )
    if decoder.depends_on_length:
        raise ValueError(
            "prompts of unequal length cannot share a batch when the positional scheme depends on "
            "the length: generate them one by one"
        )
