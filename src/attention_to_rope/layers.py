"""Linear maps, embeddings and norms, of which all models are made; weights from a NumPy seed.

Vectors are rows, so a linear map is x @ W, and norms act on the last axis, on each token by itself.
"""

import math
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn
from torch.nn import functional

Seed = int | np.random.Generator
Sublayer = Callable[[Tensor], Tensor]
LAYER_NORM_EPS = 1e-5
RMS_NORM_EPS = 1e-6


def wide(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """x in the dtype to compute in: float16 and bfloat16 become float32, others stay.

    bfloat16 has 8 significant bits: in it, 256 + 1 is 256. Sums and exponentials need more.
    """
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def check_positive(name: str, number: float) -> None:
    """Raise unless the number is positive and finite; NaN is refused too."""
    if not 0 < number < math.inf:
        raise ValueError(f"{name} must be a positive finite number, got {number}")


def check_at_least(name: str, number: int, least: int) -> None:
    """Raise if a number that counts something is too small."""
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")


def stream_of(seed: Seed, part: str) -> np.random.Generator:
    """The stream of random numbers for one part of a model, such as "Decoder" or "Learned".

    Two parts with equal seeds draw from different streams. A generator is used as it is.
    """
    if isinstance(seed, np.random.Generator):
        return seed
    stream = np.random.SeedSequence(seed, spawn_key=(zlib.crc32(part.encode()),))
    return np.random.Generator(np.random.PCG64(stream))


def drawn_parameter(shape: tuple[int, ...], draw: Callable[..., Any]) -> nn.Parameter:
    """A parameter with the values `draw(shape)`, in torch's default dtype and on its device."""
    like = torch.empty(0)
    if like.is_meta:  # shapes alone: nothing to draw
        return nn.Parameter(torch.empty(shape))
    return nn.Parameter(torch.from_numpy(draw(shape)).to(like))


class Linear(nn.Linear):
    r"""Row vectors times a matrix: $x W + b$, with W of shape (d_in, d_out).

    W is initialized uniformly with variance $2 g^2 / (d_{\text{in}} + d_{\text{out}})$ (Xavier with
    gain g), b with 0. This is torch's own layer, whose `weight` is the transpose of W.

    >>> layer = Linear(3, 2, seed=0)
    >>> torch.equal(layer(torch.eye(3)), layer.W + layer.bias)
    True
    """

    def __init__(
        self, d_in: int, d_out: int, *, seed: Seed, bias: bool = True, gain: float = 1.0
    ) -> None:
        nn.Module.__init__(self)  # that of nn.Linear would draw from torch's random numbers
        self.in_features = d_in
        self.out_features = d_out
        rng = stream_of(seed, "Linear")
        bound = gain * math.sqrt(6 / (d_in + d_out))  # uniform in ±bound: variance bound² / 3
        W = drawn_parameter((d_in, d_out), lambda shape: rng.uniform(-bound, bound, shape))
        self.weight = nn.Parameter(W.detach().mT.contiguous())  # (d_out, d_in)
        b = nn.Parameter(torch.zeros(d_out)) if bias else None
        self.register_parameter("bias", b)

    @property
    def W(self) -> Float[Tensor, "d_in d_out"]:
        """The matrix, a view of `weight`: change it in place, or assign to `weight`."""
        return self.weight.mT


class Embedding(nn.Module):
    """One row of a table for each token, drawn with standard deviation `deviation`."""

    def __init__(self, count: int, d: int, *, seed: Seed, deviation: float = 1.0) -> None:
        super().__init__()
        rng = stream_of(seed, "Embedding")
        self.rows = drawn_parameter(
            (count, d), lambda shape: rng.standard_normal(shape) * deviation
        )

    def forward(self, tokens: Integer[Tensor, "*n"]) -> Float[Tensor, "*n d"]:
        """The row of each token."""
        return functional.embedding(tokens.long(), self.rows)


def layer_norm(
    x: Float[Tensor, "*n d"],
    gain: Float[Tensor, " d"] | None = None,
    bias: Float[Tensor, " d"] | None = None,
    *,
    eps: float = LAYER_NORM_EPS,
) -> Float[Tensor, "*n d"]:
    r"""Center each vector and divide by its standard deviation.

    $g \odot (x - \mu) / \sqrt{\sigma^2 + \epsilon} + b$ with mean μ and variance σ² over the last
    axis (divided by d, not d − 1). See `eq-layer-norm`.

    >>> layer_norm(torch.tensor([1.0, 0, 0, 0]), eps=1e-12)
    tensor([ 1.7321, -0.5774, -0.5774, -0.5774])
    """
    exact = wide(x)  # (..., d)
    centered = exact - exact.mean(-1, keepdim=True)  # (..., d) − (..., 1)
    y = rms_norm(centered, gain, eps=eps)  # of a centered vector: its standard deviation
    if bias is not None:
        y = y + bias
    return y.to(x.dtype)


def rms_norm(
    x: Float[Tensor, "*n d"], gain: Float[Tensor, " d"] | None = None, *, eps: float = RMS_NORM_EPS
) -> Float[Tensor, "*n d"]:
    r"""Divide each vector by its root mean square.

    $g \odot x / \sqrt{\tfrac{1}{d} \sum_i x_i^2 + \epsilon}$, as in `eq-rms-norm`. The direction of
    x stays and its length does not: apart from ε, a vector twice as long gives the same result.

    >>> rms_norm(torch.tensor([3.0, 4.0]))
    tensor([0.8485, 1.1314])
    """
    if not eps >= 0:
        raise ValueError(f"eps must not be negative, got {eps}")
    exact = wide(x)  # (..., d); squares of float16 would overflow from 256 on
    mean_square = exact.square().mean(-1, keepdim=True)  # (..., 1)
    y = exact * torch.rsqrt(mean_square + eps)  # (..., d); rsqrt is 1 / √
    return (y if gain is None else y * gain).to(x.dtype)


class LayerNorm(nn.Module):
    """`layer_norm` with a gain that starts at 1 and a bias that starts at 0.

    >>> LayerNorm(2)(torch.tensor([3.0, 1.0]))
    tensor([ 1.0000, -1.0000], grad_fn=<AddBackward0>)
    """

    def __init__(self, d: int, *, eps: float = LAYER_NORM_EPS) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d))
        self.bias = nn.Parameter(torch.zeros(d))
        self.eps = eps

    def forward(self, x: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        """Every vector normalized."""
        return layer_norm(x, self.gain, self.bias, eps=self.eps)


class RMSNorm(nn.Module):
    """`rms_norm` with a gain that starts at 1.

    >>> RMSNorm(2)(torch.tensor([3.0, 4.0]))
    tensor([0.8485, 1.1314], grad_fn=<MulBackward0>)
    """

    def __init__(self, d: int, *, eps: float = RMS_NORM_EPS) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        """Every vector normalized."""
        return rms_norm(x, self.gain, eps=self.eps)


def post_norm(x: Tensor, sublayer: Sublayer, norm: Sublayer) -> Tensor:
    r"""Normalize after the residual sum: $\operatorname{norm}(x + f(x))$, see `eq-placements`.

    The Transformer of 2017 has it. Each norm also scales what came through the residual
    connection, which makes deep stacks harder to train.

    >>> post_norm(torch.tensor([3.0, 4.0]), torch.zeros_like, rms_norm)
    tensor([0.8485, 1.1314])
    """
    return norm(x + sublayer(x))


def pre_norm(x: Tensor, sublayer: Sublayer, norm: Sublayer) -> Tensor:
    r"""Normalize what enters the sublayer: $x + f(\operatorname{norm}(x))$.

    The stream x itself is never normalized, and its gradient passes through unchanged
    (`eq-residual-jacobian`). GPT-2, Llama and most models since have it.

    >>> pre_norm(torch.tensor([3.0, 4.0]), torch.zeros_like, rms_norm)
    tensor([3., 4.])
    """
    return x + sublayer(norm(x))


def sandwich_norm(x: Tensor, sublayer: Sublayer, norm_in: Sublayer, norm_out: Sublayer) -> Tensor:
    r"""Normalize before and after: $x + \operatorname{norm}_2(f(\operatorname{norm}_1(x)))$.

    >>> sandwich_norm(torch.tensor([3.0, 4.0]), torch.ones_like, rms_norm, rms_norm)
    tensor([4.0000, 5.0000])
    """
    return x + norm_out(sublayer(norm_in(x)))


def deep_norm(x: Tensor, sublayer: Sublayer, norm: Sublayer, *, alpha: float) -> Tensor:
    r"""Post-norm with a weighted residual: $\operatorname{norm}(\alpha x + f(x))$, `eq-deep-norm`.

    >>> deep_norm(torch.tensor([3.0, 4.0]), torch.ones_like, rms_norm, alpha=0.0)
    tensor([1.0000, 1.0000])
    """
    return norm(alpha * x + sublayer(x))


class DeepNormConstants(NamedTuple):
    """The weight α of the residual and the gain β of the initial weights."""

    alpha: float
    beta: float


def deepnorm_constants(layers: int) -> DeepNormConstants:
    r"""DeepNorm's constants for an encoder alone or a decoder alone of N layers.

    $\alpha = (2N)^{1/4}$, $\beta = (8N)^{-1/4}$; β multiplies the initial W^V, W^O and the
    feed-forward weights (`eq-deep-constants`).

    >>> deepnorm_constants(8)
    DeepNormConstants(alpha=2.0, beta=0.3535533905932738)
    """
    check_at_least("layers", layers, 1)
    return DeepNormConstants(alpha=(2 * layers) ** 0.25, beta=(8 * layers) ** -0.25)


def deepnorm_pair(
    encoder_layers: int, decoder_layers: int
) -> tuple[DeepNormConstants, DeepNormConstants]:
    r"""DeepNorm's constants for an encoder of N layers and its decoder of M layers, in this order.

    Encoder: $\alpha_e = 0.81\,(N^4 M)^{1/16}$, $\beta_e = 0.87\,(N^4 M)^{-1/16}$. Decoder, whose
    blocks have three sublayers: $\alpha_d = (3M)^{1/4}$, $\beta_d = (12M)^{-1/4}$.

    >>> deepnorm_pair(6, 27)[1]
    DeepNormConstants(alpha=3.0, beta=0.23570226039551584)
    """
    check_at_least("encoder_layers", encoder_layers, 1)
    check_at_least("decoder_layers", decoder_layers, 1)
    size = (encoder_layers**4 * decoder_layers) ** (1 / 16)
    encoder = DeepNormConstants(alpha=0.81 * size, beta=0.87 / size)
    decoder = DeepNormConstants(
        alpha=(3 * decoder_layers) ** 0.25, beta=(12 * decoder_layers) ** -0.25
    )
    return encoder, decoder
