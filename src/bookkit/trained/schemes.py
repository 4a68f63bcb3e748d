"""The small decoders of which-encoding, which differ only in their positional encoding.

How they are trained and tested: `laboratory.schemes`; along the training: `laboratory.curves`.
"""

from attention_to_rope import (
    ALiBi,
    Architecture,
    Decoder,
    LayerPattern,
    PositionalScheme,
    Sinusoidal,
    T5Bias,
    proportional_frequencies,
    rotary_frequencies,
)
from attention_to_rope.fast import EagerRotary
from bookkit.records import recorded
from bookkit.trained.query_bias import with_query_bias
from bookkit.trained.stretching import stretched

# RoPE with a last layer that does not rotate (NoPE). The records have this name for it; the page,
# which says RoPE/NoPE, does not: elsewhere "hybrid" means attention combined with recurrence.
ROPE_NOPE = "hybrid, last"
SCHEMES = ("none", "sinusoidal", "T5, fast table", "ALiBi", "RoPE", ROPE_NOPE)
ROTATED = ("RoPE", ROPE_NOPE)
BASES = {"RoPE, base 500": 500.0, "RoPE, base 500,000": 500_000.0}
# The part of each head that rotates, with as many frequencies as it has pairs.
PARTS = {"RoPE, a quarter": 4, "RoPE, half": 2}
VARIANTS = (*PARTS, "p-RoPE", *BASES, "query bias")
RATES = (1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2, 3.2e-2)
ARCHITECTURE = Architecture(d=192, heads=6, layers=4, norm="rms", activation="gelu")
D_K = ARCHITECTURE.d // ARCHITECTURE.heads
LENGTH = 256
TIMES = 4
BINS = 32
VOCABULARY = 257
STEPS = 600
BATCH = 16
PASSAGE = 64  # bytes that come twice
KNOWN = 16  # how many of them tell which ones they are
FARTHER = {LENGTH: (64, 128, 192), TIMES * LENGTH: (64, 192, 448, 960)}  # distances by length


def build(scheme: str, seed: int, rule: str = "none") -> Decoder:
    """An untrained decoder with this scheme; `rule` names how RoPE is stretched."""
    a = ARCHITECTURE
    if rule != "none" and scheme not in ROTATED:
        raise ValueError(f"only {ROTATED} can be stretched, not {scheme!r}")
    theta, factor = stretched(rotary_frequencies(D_K), rule, float(TIMES), LENGTH)
    rotary = EagerRotary(theta, layout="half", attention_factor=factor)
    if scheme == ROPE_NOPE:
        layers = [*[LayerPattern(scheme=rotary)] * (a.layers - 1), LayerPattern()]
        return Decoder(VOCABULARY, a, seed=seed, layers=layers)
    if scheme == "query bias":
        return with_query_bias(Decoder(VOCABULARY, a, seed=seed), seed)
    schemes: dict[str, PositionalScheme] = {
        "none": PositionalScheme(),
        "sinusoidal": Sinusoidal(),
        "T5, fast table": T5Bias(a.heads, bidirectional=False, seed=seed),
        "ALiBi": ALiBi(a.heads),
        "RoPE": rotary,
        # The slowest quarter of the pairs does not rotate.
        "p-RoPE": EagerRotary(proportional_frequencies(D_K, share=0.75), layout="half"),
    }
    for name, base in BASES.items():
        schemes[name] = EagerRotary(rotary_frequencies(D_K, base), layout="half")
    for name, part in PARTS.items():
        wide = D_K // part
        schemes[name] = EagerRotary(rotary_frequencies(wide), layout="half", rotary_dim=wide)
    return Decoder(VOCABULARY, a, seed=seed, scheme=schemes[scheme])


def by_loss(record: str = "trained/curves.jsonl") -> list[str]:
    """The schemes of a record as the page names them, the lowest mean loss at the end first."""
    losses: dict[str, list[float]] = {}
    for row in recorded(record, part="best"):
        name = "RoPE/NoPE" if row["scheme"] == ROPE_NOPE else row["scheme"]
        losses.setdefault(name, []).append(row["test"][-1])
    mean = {name: sum(values) / len(values) for name, values in losses.items()}
    return sorted(mean, key=lambda name: mean[name])
