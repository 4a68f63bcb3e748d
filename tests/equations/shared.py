"""What the checks of several chapters bind their formulas to."""

import numpy as np
import torch

from attention_to_rope import attention


def tensor(values):
    """A NumPy array or a list as a tensor of float64."""
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float64))


def library_attention(Q, K, V):
    """The library's attention on NumPy matrices."""
    return attention(*map(tensor, (Q, K, V))).numpy()
