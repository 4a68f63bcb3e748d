"""Every rotary class of transformers with a default configuration, and what its code does.

`python tests/peers/rotary_classes.py` prints for each class whether `rotary_settings` agrees with
it, refuses its configuration, or disagrees.
"""

import importlib
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch
import transformers
from transformers import PreTrainedConfig

import attention_to_rope as book
from attention_to_rope.checkpoints import rotary_settings
from attention_to_rope.checkpoints.model_types import WINDOW_FIRST_MODELS, WINDOW_ONLY_MODELS

MODELS = Path(transformers.__file__).parent / "models"
# Positions of pixels, frames or sounds, not of tokens.
OTHER_INPUTS = re.compile("Vision|Audio|ViT|Image(?!Text)|Video|Conformer|DiT|Attention")
# They are built from numbers, not from a configuration of a text model.
WITHOUT_CONFIGURATION = {"ClvpRotaryPositionalEmbedding", "EsmFold2RotaryEmbedding"}
N = 5


class RotaryClass(NamedTuple):
    """A rotary class, built from the default configuration of its model."""

    folder: str
    module: ModuleType
    config: PreTrainedConfig
    built: torch.nn.Module

    @property
    def name(self) -> str:
        return type(self.built).__name__

    @property
    def model_type(self) -> str:
        return self.config.to_dict().get("model_type", "")


class Theirs(NamedTuple):
    """Frequencies and factor of one kind of layer, as the class computes them."""

    layer_type: str | None
    frequencies: torch.Tensor
    attention_factor: float


class Verdict(NamedTuple):
    """How `rotary_settings` compares with a class: agree, refuse or disagree, and why."""

    verdict: str
    why: str


def rotary_classes() -> Iterator[RotaryClass]:
    """All rotary classes of transformers for text that a default configuration can build."""
    for file in sorted(MODELS.glob("*/modeling_*.py")):
        names = re.findall(r"^class (\w*(?:Rotary|Rope)\w*Embedding)\(", file.read_text(), re.M)
        wanted = [name for name in names if not OTHER_INPUTS.search(name)]
        for name in wanted:
            if name in WITHOUT_CONFIGURATION:
                continue
            module = importlib.import_module(f"transformers.models.{file.parent.name}.{file.stem}")
            found = build(file.parent.name, module, getattr(module, name))
            if found is not None:
                yield found


def build(folder: str, module: ModuleType, kind: type) -> RotaryClass | None:
    """The class with the first configuration of its folder that it accepts."""
    parameters = inspect.signature(kind.__init__).parameters
    annotated = parameters["config"].annotation if "config" in parameters else None
    candidates = [annotated] if inspect.isclass(annotated) else []
    configurations = importlib.import_module(
        module.__name__.replace(".modeling_", ".configuration_")
    )
    own = [value for value in vars(configurations).values() if inspect.isclass(value)]
    own = [value for value in own if value.__module__ == configurations.__name__]
    own = [value for value in own if not OTHER_INPUTS.search(value.__name__)]
    candidates += sorted(own, key=lambda value: "Text" not in value.__name__)
    for candidate in candidates:
        if not (inspect.isclass(candidate) and issubclass(candidate, PreTrainedConfig)):
            continue
        try:
            config = candidate()
            return RotaryClass(folder, module, config, kind(config))
        except Exception:  # a configuration of another part of the model: the next one may fit
            continue
    return None


def theirs(found: RotaryClass) -> list[Theirs]:
    """What the class computes for each kind of layer, None if there is one kind."""
    results = []
    for name, frequencies in found.built.named_buffers():
        if not name.endswith("inv_freq") or "original" in name:
            continue
        layer_type = name.removesuffix("inv_freq").rstrip("_") or None
        prefix = "" if layer_type is None else f"{layer_type}_"
        factor = getattr(found.built, f"{prefix}attention_scaling", 1.0)
        results.append(Theirs(layer_type, frequencies, float(factor)))
    return results


