"""The page of depth: parameters and operations, counted in real blocks."""

from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from attention_to_rope import Architecture, Block
from bookcheck.equations.checks import equation, sentences
from shared import tensor


def count(*modules):
    return sum(parameter.numel() for module in modules for parameter in module.parameters())


def sizes(rng):
    """Sizes, and the parameters of a real decoder block counted part by part."""
    d, d_f, L = 2 * int(rng.integers(2, 9)), int(rng.integers(5, 40)), int(rng.integers(2, 5))
    block = Block(Architecture(d=d, heads=2, layers=1, hidden=d_f), seed=0, cross=True)
    encoder = Block(Architecture(d=d, heads=2, layers=1, hidden=d_f), seed=0)
    norm = block.attention_residual.norm
    return {
        **{"d": d, "d_f": d_f, "L": L},
        r"P_{\text{att}}": count(block.attention),
        r"P_{\text{ff}}": count(block.feed_forward),
        r"P_{\text{norm}}": count(norm),
        r"P_{\text{stacks}}": L * count(block, encoder) + 2 * count(norm),
    }


test_parameters_parts = equation(
    "eq-parameters-parts", symbols=r"d, d_f, P_{\text{att}}, P_{\text{ff}}, P_{\text{norm}}"
)(sizes)


test_parameters_stacks = equation(
    "eq-parameters-stacks",
    symbols=r"L, P_{\text{att}}, P_{\text{ff}}, P_{\text{norm}}, P_{\text{stacks}}",
)(sizes)


def counted(rng, *, cross):
    """The operations PyTorch counts in one block, with the sizes it had."""
    d, d_f = 2 * int(rng.integers(2, 9)), int(rng.integers(5, 40))
    target_length, source_length = (int(x) for x in rng.integers(2, 30, size=2))
    block = Block(Architecture(d=d, heads=2, layers=1, hidden=d_f), seed=0, cross=cross).double()
    source = tensor(rng.normal(size=(1, source_length, d)))
    x = tensor(rng.normal(size=(1, target_length, d))) if cross else source
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        block(x, memory=source if cross else None)
    return {"d": d, "d_f": d_f, "N": target_length, "N_k": source_length}, counter.get_total_flops()


@equation("eq-flops-encoder")
def test_flops_encoder(rng):
    values, total = counted(rng, cross=False)
    return {**values, r"F_{\text{enc}}": total}


@equation("eq-flops-decoder")
def test_flops_decoder(rng):
    values, total = counted(rng, cross=True)
    return {**values, r"F_{\text{dec}}": total}


def bindings(rng):
    """The parameters of the exercise's block, counted in the library's."""
    del rng
    block = Block(Architecture(d=4, heads=1, layers=1, hidden=16), seed=0, cross=True)
    parts = {
        r"P_{\text{att}}": block.attention,
        r"P_{\text{ff}}": block.feed_forward,
        r"P_{\text{norm}}": block.attention_residual.norm,
    }
    return {name: sum(p.numel() for p in part.parameters()) for name, part in parts.items()}


test_sentences = sentences(
    "deeper/counted",
    equivalent={
        "… , $, $.": {"symbol for number: 80 → {P_{\\text{att}}}": "The symbol is this number."},
        "$, … , $.": {"symbol for number: 148 → {P_{\\text{ff}}}": "The symbol is this number."},
    },
)(bindings)
