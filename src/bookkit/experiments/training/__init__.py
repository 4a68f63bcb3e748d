"""The experiments of chapters 15 and 16: one model, ten positional schemes, four studies.

python -m bookkit.experiments.training.studies --size small                # a laptop, minutes
python -m bookkit.experiments.training.studies --size full --processes 4   # a GPU
python -m bookkit.experiments.training.reproduce --size full               # again, and compare

Rows of JSON are in `bookkit/experiments/results/training`; a stopped run goes on where it was.
"""
