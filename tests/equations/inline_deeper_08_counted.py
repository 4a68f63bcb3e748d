"""Deeper, chapter 8: the relations inside its sentences."""

from attention_to_rope import Architecture, Block

PAGE = "deeper/08-counted"


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


# A condition: it says for which values the sentence speaks.
DEFINITIONS = [r"d = 4", r"d_f = 16", r"N = 6d"]
