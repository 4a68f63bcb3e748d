"""The sizes of the small decoders that `laboratory.placements` trains."""

D = 32  # the dimension of the model
BLOCKS = 18
LENGTH = 16  # bytes of a text
BATCH = 8
RATES = (0.001, 0.003, 0.01, 0.03)
