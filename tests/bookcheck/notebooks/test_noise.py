"""Rounding noise moves inexact results by one unit in the last place, and exact ones not at all."""

import subprocess
import sys

import numpy as np
import pytest

from bookcheck.notebooks.noise import NUMPY, TORCH, move

pytestmark = pytest.mark.long

# In a process of its own, because the noise lasts to its end.
OPERATIONS = """
import sys
from types import SimpleNamespace
import numpy as np
import torch
import torch.nn.functional as F
from bookcheck.notebooks.noise import Products, add_noise

x = torch.linspace(-1.3, 1.7, 36, dtype=torch.float64).view(6, 6)
three, n = x.expand(2, 6, 6).clone(), x.numpy()
moving = {
    "mm": lambda: x @ x,
    "bmm": lambda: three @ three,
    "mv": lambda: x @ x[0],
    "dot": lambda: x[0] @ x[1],
    "addmm": lambda: F.linear(x, x, x[0]),
    "baddbmm": lambda: torch.baddbmm(three, three, three),
    "sum": lambda: x.sum(1),
    "mean": lambda: x.mean(0),
    "pow": lambda: 10.0**x,
    "softmax": lambda: x.softmax(-1),
    "log_softmax": lambda: x.log_softmax(-1),
    "exp": lambda: x.exp(),
    "sin": lambda: x.sin(),
    "cos": lambda: x.cos(),
    "tanh": lambda: x.tanh(),
    "sigmoid": lambda: x.sigmoid(),
    "silu": lambda: F.silu(x),
    "gelu": lambda: F.gelu(x),
    "erf": lambda: x.erf(),
    "np.exp": lambda: np.exp(n),
    "np.sin": lambda: np.sin(n),
    "np.cos": lambda: np.cos(n),
    "np.tanh": lambda: np.tanh(n),
    "np.einsum": lambda: np.einsum("ij,kj", n, n),
    "fused attention": lambda: F.scaled_dot_product_attention(three, three, three),
    "gradient": lambda: torch.func.grad(lambda y: (y @ y).exp().sum())(x),
    "one number": lambda: np.exp(0.3),
}
staying = {
    "sum of two": lambda: x + x,
    "product of two": lambda: x * x,
    "product of integers": lambda: torch.arange(4) @ torch.arange(4),
    "product of short integers": lambda: torch.eye(3).int() @ torch.eye(3).int(),
    "sum of integers": lambda: torch.arange(4).sum(),
    "whole numbers": lambda: torch.eye(3) @ torch.ones(3, 3),
    "exp of zeros": lambda: torch.zeros(2).exp(),
    "exp of integers": lambda: torch.arange(3).exp().dtype == torch.float32,
    "complex": lambda: x.to(torch.complex64).exp().dtype == torch.complex64,
    "bfloat16": lambda: x.bfloat16().exp().float(),
    "without numbers": lambda: torch.ones(3, device="meta").exp().is_meta,
}
assert set(sys.argv[1:]) <= set(moving), set(sys.argv[1:]) - set(moving)
exact = {name: np.asarray(f()) for name, f in (moving | staying).items()}
shell = SimpleNamespace(user_ns={}, ast_transformers=[])
add_noise(3, shell)
for name, f in moving.items():
    results = [np.asarray(f()) for _ in range(8)]
    apart = [np.abs(r - exact[name]).max() / np.abs(exact[name]).max() for r in results]
    assert 0 < max(apart) < 1e-14, (name, apart)
    assert any((one != results[0]).any() for one in results), name
for name, f in staying.items():
    assert all((np.asarray(f()) == exact[name]).all() for _ in range(8)), name
(transformer,) = shell.ast_transformers
code = compile(transformer.visit(__import__("ast").parse("1 * (n @ n)", mode="eval")), "", "eval")
results = [eval(code, {"n": n, **shell.user_ns}) for _ in range(2)]
assert 0 < np.abs(results[0] - results[1]).max() < 1e-14
y = x.clone().requires_grad_()
assert torch.autograd.gradcheck(lambda y: (y @ y).softmax(-1), y, nondet_tol=1e-12)
"""


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_every_number_goes_to_its_neighbour_up_or_down(kind):
    before = np.linspace(-3.7, 5.3, 1000, dtype=kind)
    after, other = before.copy(), before.copy()
    move(after, np.random.default_rng(1))
    move(other, np.random.default_rng(2))
    up, down = (after == np.nextafter(before, kind(way)) for way in (np.inf, -np.inf))
    assert (up | down).all()
    assert 0.4 < up.mean() < 0.6
    assert (after != other).any()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_what_is_exact_everywhere_stays(kind):
    before = np.array([0.0, -0.0, 1.0, -7.0, np.inf, -np.inf, 2.0**60, np.nan], dtype=kind)
    after, whole = before.copy(), np.arange(5)
    move(after, np.random.default_rng(1))
    move(whole, np.random.default_rng(1))
    np.testing.assert_array_equal(after, before)
    assert whole.tolist() == [0, 1, 2, 3, 4]


def test_noise_is_on_the_listed_operations_and_on_nothing_else(tmp_path):
    program = tmp_path / "operations.py"
    program.write_text(OPERATIONS, encoding="utf-8")
    names = [name.partition(".")[0].removeprefix("_") for name in TORCH]
    command = [sys.executable, program, *names, *(f"np.{name}" for name in NUMPY)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
