"""The sizes of a task of relative-positions, to repeat the token three positions back.

How it is trained and tested: `laboratory.three_back`.
"""

BACK = 3
LENGTH = 14  # tokens
SYMBOLS = 8
SHIFT = 50  # added to all positions
LONGER = 3  # times as many tokens
RATES = (0.003, 0.01, 0.03)
