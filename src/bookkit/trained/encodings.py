"""Six small trained decoders that differ only in their positional encoding.

    from bookkit.trained.encodings import encoding_model

    model = encoding_model("ALiBi")          # attention_to_rope.Decoder, float32
    logits = model(tokens)                   # tokens: bytes behind START, up to 256 as in training

Their weights are stored with 8 bits and a scale for every row of a matrix, in the repository and
not in the wheel. How they were trained: `laboratory.curves`, with --keep.
"""

from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from attention_to_rope import Decoder
from bookkit.trained.schemes import ROPE_NOPE, build

ENCODINGS = {  # by the names of the records
    "none": "none",
    "sinusoidal": "sinusoidal",
    "T5": "T5, fast table",
    "ALiBi": "ALiBi",
    "RoPE": "RoPE",
    "RoPE/NoPE": ROPE_NOPE,
}
FOLDER = Path(__file__).parent / "encodings"  # in the repository; the wheel does not have it
CHECKSUMS = {  # SHA-256 of the files of this folder
    "none": "c45b53343992698d15055505bfa29d19b96776214ae888562d5a88b1b65078c9",
    "sinusoidal": "a1b707717f6082fc0b20e7fb94016ffafc0bd1ce1722e30991f3495b79d6de69",
    "T5": "d9f1a306098718b917b5588683ea661991da72287e5967666448d04effca9667",
    "ALiBi": "9ae1696c1dc1f1d8ad3f097d7210e37f8934573f91e9c021883d9865896b5039",
    "RoPE": "41227a73956e90e16f712c7ef7c225c5eccf9a1dfb547b7a6682f04eefcef231",
    "RoPE/NoPE": "eb3e9b0fe985724799c56e43486fa3d3c4a26ba5295673bf7ed4028442c38d7e",
}
LARGEST = 127  # of the integers of 8 bits that are used, −127 to 127
SCALE = ".scale"  # what the name of a matrix's scales ends with


def file_of(name: str) -> str:
    """The file with the weights of an encoding of `ENCODINGS`."""
    return f"encoding-{name.lower().replace('/', '-')}.safetensors"


def rounded(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights to store: matrices as 8-bit integers with a scale per row, vectors as float16."""
    stored = {}
    for name, weight in weights.items():
        exact = weight.detach().float().cpu()
        if exact.ndim < 2:
            stored[name] = exact.half()
            continue
        largest = exact.abs().amax(-1, keepdim=True)
        scale = largest.clamp_min(1e-12) / LARGEST  # a row of zeros has a scale, too
        stored[name] = (exact / scale).round().to(torch.int8)
        stored[name + SCALE] = scale
    return stored


def restored(stored: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights in float32 that `rounded` stored."""
    weights = {}
    for name, weight in stored.items():
        if name.endswith(SCALE):
            continue
        exact = weight.float()
        if name + SCALE in stored:
            exact = exact * stored[name + SCALE]
        weights[name] = exact
    return weights


def as_stored(model: Decoder, scheme: str) -> Decoder:
    """The model as it is after storing and loading; scheme: its name in `schemes.build`."""
    other = build(scheme, 0)
    other.load_state_dict(restored(rounded(model.state_dict())))
    return other.to(next(model.parameters()).device)


def store(model: Decoder, name: str, folder: Path) -> None:
    """Write the rounded weights of a model of `ENCODINGS`."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(rounded(model.state_dict()), folder / file_of(name))


def encoding_model(name: str, folder: Path = FOLDER) -> Decoder:
    """The trained decoder with this encoding, one of `ENCODINGS`, in float32."""
    if name not in ENCODINGS:
        raise ValueError(f"name must be one of {', '.join(ENCODINGS)}; got {name!r}")
    file = folder / file_of(name)
    if not file.exists():
        raise FileNotFoundError(
            f"there is no {file}: `python -m laboratory.curves FOLDER --keep {folder}`, from a "
            "checkout of the book, trains the six models and stores them there"
        )
    model = build(ENCODINGS[name], 0)
    model.load_state_dict(restored(load_file(file)))
    return model
