"""The page of depth: parameters and operations, counted in real blocks."""

from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from attention_to_rope import Architecture, Block, Decoder, Encoder
from bookcheck.equations.checks import equation, sentences
from shared import tensor
from shared_counts import layer_operations


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
    """The parameters of the exercise's model, counted in the library's."""
    del rng
    V, shape = 10, Architecture(d=4, heads=1, layers=1, hidden=16)
    block = Block(shape, seed=0, cross=True)
    encoder, decoder = Encoder(V, shape, seed=0), Decoder(V, shape, seed=0, cross=True)
    tables = (encoder.embedding, decoder.embedding, decoder.head)
    return {
        **{"d": 4, "d_f": 16, "V": V},
        r"P_{\text{att}}": count(block.attention),
        r"P_{\text{ff}}": count(block.feed_forward),
        r"P_{\text{norm}}": count(block.attention_residual.norm),
        r"P_{\text{tables}}": count(*tables),
        r"P_{\text{stacks}}": count(encoder, decoder) - count(*tables),
        "P": count(encoder, decoder),
    }


def words(rng):
    """What the tables and the output layer of the library's model hold and compute."""
    d, V, N = 2 * int(rng.integers(2, 9)), int(rng.integers(5, 30)), int(rng.integers(2, 20))
    shape = Architecture(d=d, heads=1, layers=1, hidden=8)
    encoder, decoder = Encoder(V, shape, seed=0), Decoder(V, shape, seed=0, cross=True)
    held = count(encoder.embedding, decoder.embedding, decoder.head)
    sizes = {"d": d, "N": N, r"n_{\text{words}}": V}
    return {**sizes, "P": held, "F": layer_operations(decoder.head, N, d)}


test_sentences = sentences(
    "deeper/counted",
    where={"output layer add …": words, "output layer costs …": words},
    names={"output layer add …": "P", "output layer costs …": "F"},
    numbers={
        "… , $, $.": r"4 d^2, 4 d, P_{\text{att}}",
        "$, … , $.": r"2 d d_f, d_f, d, P_{\text{ff}}",
        "The stacks: …": (
            r"3, P_{\text{att}}, 2, P_{\text{ff}}, 5, P_{\text{norm}}, 2, P_{\text{norm}}, "
            r"P_{\text{stacks}}"
        ),
        "the output layer: …": r"3, V, d, P_{\text{tables}}",
        "In total …": r"P_{\text{stacks}}, P_{\text{tables}}, P",
    },
    equivalent={
        "… , $, $.": {"symbol for number: 80 → {P_{\\text{att}}}": "The symbol is this number."},
        "$, … , $.": {"symbol for number: 148 → {P_{\\text{ff}}}": "The symbol is this number."},
    },
)(bindings)
