"""The set-up of the record `divisors.jsonl`, which the page softmax-gradient prints."""

DIMENSIONS = (16, 64, 256)  # d_k
DIVISORS = ("1", "√d_k", "d_k")
SEEDS = 8
TOKENS = 12
WIDTH = 40  # d
SHORT = 20  # steps
LONG = 2000  # steps
