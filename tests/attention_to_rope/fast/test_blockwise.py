"""Block-wise attention equals attention, forward and backward, and keeps no N × N matrix."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

import attention_to_rope as book
from attention_to_rope.fast import blockwise
from attention_to_rope.fast.blockwise import BiasByPosition, Cut, Options
from attention_to_rope.merge import finish, log_total, partial_attention, partial_gradients
from bookkit.randomness import normal

pytestmark = pytest.mark.long

Form = Callable[..., torch.Tensor]


def same_gradients(
    got: torch.Tensor, expected: torch.Tensor, inputs: Sequence[torch.Tensor], *, within: float
) -> bool:
    """Whether two numbers have the same gradients, but for rounding."""
    pairs = zip(*(torch.autograd.grad(x, inputs) for x in (got, expected)), strict=True)
    return all((a - b).abs().max() <= within for a, b in pairs)


@given(
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(1, 10),
    st.integers(1, 10),
    st.booleans(),
    st.sampled_from([1.0, 100.0]),
)
def test_equals_attention(
    n_q: int, n_k: int, q_block: int, k_block: int, causal: bool, size: float
) -> None:
    n_q = min(n_q, n_k) if causal else n_q
    q, k = normal(2, n_q, 3, seed=0) * size, normal(2, n_k, 3, seed=1) * size
    v = normal(2, n_k, 4, seed=2)
    tensors = [tensor.requires_grad_() for tensor in (q, k, v)]
    mask = book.causal_mask(n_q, n_k) if causal else None
    expected = book.attention(*tensors, mask=mask, scale=0.4)
    got = book.blockwise_attention(
        *tensors, causal=causal, scale=0.4, q_block=q_block, k_block=k_block
    )
    assert (got - expected).abs().max() <= 1e-12
    upstream = normal(2, n_q, 4, seed=3)
    assert same_gradients(
        (got * upstream).sum(), (expected * upstream).sum(), tensors, within=1e-12 * size
    )


@pytest.mark.parametrize("causal", [False, True])
def test_gradcheck(causal: bool) -> None:
    tensors = [normal(1, 2, 5, 3, seed=s).requires_grad_() for s in range(3)]
    assert torch.autograd.gradcheck(
        lambda q, k, v: book.blockwise_attention(q, k, v, causal=causal, q_block=2, k_block=3),
        tensors,
    )


def test_default_scale_and_blocks() -> None:
    q, k, v = (normal(2, 9, 4, seed=s) for s in range(3))
    assert (book.blockwise_attention(q, k, v) - book.attention(q, k, v)).abs().max() <= 1e-14


@pytest.mark.parametrize("leading", [(), (2,), (2, 3), (2, 1, 3), (0,), (2, 0)])
def test_any_leading_axes(leading: tuple[int, ...]) -> None:
    q, k, v = (normal(*leading, 5, width, seed=s) for s, width in enumerate((4, 4, 6)))
    torch.testing.assert_close(book.blockwise_attention(q, k, v), book.attention(q, k, v))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_dtypes(dtype: torch.dtype) -> None:
    q, k, v = (normal(2, 9, 4, seed=s, dtype=dtype) for s in range(3))
    got = book.blockwise_attention(q, k, v, k_block=2)
    assert got.dtype == dtype
    expected = book.attention(q, k, v)
    assert (got - expected).abs().max() <= 4 * torch.finfo(dtype).eps


class LargestTensor(TorchDispatchMode):
    """Remembers the largest tensor that any operation made."""

    def __init__(self) -> None:
        super().__init__()
        self.numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if isinstance(tensor, torch.Tensor):
                self.numel = max(self.numel, tensor.numel())
        return result


@pytest.mark.parametrize("causal", [False, True])
def test_no_tensor_grows_with_the_square_of_the_length(causal: bool) -> None:
    sizes = {}
    for length in (32, 64):
        q, k, v = (normal(length, 4, seed=s).requires_grad_() for s in range(3))
        with LargestTensor() as seen:
            book.blockwise_attention(q, k, v, causal=causal, q_block=8, k_block=8).sum().backward()
        sizes[length] = seen.numel
    assert sizes == {32: 32 * 4, 64: 64 * 4}
    with LargestTensor() as naive:
        book.attention(q, k, v)
    assert naive.numel == 64 * 64


def cut(n_q: int, n_k: int, **options: Any) -> Cut:
    plain = {"causal": False, "window": None, "scale": 1.0, "soft_cap": None, "bias": None}
    given = plain | {"q_block": 2, "k_block": 2} | options
    return Cut(torch.zeros(n_q, 1), torch.zeros(n_k, 1), Options(**given))


def blocks(one: Cut, start: int, stop: int) -> list[tuple[int, int, bool]]:
    """The blocks of keys for some queries: first, behind the last, whether some are hidden."""
    rows = slice(start, stop)
    return [
        (keys.start, keys.stop, one.mask(None, rows, keys) is not None)
        for keys in one.key_blocks(rows)
    ]


def test_blocks_that_nobody_sees_are_skipped() -> None:
    causal = cut(8, 8, causal=True)
    assert blocks(causal, 0, 2) == [(0, 2, True)]
    assert blocks(causal, 4, 6) == [(0, 2, False), (2, 4, False), (4, 6, True)]
    assert blocks(cut(8, 8, causal=True, k_block=4), 4, 6) == [(0, 4, False), (4, 6, True)]
    assert blocks(cut(1, 4, causal=True, k_block=4), 0, 1) == [(0, 4, False)]
    assert blocks(cut(5, 5), 0, 2) == [(0, 2, False), (2, 4, False), (4, 5, False)]
    assert blocks(cut(8, 8, causal=True, window=3), 4, 6) == [(2, 4, True), (4, 6, True)]
    assert blocks(cut(8, 8, window=2), 4, 6) == [(3, 5, True), (5, 7, True)]
    assert blocks(cut(8, 8, window=4, k_block=1), 5, 6) == [(n, n + 1, False) for n in range(2, 8)]
    assert [(rows.start, rows.stop) for rows in cut(5, 5).query_blocks()] == [
        (0, 2),
        (2, 4),
        (4, 5),
    ]


def everything(n_q: int, n_k: int) -> tuple[torch.Tensor, ...]:
    """q of 4 heads, k and v of 2, for a batch of 2, ready for gradients."""
    shapes = ((2, 4, n_q, 3), (2, 2, n_k, 3), (2, 2, n_k, 5))
    return tuple(normal(*shape, seed=s).requires_grad_() for s, shape in enumerate(shapes))


def plain(q: Any, k: Any, v: Any, **options: Any) -> torch.Tensor:
    return book.attention(q, book.repeat_heads(k, 2), book.repeat_heads(v, 2), **options)


@pytest.mark.parametrize("bias_shape", [None, (7, 9), (1, 7, 9), (4, 1, 9), (2, 4, 7, 9)])
@pytest.mark.parametrize("mask_shape", [None, (7, 9), (2, 1, 7, 9), (2, 4, 1, 9)])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("window", [None, 3, 100])
def test_mask_window_bias_and_grouped_queries(
    bias_shape: tuple[int, ...] | None,
    mask_shape: tuple[int, ...] | None,
    causal: bool,
    window: int | None,
) -> None:
    q, k, v = everything(7, 9)
    bias = None if bias_shape is None else normal(*bias_shape, seed=4).requires_grad_()
    if bias is not None and bias.ndim == 3:
        bias = bias[None]
    mask = None if mask_shape is None else normal(*mask_shape, seed=5) > -0.5
    if mask is not None and mask.shape[-2] > 1:
        mask[..., 2, :] = False  # one query sees nothing
    seen = torch.ones(7, 9, dtype=torch.bool) if mask is None else mask
    if window is not None:
        seen = seen & book.sliding_window_mask(7, 9, window=window, causal=causal)
    elif causal:
        seen = seen & book.causal_mask(7, 9)
    expected = plain(q, k, v, mask=seen, bias=bias)
    got = book.blockwise_attention(
        q, k, v, causal=causal, window=window, mask=mask, bias=bias, q_block=3, k_block=2
    )
    assert (got - expected).abs().max() <= 1e-13
    inputs = (q, k, v) if bias is None else (q, k, v, bias)
    upstream = normal(*got.shape, seed=6)
    assert same_gradients((got * upstream).sum(), (expected * upstream).sum(), inputs, within=1e-12)


AT = torch.tensor([[0, 1, 2, 4, 5, 9, 10, 11, 13], [3, 1, 2, 8, 5, 4, 7, 6, 0]])


@pytest.mark.parametrize("positions", [AT[0], AT])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_a_window_counts_by_positions(positions: torch.Tensor, masked: bool, causal: bool) -> None:
    tensors = everything(7, 9)
    distance = positions[..., 2:, None] - positions[..., None, :]
    seen = (distance.abs() < 4).view(-1, 1, 7, 9)
    seen = seen & book.causal_mask(7, 9) if causal else seen
    mask = normal(2, 1, 7, 9, seed=5) > -0.5 if masked else None
    expected = plain(*tensors, mask=seen if mask is None else seen & mask)
    options = {"causal": causal, "window": 4, "positions": positions, "mask": mask}
    got = book.blockwise_attention(*tensors, **options, q_block=3, k_block=2)
    assert (got - expected).abs().max() <= 1e-13
    assert same_gradients(got.square().sum(), expected.square().sum(), tensors, within=1e-12)


def test_a_window_by_positions_keeps_nothing_per_pair() -> None:
    sizes = {}
    for length in (32, 64):
        q, k, v = (normal(2, 1, length, 4, seed=s).requires_grad_() for s in range(3))
        at = torch.arange(2 * length).view(2, length)
        with LargestTensor() as seen:
            book.blockwise_attention(
                q, k, v, window=5, positions=at, q_block=8, k_block=8
            ).sum().backward()
        sizes[length] = seen.numel
    assert sizes == {32: 2 * 32 * 4, 64: 2 * 64 * 4}


def test_vmap_over_the_positions_of_a_window() -> None:
    q, k, v = (x.detach() for x in everything(9, 9))

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        return book.blockwise_attention(q, k, v, window=4, positions=at, q_block=3, k_block=2)

    expected = run(q, k, v, AT)
    assert (torch.vmap(run)(q, k, v, AT) - expected).abs().max() <= 1e-13
    got = torch.vmap(run, (0, 0, 0, None))(q, k, v, AT[1])
    assert (got - run(q, k, v, AT[1])).abs().max() <= 1e-13
    one = (q[:1], k[:1], v[:1])
    got = torch.vmap(run, (None, None, None, 1))(*one, AT.unsqueeze(1).movedim(0, 1))
    for row, at in zip(got, AT, strict=True):
        assert (row - run(*one, at)).abs().max() <= 1e-13


@pytest.mark.parametrize("k_block", [1, 2, 3, 9])
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
@pytest.mark.parametrize("place", [1, 2])
def test_what_is_behind_the_mask_does_not_leak(k_block: int, bad: float, place: int) -> None:
    tensors = list(everything(9, 9))
    with torch.no_grad():
        tensors[place][:, :, 7] = bad
    got = book.blockwise_attention(*tensors, causal=True, q_block=4, k_block=k_block)
    assert got[:, :, :7].isfinite().all()
    assert got[:, :, 7:].isnan().all()
    hidden = torch.ones(9, 9, dtype=torch.bool)
    hidden[:, 7] = False
    hidden[3] = False
    with torch.no_grad():
        tensors[0][:, :, 3] = bad  # a query that sees nothing
    got = book.blockwise_attention(*tensors, mask=hidden, q_block=4, k_block=k_block)
    expected = plain(*tensors, mask=hidden)
    assert (got - expected).abs().max() <= 1e-13
    assert same_gradients(got.sum(), expected.sum(), tensors, within=1e-12)


@pytest.mark.parametrize("sink_shape", [None, (7, 1), (1, 1), (1, 4, 1, 1), (2, 4, 7, 1)])
@pytest.mark.parametrize("soft_cap", [None, 0.7])
@pytest.mark.parametrize("causal", [False, True])
def test_sink_and_soft_cap(
    sink_shape: tuple[int, ...] | None, soft_cap: float | None, causal: bool
) -> None:
    q, k, v = everything(7, 9)
    bias = normal(7, 9, seed=4).requires_grad_()
    sink = None if sink_shape is None else normal(*sink_shape, seed=3).requires_grad_()
    mask = normal(2, 1, 7, 9, seed=5) > -0.5
    mask[:, :, 2] = False  # one query sees nothing but the sink
    with torch.no_grad():
        q[:, :, 2] = torch.nan
        k[:, :, 5] = v[:, :, 6] = torch.nan
        mask[..., 5:7] = False
    shaped = {"bias": bias, "soft_cap": soft_cap, "sink": sink}
    seen = mask & book.causal_mask(7, 9) if causal else mask
    expected = plain(q, k, v, mask=seen, **shaped)
    got = book.blockwise_attention(
        q, k, v, causal=causal, mask=mask, **shaped, q_block=3, k_block=2
    )
    assert (got - expected).abs().max() <= 1e-13
    inputs = (q, k, v, bias) if sink is None else (q, k, v, bias, sink)
    upstream = normal(*got.shape, seed=6)
    assert same_gradients((got * upstream).sum(), (expected * upstream).sum(), inputs, within=1e-12)


def test_a_sink_of_minus_infinity_takes_nothing() -> None:
    q, k, v = everything(7, 9)
    none = torch.full((1, 1), -torch.inf, dtype=torch.float64)
    got = book.blockwise_attention(q, k, v, sink=none, k_block=2)
    assert (got - plain(q, k, v)).abs().max() <= 1e-14


def alibi_and_scale(*learned: torch.Tensor) -> BiasByPosition:
    """A bias of 4 heads for 7 queries and 9 keys, with learned slopes."""

    def function(m: torch.Tensor, n: torch.Tensor, slopes: torch.Tensor) -> torch.Tensor:
        return book.alibi_bias(slopes, m, n).unsqueeze(0)

    return BiasByPosition(function, torch.arange(2, 9), torch.arange(9), learned)


def test_a_bias_from_positions_equals_its_table() -> None:
    q, k, v = everything(7, 9)
    slopes = normal(4, seed=3).requires_grad_()
    made = alibi_and_scale(slopes)
    got = book.blockwise_attention(q, k, v, bias=made, causal=True, q_block=3, k_block=2)
    expected = plain(q, k, v, bias=made.table(), mask=book.causal_mask(7, 9))
    assert (got - expected).abs().max() <= 1e-13
    assert same_gradients(
        got.square().sum(), expected.square().sum(), (q, k, v, slopes), within=1e-12
    )
    half = [x.detach().to(torch.bfloat16) for x in (q, k, v)]
    got = book.blockwise_attention(*half, bias=made, causal=True, k_block=2)
    exact = [x.float() for x in half]
    expected = plain(*exact, bias=made.table().float(), mask=book.causal_mask(7, 9))
    assert (got - expected).abs().max() <= 4 * torch.finfo(torch.bfloat16).eps


def test_vmap_over_the_positions_of_a_bias() -> None:
    q, k, v = (x.detach() for x in everything(7, 9))
    slopes, starts = normal(4, seed=3), torch.tensor([[0, 1], [5, 30]])

    def run(form: Form, q: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        made = alibi_and_scale(slopes)._replace(q_positions=torch.arange(7) * at[0] + at[1])
        bias = made if form is book.blockwise_attention else made.table()
        return form(q[None], k[:1], v[:1], bias=bias)

    for dims in ((0, 0), (None, 0), (0, None), (None, 1)):
        at = starts[0] if dims[1] is None else starts
        x = q[0] if dims[0] is None else q
        got, expected = (
            torch.vmap(lambda q, at, form=form: run(form, q, at), dims)(x, at)
            for form in (book.blockwise_attention, plain)
        )
        assert (got - expected).abs().max() <= 1e-13


def test_a_bias_that_does_not_fit_is_refused() -> None:
    q, k, v = everything(7, 9)
    made = alibi_and_scale(normal(4, seed=3))
    with pytest.raises(ValueError, match=r"positions of 7 queries and 9 keys, got 6 and 9"):
        book.blockwise_attention(q, k, v, bias=made._replace(q_positions=torch.arange(6)))
    with pytest.raises(ValueError, match=r"positions of 7 queries and 9 keys, got 7 and 8"):
        book.blockwise_attention(q, k, v, bias=made._replace(k_positions=torch.arange(8)))
    with pytest.raises(ValueError, match=r"bias of shape \(1, 3, 1, 1\) does not fit"):
        book.blockwise_attention(q, k, v, bias=made._replace(learned=(normal(3, seed=3),)))
    for function, error, message in (
        (lambda *_: torch.zeros(4, 1, 1), ValueError, r"as many axes as the scores, 4; its fun"),
        (lambda *_: torch.zeros(1, 4, 1, 1).long(), TypeError, r"bias must be floating point"),
        (lambda *_: None, TypeError, r"bias must be a torch.Tensor, got NoneType"),
        (lambda *_: torch.zeros(1, 4, 2, 1), ValueError, r"shape \(1, 4, 2, 1\) does not fit"),
    ):
        with pytest.raises(error, match=message):
            book.blockwise_attention(q, k, v, bias=made._replace(function=function))


def test_scores_that_are_all_minus_infinity_give_zero() -> None:
    tensors = everything(3, 5)
    bias = torch.zeros(3, 5, dtype=torch.float64)
    bias[1] = -torch.inf
    got = book.blockwise_attention(*tensors, bias=bias, k_block=2)
    assert (got[:, :, 1] == 0).all()
    assert (got - plain(*tensors, bias=bias)).abs().max() <= 1e-14
    assert same_gradients(got.sum(), plain(*tensors, bias=bias).sum(), tensors, within=1e-13)


def in_blocks(*tensors: torch.Tensor) -> torch.Tensor:
    return book.blockwise_attention(*tensors, causal=True, q_block=3, k_block=2)


def at_once(*tensors: torch.Tensor) -> torch.Tensor:
    return plain(*tensors, mask=book.causal_mask(5, 6))


def test_second_derivatives() -> None:
    """A derivative of a derivative that is dropped is a wrong number that nobody sees."""
    a = torch.linspace(-1, 1, 8, dtype=torch.float64).reshape(1, 4, 2).requires_grad_()
    both = []
    for form in (book.attention, book.blockwise_attention):
        (first,) = torch.autograd.grad(form(a, a, a).square().sum(), a, create_graph=True)
        both.append(torch.autograd.grad(first.square().sum() + a.square().sum(), a)[0])
    assert (both[0] - both[1]).abs().max() <= 1e-12
    tensors = [normal(1, 3, 2, seed=s).requires_grad_() for s in range(3)]
    bias = normal(3, 3, seed=3).requires_grad_()
    sink = normal(3, 1, seed=4).requires_grad_()
    assert torch.autograd.gradgradcheck(
        lambda q, k, v, b, s: book.blockwise_attention(
            q, k, v, bias=b, sink=s, soft_cap=2.0, q_block=2, k_block=2
        ),
        (*tensors, bias, sink),
    )


TANGENTS = tuple(normal(*x.shape, seed=9 + s) for s, x in enumerate(everything(5, 6)))
TRANSFORMS: dict[str, Callable[[Form, tuple[torch.Tensor, ...]], Any]] = {
    "vmap": lambda form, x: torch.func.vmap(form)(*x),
    "vmap of some": lambda form, x: torch.func.vmap(form, (0, None, 0))(x[0], x[1][0], x[2]),
    "vmap of another axis": lambda form, x: torch.func.vmap(form, (0, 1, 0), 0)(
        x[0], x[1].movedim(0, 1), x[2]
    ),
    "jvp": lambda form, x: torch.func.jvp(form, x, TANGENTS),
    "jvp of q": lambda form, x: torch.func.jvp(lambda q: form(q, *x[1:]), x[:1], TANGENTS[:1]),
    "jacrev": lambda form, x: torch.func.jacrev(form, (0, 1, 2))(*x),
    "jacfwd": lambda form, x: torch.func.jacfwd(form, (0, 1, 2))(*x),
    "grad": lambda form, x: torch.func.grad(lambda *y: form(*y).square().sum(), (0, 1, 2))(*x),
    "gradients of each": lambda form, x: torch.func.vmap(
        torch.func.grad(lambda *y: form(*y).square().sum())
    )(*x),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name: str) -> None:
    tensors = tuple(x.detach() for x in everything(5, 6))
    got, expected = (
        torch.utils._pytree.tree_leaves(TRANSFORMS[name](form, tensors))
        for form in (in_blocks, at_once)
    )
    assert max(float((a - b).abs().max()) for a, b in zip(got, expected, strict=True)) <= 1e-12


def test_vmap_and_jvp_of_mask_and_bias() -> None:
    q, k, v = (x.detach() for x in everything(5, 6))
    masks, bias = normal(2, 5, 6, seed=7) > -0.5, normal(5, 6, seed=8)

    def with_mask(form: Form) -> Form:
        return lambda q, k, v, mask, bias: form(q, k, v, mask=mask, bias=bias)

    over_masks, over_biases = [], []
    for form in (book.blockwise_attention, plain):
        dims = (0, 0, 0, 0, None)
        over_masks.append(torch.func.vmap(with_mask(form), dims)(q, k, v, masks, bias))
        along = torch.func.jvp(lambda b, form=form: form(q, k, v, bias=b), (bias,), (bias,))
        over_biases.append(along[1])
    for a, b in (over_masks, over_biases):
        assert (a - b).abs().max() <= 1e-13


@pytest.mark.parametrize(
    "options",
    [
        # Three blocks of scores, two of them for the last rows: each is traced for itself.
        {"causal": True, "q_block": 2, "k_block": 3},
        {},  # nothing is hidden, so nothing is copied: the three stay one tensor
    ],
)
@pytest.mark.usefixtures("untraced")
def test_compiled_forward_and_backward_where_q_k_and_v_are_one_tensor(
    options: dict[str, Any],
) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(
        lambda x: book.blockwise_attention(x, x, x, **options), backend="aot_eager", fullgraph=True
    )
    x = normal(2, 4, 4, seed=0).requires_grad_()
    expected = book.attention(x, x, x, mask=book.causal_mask(4) if options else None)
    got = compiled(x)
    assert (got - expected).abs().max() <= 1e-13
    (a,), (b,) = (torch.autograd.grad(out.square().sum(), x) for out in (got, expected))
    assert (a - b).abs().max() <= 1e-12


@pytest.mark.usefixtures("untraced")
def test_compiled_with_sink_soft_cap_and_a_bias_from_positions() -> None:
    torch._dynamo.reset()  # in one block: several are traced above
    slopes, sink = normal(4, seed=3), normal(1, 4, 1, 1, seed=4)

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        bias = alibi_and_scale(slopes)
        return book.blockwise_attention(
            q, k, v, bias=bias, sink=sink, soft_cap=2.0, q_block=7, k_block=9
        )

    tensors = everything(7, 9)
    got, expected = torch.compile(run, backend="aot_eager", fullgraph=True)(*tensors), run(*tensors)
    assert (got - expected).abs().max() <= 1e-13
    assert same_gradients(got.square().sum(), expected.square().sum(), tensors, within=1e-12)


def test_errors() -> None:
    x = torch.zeros(3, 4)
    with pytest.raises(ValueError, match=r"q_block must be at least 1, got 0"):
        book.blockwise_attention(x, x, x, q_block=0)
    with pytest.raises(ValueError, match=r"k_block must be at least 1, got 0"):
        book.blockwise_attention(x, x, x, k_block=0)
    with pytest.raises(ValueError, match=r"window must be at least 1, got 0"):
        book.blockwise_attention(x, x, x, window=0)
    with pytest.raises(ValueError, match=r"what a window counts by: give window too, or neither"):
        book.blockwise_attention(x, x, x, positions=torch.arange(3))
    many = torch.zeros(2, 1, 3, 4)
    with pytest.raises(ValueError, match=r"shape \(3,\) or \(2, 3\), one for every key; got \(2"):
        book.blockwise_attention(many, many, many, window=1, positions=torch.arange(2))
    with pytest.raises(ValueError, match=r"q and positions must be on the same device"):
        book.blockwise_attention(x, x, x, window=1, positions=torch.arange(3, device="meta"))
    with pytest.raises(ValueError, match=r"scale must be finite and above 0, got -1"):
        book.blockwise_attention(x, x, x, scale=-1.0)
    for limit in ({"causal": True}, {"window": 2}):
        with pytest.raises(ValueError, match=r"at least as many keys as queries, got 2 keys and 3"):
            book.blockwise_attention(x, x[:2], x[:2], **limit)
    with pytest.raises(ValueError, match=r"same head dim"):
        book.blockwise_attention(x, x[:, :2], x)
    with pytest.raises(ValueError, match=r"k and v must agree but for the last axis"):
        book.blockwise_attention(x, x, x[:2])
    for shape in ((3,), (0, 4), (3, 0)):
        with pytest.raises(ValueError, match=r"q must have shape \(\.\.\., N, d\) with N and d"):
            book.blockwise_attention(torch.zeros(shape), x, x)
    for heads in ((3, 3, 4), (1, 1, 3, 4), (2, 2, 3, 4)):
        k = torch.zeros(heads)
        with pytest.raises(ValueError, match=r"heads of k \(axis -3\) divide those of q"):
            book.blockwise_attention(torch.zeros(2, 3, 4) if k.ndim == 3 else x, k, k)
    with pytest.raises(TypeError, match=r"q must be a torch.Tensor, got list"):
        book.blockwise_attention([1.0], x, x)
    with pytest.raises(TypeError, match=r"q and k must have the same dtype"):
        book.blockwise_attention(x, x.double(), x)
    with pytest.raises(TypeError, match=r"q and v must have the same dtype"):
        book.blockwise_attention(x, x, x.double())
    with pytest.raises(TypeError, match=r"mask must be boolean"):
        book.blockwise_attention(x, x, x, mask=torch.zeros(3, 3))
    with pytest.raises(TypeError, match=r"bias must be floating point"):
        book.blockwise_attention(x, x, x, bias=torch.zeros(3, 3, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"bias of shape \(3, 2\) does not fit"):
        book.blockwise_attention(x, x, x, bias=torch.zeros(3, 2))
    with pytest.raises(ValueError, match=r"soft_cap must be finite and above 0, got 0"):
        book.blockwise_attention(x, x, x, soft_cap=0.0)
    with pytest.raises(ValueError, match=r"sink of shape \(2, 1\) does not fit"):
        book.blockwise_attention(x, x, x, sink=torch.zeros(2, 1))
    with pytest.raises(TypeError, match=r"causal must be True or False, got int"):
        book.blockwise_attention(x, x, x, causal=1)
    with pytest.raises(ValueError, match=r"q and bias must be on the same device"):
        book.blockwise_attention(x, x, x, bias=torch.zeros(3, 3, device="meta"))


@pytest.mark.parametrize(
    ("shape", "options", "fused"),
    [
        ((1, 2, 4, 8), {}, True),
        ((4, 8), {}, True),
        ((2, 4, 8), {"causal": True}, True),
        ((3, 1, 2, 4, 63), {"causal": True}, True),
        ((1, 2, 3, 8), {}, True),
        ((1, 2, 3, 8), {"causal": True}, False),  # their causal mask begins at the first key
        ((1, 2, 4, 512), {}, False),
        ((1, 2, 4, 8), {"window": 2}, False),
        ((1, 2, 4, 8), {"soft_cap": 2.0}, False),
        ((1, 2, 3, 8), {"mask": True}, False),
        ((1, 2, 4, 8), {"bias": True}, False),
    ],
)
def test_a_gpu_uses_the_fused_kernel_where_it_means_the_same(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], options: dict[str, Any], fused: bool
) -> None:
    """Fake tensors know that they are on a GPU and need none; what is called is only noted."""
    calls = []

    def fused_kernel(q: torch.Tensor, *_: Any) -> torch.Tensor:
        calls.append("fused")
        return q

    def in_blocks(_: Options, q: torch.Tensor, *others: Any) -> tuple[torch.Tensor, ...]:
        calls.append("blocks")
        return q.clone(), q.clone()

    monkeypatch.setattr(blockwise, "in_one_kernel", fused_kernel)
    monkeypatch.setattr(blockwise, "in_blocks", in_blocks)
    with FakeTensorMode():
        q = torch.empty(shape, device="cuda")
        k = torch.empty(*shape[:-2], 4, shape[-1], device="cuda")
        full = torch.ones(shape[-2], 4, device="cuda")
        given = {"mask": {"mask": full > 0}, "bias": {"bias": full}}.get(next(iter(options), ""))
        got = book.blockwise_attention(q, k, k, scale=0.3, **(given or options))
        if given is None:
            book.blockwise_attention(q.double(), k.double(), k.double(), **options)
    assert calls == ["fused" if fused else "blocks"] + ["blocks"] * (given is None)
    assert got.shape == q.shape
    assert got.is_cuda


def test_the_fused_path_computes_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same path on a CPU: grouped heads, padding, and NaN that goes around the kernel."""
    kernel = blockwise.fused_attention

    def checked(*tensors: torch.Tensor, **options: Any) -> torch.Tensor:
        # Four axes and a head dim that is a multiple of 8, or it would hold all scores on a GPU.
        assert all(x.ndim == 4 and x.shape[-1] == 8 for x in tensors)
        return kernel(*tensors, **options)

    monkeypatch.setattr(blockwise, "fused_attention", checked)
    q, k, v = (x.detach() for x in everything(9, 9))
    v = normal(2, 2, 9, 3, seed=3)
    got = blockwise.in_one_kernel(q, k, v, False, 0.4)
    assert (got - plain(q, k, v, scale=0.4)).abs().max() <= 1e-13
    expected = plain(q, k, v, scale=0.4, mask=book.causal_mask(9))
    assert (blockwise.in_one_kernel(q, k, v, True, 0.4) - expected).abs().max() <= 1e-13
    one = blockwise.in_one_kernel(q[0, 0], k[0, 0], v[0, 0], True, 0.4)
    assert (one - expected[0, 0]).abs().max() <= 1e-13
    for bad in (k, v):
        kept = bad[:, :, 7].clone()
        bad[:, :, 7] = torch.nan
        got = blockwise.in_one_kernel(q, k, v, True, 0.4)
        assert (got - expected)[:, :, :7].abs().max() <= 1e-13
        assert got[:, :, 7:].isnan().all()
        bad[:, :, 7] = kept