def compare(config: dict[str, Any], expected: Theirs, **options: Any) -> Verdict:
    """`rotary_settings` of a configuration against what the class computes for it."""
    layer_type = options.pop("layer_type", expected.layer_type)
    try:
        ours = rotary_settings(config, layer_type=layer_type, **options)
    except ValueError as error:
        return Verdict("refuse", str(error))
    if ours.frequencies.shape != expected.frequencies.shape:
        pairs = len(ours.frequencies), len(expected.frequencies)
        return Verdict("disagree", f"{pairs[0]} pairs, the class has {pairs[1]}")
    if not torch.allclose(expected.frequencies.double(), ours.frequencies, rtol=3e-6, atol=0):
        return Verdict("disagree", "other frequencies")
    if abs(ours.attention_factor - expected.attention_factor) > 1e-9:
        return Verdict("disagree", f"factor {ours.attention_factor}, not {expected[2]}")
    return Verdict("agree", "")


def verdict(found: RotaryClass) -> Verdict:
    """The worst verdict over the kinds of layers of a class."""
    config = found.config.to_dict()
    verdicts = [compare(config, expected, **options(config)) for expected in theirs(found)]
    for kind in ("disagree", "refuse"):
        for one in verdicts:
            if one.verdict == kind:
                return one
    return Verdict("agree", "")


def options(config: dict[str, Any]) -> dict[str, Any]:
    """What a caller has to say where layers differ: here, a layer that rotates."""
    for key in ("no_rope_layers", "layer_rope_theta"):
        by_layer = config.get(key)
        if by_layer:
            return {"layer": [bool(entry) for entry in by_layer].index(True)}
    if config["model_type"] in WINDOW_ONLY_MODELS | WINDOW_FIRST_MODELS:
        return {"layer_type": "sliding_attention"}
    return {}


def layouts(found: RotaryClass) -> set[str]:
    """Which pairs the functions rotate that this model's attention over text calls.

    The scores of rotated queries and keys decide: some functions also reorder the dimensions of
    both, which scores do not see.
    """
    source = inspect.getsource(found.module)
    called = set()
    for part in re.split(r"^(?=(?:class|def|@) ?)", source, flags=re.M):
        name = re.match(r"class (\w+)", part)
        if name and not re.search("Vision|Audio|ViT|Indexer|Encoder", name.group(1)):
            called |= set(re.findall(r"\b(apply_rotary\w*)\(", part))
    answers = set()
    for name in called:
        answers |= _layouts_of(found, getattr(found.module, name, None))
    return answers


def _layouts_of(found: RotaryClass, function: Any) -> set[str]:
    """The layouts in which the library gives the same scores as this function."""
    expected = theirs(found)[0]
    frequencies = expected.frequencies.double()
    torch.manual_seed(0)
    q, k = torch.randn(2, 1, 1, N, 2 * len(frequencies))
    positions = torch.arange(N)
    extra = {} if expected.layer_type is None else {"layer_type": expected.layer_type}
    try:
        told = found.built(torch.zeros(1, N, 4), positions[None], **extra)
        scores = _scores(function, q, k, told)
    except (TypeError, ValueError, RuntimeError, AttributeError, IndexError):
        return set()
    table = book.rotary_table(positions, frequencies, attention_factor=expected.attention_factor)
    answers = set()
    for layout in ("half", "interleaved"):
        ours = book.rotate(q, table, layout=layout) @ book.rotate(k, table, layout=layout).mT
        if scores.shape == ours.shape and torch.allclose(scores, ours, rtol=1e-4, atol=1e-3):
            answers.add(layout)
    return answers


def _scores(function: Any, q: torch.Tensor, k: torch.Tensor, told: Any) -> torch.Tensor:
    """Scores of the queries and keys that the function rotates, together or one by one."""
    if torch.is_tensor(told):  # complex numbers; some functions want positions before heads
        for swap in (lambda x: x, lambda x: x.transpose(1, 2)):
            rotated_q, rotated_k = function(swap(q), swap(k), told)
            if rotated_q.shape == swap(q).shape:
                return swap(rotated_q) @ swap(rotated_k).mT
    cos, sin = told
    if "k" in inspect.signature(function).parameters:
        rotated_q, rotated_k = function(q, k, cos, sin)
    else:
        rotated_q = function(q, cos, sin)
        rotated_k = function(k, cos, sin)
    return rotated_q @ rotated_k.mT


if __name__ == "__main__":
    counts: Counter[str] = Counter()
    for found in rotary_classes():
        result = verdict(found)
        counts[result.verdict] += 1
        if result.verdict != "agree":
            print(f"{result.verdict:9}{found.name}: {result.why}")
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
