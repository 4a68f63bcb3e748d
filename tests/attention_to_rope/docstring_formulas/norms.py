"""What the formulas in the docstrings of `norms` are compared with."""

from formulas import RESULT, array_function, tensor

import attention_to_rope as book

D = 4
# A row minus its mean: the docstring says that the mean is a number.
OPTIONS = {"broadcast": True}


def layer_norm(rng):
    x, gain, bias, eps = *rng.normal(size=(3, D)), 0.3
    value = book.layer_norm(*map(tensor, (x, gain, bias)), eps=eps).numpy()
    symbols = {r"\mu": x.mean(), r"\sigma": x.std(), r"\epsilon": eps}
    return {"x": x, "g": gain, "b": bias, **symbols, RESULT: value}


def rms_norm(rng):
    x, gain, eps = *rng.normal(size=(2, D)), 0.3
    value = book.rms_norm(tensor(x), tensor(gain), eps=eps).numpy()
    return {"x": x, "g": gain, "d": D, r"\epsilon": eps, RESULT: value}


def placed(place, rng):
    """A sublayer and two norms that differ from each other."""
    x, W = rng.normal(size=D), rng.normal(size=(D, D))
    norms = {1: book.rms_norm, 2: book.layer_norm}

    def sublayer(row):
        return row @ tensor(W)

    return {
        "x": x,
        "f": array_function(sublayer),
        r"\operatorname{norm}": array_function(book.rms_norm),
        RESULT: place(tensor(x), sublayer, norms).numpy(),
    }


def sandwich(rng):
    symbols = placed(lambda x, f, norms: book.sandwich_norm(x, f, norms[1], norms[2]), rng)

    def norm(which, row):
        return (book.rms_norm if which == 1 else book.layer_norm)(tensor(row)).numpy()

    return {**symbols, r"\operatorname{norm}": norm}


def deep(rng):
    alpha = float(rng.uniform(1.5, 3))
    symbols = placed(lambda x, f, norms: book.deep_norm(x, f, norms[1], alpha=alpha), rng)
    return {**symbols, r"\alpha": alpha}


def deepnorm(rng):
    blocks = int(rng.integers(2, 99))
    alpha, beta = book.deepnorm_constants(blocks)
    return {r"\alpha": alpha, r"\beta": beta, "N": blocks}


def deepnorm_pair(rng):
    encoder_blocks, decoder_blocks = (int(count) for count in rng.integers(2, 99, size=2))
    encoder, decoder = book.deepnorm_pair(encoder_blocks, decoder_blocks)
    symbols = {r"\alpha_e": encoder.alpha, r"\beta_e": encoder.beta, "N": encoder_blocks}
    return {**symbols, r"\alpha_d": decoder.alpha, r"\beta_d": decoder.beta, "M": decoder_blocks}


BINDINGS = {
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "post_norm": lambda rng: placed(lambda x, f, norms: book.post_norm(x, f, norms[1]), rng),
    "pre_norm": lambda rng: placed(lambda x, f, norms: book.pre_norm(x, f, norms[1]), rng),
    "sandwich_norm": sandwich,
    "deep_norm": deep,
    "deepnorm_constants": deepnorm,
    "deepnorm_pair": deepnorm_pair,
}
