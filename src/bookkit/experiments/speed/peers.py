"""The published forms of RoPE, and ways to other libraries' own."""

import importlib
import importlib.util
import sys
from typing import Any

import torch
from torch import Tensor


def rotated_half(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The form of most published code: the table is as wide as x and has its dtype."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


def as_complex(x: Tensor, turn: Tensor) -> Tensor:
    """The form of Meta's Llama code: pairs as complex numbers in float32."""
    z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(z * turn).flatten(-2).to(x.dtype)


def without_its_start(package: str) -> None:
    """Let the modules of a package be imported without running its `__init__`, if it is there."""
    found = importlib.util.find_spec(package)
    if found is not None and package not in sys.modules:
        sys.modules[package] = importlib.util.module_from_spec(found)


def imported(module: str, name: str) -> Any:
    """A function of another library, or None, with a line, where the library is missing."""
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        print(f"  {module}.{name} is missing ({error}): its rows are left out", flush=True)
        return None
