"""What the tables of this folder share.

A table `BINDINGS` names the functions of one module. Each has values for the symbols of its
formulas: a function of a generator, or one for each formula. Several sets of values come as an
iterator. A formula without a relation must give the `RESULT`, what the function returned.
"""

import numpy as np
import torch

RESULT = r"\operatorname{result}"


def tensor(values):
    return torch.as_tensor(np.asarray(values, dtype=np.float64))


def array_function(function):
    """A function of tensors as one of arrays."""
    return lambda values: function(tensor(values)).detach().numpy()
