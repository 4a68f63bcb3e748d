"""Chapter 18 and its depth: bytes and operations, counted while the code runs, against formulas."""

import torch

from attention_to_rope import rotary_frequencies, rotary_table, rotate, rotation_matrix
from attention_to_rope.fast import rotate_eagerly
from bookcheck.equations.checks import equation, sentences
from bookkit.published_forms import as_complex, rotated_half
from bookkit.randomness import normal
from bookkit.traffic import Traffic
from shared_counts import Memory, elementwise_operations, matrix_operations


def moved(form, *arguments):
    with Traffic() as counted:
        form(*arguments)
    return counted.total


def loads(x, table, g):
    """Bytes of a rotation that keeps the table of a position for g heads; it really rotates."""
    memory, rotated = Memory(), torch.empty_like(x)
    for sequence, results in zip(x, rotated, strict=True):
        for m in range(x.shape[2]):
            for heads in torch.arange(x.shape[1]).split(g):
                cos, sin = (memory.load(part[m]) for part in table)
                for head in heads:
                    first, second = memory.load(sequence[head, m]).float().chunk(2)
                    pair = (first * cos - second * sin, first * sin + second * cos)
                    memory.store(results[head, m], torch.cat(pair))
    torch.testing.assert_close(rotated, rotate(x, table, layout="half"))
    return memory.bytes


def page(rng, dtype=torch.float32):
    """Everything that the two pages name, for a tensor of random shape."""
    B, h, N, pairs = (int(size) for size in rng.integers([2, 3, 5, 2], [5, 9, 12, 7]))
    x = normal(B, h, N, 2 * pairs, seed=0, dtype=dtype)
    positions, theta = torch.arange(N), rotary_frequencies(2 * pairs)
    table = rotary_table(positions, theta)
    wide = [torch.cat((part, part), -1).to(dtype) for part in table]
    dense = rotation_matrix(positions, theta, layout="half").to(dtype)
    in_pairs = elementwise_operations(lambda: rotate(x.float(), table, layout="half"))
    return {
        **{"B": B, "h": h, "N": N, "d_k": 2 * pairs, "w": x.element_size()},
        **{"g": int(rng.choice([2, 3, 20])), "T": lambda g: loads(x, table, int(g))},
        **{"T_h": loads(x, table, h), r"T_{\text{per head}}": loads(x, table, 1)},
        r"T_{\text{copy}}": moved(x.clone),
        r"T_{\text{pub}}": moved(rotated_half, x, *wide),
        r"T_{\text{rotate}}": moved(lambda: rotate(x, table, layout="half")),
        r"T_{\text{half}}": moved(lambda: rotate_eagerly(x, table, layout="half")),
        r"T_{\text{complex}}": moved(as_complex, x, torch.complex(*table)),
        r"T_{\text{dense}}": moved(torch.einsum, "bhnd,nde->bhne", x, dense),
        r"F_{\text{dense}}": matrix_operations(lambda: torch.einsum("bhnd,nde->bhne", x, dense)),
        r"F_{\text{pairs}}": in_pairs,
    }


def both(rng):
    return [page(rng, dtype) for dtype in (torch.float32, torch.bfloat16)]


test_copy = equation("eq-copy-traffic")(both)
test_intensity = equation("eq-rope-intensity")(both)
test_published = equation("eq-published-traffic")(both)
test_per_head = equation("eq-per-head-traffic")(both)
test_fused = equation("eq-fused-ratio")(both)
test_grouped = equation("eq-grouped-traffic")(both)
# The others convert bfloat16, which their formulas do not count.
test_dense = equation("eq-dense-traffic")(page)
test_dense_operations = equation("eq-dense-flops")(page)
test_formula = equation("eq-formula-traffic")(page)
test_library = equation("eq-library-traffic")(page)
test_complex = equation("eq-complex-traffic")(page)

# Their sentences state sizes of examples only.
test_sentences = sentences("cost")(lambda rng: {})
test_deeper_sentences = sentences("deeper/traffic")(lambda rng: {})
