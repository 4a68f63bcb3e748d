"""The short modules in the main lines of five early chapters, as a reader would take them.

They leave out what the listings to take away have (padding, other head dimensions), but they
compute the same, also in half precision.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_to_rope import FeedForward, MultiHeadAttention, alibi_bias, alibi_slopes, attention
from bookformat.notebooks import cells_of
from bookformat.paths import CHAPTERS
from bookkit.randomness import normal

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
in_each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
ROUNDINGS = 4  # of a dozen products and sums, relative to the whole result


def listing(page: str, start: str, **earlier: Any) -> dict[str, Any]:
    """What a cell defines; PyTorch and the random numbers are imported in the page's first cell."""
    cells = [cell for cell in cells_of(CHAPTERS / f"{page}.ipynb") if cell.kind == "code"]
    (source,) = [cell.source for cell in cells if start in cell.source]
    names: dict[str, Any] = {"torch": torch, "nn": nn, "normal": normal, **earlier}
    with torch.random.fork_rng():
        exec(source, names)
    return names


@pytest.fixture(autouse=True, scope="module")
def double_by_default() -> Iterator[None]:
    """The pages compute in float64, and their listings build modules as they run."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def assert_near(found: Tensor, exact: Tensor, dtype: torch.dtype) -> None:
    assert found.dtype == dtype
    error = (found.double() - exact).norm() / exact.norm()
    assert error <= ROUNDINGS * torch.finfo(dtype).eps


def assert_layer_survives(layer: nn.Module, dtype: torch.dtype) -> None:
    """A layer in this dtype is as good as the same layer, with the same rounded weights, exact."""
    rounded = copy.deepcopy(layer).to(dtype)
    x = normal(2, 7, 32, seed=0).to(dtype)
    assert_near(rounded(x), copy.deepcopy(rounded).double()(x.double()), dtype)


@pytest.fixture(scope="module")
def attend() -> Callable[..., tuple[Tensor, Tensor]]:
    taken: Callable[..., tuple[Tensor, Tensor]]
    taken = listing("why-sqrt-d", "def attend(Q, K, V, mask=None):")["attend"]
    return taken


@in_each_dtype
def test_attention_with_the_root_and_a_mask(attend: Any, dtype: torch.dtype) -> None:
    Q, K, V = (normal(2, 6, 16, seed=seed).to(dtype) for seed in range(3))
    mask = torch.arange(6) < torch.tensor([6, 2])[:, None, None]
    output, weights = attend(Q, K, V, mask)
    exact = attention(Q.double(), K.double(), V.double(), mask=mask.expand(2, 6, 6))
    assert_near(output, exact, dtype)
    assert not weights[1, :, 2:].any()
    without, _ = attend(Q, K, V)
    assert_near(without, attention(Q.double(), K.double(), V.double()), dtype)


@pytest.fixture(scope="module")
def multi_head() -> Any:
    return listing("many-heads", "class MultiHead(nn.Module):")["MultiHead"]


def test_several_heads_agree_with_the_library(multi_head: Any) -> None:
    library = MultiHeadAttention(32, 4, bias=False, seed=0).double()
    layer = multi_head(32, 4)
    parts = {"W_Q": library.query, "W_K": library.key, "W_V": library.value, "W_O": library.output}
    layer.load_state_dict({f"{name}.weight": part.weight for name, part in parts.items()})
    x = normal(2, 7, 32, seed=1)
    torch.testing.assert_close(layer(x), library(x, causal=True))


@in_each_dtype
def test_several_heads_in_each_dtype(multi_head: Any, dtype: torch.dtype) -> None:
    assert_layer_survives(multi_head(32, 4), dtype)


@pytest.fixture(scope="module")
def plain() -> Any:
    return listing("feed-forward", "class FeedForward(nn.Module):")["FeedForward"]


@pytest.fixture(scope="module")
def gated(plain: Any) -> Any:
    return listing("feed-forward", "class SwiGLU(nn.Module):", FeedForward=plain)["SwiGLU"]


def test_plain_and_gated_layers_agree_with_the_library(plain: Any, gated: Any) -> None:
    x = normal(2, 7, 32, seed=1)
    library = FeedForward(32, 48, activation="relu", seed=0).double()
    layer = plain(32, 48)
    for own, other in ((layer.up, library.up), (layer.down, library.down)):
        own.weight.data = other.weight.detach()
        own.bias.data = normal(len(own.bias), seed=2)
        other.bias.data = own.bias.data
    torch.testing.assert_close(layer(x), library(x))

    library = FeedForward(32, 48, activation="swiglu", bias=False, seed=0).double()
    layer = gated(32, 48)
    pairs = ((layer.gate, library.up), (layer.up, library.value), (layer.down, library.down))
    for own, other in pairs:
        own.weight.data = other.weight.detach()
    torch.testing.assert_close(layer(x), library(x))


@in_each_dtype
def test_plain_and_gated_layers_in_each_dtype(plain: Any, gated: Any, dtype: torch.dtype) -> None:
    assert_layer_survives(plain(32, 48), dtype)
    assert_layer_survives(gated(32, 48), dtype)


AT = torch.arange(7)


@pytest.fixture(scope="module")
def relative() -> dict[str, Any]:
    names = listing("relative-positions", "class RelativeAttention")
    return listing("relative-positions", "class Shaw(", **names)


def by_library(layer: Any, x: Tensor, bias: Callable[[Tensor], Tensor]) -> Tensor:
    """The layer's projections, and the library's attention with this bias of the queries."""
    q, k, v = (
        part.unflatten(-1, (layer.h, -1)).transpose(1, 2)
        for part in layer.project(x).chunk(3, dim=-1)
    )
    heads = attention(q, k, v, bias=bias(q), mask=AT[:, None] >= AT)
    return layer.output(heads.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]


def test_relative_layers_agree_with_the_library(relative: dict[str, Any]) -> None:
    x = normal(2, 7, 32, seed=1)
    line = relative["ALiBi"](32, 4)
    slopes = alibi_bias(alibi_slopes(4), AT, AT)[None]
    expected = by_library(line, x, lambda q: slopes)
    torch.testing.assert_close(line(x, AT + 50), expected)

    shaw = relative["Shaw"](32, 4, rho_max=2)
    shaw.a.data = normal(5, 8, seed=3)
    row = (AT - AT[:, None]).clamp(-2, 2) + 2
    expected = by_library(
        shaw, x, lambda q: torch.einsum("bhmd,mnd->bhmn", q, shaw.a[row]) / 8**0.5
    )
    torch.testing.assert_close(shaw(x, AT + 50), expected)


@in_each_dtype
def test_relative_layers_in_each_dtype(relative: dict[str, Any], dtype: torch.dtype) -> None:
    x = normal(2, 7, 32, seed=0).to(dtype)
    for name in ("ALiBi", "Shaw"):
        rounded = relative[name](32, 4).to(dtype)
        exact = copy.deepcopy(rounded).double()
        assert_near(rounded(x, AT), exact(x.double(), AT), dtype)
