"""The experiments of chapter 15: one model, seven positional schemes, two studies.

    python -m experiments.run --size small                           # a laptop, about a minute
    torchrun --nproc-per-node=8 -m experiments.run --size full       # a GPU machine

Results are lines of JSON under `experiments/results/`; a run that was stopped goes on where it was.
"""
