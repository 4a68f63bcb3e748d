"""Wrong functions that the doctor names, of queries, keys, positions, precision and formula.

And right ones, called or written in unusual ways, about which it says nothing bad.
"""

import math
from functools import cache, partial

import numpy as np
import pytest
import rotations
import torch
from rotations import with_table
from torch import nn

import attention_to_rope as book
from attention_to_rope.context_extension import yarn, yarn_attention_factor
from rope_doctor import examine

DIM = 32
HALF = DIM // 2
THETA = book.rotary_frequencies(DIM)
EXPONENTS = torch.arange(0, DIM, 2).double() / DIM
rope = partial(rotations.rope, theta=THETA)


def of_keys(change=lambda x, m: (x, m), **options):
    """Right queries, and keys whose vectors, positions or settings are changed."""

    def function(q, k, positions):
        keys, at = change(k, positions)
        return rope(q, positions), rope(keys, at, **options)

    return function


def at(change):
    """A function of one vector whose positions are changed."""
    return lambda x, positions: rope(x, change(positions))


def with_theta(theta):
    return lambda x, positions: rope(x, positions, theta=theta)


def keys_rounded(q, k, positions):
    return rope(q, positions), rope(k, positions).bfloat16().to(k.dtype)


def keys_counted_from_zero(q, k, positions):
    return rope(q, positions), rope(k, torch.arange(k.shape[2]))


def keys_alone_at_zero(q, k, positions):
    return rope(q, positions), rope(k, positions if k.shape[2] > 1 else 0 * positions)


def keys_scaled(q, k, positions):
    return rope(q, positions), 2 * rope(k, positions)


def queries_for_both(q, k, positions):
    return rope(q, positions), rope(q, positions)


def exchanged(q, k, positions):
    return rope(k, positions), rope(q, positions)


def grouped_keys(q, k, positions):
    rotated = rope(k, positions)
    if k.shape[1] < q.shape[1]:
        rotated = rope(k, positions + 1)
    return rope(q, positions), rotated


def alone_at_zero(x, positions):
    return rope(x, positions if x.shape[2] > 1 else 0 * positions)


def first_and_count(x, positions):
    return rope(x, positions.flatten()[0] + torch.arange(x.shape[2]))


def in_the_vectors_dtype(x, positions):
    angles = positions[..., None].to(x.dtype) * THETA.to(x.dtype)
    return with_table(x, angles.cos().float(), angles.sin().float())


def bfloat16_products(x, positions):
    angles = (positions[..., None] * THETA).bfloat16().float()
    return with_table(x, angles.cos(), angles.sin())


def sine_in_bfloat16(x, positions):
    cos, sin = book.rotary_table(positions, THETA)
    return with_table(x, cos, sin.bfloat16().float())


def three_decimals(x, positions):
    cos, sin = book.rotary_table(positions, THETA)
    return with_table(x, cos.round(decimals=3), sin.round(decimals=3))


def overwritten(x, positions):
    cos, sin = book.rotary_table(positions, THETA)
    x_a, x_b = x[..., :HALF], x[..., HALF:]
    x_a.copy_(x_a * cos - x_b * sin)
    x_b.copy_(x_a * sin + x_b * cos)
    return x


def rest_is_lost(x, positions):
    y = rope(x, positions, theta=book.rotary_frequencies(HALF), rotary_dim=HALF)
    y[..., HALF:] = 0
    return y


def longer_queries(q, k, positions):
    return rope(q, positions) * (1 + positions / 1000).float()[..., None], rope(k, positions)


def other_sign_in_slow_pairs(x, positions):
    cos, sin = book.rotary_table(positions, THETA)
    return with_table(x, cos, torch.cat((sin[..., :10], -sin[..., 10:]), -1))


class Grows(nn.Module):
    """Frequencies that stay changed after a long text."""

    def __init__(self):
        super().__init__()
        self.longest = 0

    def forward(self, x, positions):
        self.longest = max(self.longest, int(positions.max()))
        return rope(x, positions, theta=THETA if self.longest < 4096 else THETA / 2)


def in_int8(x, positions):
    cos, sin = ((part * 127).round() / 127 for part in book.rotary_table(positions, THETA))
    return with_table(x, cos, sin)


def in_int16(x, positions):
    cos, sin = ((part * 32767).round() / 32767 for part in book.rotary_table(positions, THETA))
    return with_table(x, cos, sin)


def more_keys(q, k, positions):
    part = rope(q, positions, theta=book.rotary_frequencies(HALF), rotary_dim=HALF)
    return part, rope(k, positions)


def table_of_rounded_angles(x, positions):
    angles = (positions[..., None] * book.rotary_frequencies(DIM, 5e5)).bfloat16()
    return with_table(x, angles.cos().float(), angles.sin().float())


def lengths_for_angles(x, positions):
    angles = (positions[..., None] * THETA).float()
    return with_table(x, angles * math.cos(1), angles * math.sin(1))


def cosine_twice(x, positions):
    cos, sin = book.rotary_table(positions, THETA)
    smaller = x * torch.cat((cos, cos), -1)
    return smaller + torch.cat((-smaller[..., HALF:], smaller[..., :HALF]), -1) * sin.repeat(1, 2)


