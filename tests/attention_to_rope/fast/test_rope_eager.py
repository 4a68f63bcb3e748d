"""The rotation in fewer operations against the formula, which its own tests check."""

import numpy as np
import pytest
import torch

import attention_to_rope as book
from attention_to_rope.fast import EagerRotary, rotate_eagerly

LAYOUTS = ["half", "interleaved"]


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape)).to(dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rotary_dim", [None, 6])
@pytest.mark.parametrize("rows", [(5,), (2, 5)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_it_is_rotate(layout, rotary_dim, rows, dtype):
    positions = torch.from_numpy(np.random.default_rng(1).integers(0, 999, rows))
    theta = book.rotary_frequencies(rotary_dim or 8)
    table = book.rotary_table(positions, theta, dtype=dtype, attention_factor=1.5)
    x = normal(2, 3, 5, 8, dtype=dtype)
    turned = x.transpose(1, 2).contiguous().transpose(1, 2)  # as a layer leaves its heads
    spread = torch.stack((x, x), dim=-1)[..., 0]  # neighbours that are none in memory
    options = {"layout": layout, "rotary_dim": rotary_dim}
    expected = book.rotate(x, table, **options)
    for one in (x, turned, spread):
        got = rotate_eagerly(one, table, **options)
        assert got.dtype == dtype
        torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_its_gradient_is_that_of_rotate(layout):
    table = book.rotary_table(torch.arange(5), book.rotary_frequencies(8), dtype=torch.float64)
    upstream = normal(2, 5, 8, seed=1)
    gradients = []
    for form in (rotate_eagerly, book.rotate):
        x = normal(2, 5, 8).requires_grad_()
        gradients += torch.autograd.grad(form(x, table, layout=layout), x, upstream)
    torch.testing.assert_close(*gradients)


def test_it_refuses_what_rotate_refuses():
    x = normal(5, 4)
    cos, sin = book.rotary_table(torch.arange(5), book.rotary_frequencies(4), dtype=x.dtype)
    for layout in LAYOUTS:
        for wrong in ((cos[:1], sin[:1]), (cos, sin[:1]), (cos[:1], sin)):
            with pytest.raises(ValueError, match="does not fit"):
                rotate_eagerly(x, wrong, layout=layout)
        for wrong in ((cos.float(), sin.float()), (cos, sin.float())):
            with pytest.raises(TypeError, match="build it with"):
                rotate_eagerly(x, wrong, layout=layout)


@pytest.mark.usefixtures("unchecked")
def test_a_layout_that_does_not_exist():
    table = book.rotary_table(torch.arange(5), book.rotary_frequencies(4), dtype=torch.float64)
    with pytest.raises(ValueError, match="layout must be"):
        rotate_eagerly(normal(5, 4), table, layout="neox")


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_compiler_gets_the_formula(layout):
    table = book.rotary_table(torch.arange(5), book.rotary_frequencies(8))
    graphs = []

    def keep(graph, inputs):
        graphs.append(graph)
        return graph

    compiled = torch.compile(rotate_eagerly, backend=keep, fullgraph=True)
    x = normal(2, 5, 8, dtype=torch.float32)
    assert torch.equal(compiled(x, table, layout=layout), book.rotate(x, table, layout=layout))
    names = [node.name for graph in graphs for node in graph.graph.nodes]
    assert not any("addcmul" in name or "complex" in name for name in names)
    torch._dynamo.reset()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_model_computes_the_same_with_it(layout):
    shape = book.Architecture(d=16, heads=2, layers=2)
    tokens = torch.tensor([[1, 4, 2, 0, 3], [3, 3, 1, 2, 2]])
    theta = book.rotary_frequencies(6)
    options = {"layout": layout, "rotary_dim": 6, "attention_factor": 1.5}
    logits = []
    for scheme in (book.Rotary(theta, **options), EagerRotary(theta, **options)):
        model = book.Decoder(5, shape, seed=0, scheme=scheme).double()
        logits.append(model(tokens))
        generated, caches = model.extend(tokens[:, :3], model.empty_caches())
        rest, _ = model.extend(tokens[:, 3:], caches)
        logits.append(torch.cat((generated, rest), dim=1))
    for one in logits[1:]:
        torch.testing.assert_close(one, logits[0])
