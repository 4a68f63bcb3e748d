"""Latent attention, experts, shaped scores and recurrences work where PyTorch works."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

import attention_to_rope as book
from bookkit.randomness import normal

CPU = torch.device("cpu")
X = normal(2, 5, 8, seed=0, dtype=torch.float32)
KEYS, VALUES, QUERIES = (normal(2, 3, 5, 4, seed=s, dtype=torch.float32) for s in range(3))
MASK, POSITIONS = book.causal_mask(5), torch.arange(5)
ROTARY = book.Rotary(book.rotary_frequencies(2), layout="half")
LATENT = book.LatentAttention(
    8, 2, head_dim=4, rotary_dim=2, latent_dim=5, query_latent_dim=6, seed=0
).requires_grad_(False)
EXPERTS = book.MixtureOfExperts(
    8, 6, experts=4, k=2, shared=1, gate="sigmoid", balanced=True, seed=0
).requires_grad_(False)


def rates(x: Tensor) -> Tensor:
    return x[..., 0].sigmoid()


CALLS: dict[str, Callable[[Tensor], Tensor]] = {
    "latent attention, naive": lambda x: LATENT(x, position=ROTARY)[0],
    "latent attention, absorbed": lambda x: LATENT(x, form="absorbed", position=ROTARY)[0],
    "mixture of experts": EXPERTS,
    "route": lambda x: book.route(x, 2, bias=x[0, 0]).gates,
    "balance_loss": lambda x: book.balance_loss(x.softmax(-1), book.route(x, 2).experts),
    "balanced_bias": lambda x: book.balanced_bias(x[0, 0], book.route(x, 2).experts, step=0.1),
    "query_key_norm": lambda x: book.query_key_norm(x, x)[0],
    "soft_cap": lambda x: book.soft_cap(x, 2.0),
    "query_key_clip": lambda x: book.query_key_clip(x[0], x[1], x[0, 0, :2], threshold=1.0)[0],
    "sink_attention": lambda x: book.sink_attention(QUERIES, KEYS, VALUES, x[0, 0, :3], mask=MASK),
    "gated_attention": lambda x: book.gated_attention(x, x, x, x),
    "stepped_length_factor": lambda x: (
        x[:, :, 0] * book.stepped_length_factor(POSITIONS, step=2).to(x.dtype)
    ),
    "linear_attention": lambda x: book.linear_attention(x, x, x, decay=rates(x)),
    "linear_attention_steps": lambda x: book.linear_attention_steps(x, x, x, decay=rates(x))[0],
    "delta_rule_steps": lambda x: book.delta_rule_steps(x, x, x, rates(x), decay=rates(x))[0],
}


@pytest.mark.parametrize("name", CALLS)
class TestTransforms:
    @pytest.mark.usefixtures("untraced")
    def test_compile_in_one_graph(self, name: str) -> None:
        torch._dynamo.reset()
        traced = torch.compile(CALLS[name], fullgraph=True, backend="eager")
        assert torch.allclose(traced(X), CALLS[name](X), atol=1e-5)

    def test_autocast(self, name: str) -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            result = CALLS[name](X)
        assert torch.allclose(result.float(), CALLS[name](X), atol=0.1, rtol=0.1)

    def test_vmap(self, name: str) -> None:
        two = torch.stack((X, X.flip(0)))
        mapped = torch.vmap(CALLS[name])(two)
        for row, result in zip(two, mapped, strict=True):
            assert torch.allclose(result, CALLS[name](row), atol=1e-5)

    def test_forward_derivative(self, name: str) -> None:
        x, direction = X.double(), normal(*X.shape, seed=1)
        if name in ("sink_attention", "mixture of experts") or name.startswith("latent"):
            x, direction = x.float(), direction.float()
        _, slope = torch.func.jvp(CALLS[name], (x,), (direction,))
        ahead, behind = (CALLS[name](x + step * direction) for step in (1e-3, -1e-3))
        assert torch.allclose(slope, (ahead - behind) / 2e-3, atol=2e-2, rtol=2e-2)

    def test_fake_tensors(self, name: str) -> None:
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            result = CALLS[name](mode.from_tensor(X))
        assert result.shape == CALLS[name](X).shape

    def test_default_device(self, name: str) -> None:
        expected = CALLS[name](X)
        with torch.device("meta"):
            result = CALLS[name](X)
        assert result.device == CPU
        assert torch.equal(result, expected)