def test_what_is_not_finite_and_seen_by_all_stays_in_its_column() -> None:
    """Nothing is hidden, so nothing is contained: as without blocks."""
    q, k, v = (x.detach() for x in everything(3, 5))
    v[0, 1, 2, 4] = torch.inf
    got = book.blockwise_attention(q, k, v, q_block=2, k_block=2)
    assert torch.equal(got.isfinite(), plain(q, k, v).isfinite())
    assert got.isposinf().any()
    torch.testing.assert_close(got, plain(q, k, v))


def test_a_window_gives_nan_to_who_sees_what_is_not_finite() -> None:
    """In a block that is seen whole, too."""
    q, k, v = (x.detach() for x in everything(6, 6))
    v[0, 1, 3, 4] = torch.inf
    got = book.blockwise_attention(q, k, v, window=3, q_block=1, k_block=1)
    expected = plain(q, k, v, mask=book.sliding_window_mask(6, 6, window=3, causal=False))
    torch.testing.assert_close(got, expected, equal_nan=True)


def test_a_bias_of_minus_infinity_hides_nan() -> None:
    q, k, v = everything(3, 5)
    bias = torch.zeros(3, 5, dtype=torch.float64)
    bias[:, 2] = -torch.inf
    bias[0, 1] = 2.0
    with torch.no_grad():
        k[:, :, 2] = torch.nan
    got = book.blockwise_attention(q, k, v, bias=bias, k_block=2)
    expected = plain(q, k, v, bias=bias)
    assert (got - expected).abs().max() <= 1e-13
    assert same_gradients(got.sum(), expected.sum(), (q, k, v), within=1e-12)


