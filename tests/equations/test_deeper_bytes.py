"""Deeper, chapter 14: traffic, executed against the library."""

import torch

from attention_to_rope.merge import finish, merge, partial_attention
from bookcheck.equations.checks import equation, sentences
from bookkit.traffic import Traffic
from shared_counts import Memory


@equation("eq-online-traffic")
def test_online_traffic(rng):
    """Both programs run, and what they load and store is counted; both give attention."""
    blocks, b, d_k = (int(x) for x in rng.integers(2, 9, size=3))
    N = blocks * b
    q, k, v = (torch.from_numpy(rng.normal(size=(N, d_k))) for _ in range(3))
    with Traffic() as naive:
        plain = torch.softmax(q @ k.T, -1) @ v
    # In blocks, the state of a block of queries stays on the chip until all keys have passed.
    memory, output = Memory(), torch.empty_like(q)
    for rows in torch.arange(N).split(b):
        queries, state = memory.load(q[rows]), None
        for keys, values in zip(k.split(b), v.split(b), strict=True):
            part = partial_attention(queries, memory.load(keys), memory.load(values), scale=1.0)
            state = part if state is None else merge(state, part)
        memory.store(output[int(rows[0]) :][:b], finish(state))
    assert torch.allclose(output, plain)
    size = q.element_size()
    names = {r"T_{\text{textbook}}": naive.total / size, r"T_{\text{block}}": memory.bytes / size}
    return {"N": N, "b": b, "d_k": d_k, **names}


def state(rng):
    """The state of seven keys by the library, and the logarithm of the sum by PyTorch."""
    q, k, v = (torch.from_numpy(rng.normal(size=(rows, 4))) for rows in (1, 7, 7))
    c, total, _ = partial_attention(q, k, v, scale=1.0)
    return {"c": c.item(), r"\ell": total.item(), r"\lambda": (q @ k.T).logsumexp(-1).item()}


test_sentences = sentences("deeper/bytes", where={"a kernel also stores …": state})(state)
