"""RoPE's conventions: the relations inside its sentences."""

PAGE = "deeper/10-conventions"
OPTIONS = {"first_index": 0}


def bindings(rng):
    """Nothing: the sentences name and assume, and claim no relation."""
    del rng
    return {}


# Names and conditions.
DEFINITIONS = [
    r"J = R(\pi/2)",
    r"i \ne j",
    r"M = W^Q (W^K)^\top",
    r"\tilde{P}_0 = (1, 0, 1, 0, \dots)",
]
