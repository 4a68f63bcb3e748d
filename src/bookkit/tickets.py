"""The book's running example: two train tickets made of the same four words.

*from Beijing to Shanghai* and *from Shanghai to Beijing* hold the same tokens in another order.
They mean different journeys, so a model that cannot see order cannot tell them apart.
"""

from collections.abc import Sequence

import torch

OUTWARD = ("from", "Beijing", "to", "Shanghai")
RETURN = ("from", "Shanghai", "to", "Beijing")

# First number: is it a place? Second: north or south for a place, leave or arrive for a word.
_VECTORS = {
    "from": (0.0, -1.0),
    "Beijing": (2.0, 1.0),
    "to": (0.0, 1.0),
    "Shanghai": (2.0, -1.0),
}
# The listings of the Chinese pages say the words in Chinese.
_CHINESE = {"从": "from", "北京": "Beijing", "到": "to", "上海": "Shanghai"}
_VECTORS |= {word: _VECTORS[english] for word, english in _CHINESE.items()}


def embed(tokens: Sequence[str]) -> torch.Tensor:
    """The chosen vector of each token, as the rows of a matrix (N, 2).

    >>> embed(("to", "Beijing"))
    tensor([[0., 1.],
            [2., 1.]], dtype=torch.float64)
    """
    return torch.tensor([_VECTORS[token] for token in tokens], dtype=torch.float64)
