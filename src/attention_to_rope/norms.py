"""Normalisation and where it stands beside the residual connection."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from attention_to_rope.checks import (
    check_count,
    check_float,
    check_positive,
    check_same_kind,
    working_dtype,
)
from attention_to_rope.layers import parameter

Sublayer = Callable[[Tensor], Tensor]
LAYER_NORM_EPS, RMS_NORM_EPS = 1e-5, 1e-6


def _check_vector(name: str, vector: Tensor | None, x: Tensor) -> None:
    if vector is None:
        return
    check_float(name, vector)
    check_same_kind("x", x, name, vector)
    if vector.shape != x.shape[-1:]:
        raise ValueError(f"{name} must have shape ({x.shape[-1]},), got {tuple(vector.shape)}")


def _check_input(x: Tensor, eps: float) -> None:
    check_float("x", x)
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(f"x must have shape (..., d) with d ≥ 1, got {tuple(x.shape)}")
    check_positive("eps", eps)


def _without_overflow(x: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """x and ε divided by a number and by its square: the norm stays, and no square overflows.

    The number is 1 unless x has entries above 2⁵⁰.
    """
    divisor = (x.detach().abs().amax(-1, keepdim=True) * 2**-50).clamp_min(1)
    return x / divisor, eps / divisor.square()


def layer_norm(
    x: Tensor,
    gain: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    eps: float = LAYER_NORM_EPS,
) -> Tensor:
    r"""Centre each vector and divide by its standard deviation.

    $g \odot (x - \mu) / \sqrt{\sigma^2 + \epsilon} + b$ with mean μ and variance σ² over the last
    axis (divided by d, not d − 1). (..., d) → (..., d)

    >>> layer_norm(torch.tensor([1.0, 0, 0, 0]), eps=1e-12)
    tensor([ 1.7321, -0.5774, -0.5774, -0.5774])
    """
    _check_input(x, eps)
    _check_vector("gain", gain, x)
    _check_vector("bias", bias, x)
    exact, eps_of = _without_overflow(x.to(working_dtype(x.dtype)), eps)
    centred = exact - exact.mean(-1, keepdim=True)
    y = centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + eps_of)
    y = y if gain is None else y * gain
    y = y if bias is None else y + bias
    return y.to(x.dtype)


def rms_norm(x: Tensor, gain: Tensor | None = None, *, eps: float = RMS_NORM_EPS) -> Tensor:
    r"""Divide each vector by its root mean square.

    $g \odot x / \sqrt{\tfrac{1}{d} \sum_i x_i^2 + \epsilon}$. (..., d) → (..., d)

    >>> rms_norm(torch.tensor([3.0, 4.0]))
    tensor([0.8485, 1.1314])
    """
    _check_input(x, eps)
    _check_vector("gain", gain, x)
    exact, eps_of = _without_overflow(x.to(working_dtype(x.dtype)), eps)
    y = exact * torch.rsqrt(exact.square().mean(-1, keepdim=True) + eps_of)
    y = y if gain is None else y * gain
    return y.to(x.dtype)


class LayerNorm(nn.Module):
    """`layer_norm` with a gain that starts at 1 and a bias that starts at 0."""

    def __init__(self, d: int, *, eps: float = LAYER_NORM_EPS) -> None:
        super().__init__()
        check_count("d", d)
        check_positive("eps", eps)
        self.gain = parameter(np.ones(d))
        self.bias = parameter(np.zeros(d))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """(..., d) → (..., d)"""
        return layer_norm(x, self.gain, self.bias, eps=self.eps)


class RMSNorm(nn.Module):
    """`rms_norm` with a gain that starts at 1."""

    def __init__(self, d: int, *, eps: float = RMS_NORM_EPS) -> None:
        super().__init__()
        check_count("d", d)
        check_positive("eps", eps)
        self.gain = parameter(np.ones(d))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """(..., d) → (..., d)"""
        return rms_norm(x, self.gain, eps=self.eps)


def post_norm(x: Tensor, sublayer: Sublayer, norm: Sublayer) -> Tensor:
    r"""Normalise after the residual sum: $\operatorname{norm}(x + f(x))$."""
    return norm(x + sublayer(x))


def pre_norm(x: Tensor, sublayer: Sublayer, norm: Sublayer) -> Tensor:
    r"""Normalise what enters the sublayer: $x + f(\operatorname{norm}(x))$."""
    return x + sublayer(norm(x))


def sandwich_norm(x: Tensor, sublayer: Sublayer, norm_in: Sublayer, norm_out: Sublayer) -> Tensor:
    r"""Normalise before and after: $x + \operatorname{norm}_2(f(\operatorname{norm}_1(x)))$."""
    return x + norm_out(sublayer(norm_in(x)))


def deep_norm(x: Tensor, sublayer: Sublayer, norm: Sublayer, *, alpha: float) -> Tensor:
    r"""Post-norm with a weighted residual: $\operatorname{norm}(\alpha x + f(x))$."""
    check_positive("alpha", alpha)
    return norm(alpha * x + sublayer(x))


class DeepNormConstants(NamedTuple):
    """The weight α of the residual and the gain β of the initial weights."""

    alpha: float
    beta: float


def deepnorm_constants(layers: int) -> DeepNormConstants:
    r"""DeepNorm's constants for an encoder alone or a decoder alone of N layers.

    $\alpha = (2N)^{1/4}$, $\beta = (8N)^{-1/4}$; β multiplies the initial W^V, W^O and the
    feed-forward weights.

    >>> deepnorm_constants(8)
    DeepNormConstants(alpha=2.0, beta=0.3535533905932738)
    """
    check_count("layers", layers)
    return DeepNormConstants((2 * layers) ** 0.25, (8 * layers) ** -0.25)


class DeepNormPair(NamedTuple):
    """The constants of the two halves of an encoder–decoder."""

    encoder: DeepNormConstants
    decoder: DeepNormConstants


def deepnorm_pair(encoder_layers: int, decoder_layers: int) -> DeepNormPair:
    r"""DeepNorm's constants for an encoder of N layers with a decoder of M layers.

    Encoder: $\alpha_e = 0.81\,(N^4 M)^{1/16}$, $\beta_e = 0.87\,(N^4 M)^{-1/16}$. Decoder, whose
    blocks have three sublayers: $\alpha_d = (3M)^{1/4}$, $\beta_d = (12M)^{-1/4}$.

    >>> deepnorm_pair(6, 27).decoder
    DeepNormConstants(alpha=3.0, beta=0.23570226039551584)
    """
    check_count("encoder_layers", encoder_layers)
    check_count("decoder_layers", decoder_layers)
    size = (encoder_layers**4 * decoder_layers) ** (1 / 16)
    return DeepNormPair(
        DeepNormConstants(0.81 * size, 0.87 / size),
        DeepNormConstants((3 * decoder_layers) ** 0.25, (12 * decoder_layers) ** -0.25),
    )
