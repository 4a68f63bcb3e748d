"""How much of a picture changed: for pictures inside figures, and for screens of pages."""

import io

import numpy as np
from PIL import Image


def decoded(data: bytes) -> Image.Image:
    """The picture in the bytes of a file."""
    return Image.open(io.BytesIO(data))


def changed_share(one: Image.Image, other: Image.Image, largest_step: int) -> float:
    """The share of pixels of which a channel moved further than a step; 1 for other sizes."""
    if one.size != other.size:
        return 1.0
    old, new = (np.asarray(picture.convert("RGBA"), dtype=np.int16) for picture in (one, other))
    return float((np.abs(old - new).max(axis=-1) > largest_step).mean())