def mirrored(x, positions):
    cos, sin = (part.repeat(1, 2) for part in book.rotary_table(positions, THETA))
    sign = torch.ones(DIM)
    sign[:HALF] = -1
    return x * cos + x.flip(-1) * sign * sin


def rest_first(x, positions):
    rotated = rope(x[..., :HALF], positions, theta=book.rotary_frequencies(HALF))
    return torch.cat((x[..., HALF:], rotated), -1)


def halves_of_heads_exchanged(q, k, positions):
    keys = rope(k, positions)
    return rope(q, positions), keys.roll(keys.shape[1] // 2, 1)


def first_key_head(q, k, positions):
    return rope(q, positions), torch.cat((rope(k[:, :1], positions), k[:, 1:]), 1)


def padding_backwards(x, positions):
    repeats = len(set(positions.flatten().tolist())) < positions.numel()
    return rope(x, positions.flip(-1) if repeats else positions)


def row_as_position(q, k, position_ids):
    rows = torch.arange(len(q))[:, None, None]
    cos, sin = (part.reshape(-1, 1, 1, HALF) for part in book.rotary_table(rows, THETA))
    return with_table(q, cos, sin), with_table(k, cos, sin)


class Counts(nn.Module):
    """Positions that go on from call to call."""

    def __init__(self):
        super().__init__()
        self.seen = 0

    def next_positions(self, count):
        self.seen += count
        return torch.arange(self.seen - count, self.seen)

    def forward(self, x):
        return rope(x, self.next_positions(x.shape[-2]))


class CountsBoth(Counts):
    """The same for queries and keys of one call."""

    def forward(self, q, k):
        positions = self.next_positions(q.shape[-2])
        return rope(q, positions), rope(k, positions)


def wrong_section():
    theta = THETA.clone()
    theta[5:8] = THETA[6:9]
    return theta


def pages(x, positions):
    return rope(x, positions // 16 * 16)


def zero_is_padding(q, k, positions):
    at = positions.masked_fill(positions == 0, 1)
    return rope(q, at), rope(k, at)


def zero_is_far_padding(x, positions):
    return rope(x, positions.masked_fill(positions == 0, 5))


def one_too_early(x, positions):
    return rope(x, (positions - 1).clamp_min(0))


def sines_of_512_steps(x, positions):
    steps = (positions[..., None] * THETA * (512 / (2 * math.pi))).round()
    angles = steps * (2 * math.pi / 512)
    return with_table(x, angles.cos().float(), angles.sin().float())


def heads_as_one_vector(x, positions):
    batch, heads, length, dim = x.shape
    merged = x.transpose(1, 2).reshape(batch, 1, length, heads * dim)
    turned = rope(merged, positions, theta=book.rotary_frequencies(heads * dim))
    return turned.reshape(batch, length, heads, dim).transpose(1, 2)


def reshaped_keys(q, k, positions):
    batch, heads, length, dim = k.shape
    keys = rope(k.reshape(batch, length, heads, dim).transpose(1, 2), positions)
    return rope(q, positions), keys.transpose(1, 2).reshape(k.shape)


def offset_times_length(x, offset=0):
    length = x.shape[-2]
    return rope(x, torch.arange(length) + offset * length)


def padded_table(x, positions):
    cos, sin = book.rotary_table(positions, book.rotary_frequencies(HALF))
    rest = torch.ones(*cos.shape[:-1], HALF)
    cos, sin = torch.cat((cos, cos, rest), -1), torch.cat((sin, sin, 0 * rest), -1)
    return x * cos + torch.cat((-x[..., HALF:], x[..., :HALF]), -1) * sin


def fast_pairs_of_a_table(q, k, cos, sin):
    fast = torch.arange(DIM) % HALF < HALF - 1
    cos, sin = torch.where(fast, cos, 1.0), sin * fast
    return apply(q, cos, sin), apply(k, cos, sin)


def factor_on_cos(x, positions):
    cos, sin = book.rotary_table(positions, THETA)
    return with_table(x, 1.2 * cos, sin)


def factor_on_sin(x, positions):
    cos, sin = book.rotary_table(positions, THETA)
    return with_table(x, cos, 0.8 * sin)


def rows_of_a_transposed_view(x):
    batch, _, length, _ = x.shape
    return rope(x, torch.arange(batch * length).view(length, batch).T[:, None])


def rows_of_one_text(x):
    batch, _, length, _ = x.shape
    return rope(x, torch.arange(batch * length).view(batch, 1, length))


def tiled_rows(x, positions):
    """Rows and heads in one axis; each head takes the table of the row that the tiling gives it."""
    if positions.ndim == 1:
        return rope(x, positions)
    batch, heads, length, dim = x.shape
    cos, sin = (part.tile(heads, 1, 1) for part in book.rotary_table(positions, THETA))
    a, b = x.reshape(batch * heads, length, dim).chunk(2, -1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1).reshape(x.shape)


def last_row_for_all(x, positions):
    return rope(x, positions if positions.ndim == 1 else positions[-1])


def tokens_as_heads(q, k, positions):
    """Keys (b, n, h, d) are given another shape where two axes should be exchanged."""

    def one(x, change):
        return change(rope(change(x), positions))

    batch, length, heads, dim = k.shape
    other = k.reshape(batch, heads, length, dim)
    return (
        one(q, lambda x: x.transpose(1, 2)),
        rope(other, positions).reshape(k.shape),
    )


def keys_partly_of_queries(q, k, positions):
    return rope(q, positions), rope(torch.cat((q[..., :HALF], k[..., HALF:]), -1), positions)


def sum_for_both(q, k, positions):
    return rope(q + k, positions), rope(q - k, positions)


def one_vector_of_neighbours(x, positions):
    batch, length, heads, dim = x.shape
    theta = book.rotary_frequencies(heads * dim)
    flat = x.reshape(batch, 1, length, heads * dim)
    return rope(flat, positions, theta=theta, layout="interleaved").reshape(x.shape)


class Swells(nn.Module):
    """A table that is multiplied once more in each call."""

    def __init__(self, factor):
        super().__init__()
        self.size, self.factor = 1.0, factor

    def forward(self, q, k, positions):
        self.size *= self.factor
        return rope(q, positions), self.size * rope(k, positions)


class FilledOnce(nn.Module):
    """Rows of a table that are written in the first call alone."""

    def __init__(self):
        super().__init__()
        self.cos, self.sin = torch.zeros(2, 9000, HALF).unbind(0)
        self.filled = 0

    def forward(self, x, pos):
        if not self.filled:
            self.filled = len(pos.flatten().unique())
            rows = torch.arange(self.filled)
            self.cos[: self.filled], self.sin[: self.filled] = book.rotary_table(rows, THETA)
        return with_table(x, self.cos[pos], self.sin[pos])


def zeros_far_out(x, positions):
    cos, sin = book.rotary_table(positions, THETA)
    inside = (positions < 1000).float()[..., None]
    return with_table(x, cos * inside, sin * inside)


def offset_without_length(x, offset):
    length = x.shape[-2]
    return rope(x, torch.arange(length) + max(offset - length, 0))


def offset_with_length(q, k, start_pos):
    rows = torch.arange(k.shape[-2])
    return rope(q, start_pos + rows), rope(k, start_pos + len(rows) + rows)


def index_in_int16(x, positions):
    rows = torch.arange(5000)
    cos, sin = (part.flatten() for part in book.rotary_table(rows, THETA))
    index = positions.short()[..., None] * torch.tensor(HALF).short() + torch.arange(HALF).short()
    return with_table(x, cos[index.long()], sin[index.long()])


def table_from_one(x, positions):
    cos, sin = book.rotary_table(torch.arange(9000), THETA)
    return with_table(x, cos[positions - 1], sin[positions - 1])


def last_of_each_document(x, positions):
    """A document's first token takes the position after the document before it."""
    before = torch.cat((positions[:1] * 0 - 1, positions[:-1]))
    starts = (positions == 0) & (before > 0)
    return rope(x, torch.where(starts, before + 1, positions))


def new_documents_at_seven(x, positions):
    starts = (positions == 0) & (torch.arange(len(positions)) > 0)
    return rope(x, torch.where(starts, 0.5, positions.double()))


def first_and_count_of_tokens(x, positions):
    """Vectors (b, n, h, d)."""
    rows = positions.flatten()[0] + torch.arange(x.shape[1])
    return rope(x.transpose(1, 2), rows).transpose(1, 2)


def first_and_count_of_positions(x, positions):
    """Vectors (b, n, h, d); as many positions as tokens."""
    rows = positions.flatten()[0] + torch.arange(positions.shape[-1])
    return rope(x.transpose(1, 2), rows).transpose(1, 2)


def upper_heads_backwards(q, k, positions):
    keys = [rope(k[:, h : h + 1], positions, sign=1 - 2 * (h % 2)) for h in range(k.shape[1])]
    return rope(q, positions), torch.cat(keys, 1)


def some_tokens(q, k, positions):
    half = (k.shape[2] + 1) // 2
    early = rope(k[:, :, :half], positions[..., :half])
    return rope(q, positions), torch.cat((early, k[:, :, half:]), 2)


def in_rising_order(x, positions):
    return rope(x, positions.sort(-1).values)


def start_twice(x, positions):
    return rope(x, positions + positions.flatten()[0])


def from_the_end(x, positions):
    return rope(x, positions.max() - positions)


def in_the_type_of_vectors(words):
    """A function that makes positions or frequencies numbers of the vectors' type."""

    def function(x, positions):
        theta = THETA
        if "positions" in words:
            positions = positions.to(x.dtype).double()
        if "frequencies" in words:
            theta = theta.to(x.dtype).double()
        return rope(x, positions, theta=theta)

    return function


def of_vllm_in_bfloat16(positions, query, key):
    """Tokens of all texts in one axis, and a table in bfloat16."""

    def one(x):
        heads = x.view(positions.shape[0], -1, DIM)
        cos, sin = (part.bfloat16()[:, None] for part in book.rotary_table(positions, THETA))
        a, b = heads.chunk(2, -1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1).to(x.dtype).reshape(x.shape)

    return one(query), one(key)


@cache
def table_of_steps():
    first = torch.polar(torch.ones(HALF, dtype=torch.float64), THETA)
    steps = [torch.ones(HALF, dtype=torch.complex128)]
    for _ in range(1200):
        turned = steps[-1] * first * 1.0002
        steps.append(torch.complex(turned.real.half().double(), turned.imag.half().double()))
    return torch.stack(steps)


def step_by_step(x, positions):
    """cos and sin of each position from those of the one before, in float16."""
    table = table_of_steps()[positions]
    return with_table(x, table.real.float(), table.imag.float())


def mirrored_pairs(which):
    def function(x, positions):
        cos, sin = book.rotary_table(positions, THETA)
        a, b = x.chunk(2, -1)
        if which == "first":
            return torch.cat((-a * cos - b * sin, b * cos - a * sin), -1)
        return torch.cat((a * cos - b * sin, a * sin - b * cos), -1)

    return function


def root_of_the_other(name):
    def function(x, positions):
        cos, sin = book.rotary_table(positions, THETA)
        if name == "cos":
            return with_table(x, (1 - sin**2).clamp_min(0).sqrt(), sin)
        return with_table(x, cos, (1 - cos**2).clamp_min(0).sqrt())

    return function


def keys_at_the_last_position(q, k, positions):
    return rope(q, positions), rope(k, positions.amax(-1, keepdim=True))


def all_at_the_first_position(x, positions):
    return rope(x, positions[..., :1])


def keys_moved_by_rows(q, k, positions):
    return rope(q, positions), rope(k, positions + len(k) - 1)


class KeptByLength(nn.Module):
    """Angles of the first call of each length."""

    def __init__(self):
        super().__init__()
        self.kept = {}

    def forward(self, x, positions):
        return rope(x, self.kept.setdefault(positions.shape[-1], positions))


def whole_degrees(x, positions):
    angles = positions[..., None].float() * THETA.float()
    angles = (angles * (180 / math.pi)).round() * (math.pi / 180)
    return with_table(x, angles.cos(), angles.sin())


def between_sines(x, positions):
    """Lines between 12 sines of a turn, brought back to length 1."""
    places = positions[..., None] * THETA * (12 / (2 * math.pi))
    share = places - places.floor()
    ends = [(places.floor() + step) * (2 * math.pi / 12) for step in (0, 1)]
    cos = ends[0].cos() * (1 - share) + ends[1].cos() * share
    sin = ends[0].sin() * (1 - share) + ends[1].sin() * share
    length = torch.hypot(cos, sin)
    cos, sin = cos / length, sin / length
    return with_table(x, cos.float(), sin.float())


def short_period(period):
    def function(x, positions):
        angles = (positions[..., None] * THETA).remainder(period)
        return with_table(x, angles.cos().float(), angles.sin().float())

    return function


def ratio_in_bfloat16():
    ratio = torch.tensor(10000.0 ** (-1 / HALF)).bfloat16().double()
    return with_theta(ratio ** torch.arange(HALF))


# What the report says → the wrong functions.
NAMED = {
    "its heads are rotated by the positions of rows [0, 1, 0]": [tiled_rows],
    "the queries of row 0 differ; they are rotated by the positions of row 1": [last_row_for_all],
    "is rotated as position (8m + h) % 5: heads and tokens are scrambled": [tokens_as_heads],
    "mixed up: the rotated keys depend on the queries too": [keys_partly_of_queries],
    "depend on the keys too, and the rotated keys depend on the queries too": [sum_for_both],
    "queries and keys are exchanged": [exchanged],
    "frequencies go on from head to head": [one_vector_of_neighbours],
    "equal calls give the keys 1.25 times as long": [Swells(1.25)],
    "equal calls give the keys 0.5 times as long": [Swells(0.5)],
    "it is filled as far as the first call needs": [FilledOnce()],
    "vectors vanish: rotated vectors are zero from position 1,001 on": [zeros_far_out],
    "the number of tokens is subtracted from the offset": [offset_without_length],
    "the keys of chunks of 2, 3 and 5 tokens from position 12 on begin as": [offset_with_length],
    "read from the end of a table of 5,000 rows": [index_in_int16],
    "as the last row of a table that is read at −1": [table_from_one],
    "of the first token of each later document are rotated otherwise": [
        last_of_each_document,
        new_documents_at_seven,
    ],
    "if your vectors are (b, h, n, d), heads are taken as positions": [first_and_count_of_tokens],
    "the last 2 of 4 tokens come back as they were given": [some_tokens],
    "positions sorted": [in_rising_order],
    "packed documents and left padding need each position. Repair": [first_and_count_of_positions],
    "head 2 is right; head 3 is rotated otherwise": [upper_heads_backwards],
    "all keys of a call are rotated alike, by the position of the last": [
        keys_at_the_last_position
    ],
    "all queries of a call are rotated alike, by the position of the first": [
        all_at_the_first_position
    ],
    "of the keys are rotated as [2, 3, 4, 5, 6] in row 0": [keys_moved_by_rows],
    "repeats the angles of an earlier one of the same length": [KeptByLength()],
    "angles are rounded to multiples of 2π/360": [whole_degrees],
    "angles are off: by up to": [between_sines],
    "the first position is added twice": [start_twice],
    "position m is rotated as n − 1 − m": [from_the_end],
    "positions take the type of the vectors": [in_the_type_of_vectors("positions")],
    "frequencies take the type of the vectors": [in_the_type_of_vectors("frequencies")],
    "cos and sin hold torch.bfloat16 numbers": [of_vllm_in_bfloat16],
    "table drifts: lengths are right near position 0": [step_by_step],
    "the first dimension of each pair takes −cos": [mirrored_pairs("first")],
    "the second dimension of each pair takes −cos": [mirrored_pairs("second")],
    "cos never changes its sign": [root_of_the_other("cos")],
    "sin never changes its sign": [root_of_the_other("sin")],
    "angles are reduced modulo 6.284": [short_period(2 * 3.142)],
    "angles are reduced modulo 6.2832": [short_period(2 * 3.1416)],
    "angles are reduced modulo 6.28 =": [short_period(6.28)],
    "cos is multiplied by 1.2000, but sin is not": [factor_on_cos],
    "sin is multiplied by 0.8000, but cos is not": [factor_on_sin],
    "positions grow by the number of rows": [rows_of_a_transposed_view],
    "positions go on from row to row": [rows_of_one_text],
    "positions are rounded down to multiples of 16": [pages],
    "position 0 alone is wrong: the queries of position 0 are rotated as position 1": [
        zero_is_padding
    ],
    "the queries of position 0 are rotated as position 5": [zero_is_far_padding],
    "offset 1 too small": [one_too_early],
    "angles are rounded to multiples of 2π/512": [sines_of_512_steps],
    "the heads are rotated as one long vector": [heads_as_one_vector],
    "heads and tokens are scrambled": [reshaped_keys],
    "keys; of 8 heads, head 0 is right; heads 1 to 7 are not rotated": [first_key_head],
    "offset times length": [offset_times_length],
    "the partner is i + 16 in place of i + 8": [padded_table],
    "pairs left out: the slowest 1 of 16 pairs stand still": [fast_pairs_of_a_table],
    "shifted positions: only the keys": [of_keys(lambda x, m: (x, m + 1))],
    "keys are 2 … 2 times as large": [of_keys(lambda x, m: (x, 2 * m))],
    "rotate keys once": [of_keys(lambda x, m: (rope(x, m), m))],
    "factors of queries and keys differ": [keys_scaled, of_keys(factor=1.37)],
    "rounded vectors: only the keys": [keys_rounded],
    "float32 vectors are cast to torch.float16": [lambda x, m: rope(x.half().float(), m)],
    "cos and sin are multiples of 1/32767": [in_int16],
    "rotary dimensions of queries and keys differ: 16 from 0 on, and 32": [more_keys],
    "cos and sin are multiples of 1/127": [in_int8],
    "half angles: products of positions and frequencies are rounded to torch.bfloat16": [
        table_of_rounded_angles
    ],
    "the arguments of torch.polar(length, angle) are exchanged": [lengths_for_angles],
    "the sine multiplies vectors that the cosine has multiplied": [cosine_twice],
    "pairs are mirrored: dimension i meets 31 − i": [mirrored],
    "order of dimensions: the rotated dimensions come back from 16 on": [rest_first],
    "heads change places: head 0 of the keys comes back as head 2": [halves_of_heads_exchanged],
    "rotate differently: keys": [first_key_head],
    "a call goes on where the one before it ended": [Counts(), CountsBoth()],
    "where a position repeats, as in padding, they are read backwards": [padding_backwards],
    "its rows are taken for positions": [row_as_position],
    "clamped positions: only the keys": [of_keys(lambda x, m: (x, m.clamp_max(1500)))],
    "positions modulo 2048: only the keys": [of_keys(lambda x, m: (x, m % 2048))],
    "layouts of queries and keys differ": [of_keys(layout="interleaved")],
    "frequencies of queries and keys differ": [of_keys(theta=book.rotary_frequencies(DIM, 5e5))],
    "those of the keys are rounded to torch.bfloat16": [of_keys(theta=THETA.bfloat16().double())],
    "rotary dimensions of queries and keys differ": [
        of_keys(theta=book.rotary_frequencies(HALF), rotary_dim=HALF)
    ],
    "positions ignored: the keys": [keys_counted_from_zero],
    "single-token decoding: the keys": [keys_alone_at_zero],
    "one for both": [queries_for_both],
    "grouped keys": [grouped_keys],
    "single-token decoding: the queries": [alone_at_zero],
    "consecutive positions assumed": [first_and_count],
    "positions reversed": [at(lambda m: m.flip(-1))],
    "positions are divided as integers": [at(lambda m: m // 4)],
    "int16": [at(lambda m: m.to(torch.int16).long())],
    "positions modulo 256": [at(lambda m: m.to(torch.uint8).long())],
    "position 33,001 is rotated as position 66,002": [
        at(lambda m: torch.where(m > 20_000, 2 * m, m))
    ],
    "all frequencies are torch.float16 numbers": [with_theta(THETA.half().double())],
    "all frequencies are torch.bfloat16 numbers": [with_theta(THETA.bfloat16().double())],
    "half angles: products": [bfloat16_products],
    "half angles: vectors in torch.bfloat16": [in_the_vectors_dtype],
    "sin holds torch.bfloat16 numbers": [sine_in_bfloat16],
    "cos and sin have 3 decimals": [three_decimals],
    "overwritten": [overwritten],
    "other dimensions: those that do not rotate": [rest_is_lost],
    "length by position: only the queries": [longer_queries],
    "sign of some pairs": [other_sign_in_slow_pairs],
    "earlier calls matter": [Grows()],
    "some pairs are off: 3 pairs, 5 to 7": [with_theta(wrong_section())],
}


def fast_pairs(count, base=1e4):
    theta = book.rotary_frequencies(DIM, base)
    theta[count:] = 0
    return theta


def wavelengths_mixed():
    plain = book.rotary_frequencies(DIM, 5e5)
    kept = ((8192 * plain / (2 * math.pi) - 1) / 3).clamp(0, 1)
    return plain / ((1 - kept) * 8 + kept)


def weights_exchanged():
    plain = book.rotary_frequencies(DIM, 5e5)
    kept = ((8192 * plain / (2 * math.pi) - 1) / 3).clamp(0, 1)
    kept = torch.where((kept > 0) & (kept < 1), 1 - kept, kept)
    return plain * kept + plain / 8 * (1 - kept)


def ramp_reversed():
    plain = book.rotary_frequencies(DIM, 1e6)
    return plain + plain / 4 - yarn(plain, 4.0, original_length=32_768)


def limits_of_half():
    plain = book.rotary_frequencies(DIM, 1e6)
    low, high = (
        HALF * math.log(32_768 / (turns * 2 * math.pi)) / (2 * math.log(1e6)) for turns in (32, 1)
    )
    low, high = math.floor(low), math.ceil(high)
    ramp = ((torch.arange(HALF).double() - low) / (high - low)).clamp(0, 1)
    return plain / 4 * ramp + plain * (1 - ramp)


def limits_exchanged():
    plain = book.rotary_frequencies(DIM, 5e5)
    kept = ((8192 * plain / (2 * math.pi) - 4) / (1 - 4)).clamp(0, 1)
    return plain * kept + plain / 8 * (1 - kept)


# What keeps the doctor from calling it proved → functions whose formula is that of no model.
NOT_PROVED = {
    "the exponent i/d in place of 2i/d": with_theta(10000.0 ** (-EXPONENTS / 2)),
    "exponents that reach 1": with_theta(10000.0 ** -torch.linspace(0, 1, HALF).double()),
    "the exponents start at 1/d": with_theta(10000.0 ** -(EXPONENTS + 1 / DIM)),
    "log10 in place of ln": with_theta(torch.exp(-EXPONENTS * math.log10(10000))),
    "a torch.bfloat16 number; errors of a ratio grow": ratio_in_bfloat16(),
    "the frequencies repeat: the first 8 come 2 times": with_theta(THETA[::2].repeat(2)),
    "each frequency comes 4 times in a row": with_theta(THETA[:4].repeat_interleave(4)),
    "the frequencies do not fall from pair to pair": with_theta(THETA.roll(3)),
    "with the limits of 16 dimensions in place of 32": with_theta(limits_of_half()),
    "as with the two limits exchanged": with_theta(limits_exchanged()),
    "rise from pair to pair": with_theta(THETA.flip(0)),
    "π/180": with_theta(THETA * math.pi / 180),
    "divided by 2π": with_theta(THETA / (2 * math.pi)),
    "rotated twice?": with_theta(2 * THETA),
    "angles are multiplied by 1.5": with_theta(1.5 * THETA),
    "base 1000 is neither": with_theta(book.rotary_frequencies(DIM, 1000.0)),
    "it is what 500000 with 2i/40 in place of 2i/32 gives": with_theta(
        book.rotary_frequencies(40, 5e5)[:HALF]
    ),
    "2i/31 in place of 2i/32 gives; an odd number": with_theta(
        10000.0 ** (-torch.arange(0, DIM, 2).double() / 31)
    ),
    "base 10180.2 is neither": with_theta(book.rotary_frequencies(DIM, 10180.2)),
    "only the fastest of 16 pairs rotates, so there is no base": with_theta(fast_pairs(1)),
    "the slowest 14 of 16 pairs stand still": with_theta(fast_pairs(2)),
    "the slowest 6 of 16 pairs stand still": with_theta(fast_pairs(10)),
    "the slowest 1 of 16 pairs stand still": with_theta(fast_pairs(15)),
    "wavelengths are mixed in place of frequencies": with_theta(wavelengths_mixed()),
    "the weights of the mix are exchanged": with_theta(weights_exchanged()),
    "with its ramp reversed": with_theta(ramp_reversed()),
    "factor 1.5000": lambda x, positions: rope(x, positions, factor=1.5),
    "no rule gives these": with_theta(THETA * torch.linspace(1, 0.3, HALF).double()),
}


@pytest.mark.parametrize(
    ("words", "function"), [(w, f) for w, all_of in NAMED.items() for f in all_of]
)
def test_a_wrong_function_is_named_with_its_repair(words, function):
    report = examine(function, head_dim=DIM)
    assert any(words in text for text in report.faults), report
    assert all("Repair: " in text for text in report.faults)
    assert not report.sound
    assert report.matches == []


@pytest.mark.parametrize("words", NOT_PROVED)
def test_a_formula_of_no_model_is_not_proved(words):
    report = examine(NOT_PROVED[words], head_dim=DIM)
    assert any(words in text for text in report.doubts), report
    assert report.verdict.startswith("not proved")
    assert not report.sound
    assert report.matches == []


def in_float32(x, positions):
    inv_freq = 1.0 / (10000.0 ** (torch.arange(0, DIM, 2).float() / DIM))
    angles = positions[..., None].float() * inv_freq
    return with_table(x, angles.cos(), angles.sin())


def of_vllm(positions, query, key):
    """Positions first, and tokens of all texts in one axis."""

    def one(x):
        heads = x.view(positions.numel(), -1, DIM).transpose(0, 1)
        return rope(heads, positions.flatten()).transpose(0, 1).reshape(x.shape)

    return one(query), one(key)


def of_one_sequence(x, positions):
    _, _ = x.shape
    angles = (positions[:, None] * THETA).float()
    cos = angles.cos().repeat(1, 2)
    sin = angles.sin().repeat(1, 2)
    return x * cos + torch.cat((-x[:, HALF:], x[:, :HALF]), -1) * sin


def of_one_vector(x, m):
    (_,) = x.shape
    angles = (m * THETA).float()
    return torch.cat(
        (
            x[:HALF] * angles.cos() - x[HALF:] * angles.sin(),
            x[:HALF] * angles.sin() + x[HALF:] * angles.cos(),
        )
    )


def without_heads(x, positions):
    _, _, _ = x.shape
    return rope(x, positions)


def of_older_transformers(q, k, cos, sin, position_ids):
    """cos and sin of all positions, of which it chooses."""
    cos, sin = (table[position_ids].unsqueeze(1) for table in (cos, sin))

    def one(x):
        return x * cos + torch.cat((-x[..., HALF:], x[..., :HALF]), -1) * sin

    return one(q), one(k)


def of_angles(t, freqs):
    turned = torch.cat((-t[..., HALF:], t[..., :HALF]), -1)
    return t * freqs.cos().to(t.dtype) + turned * freqs.sin().to(t.dtype)


def frequencies_given(x, positions, inv_freq):
    angles = positions[..., None].float() * inv_freq
    return with_table(x, angles.cos(), angles.sin())


def last_dimensions(x, positions):
    rotated = rope(x[..., HALF:], positions, theta=book.rotary_frequencies(HALF))
    return torch.cat((x[..., :HALF], rotated), -1)


def queries_scaled(q, k, positions):
    return rope(q, positions) / math.sqrt(DIM), rope(k, positions)


def with_yarn(x, positions):
    slowed = yarn(book.rotary_frequencies(DIM, 1e6), 4.0, original_length=32_768)
    return rope(x, positions, theta=slowed, factor=yarn_attention_factor(4.0))


def dynamic(x, positions):
    length = int(positions.max()) + 1
    slowed = book.context_extension.dynamic_ntk(THETA, 2.0, length=length, original_length=2048)
    return rope(x, positions, theta=slowed)


def backwards(q, k, positions):
    return rope(q, positions, sign=-1.0), rope(k, positions, sign=-1.0)


def in_numpy(x, positions):
    angles = positions[:, None] * THETA.numpy()
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate((a * cos - b * sin, a * sin + b * cos), axis=-1)


def stacked(q, k, v, positions):
    return torch.stack((rope(q, positions), rope(k, positions)))


def by_name(q, k, positions):
    return {"q": rope(q, positions), "k": rope(k, positions)}


def at_the_end(x, offset=0):
    return rope(x, torch.arange(x.shape[-2]) + offset)


class Table(nn.Module):
    """A table of 3,000 positions."""

    def __init__(self):
        super().__init__()
        cos, sin = book.rotary_table(torch.arange(3000), THETA)
        self.register_buffer("cos", cos)
        self.register_buffer("sin", sin)

    def forward(self, q, k, position_ids):
        table = self.cos[position_ids], self.sin[position_ids]
        return with_table(q, *table), with_table(k, *table)


RIGHT = [
    in_float32, of_vllm, of_one_sequence, of_one_vector, without_heads, of_older_transformers,
    of_angles, frequencies_given, last_dimensions, queries_scaled, with_yarn, dynamic, backwards,
    at_the_end, in_numpy, stacked, by_name, Table(), with_theta(THETA / 4),
]  # fmt: skip
# One of each kind of call: vectors and positions, tokens in one axis, a table that is given,
# another formula, queries and keys as one tensor, a module.
FIRST = (in_float32, of_vllm, of_older_transformers, with_yarn, stacked)
STYLES = [
    function
    if function in FIRST or isinstance(function, nn.Module)
    else pytest.param(function, marks=pytest.mark.slow)
    for function in RIGHT
]


@pytest.mark.parametrize("function", STYLES, ids=lambda f: getattr(f, "__name__", "module"))
def test_a_right_function_is_sound_in_whatever_style(function):
    report = examine(function, head_dim=DIM)
    assert report.sound, report


@pytest.mark.parametrize("count", [1, 2, 10, 12, 15])
def test_pairs_that_a_configuration_rotates_must_not_stand_still(count):
    config = {"model_type": "llama", "head_dim": DIM, "rope_theta": 5e5}
    report = examine(with_theta(fast_pairs(count, 5e5)), config=config)
    assert any(f"{count} of 16 pairs rotate, the slower ones" in text for text in report.changes)
    assert not report.sound
    assert report.matches == []


def test_factors_that_multiply_in_place_of_dividing_are_named():
    config = {
        "model_type": "phi3",
        "head_dim": DIM,
        "rope_theta": 1e4,
        "max_position_embeddings": 8192,
        "original_max_position_embeddings": 4096,
        "rope_scaling": {
            "type": "longrope",
            "short_factor": [1 + 0.02 * pair for pair in range(HALF)],
            "long_factor": [1 + 0.3 * pair for pair in range(HALF)],
        },
    }
    factors = 1 + 0.02 * torch.arange(HALF).double()
    for theta, words in ((THETA * factors, True), (THETA / factors, False)):
        report = examine(with_theta(theta), config=config)
        said = any("multiplied by its factors, to divided" in text for text in report.changes)
        assert said == words, report


def test_a_base_that_twice_the_exponent_gives_too_is_noted():
    report = examine(with_theta(book.rotary_frequencies(DIM, 1e8)), head_dim=DIM)
    assert any("twice the exponent" in note for note in report.notes), report
    report = examine(with_theta(THETA), head_dim=DIM)
    assert not any("twice the exponent" in note for note in report.notes)


def test_no_message_holds_a_number_that_is_none():
    for function in (sines_of_512_steps, with_theta(0.1 * (THETA > 0.05))):
        report = examine(function, head_dim=DIM)
        assert report.faults or report.doubts
        assert not any("nan" in text for text in [*report.faults, *report.doubts]), report


def test_backward_rotation_of_both_is_a_note_and_matches_nothing():
    report = examine(backwards, head_dim=DIM)
    assert report.verdict == "no fault, but it rotates backwards: see the note"
    assert any(note.startswith("backward: ") for note in report.notes)
    assert report.matches == []


def test_what_is_said_about_the_precision_of_angles_is_measured():
    single = examine(in_float32, head_dim=DIM).precision
    assert single.startswith("angles are computed in float32")
    assert "they equal products of float32 numbers" in single
    assert examine(with_theta(THETA), head_dim=DIM).precision.startswith("angles are exact")


def test_notes_say_what_a_rotation_leaves_to_others():
    assert any("dynamic NTK" in note for note in examine(dynamic, head_dim=DIM).notes)
    assert any("do not scale" in note for note in examine(queries_scaled, head_dim=DIM).notes)
    slowed = yarn(book.rotary_frequencies(DIM, 1e6), 4.0, original_length=32_768)
    report = examine(with_theta(slowed), head_dim=DIM)
    assert any("is not on the table" in note for note in report.notes)


def some_heads(x, positions):
    y = x.clone()
    y[:, :8] = rope(x[:, :8], positions)
    return y


def first_row(x, positions):
    y = x.clone()
    y[:1] = rope(x[:1], positions if positions.ndim == 1 else positions[:1])
    return y


def detached(x, positions):
    return rope(x.detach(), positions) + 0 * x


def float16_positions(x, positions):
    angles = positions.half()[..., None].float() * THETA.float()
    return with_table(x, angles.cos(), angles.sin())


def divided_by_zero(x, positions):
    return rope(x, positions) / (positions < 9000).float()[..., None]


def rolled_table(q, k, cos, sin):
    return apply(q, cos.roll(1, -1), sin.roll(1, -1)), apply(k, cos.roll(1, -1), sin.roll(1, -1))


def apply(x, cos, sin):
    turned = torch.cat((-x[..., HALF:], x[..., :HALF]), -1)
    return x * cos.unsqueeze(1) + turned * sin.unsqueeze(1)


MORE = {
    "heads differ": some_heads,
    "rows differ": first_row,
    "gradient": detached,
    "half positions: they are rounded to torch.float16": float16_positions,
    "not finite: rotated vectors are infinite or no numbers from position 10,001 on": (
        divided_by_zero
    ),
    "other angles than given": rolled_table,
}


@pytest.mark.parametrize("words", MORE)
def test_what_other_vectors_gradients_and_large_positions_show(words):
    report = examine(MORE[words], head_dim=DIM)
    assert any(text.startswith(words) for text in report.faults), report


def products_of_matrices(x, positions):
    angles = positions[..., None].float() @ THETA.float()[None]
    return with_table(x, angles.cos(), angles.sin())


def without_gradient(q, k, q_positions, k_positions):
    with torch.no_grad():
        return rope(q, q_positions), rope(k, k_positions)


def test_what_is_right_but_not_everywhere_is_a_note():
    mixed = examine(products_of_matrices, head_dim=DIM)
    assert mixed.sound, mixed
    assert any("under torch.autocast" in note for note in mixed.notes)
    inference = examine(without_gradient, head_dim=DIM)
    assert inference.sound, inference
    assert any("no gradient" in note for note in inference.notes)
