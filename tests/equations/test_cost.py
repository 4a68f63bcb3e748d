"""The chapter and its depth: bytes and operations, counted while code runs, against formulas."""

import torch
from torch.utils.flop_counter import FlopCounterMode

from attention_to_rope import rotary_frequencies, rotary_table, rotate, rotation_matrix
from attention_to_rope.fast import rotate_eagerly
from bookcheck.equations.checks import equation, sentences
from bookkit.published_forms import as_complex, rotated_half
from bookkit.randomness import normal
from bookkit.seconds import Gpu, least_seconds
from bookkit.traffic import Traffic
from shared import SOLVED, exchanged
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
                    first, second = memory.load(sequence[head, m]).to(cos.dtype).chunk(2)
                    pair = (first * cos - second * sin, first * sin + second * cos)
                    memory.store(results[head, m], torch.cat(pair))
    torch.testing.assert_close(rotated, rotate(x, table, layout="half"))
    return memory.bytes


def page(rng, dtype=torch.float32):
    """Everything that the two pages name, for a tensor of random shape."""
    B, h, N, pairs = (int(size) for size in rng.integers([2, 3, 5, 2], [5, 9, 12, 7]))
    x = normal(B, h, N, 2 * pairs, seed=0, dtype=dtype)
    positions, theta = torch.arange(N), rotary_frequencies(2 * pairs)
    exact = torch.float64 if dtype == torch.float64 else torch.float32
    table = rotary_table(positions, theta, dtype=exact)
    wide = [torch.cat((part, part), -1).to(dtype) for part in table]
    dense = rotation_matrix(positions, theta, layout="half").to(dtype)
    in_pairs = elementwise_operations(lambda: rotate(x.to(exact), table, layout="half"))
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


def wide(rng):
    return [page(rng), page(rng, torch.float64)]


def both(rng):
    return [page(rng, dtype) for dtype in (torch.float32, torch.bfloat16)]


def three(rng):
    return [*both(rng), page(rng, torch.float64)]


test_copy = equation("eq-copy-traffic", symbols=r"B, h, N, d_k, w, T_{\text{copy}}")(three)
test_intensity = equation(
    "eq-rope-intensity", symbols=r"B, h, N, d_k, w, T_{\text{copy}}, F_{\text{pairs}}"
)(three)
ONE_PRODUCT = exchanged(
    "w ↔ N",
    "w ↔ d_k",
    "B ↔ h",
    "N ↔ d_k",
    reason="The traffic is w N d_k (10 B h + 2), in which these factors have no order.",
)
test_published = equation(
    "eq-published-traffic", equivalent=ONE_PRODUCT, symbols=r"B, h, N, d_k, w, T_{\text{pub}}"
)(three)
TABLE = {"w": "The table has 4 bytes per number; wider numbers need a wider one."}
test_per_head = equation(
    "eq-per-head-traffic",
    fixed=TABLE,
    symbols=r"B, h, N, d_k, w, T_{\text{per head}}, T_{\text{copy}}",
)(both)
test_fused = equation(
    "eq-fused-ratio", fixed=TABLE, symbols=r"B, h, N, d_k, w, T_h, T_{\text{copy}}"
)(both)
test_grouped = equation("eq-grouped-traffic", fixed=TABLE, symbols="B, h, N, d_k, w, g, T")(both)
# The others convert bfloat16, which their formulas do not count; one converts float64 too.
TWO_WIDTHS = {"w": "Numbers of two bytes are converted, which moves more."}
ONE_WIDTH = {"w": "In every other type of numbers the code moves more, to convert."}
test_dense = equation(
    "eq-dense-traffic",
    fixed=TWO_WIDTHS,
    symbols=r"B, h, N, d_k, w, T_{\text{dense}}, F_{\text{dense}}",
)(wide)
OTHER = exchanged(r"F_{\text{pairs}} ↔ d_k", reason=SOLVED)
test_dense_operations = equation("eq-dense-flops", equivalent=OTHER)(page)
test_formula = equation(
    "eq-formula-traffic", fixed=TWO_WIDTHS, symbols=r"B, h, N, d_k, w, T_{\text{rotate}}"
)(wide)
test_library = equation(
    "eq-library-traffic", fixed=TWO_WIDTHS, symbols=r"B, h, N, d_k, w, T_{\text{half}}"
)(wide)
test_complex = equation(
    "eq-complex-traffic", fixed=ONE_WIDTH, symbols=r"B, h, N, d_k, w, T_{\text{complex}}"
)(page)

# Their sentences state sizes of examples only.
test_sentences = sentences("cost")(lambda rng: {})
test_deeper_sentences = sentences("deeper/traffic")(lambda rng: {})


@equation("eq-least-seconds")
def test_least_seconds(rng):
    """Once with more time for the arithmetic, once with more for the bytes."""
    cases = []
    (much, little), (more, less) = rng.uniform([1e6, 1e3], [9e6, 9e3], size=(2, 2)).tolist()
    for operations, traffic in ((much, little), (less, more)):
        bandwidth, peak = (float(rate) for rate in rng.uniform(10, 100, size=2))
        gpu = Gpu("any", bandwidth, 1e9, {"bfloat16": peak}, {})
        seconds = least_seconds(gpu, operations=operations, traffic_bytes=traffic)
        given = {r"\text{operations}": operations, r"\text{bytes}": traffic}
        rates = {r"\text{peak}": peak, r"\text{bandwidth}": bandwidth}
        cases.append({**given, **rates, r"\text{seconds}": seconds})
    return cases


@equation("eq-training-operations")
def test_training_operations(rng):
    """What PyTorch counts forward and backward in three matrices."""
    N, d, hidden = (int(size) for size in rng.integers(3, 9, size=3))
    matrices = [torch.nn.Linear(d, hidden), torch.nn.Linear(hidden, d), torch.nn.Linear(d, d)]
    model = torch.nn.Sequential(*matrices)
    x = torch.ones(N, d, requires_grad=True)  # as if there were layers below
    with FlopCounterMode(display=False) as counter:
        model(x).sum().backward()
    parameters = sum(matrix.weight.numel() for matrix in matrices)
    counted = counter.get_total_flops()
    return {r"\text{parameters}": parameters, "N": N, r"\text{operations}": counted}


@equation("eq-product-intensity", equivalent=exchanged(r"\text{intensity} ↔ w", reason=SOLVED))
def test_product_intensity(rng):
    """Operations and bytes that PyTorch counts in a product, in three types of numbers."""
    N, d, d_out = (int(size) for size in rng.integers(3, 30, size=3))
    cases = []
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        vectors, matrix = torch.ones(N, d, dtype=dtype), torch.ones(d, d_out, dtype=dtype)
        operations = matrix_operations(lambda v=vectors, m=matrix: v @ m)
        intensity = operations / moved(torch.matmul, vectors, matrix)
        sizes = {"N": N, "d": d, r"d_{\text{out}}": d_out, "w": vectors.element_size()}
        cases.append({**sizes, r"\text{intensity}": intensity})
    return cases


@equation("eq-no-overlap")
def test_no_overlap(rng):
    """One of the two times alone, both equal, as at the ridge, and cases between."""
    time, short = float(rng.uniform(3, 9)), float(rng.uniform(0.2, 0.9))
    cases = ((0.0, time), (time, 0.0), (time, time), (time, time / 2), (time / 3, time))
    cases += ((0.0, short), (short, 0.0))
    return [{r"\text{arithmetic}": one, r"\text{memory}": other} for one, other in cases]
