"""Chapter 18 and its depth: bytes and operations, counted while the code runs, against formulas."""

import torch
from torch.utils.flop_counter import FlopCounterMode

from attention_to_rope import rotary_frequencies, rotary_table, rotate, rotation_matrix
from bookcheck.equations.checks import equation, sentences
from bookkit.experiments.speed.peers import as_complex, rotated_half
from bookkit.experiments.speed.traffic import Traffic
from bookkit.randomness import normal
from shared_counts import Memory, elementwise_operations


def moved(form):
    with Traffic() as counted:
        form()
    return counted.total


class Case:
    """A tensor of random shape, its table, and the printed sizes."""

    def __init__(self, rng, dtype=torch.float32):
        B, h, N, pairs = (int(size) for size in rng.integers([2, 3, 5, 2], [5, 9, 12, 7]))
        self.x = normal(B, h, N, 2 * pairs, seed=0, dtype=dtype)
        self.positions, self.theta = torch.arange(N), rotary_frequencies(2 * pairs)
        wide = torch.promote_types(dtype, torch.float32)
        self.table = rotary_table(self.positions, self.theta, dtype=wide)
        self.sizes = {"B": B, "h": h, "N": N, "d_k": 2 * pairs, "w": self.x.element_size()}
        self.copy = moved(self.x.clone)

    def loads(self, g):
        """Bytes of a rotation that keeps the table of a position for g heads; it really turns."""
        memory, turned = Memory(), torch.empty_like(self.x)
        for sequence, results in zip(self.x, turned, strict=True):
            for m in self.positions:
                for heads in torch.arange(self.sizes["h"]).split(g):
                    cos, sin = (memory.load(part[m]) for part in self.table)
                    for head in heads:
                        first, second = memory.load(sequence[head, m]).float().chunk(2)
                        pair = (first * cos - second * sin, first * sin + second * cos)
                        memory.store(results[head, m], torch.cat(pair))
        torch.testing.assert_close(turned, rotate(self.x, self.table, layout="half"))
        return memory.bytes


DTYPES = (torch.float32, torch.bfloat16)


def operations_of_pairs(case):
    """Products and sums that the library does, in float32, where it converts nothing."""
    return elementwise_operations(lambda: rotate(case.x.float(), case.table, layout="half"))


@equation("eq-copy-traffic")
def test_copy(rng):
    return [case.sizes | {r"T_{\text{copy}}": case.copy} for case in (Case(rng, d) for d in DTYPES)]


@equation("eq-rope-intensity")
def test_intensity(rng):
    return [
        case.sizes | {r"T_{\text{copy}}": case.copy, r"F_{\text{pairs}}": operations_of_pairs(case)}
        for case in (Case(rng, dtype) for dtype in DTYPES)
    ]


def dense(case):
    matrices = rotation_matrix(case.positions, case.theta, layout="half").float()
    return lambda: torch.einsum("bhnd,nde->bhne", case.x, matrices)


def dense_operations(case):
    with FlopCounterMode(display=False) as counter:
        dense(case)()
    return counter.get_total_flops()


@equation("eq-dense-traffic")
def test_dense(rng):
    case = Case(rng)
    return case.sizes | {
        r"T_{\text{dense}}": moved(dense(case)),
        r"F_{\text{dense}}": dense_operations(case),
    }


@equation("eq-dense-flops")
def test_dense_operations(rng):
    case = Case(rng)
    return case.sizes | {
        r"F_{\text{dense}}": dense_operations(case),
        r"F_{\text{pairs}}": operations_of_pairs(case),
    }


@equation("eq-published-traffic")
def test_published(rng):
    results = []
    for dtype in DTYPES:
        case = Case(rng, dtype)
        wide = [torch.cat((part, part), -1).to(dtype) for part in case.table]
        total = moved(lambda case=case, wide=wide: rotated_half(case.x, *wide))
        results.append(case.sizes | {r"T_{\text{pub}}": total})
    return results


@equation("eq-library-traffic")
def test_library(rng):
    case = Case(rng, torch.float64)
    total = moved(lambda: rotate(case.x, case.table, layout="half"))
    return case.sizes | {r"T_{\text{half}}": total}


@equation("eq-complex-traffic")
def test_complex(rng):
    case = Case(rng)
    turn = torch.complex(*case.table)
    return case.sizes | {r"T_{\text{complex}}": moved(lambda: as_complex(case.x, turn))}


@equation("eq-per-head-traffic")
def test_per_head(rng):
    return [
        case.sizes | {r"T_{\text{per head}}": case.loads(1), r"T_{\text{copy}}": case.copy}
        for case in (Case(rng, dtype) for dtype in DTYPES)
    ]


@equation("eq-grouped-traffic")
def test_grouped(rng):
    return [
        case.sizes | {"g": g, "T": lambda g, case=case: case.loads(int(g))}
        for case in (Case(rng, dtype) for dtype in DTYPES)
        for g in (2, 3, 20)
    ]


@equation("eq-fused-ratio")
def test_fused(rng):
    return [
        case.sizes | {"T_h": case.loads(case.sizes["h"]), r"T_{\text{copy}}": case.copy}
        for case in (Case(rng, dtype) for dtype in DTYPES)
    ]


@equation("eq-read-once")
def test_read_once(rng):
    case = Case(rng, torch.bfloat16)
    return case.sizes | {
        "T_h": case.loads(case.sizes["h"]),
        "T_1": case.loads(1),
        r"T_{\text{copy}}": case.copy,
    }


def bindings(rng):
    """Its sentences state sizes of examples only."""
    del rng
    return {}


test_sentences = sentences("18-speed-of-memory")(bindings)
