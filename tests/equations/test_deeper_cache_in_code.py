"""Page on the cache in code of the chapter: its equations, counted in the library."""

from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from attention_to_rope import KeyValueCache, causal_mask
from bookcheck.equations.checks import equation, sentences
from shared import tensor
from shared_many_heads import layer_of, some_sizes


@equation("eq-cache-work")
def test_cache_work(rng):
    """The operations that PyTorch counts in the library, with and without its cache."""
    length, shape = int(rng.integers(3, 20)), some_sizes(rng)
    d = shape["d"]
    layer, x = layer_of(rng, shape["h"], d=d), tensor(rng.normal(size=(1, length, d)))
    _, cache = layer.extend(x[:, :-1], KeyValueCache())
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as without:
        layer(x, causal=True)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as cached:
        layer.extend(x[:, -1:], cache)
    counts = {
        r"F_{\text{all}}": without.get_total_flops(),
        r"F_{\text{new}}": cached.get_total_flops(),
    }
    return {"N": length, "d": d, **counts}


@equation("eq-causal-offset", first_index=0)
def test_causal_offset(rng):
    queries = int(rng.integers(3, 6))
    keys = int(rng.integers(queries, 9))
    M = causal_mask(queries, keys).int().numpy()
    return {"M": M, "N_q": queries, "N_k": keys, "m": range(queries), "n": range(keys)}


test_sentences = sentences("deeper/cache-in-code")(lambda rng: {})
