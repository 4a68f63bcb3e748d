"""The imitated processor is off by one unit in the last place, and nowhere else."""

import numpy as np
import pytest
import torch

from bookcheck import warm
from bookcheck.notebooks.imitation import WHOLE, one_unit_off

OPERATIONS = """
import warnings
warnings.simplefilter("error")
import torch
from bookcheck.notebooks.imitation import imitate, one_unit_off

x = torch.linspace(-1.3, 1.7, 36, dtype=torch.float64).view(6, 6).sin()
v, three = x[0].clone(), x.expand(2, 6, 6).clone()
operations = {
    "mm": lambda: x @ x,
    "bmm": lambda: three @ three,
    "mv": lambda: x @ v,
    "dot": lambda: v @ v,
    "addmm": lambda: torch.nn.functional.linear(x, x, v),
    "baddbmm": lambda: torch.baddbmm(three, three, three),
    "einsum": lambda: torch.einsum("ij,kj->ik", x, x),
    "exp": lambda: x.exp(),
    "exp of one number": lambda: x[0, 1].exp(),
    "tanh": lambda: x.tanh(),
    "softmax": lambda: x.softmax(-1),
}
exact = {name: operation() for name, operation in operations.items()}
imitate(3)
for name, operation in operations.items():
    unit = torch.nextafter(exact[name].abs(), torch.tensor(torch.inf).double()) - exact[name].abs()
    apart = (operation() - exact[name]).abs() / unit
    # mv and dot are products of matrices here, whose sums have an order of their own.
    assert 0 < apart.max() <= (4 if name in ("mv", "dot") else 1), (name, apart)
    assert torch.equal(operation(), operation()), name
same = [x + x, x * x, x.sqrt(), torch.arange(4) @ torch.arange(4), torch.arange(3).exp().dtype]
assert torch.equal(same[0], 2 * x) and same[3] == 14 and same[4] == torch.float32
assert torch.ones(3, device="meta").exp().is_meta
assert x.to(torch.complex64).exp().dtype == torch.complex64
assert torch.autograd.gradcheck(lambda y: (y @ y).softmax(-1), x.clone().requires_grad_())
"""


@pytest.mark.parametrize("kind", WHOLE)
def test_every_number_goes_to_its_neighbour_up_or_down(kind):
    x = torch.linspace(-3.7, 5.3, 1001, dtype=kind)
    x = x[x != x.round()]
    off = one_unit_off(x, 1)
    above = torch.nextafter(x, torch.full_like(x, torch.inf))
    below = torch.nextafter(x, torch.full_like(x, -torch.inf))
    assert ((off == above) | (off == below)).all()
    up = (off == above).double().mean()
    assert 0.3 < up < 0.7
    assert not torch.equal(off, one_unit_off(x, 2))


@pytest.mark.parametrize("kind", WHOLE)
def test_what_is_exact_everywhere_stays(kind):
    x = torch.tensor([0.0, -0.0, 1.0, -7.0, torch.inf, -torch.inf, 2.0**60], dtype=kind)
    assert torch.equal(one_unit_off(x, 1), x)
    # All bits set are NaN too; one more would be 0.
    all_bits = torch.from_numpy(np.array([-1], dtype=WHOLE[kind])).view(kind)
    for salt in range(4):
        assert one_unit_off(all_bits, salt).isnan().all()


def test_products_and_exponentials_are_off_and_nothing_else(tmp_path):
    program = tmp_path / "operations.py"
    program.write_text(OPERATIONS, encoding="utf-8")
    done = warm.run(program)  # a process of its own: the imitation has no way back
    assert done.returncode == 0, done.stderr
