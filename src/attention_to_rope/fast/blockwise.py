"""Attention block by block with an online softmax: the exact result in memory linear in N."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attention_to_rope.checks import (
    check_bias,
    check_count,
    check_fits_scores,
    check_flag,
    check_float,
    check_mask,
    check_positions,
    check_same_device,
    check_same_kind,
    check_sink,
    working_dtype,
)
from attention_to_rope.merge import (
    contain_nan,
    finish,
    log_total,
    merge,
    partial_attention,
    partial_gradients,
    partial_sink,
)
from attention_to_rope.scaled_dot_product import score_scale

FARTHEST = 2**33  # more than any two positions lie apart; int64 cannot hold every window given
fused_attention = torch.nn.functional.scaled_dot_product_attention


class BiasByPosition(NamedTuple):
    """A bias made from positions where it is needed: block by block, no table of all pairs.

    function(q_positions, k_positions, *learned) → as many axes as the scores; any of them may be 1
    but the last two. q_positions (N_q,) or (B, N_q), k_positions (N_k,) or (B, N_k). learned: the
    tensors that get a gradient.
    """

    function: Callable[..., Tensor]
    q_positions: Tensor
    k_positions: Tensor
    learned: tuple[Tensor, ...] = ()

    def table(self) -> Tensor:
        """The bias of all pairs at once."""
        return self.function(self.q_positions, self.k_positions, *self.learned)

    def corner(self) -> Tensor:
        """The bias of the first pair: what it has for axes."""
        return self.function(self.q_positions[..., :1], self.k_positions[..., :1], *self.learned)


class Options(NamedTuple):
    """Which keys a query may see by its position, how scores are shaped, how the work is cut."""

    causal: bool
    window: int | None
    scale: float
    soft_cap: float | None
    bias: Callable[..., Tensor] | None
    q_block: int
    k_block: int
    near: int | None = None  # a window that counts by positions, instead of `window`


def blockwise_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    window: int | None = None,
    positions: Tensor | None = None,
    mask: Tensor | None = None,
    bias: Tensor | BiasByPosition | None = None,
    scale: float | None = None,
    soft_cap: float | None = None,
    sink: Tensor | None = None,
    q_block: int = 512,
    k_block: int = 512,
) -> Tensor:
    r"""Attention without ever holding the N_q × N_k scores.

    For each block of queries the keys come block by block, each block's `partial_attention` is
    joined to the earlier ones by `merge`, and `finish` divides: exact, in any order.

    q (..., H, N_q, d_k), k (..., H_kv, N_k, d_k), v (..., H_kv, N_k, d_v) → (..., H, N_q, d_v),
    where H_kv divides H (grouped queries); (N, d) without heads works too. mask, bias, soft_cap and
    sink as in `attention`; a `BiasByPosition` is made block by block. `causal` and `window` see as
    `causal_mask` and `sliding_window_mask` do: the queries are the last N_q positions of the keys;
    blocks that nobody may see are skipped. With `positions` (N_k,) or (..., N_k) of the keys the
    window counts by them, |n − m| < w, and skips nothing.

    The backward pass computes the scores again instead of keeping them; a second derivative keeps
    them. On a GPU, PyTorch's fused kernel does the same in one launch where its arguments allow.
    """
    _check_shapes(q, k, v)
    check_count("q_block", q_block)
    check_count("k_block", k_block)
    _check_reach(q, k, causal, window, positions)
    _check_shaping(q, k, mask, bias, sink)
    scale = score_scale(q.shape[-1], scale)
    # The compiler hands no function on to a backward pass: it gets the table.
    whole = torch.compiler.is_compiling()
    bias = bias.table() if whole and isinstance(bias, BiasByPosition) else bias
    plain = mask is None and bias is None and window is None and sink is None and soft_cap is None
    if q.is_cuda and plain and _fused_kernel_means_the_same(q, k, v, causal):
        return in_one_kernel(q, k, v, causal, scale)
    exact = working_dtype(q.dtype)
    # Views, because the compiler wants three tensors also where q, k and v are one.
    q_exact, k_exact, v_exact = (x.to(exact).view_as(x) for x in (q, k, v))
    if causal or window is not None or mask is not None or bias is not None:
        k_exact, v_exact = contain_nan(k_exact, v_exact)
    table = bias.to(exact) if isinstance(bias, Tensor) else None
    made = bias if isinstance(bias, BiasByPosition) else (None, None, None, ())
    function, *at, learned = made
    sink = None if sink is None else sink.to(exact)
    window, near = (window, None) if positions is None else (None, window)
    options = Options(causal, window, scale, soft_cap, function, q_block, k_block, near)
    given = Given(q_exact, k_exact, v_exact, mask, table, sink, _per_key(positions), *at)
    form = _Blockwise if torch.compiler.is_compiling() else _Transformable
    output: Tensor = form.apply(options, *given, *learned)[0]
    return output.to(q.dtype)


def near_by_position(q_positions: Tensor, k_positions: Tensor, window: int) -> Tensor:
    """Which keys lie less than `window` from each query: (..., N_q), (..., N_k) → (..., N_q, N_k).

    Where order decides what is later, a causal mask says so.
    """
    distance = q_positions.unsqueeze(-1).long() - k_positions.unsqueeze(-2).long()
    return distance.abs() < min(window, FARTHEST)


def _per_key(positions: Tensor | None) -> Tensor | None:
    """Positions (..., N_k) with the axes of a mask: (N_k, 1), or (..., 1, N_k, 1) for all heads."""
    if positions is None or positions.ndim == 1:
        return positions if positions is None else positions.unsqueeze(-1)
    return positions.unsqueeze(-2).unsqueeze(-1)


def _check_reach(
    q: Tensor, k: Tensor, causal: bool, window: int | None, positions: Tensor | None
) -> None:
    check_flag("causal", causal)
    if window is not None:
        check_count("window", window)
    if (causal or window is not None) and q.shape[-2] > k.shape[-2]:
        raise ValueError(
            "causal and window need at least as many keys as queries, got "
            f"{k.shape[-2]} keys and {q.shape[-2]} queries: the queries are the last positions"
        )
    if positions is None:
        return
    if window is None:
        raise ValueError("positions are what a window counts by: give window too, or neither")
    check_positions(positions)
    check_same_device("q", q, "positions", positions)
    length, leading = k.shape[-2], tuple(q.shape[:-3])
    if tuple(positions.shape) not in ((length,), (*leading, length)):
        raise ValueError(
            f"positions must have shape ({length},) or {(*leading, length)}, one for every key; "
            f"got {tuple(positions.shape)}"
        )


def _check_shaping(
    q: Tensor,
    k: Tensor,
    mask: Tensor | None,
    bias: Tensor | BiasByPosition | None,
    sink: Tensor | None,
) -> None:
    if mask is not None:
        check_mask(mask, q, k)
    _check_bias(bias, q, k)
    check_sink(sink, q)


def _check_bias(bias: Tensor | BiasByPosition | None, q: Tensor, k: Tensor) -> None:
    if not isinstance(bias, BiasByPosition):
        if bias is not None:
            check_bias(bias, q, k)
        return
    if not callable(bias.function):
        raise TypeError(f"bias must have a function, got {type(bias.function).__name__}")
    check_positions(bias.q_positions, name="bias.q_positions")
    check_positions(bias.k_positions, name="bias.k_positions")
    lengths = bias.q_positions.shape[-1], bias.k_positions.shape[-1]
    if lengths != (q.shape[-2], k.shape[-2]):
        raise ValueError(
            f"bias must have positions of {q.shape[-2]} queries and {k.shape[-2]} keys, got "
            f"{lengths[0]} and {lengths[1]}"
        )
    corner = bias.corner()
    check_float("bias", corner)
    if corner.ndim != q.ndim:
        raise ValueError(
            f"bias must have as many axes as the scores, {q.ndim}; its function gave "
            f"{tuple(corner.shape)} for one pair"
        )
    check_fits_scores("bias", corner, (*q.shape[:-2], 1, 1))


def _check_shapes(q: Tensor, k: Tensor, v: Tensor) -> None:
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        check_float(name, tensor)
        if tensor.ndim < 2 or 0 in tensor.shape[-2:]:
            raise ValueError(
                f"{name} must have shape (..., N, d) with N and d at least 1, "
                f"got {tuple(tensor.shape)}"
            )
    check_same_kind("q", q, "k", k)
    check_same_kind("q", q, "v", v)
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"q and k must have the same head dim d_k, got {q.shape[-1]} and {k.shape[-1]}"
        )
    if k.shape[:-1] != v.shape[:-1]:
        raise ValueError(
            "k and v must agree but for the last axis, got shapes "
            f"{tuple(k.shape)} and {tuple(v.shape)}"
        )
    if q.ndim != k.ndim or q.shape[:-3] != k.shape[:-3] or _heads(q) % max(_heads(k), 1):
        raise ValueError(
            "q and k must agree in the leading axes, where the heads of k (axis -3) divide those "
            f"of q; got shapes {tuple(q.shape)} and {tuple(k.shape)}"
        )


def _heads(x: Tensor) -> int:
    return x.shape[-3] if x.ndim > 2 else 1


def _fused_kernel_means_the_same(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> bool:
    """Whether PyTorch's kernels of linear memory compute this.

    They have no float64 and no head dim above 256, and their causal mask begins at the first key.
    """
    return (
        q.dtype != torch.float64
        and q.shape[-1] == v.shape[-1] <= 256
        and not (causal and q.shape[-2] != k.shape[-2])
    )


def in_one_kernel(q: Tensor, k: Tensor, v: Tensor, causal: bool, scale: float) -> Tensor:
    """PyTorch's fused kernel, called so that it is one: 4 axes and a head dim it takes.

    With other arguments it falls back, in silence, to a form that holds all scores.
    """
    shape, heads = q.shape, _heads(q)
    padding = (0, -shape[-1] % 8)  # zeros add nothing to a score, and give zeros that are cut off
    k, v = (
        x if _heads(x) == heads else x.repeat_interleave(heads // _heads(x), dim=-3) for x in (k, v)
    )
    q, k, v = (
        torch.nn.functional.pad(x.reshape(-1, heads, *x.shape[-2:]), padding) for x in (q, k, v)
    )
    if causal:
        # The kernel multiplies what is masked by 0, and 0 · NaN is NaN: the NaN goes around it.
        largest = [torch.linalg.vector_norm(x, torch.inf, -1, keepdim=True) for x in (k, v)]
        sound = largest[0].isfinite() & largest[1].isfinite()  # (B, H, N, 1)
        k, v = torch.where(sound, k, 0.0), torch.where(sound, v, 0.0)
    output = fused_attention(q, k, v, is_causal=causal, scale=scale)
    if causal:
        sees_nan = (~sound).cumsum(-2) > 0
        output = output.masked_fill(sees_nan, torch.nan)
    return output[..., : shape[-1]].reshape(shape)


class Cut:
    """How scores (..., H, N_q, N_k) are cut: blocks (L, G · rows, keys), G heads a head of keys."""

    def __init__(self, q: Tensor, k: Tensor, options: Options) -> None:
        self.leading, self.q_len, self.k_len = q.shape[:-2], q.shape[-2], k.shape[-2]
        self.groups = _heads(q) // _heads(k) if _heads(k) else 1
        self.options, self.device = options, q.device

    def query_blocks(self) -> list[slice]:
        """All queries, some rows at a time."""
        step = self.options.q_block
        return [slice(i, min(i + step, self.q_len)) for i in range(0, self.q_len, step)]

    def key_blocks(self, rows: slice) -> list[slice]:
        """The blocks of keys that some query of `rows` may see by its position."""
        first, last = self._positions(rows)
        causal, window, step = self.options.causal, self.options.window, self.options.k_block
        low, high = 0, last + 1 if causal else self.k_len
        if window is not None:
            low, high = max(low, first - window + 1), min(high, last + window)
        return [slice(i, min(i + step, high)) for i in range(low, high, step)]

    def _positions(self, rows: slice) -> tuple[int, int]:
        """The first and the last position of these queries, counted like the keys'."""
        offset = self.k_len - self.q_len
        return rows.start + offset, rows.stop - 1 + offset

    def queries(self, x: Tensor, rows: slice) -> Tensor:
        """Rows of a tensor like q, the heads that share keys below each other: (L, G · rows, d)."""
        part = x[..., rows, :]
        return _flat(part, self.groups * part.shape[-2])

    def join(self, parts: list[Tensor]) -> Tensor:
        """All rows again, from blocks of rows as `queries` gives them: (..., H, N_q, d)."""
        blocks = [
            part.reshape(*self.leading, part.shape[-2] // self.groups, part.shape[-1])
            for part in parts
        ]
        return torch.cat(blocks, dim=-2)

    def scores(self, x: Tensor, rows: slice, keys: slice) -> Tensor:
        """The block of a mask or bias: (L or 1, G · rows, keys)."""
        block = x[..., rows, :] if x.shape[-2] > 1 else x
        return self.fit(block[..., keys], rows, keys)

    def fit(self, block: Tensor, rows: slice, keys: slice) -> Tensor:
        """A block (..., rows or 1, keys) for the scores of these rows: (L or 1, G · rows, keys)."""
        leading = self.leading if block.ndim > 2 else (self.groups,)
        full = block.expand(*leading, rows.stop - rows.start, keys.stop - keys.start)
        return _flat(full, self.groups * full.shape[-2])

    def bias(self, given: "Given", learned: Sequence[Tensor], rows: slice, keys: slice) -> Any:
        """The block of the bias, cut from its table or made from positions; None without one."""
        if given.bias is not None:
            return self.scores(given.bias, rows, keys)
        if self.options.bias is None:
            return None
        at = given.q_positions[..., rows], given.k_positions[..., keys]
        return self.fit(self.options.bias(*at, *learned).to(given.q.dtype), rows, keys)

    def sink(self, sink: Tensor, rows: slice) -> Tensor:
        """The scores of the sink for some queries: (L, G · rows, 1)."""
        return self.queries(sink.expand(*self.leading, self.q_len, 1), rows)

    def sight(self, given: "Given", rows: slice, keys: slice) -> Tensor | None:
        """What mask, causality and window allow together; None where that is all."""
        allowed = self.mask(given.mask, rows, keys)
        if self.options.near is None:
            return allowed
        at, offset = given.window_at[..., 0], self.k_len - self.q_len
        q_at = at[..., rows.start + offset : rows.stop + offset]
        near = self.fit(near_by_position(q_at, at[..., keys], self.options.near), rows, keys)
        return near if allowed is None else allowed & near

    def mask(self, given: Tensor | None, rows: slice, keys: slice) -> Tensor | None:
        """What the given mask and the order of positions allow together; None where that is all."""
        allowed = None if given is None else self.scores(given, rows, keys)
        first, last = self._positions(rows)
        causal, window = self.options.causal, self.options.window
        before, after = last - keys.start, keys.stop - 1 - first  # the farthest pairs
        if not (causal and after > 0) and (window is None or max(before, after) < window):
            return allowed
        m = torch.arange(first, last + 1, device=self.device).unsqueeze(-1)
        distance = m - torch.arange(keys.start, keys.stop, device=self.device)
        seen = distance >= (0 if causal else -self.k_len)
        if window is not None:
            seen = seen & (distance.abs() < window)
        seen = seen.repeat(self.groups, 1)
        return seen if allowed is None else allowed & seen


def _flat(x: Tensor, rows: int) -> Tensor:
    """All axes before the last two as one, so that the last axis but one has so many rows."""
    return x.reshape(x.shape[:-1].numel() // rows, rows, x.shape[-1])


class Given(NamedTuple):
    """The tensors of a call, or None, but for those that a `BiasByPosition` has learned."""

    q: Tensor
    k: Tensor
    v: Tensor
    mask: Any
    bias: Any
    sink: Any
    window_at: Any
    q_positions: Any
    k_positions: Any


GIVEN = len(Given._fields)


def in_blocks(options: Options, *tensors: Any) -> tuple[Tensor, Tensor]:
    """The output (..., H, N_q, d_v) and the logarithms of the totals (..., H, N_q, 1)."""
    given, learned = Given(*tensors[:GIVEN]), tensors[GIVEN:]
    cut = Cut(given.q, given.k, options)
    k, v = (_flat(x, x.shape[-2]) for x in (given.k, given.v))
    finished = []
    for rows in cut.query_blocks():
        query = cut.queries(given.q, rows)
        state = reduce(
            merge,
            (
                partial_attention(
                    query,
                    k[:, keys],
                    v[:, keys],
                    mask=cut.sight(given, rows, keys),
                    bias=cut.bias(given, learned, rows, keys),
                    scale=options.scale,
                    soft_cap=options.soft_cap,
                )
                for keys in cut.key_blocks(rows)
            ),
        )
        if given.sink is not None:
            state = merge(state, partial_sink(cut.sink(given.sink, rows), state.output))
        finished.append((finish(state), log_total(state)))
    return cut.join([output for output, _ in finished]), cut.join([total for _, total in finished])


class _Blockwise(torch.autograd.Function):
    """`in_blocks` with a backward pass that computes the scores again."""

    @staticmethod
    def forward(  # pragma: no cover - the compiler reads it, Python runs the one below
        options: Options,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        bias: Tensor | None,
        sink: Tensor | None,
        window_at: Tensor | None,
        q_positions: Tensor | None,
        k_positions: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        # By name: the compiler counts the arguments to find out that there is no context.
        return in_blocks(options, q, k, v, mask, bias, sink, window_at, q_positions, k_positions)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.options, *tensors = inputs
        ctx.save_for_backward(*output, *tensors)
        ctx.save_for_forward(*output, *tensors)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx: Any, upstream: Tensor, _: Tensor) -> tuple[Any, ...]:
        output, log_totals, *tensors = ctx.saved_tensors
        if torch.is_grad_enabled():  # a derivative of this derivative is wanted
            places, pull = _pullback(ctx.options, tensors)
            grads = dict(zip(places, pull(upstream), strict=True))
            return (None, *(grads.get(place) for place in range(len(tensors))))
        given, learned = Given(*tensors[:GIVEN]), tensors[GIVEN:]
        cut = Cut(given.q, given.k, ctx.options)
        share = (upstream * output).sum(-1, keepdim=True)
        grad_q, grad_k, grad_v = (torch.zeros_like(x) for x in given[:3])
        grad_bias = torch.zeros_like(given.bias) if ctx.needs_input_grad[5] else None
        grad_learned = [torch.zeros_like(x) for x in learned]
        keys_and_values = [_flat(x, x.shape[-2]) for x in (given.k, given.v)]
        for rows in cut.query_blocks():
            of_rows = [cut.queries(x, rows) for x in (log_totals, upstream, share)]
            query = cut.queries(given.q, rows)
            for keys in cut.key_blocks(rows):
                part = partial_gradients(
                    query,
                    *(x[:, keys] for x in keys_and_values),
                    *of_rows,
                    mask=cut.sight(given, rows, keys),
                    bias=cut.bias(given, learned, rows, keys),
                    scale=ctx.options.scale,
                    soft_cap=ctx.options.soft_cap,
                )
                grad_q[..., rows, :] += part.q.reshape(grad_q[..., rows, :].shape)
                grad_k[..., keys, :] += part.k.reshape(grad_k[..., keys, :].shape)
                grad_v[..., keys, :] += part.v.reshape(grad_v[..., keys, :].shape)
                if grad_bias is not None:
                    block = grad_bias[..., keys]
                    block = block if block.shape[-2] == 1 else block[..., rows, :]
                    own = part.scores.reshape(
                        *cut.leading, rows.stop - rows.start, keys.stop - keys.start
                    )
                    block += own.sum_to_size(block.shape)
                for total, own in zip(
                    grad_learned,
                    _learned_gradients(cut, given, learned, rows, keys, part.scores),
                    strict=True,
                ):
                    total += own
        grad_sink = None
        if ctx.needs_input_grad[6]:  # its value is 0, so all of its gradient is its weight · −D
            weights = torch.exp(given.sink - log_totals)
            grad_sink = (-weights * share).sum_to_size(given.sink.shape)
        of_added = None, grad_bias, grad_sink  # of the mask, the bias and the sink
        return None, grad_q, grad_k, grad_v, *of_added, None, None, None, *grad_learned


def _learned_gradients(
    cut: Cut,
    given: Given,
    learned: Sequence[Tensor],
    rows: slice,
    keys: slice,
    grad_scores: Tensor,
) -> tuple[Tensor, ...]:
    """What a block's scores give to the tensors that its bias is made from."""
    if not learned:
        return ()

    def block(*learned: Tensor) -> Tensor:
        made: Tensor = cut.bias(given, learned, rows, keys)
        return made

    grads: tuple[Tensor, ...] = torch.func.vjp(block, *learned)[1](grad_scores)
    return grads


class _Transformable(_Blockwise):
    """The same for vmap, forward derivatives and learned biases, which the compiler cannot read."""

    @staticmethod
    def forward(options: Options, *tensors: Any) -> tuple[Tensor, Tensor]:
        return in_blocks(options, *tensors)

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Any) -> tuple[Tensor, None]:
        """The derivative along the tangents: the pullback of the pullback, as both are linear."""
        output, _, *tensors = ctx.saved_tensors
        places, pull = _pullback(ctx.options, tensors)
        push: Any = torch.func.vjp(pull, torch.zeros_like(output))[1]
        along = (
            torch.zeros_like(tensors[place]) if tangents[place] is None else tangents[place]
            for place in places
        )
        return push(tuple(along))[0], None

    @staticmethod
    def vmap(info: Any, dims: tuple[Any, ...], *inputs: Any) -> tuple[Any, tuple[int, int]]:
        """One more leading axis, which is what blocks take anyhow."""
        options, *tensors = inputs
        first: list[Any] = [
            x if x is None else x.unsqueeze(0) if dim is None else x.movedim(dim, 0)
            for x, dim in zip(tensors[:7], dims[1:8], strict=True)
        ]
        moved: list[Any] = [x.expand(info.batch_size, *x.shape[1:]) for x in first[:3]]
        axes = moved[0].ndim
        # A mask, bias, sink or window of two axes gets one of size 1 for each that it repeats over.
        moved += [
            x if x is None else x.reshape(len(x), *(1,) * (axes - x.ndim), *x.shape[1:])
            for x in first[3:]
        ]
        made_from, its_dims = tensors[7:], dims[8:]
        if any(dim is not None for dim in its_dims):
            made_from = [
                x if dim is None else x.movedim(dim, 0)
                for x, dim in zip(made_from, its_dims, strict=True)
            ]
            its_dims = tuple(None if dim is None else 0 for dim in its_dims)
            options = options._replace(bias=torch.vmap(options.bias, its_dims))
        return _Transformable.apply(options, *moved, *made_from), (0, 0)


def _pullback(options: Options, tensors: Sequence[Any]) -> tuple[list[int], Any]:
    """The places of real tensors, and from a gradient of the output to theirs; differentiable."""
    places = [i for i, x in enumerate(tensors) if x is not None and x.is_floating_point()]

    def output(*values: Tensor) -> Tensor:
        changed = dict(zip(places, values, strict=True))
        return in_blocks(options, *(changed.get(i, x) for i, x in enumerate(tensors)))[0]

    return places, torch.func.vjp(output, *(tensors[place] for place in places))[1]