def test_two_rows_of_a_mask_are_cut_like_more() -> None:
    q, k, v = (x.detach() for x in everything(2, 5))
    mask = torch.tensor([[True, False, True, True, False], [False, True, False, True, True]])
    got = book.blockwise_attention(q, k, v, mask=mask, q_block=1, k_block=2)
    assert (got - plain(q, k, v, mask=mask)).abs().max() <= 1e-14


@pytest.mark.parametrize("leading", [(2,), (2, 3, 2)])
def test_mask_and_bias_have_the_axes_of_the_scores(leading: tuple[int, ...]) -> None:
    q, k, v = (normal(*leading, 5, 4, seed=s) for s in range(3))
    shape = (*leading, 5, 5)
    mask, bias = normal(*shape, seed=3) > -1, normal(*shape, seed=4)
    got = book.blockwise_attention(q, k, v, mask=mask, bias=bias, q_block=2, k_block=2)
    assert (got - book.attention(q, k, v, mask=mask, bias=bias)).abs().max() <= 1e-14
    at = torch.arange(5)
    made = BiasByPosition(lambda m, n: bias[..., m[:, None], n], at, at)
    got = book.blockwise_attention(q, k, v, mask=mask, bias=made, q_block=2, k_block=2)
    assert (got - book.attention(q, k, v, mask=mask, bias=bias)).abs().max() <= 1e-14


