"""How much of a picture changed: for pictures inside figures, and for screens of pages."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def changed_share(one: Image.Image, other: Image.Image, largest_step: int) -> float:
    """The share of dots in which a channel moved by more than `largest_step`; 1 for other sizes."""
    if one.size != other.size:
        return 1.0
    steps = np.abs(_dots(one) - _dots(other)).max(axis=-1)
    return float((steps > largest_step).mean())


def _dots(picture: Image.Image) -> NDArray[np.int16]:
    return np.asarray(picture.convert("RGBA"), dtype=np.int16)
