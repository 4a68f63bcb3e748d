"""The experiments of chapter 15: one model, seven positional schemes, two studies.

python -m bookkit.experiments.training.run --size small                      # a laptop, a minute
torchrun --nproc-per-node=8 -m bookkit.experiments.training.run --size full  # a GPU machine

Rows of JSON are in `bookkit/experiments/results/training`; a stopped run goes on where it was.
"""