def test_a_mask_for_all_is_not_copied_for_each() -> None:
    options = Options(False, None, 1.0, None, None, 2, 2)
    one = Cut(torch.zeros(3, 4, 5, 1), torch.zeros(3, 2, 5, 1), options)
    rows, keys = slice(0, 2), slice(0, 3)
    assert one.fit(torch.ones(2, 3), rows, keys).shape == (1, 4, 3)
    assert one.fit(torch.ones(3, 1, 2, 3), rows, keys).shape == (6, 4, 3)


def test_positions_of_a_bias_are_whole_numbers() -> None:
    q, k, v = everything(7, 9)
    at = {"q_positions": torch.arange(7), "k_positions": torch.arange(9)}
    for name, whole in at.items():
        made = BiasByPosition(lambda *_: torch.zeros(1, 4, 1, 1), **at | {name: whole.double()})
        with pytest.raises(TypeError, match=rf"bias\.{name} must have an integer dtype"):
            book.blockwise_attention(q, k, v, bias=made)


def test_the_fused_kernel_has_head_dims_up_to_256() -> None:
    for width, fits in ((256, True), (257, False)):
        x = torch.empty(2, width)
        assert blockwise._fused_kernel_means_the_same(x, x, x, False) == fits


@pytest.mark.parametrize("place", [0, 1])
def test_nan_of_one_head_goes_around_the_kernel_alone(
    place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = blockwise.fused_attention

    def checked(*tensors: torch.Tensor, **options: Any) -> torch.Tensor:
        assert all(x.isfinite().all() for x in tensors)
        return kernel(*tensors, **options)

    monkeypatch.setattr(blockwise, "fused_attention", checked)
    q, *others = (normal(1, 2, 4, 8, seed=s) for s in range(3))
    others[place][0, 1, 2, 5] = torch.nan
    got = blockwise.in_one_kernel(q, *others, True, 0.4)
    expected = book.attention(q, *others, scale=0.4, mask=book.causal_mask(4))
    torch.testing.assert_close(got, expected, equal_nan=True)


class TestParts:
    """`partial_attention` and `partial_gradients` alone, as over a ring or the pages of a cache."""

    def test_the_default_scale_is_that_of_attention(self) -> None:
        q, k, v = (normal(2, 3, 5, 4, seed=s) for s in range(3))
        assert (finish(partial_attention(q, k, v)) - book.attention(q, k, v)).abs().max() <= 1e-14

    @pytest.mark.parametrize("place", [1, 2])
    def test_what_is_hidden_does_not_leak(self, place: int) -> None:
        tensors = [normal(3, 4, seed=s).requires_grad_() for s in range(3)]
        with torch.no_grad():
            tensors[place][2] = torch.nan
        mask = torch.tensor([[True, True, False]] * 2 + [[False] * 3])
        expected = book.attention(*tensors, mask=mask)
        partial = partial_attention(*tensors, mask=mask)
        assert (finish(partial) - expected).abs().max() <= 1e-14
        upstream = normal(3, 4, seed=3)
        share = (upstream * expected).sum(-1, keepdim=True)
        got = partial_gradients(*tensors, log_total(partial), upstream, share, mask=mask, scale=0.5)
        gradients = torch.autograd.grad(expected, tensors, upstream)
        for one, other in zip(got, gradients, strict=False):  # the scores' own comes behind
            assert (one - other).abs().max() <= 1e-14

    def test_what_is_seen_stays_in_its_column(self) -> None:
        q, k, v = (normal(3, 4, seed=s) for s in range(3))
        v[2, 1] = torch.inf
        partial = partial_attention(q, k, v)
        torch.testing.assert_close(finish(partial), book.attention(q, k, v))
        upstream, share = torch.ones(3, 4, dtype=torch.float64), torch.zeros(3, 1)
        got = partial_gradients(q, k, v, log_total(partial), upstream, share, scale=0.5)
        assert got.scores[:, 2].isposinf().all()
        assert got.scores[:, :2].isfinite().all()


def test_a_window_may_be_wider_than_all_positions() -> None:
    ends = torch.tensor([-(2**31)]), torch.tensor([2**31])
    assert blockwise.near_by_position(*ends, 2**70).all()
    assert not blockwise.near_by_position(*ends, 2**32).any()


def test_by_default_a_block_of_scores_has_512_queries_and_512_keys() -> None:
    q, k, v = (normal(1030, 2, seed=s) for s in range(3))
    with LargestTensor() as seen:
        book.blockwise_attention(q, k, v, soft_cap=5.0)
    assert seen.numel == 512 * 512
    attend = book.MultiHeadAttention(2, 1, soft_cap=5.0, seed=0).requires_grad_(False)
    with LargestTensor() as seen:
        attend(torch.ones(1, 1030, 2))
    assert seen.numel == 512 * 512
