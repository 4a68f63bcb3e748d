"""Page on the keys of configurations: its sentences, executed with the library's frequencies."""

from attention_to_rope import rotary_frequencies
from bookcheck.equations.checks import sentences


@sentences("deeper/configurations", first_index=0)
def test_sentences(rng):
    pairs = int(rng.integers(2, 9))
    base = float(rng.uniform(100, 1e6))
    theta = rotary_frequencies(2 * pairs, base=base).numpy()
    return {r"\theta": theta}
