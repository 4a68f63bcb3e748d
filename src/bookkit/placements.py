"""The sizes of chapter 4's small decoders. How they are trained: `laboratory.placements`."""

D = 32  # the dimension of the model
BLOCKS = 18
LENGTH = 16  # bytes of a text
BATCH = 8
RATES = (0.001, 0.003, 0.01, 0.03)
