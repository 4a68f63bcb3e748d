"""No check names a function of the library that it does not depend on."""

import dataclasses
import sys
from collections import namedtuple

import numpy as np
import pytest
import torch

from bookcheck.equations.checks import Check, load_checks
from bookcheck.equations.scan import collect
from bookcheck.equations.scramble import (
    changed_inside,
    other_numbers,
    replaced,
    survives,
    survivors,
)

pytestmark = pytest.mark.long

THIS = sys.modules[__name__]


def double(x):
    return 2 * x


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.W = torch.nn.Parameter(torch.ones(3, 2))

    def forward(self, x):
        return double(x)


def check(function, library, sizes=False):
    return Check("eq-a", function, 2, (library,), {}, sizes=sizes)


@pytest.mark.filterwarnings("ignore")
def test_every_check_depends_on_the_functions_it_names():
    printed = {item.label: item for item in collect() if item.label}
    found = survivors(load_checks(), printed)
    assert not found, "\n".join(found)


def test_a_function_that_decides_is_told_from_decoration():
    def bound(rng):
        x = rng.normal()
        return {"x": x, "y": double(x)}

    def decorated(rng):
        double(1.0)
        x = rng.normal()
        return {"x": x, "y": 2 * x}

    assert not survives(check(bound, double), "y = 2 x", double)
    assert survives(check(decorated, double), "y = 2 x", double)
    assert double(1.0) == 2.0


def test_a_function_on_both_sides_does_not_hold_by_luck():
    def both(rng):
        x = rng.normal(size=3)
        return {"y": double(x), "z": double(x)}

    assert not survives(check(both, double), "y = z", double)


def test_methods_and_sizes_are_scrambled_too():
    def called(rng):
        x = rng.normal()
        return {"x": x, "y": Layer()(torch.tensor(x)).item()}

    def counted(rng):
        return {"P": sum(p.numel() for p in Layer().parameters())}

    for library in (Layer, Layer.forward):
        assert not survives(check(called, library), "y = 2 x", library)
    assert survives(check(counted, Layer), "P = 6", Layer)
    assert not survives(check(counted, Layer, sizes=True), "P = 6", Layer)
    assert sum(p.numel() for p in Layer().parameters()) == 6


def test_operations_are_counted_once_more():
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter, replaced(double, sizes=False):
        THIS.double(torch.ones(2))
    assert counter.get_total_flops() > 0


def test_numbers_change_and_kind_and_shape_stay():
    pair = namedtuple("pair", "a b")(1.0, np.zeros((2, 3)))

    @dataclasses.dataclass
    class Record:
        x: torch.Tensor

    given = [pair, {"k": True, "n": 4}, Record(torch.ones(2)), torch.tensor([True]), "word"]
    found = changed_inside(given, lambda value: other_numbers(value, 1))
    assert found[0].a != 1.0
    assert found[0].b.shape == (2, 3)
    assert np.all(found[0].b != 0)
    assert found[1] == {"k": False, "n": 7}
    assert torch.all(found[2].x != 1)
    assert not found[3].item()
    assert found[4] == "word"


def test_a_function_that_nobody_names_is_an_error():
    with pytest.raises(LookupError, match="names"), replaced(lambda x: x, sizes=False):
        pass
