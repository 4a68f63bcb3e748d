"""The published forms of RoPE, and other libraries' own, each called as its users call it."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

Rotation = Callable[[Tensor], Tensor]
Maker = Callable[[Tensor], tuple[Tensor, Rotation]]


def rotated_half(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The form of most published code: the table is as wide as x and has its dtype."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


def as_complex(x: Tensor, turn: Tensor) -> Tensor:
    """The form of Meta's Llama code: pairs as complex numbers in float32."""
    z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(z * turn).flatten(-2).to(x.dtype)


def torchtune_file(relative: str) -> ModuleType:
    """The module in one file of torchtune: importing the package needs datasets and more."""
    package = importlib.util.find_spec("torchtune")
    if package is None or not package.submodule_search_locations:
        raise ImportError("torchtune is missing: pip install --no-deps torchtune==0.6.1")
    path = Path(package.submodule_search_locations[0]) / relative
    module = ModuleType(path.stem)
    SourceFileLoader(path.stem, str(path)).exec_module(module)
    return module


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


def _sequence_first(x: Tensor) -> Tensor:
    """(B, H, N, d) → (B, N, H, d), laid out anew: the order some libraries keep in memory."""
    return x.transpose(1, 2).contiguous()


def transformers_llama(x: Tensor) -> tuple[Tensor, Rotation]:
    """half layout, table in the dtype of x"""
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    d = x.shape[-1]
    module = LlamaRotaryEmbedding(LlamaConfig(hidden_size=d, num_attention_heads=1, head_dim=d))
    cos, sin = module(x, torch.arange(x.shape[2])[None])
    # It turns q and k in one call; a k without heads leaves the time of q alone.
    return x, lambda q: apply_rotary_pos_emb(q, q[:, :0], cos, sin)[0]


def torchtune(x: Tensor) -> tuple[Tensor, Rotation]:
    """interleaved, (B, N, H, d), computed in float32"""
    module = torchtune_file("modules/position_embeddings.py")
    rope = module.RotaryPositionalEmbeddings(x.shape[-1], max_seq_len=x.shape[2])
    return _sequence_first(x), rope


def rotary_embedding_torch(x: Tensor) -> tuple[Tensor, Rotation]:
    """interleaved, keeps its angles between calls"""
    from rotary_embedding_torch import RotaryEmbedding

    return x, RotaryEmbedding(x.shape[-1]).rotate_queries_or_keys


def x_transformers(x: Tensor) -> tuple[Tensor, Rotation]:
    """interleaved, takes angles and makes cos and sin in each call"""
    from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

    angles, _ = RotaryEmbedding(x.shape[-1])(torch.arange(x.shape[2]))
    return x, lambda q: apply_rotary_pos_emb(q, angles)


def meta_llama(x: Tensor) -> tuple[Tensor, Rotation]:
    """interleaved, (B, N, H, d), pairs as complex numbers, angles in float32"""
    d = x.shape[-1]
    frequencies = 1.0 / (10000.0 ** (torch.arange(0, d, 2)[: d // 2] / d))
    angles = torch.outer(torch.arange(x.shape[2], dtype=torch.float32), frequencies)
    turn = torch.polar(torch.ones_like(angles), angles)[None, :, None]
    return _sequence_first(x), lambda q: as_complex(q, turn)


# The name in the results: the package to look for (none: the form is written above), its maker.
PEERS: dict[str, tuple[str | None, Maker]] = {
    "transformers Llama": ("transformers", transformers_llama),
    "torchtune": ("torchtune", torchtune),
    "rotary-embedding-torch": ("rotary-embedding-torch", rotary_embedding_torch),
    "x-transformers": ("x-transformers", x_transformers),
    "meta-llama complex form": (None, meta_llama),
}


@cache
def installed(package: str | None) -> str | None:
    """The version of a package, "" for code that needs none; None, with a line, if missing."""
    if package is None:
        return ""
    try:
        return version(package)
    except PackageNotFoundError:
        print(f"  {package} is not installed: its rows are left out", flush=True)
        return None
