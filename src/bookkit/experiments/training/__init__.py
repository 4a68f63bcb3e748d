"""The experiments of chapter 16: one model, ten positional schemes, four studies.

python -m bookkit.experiments.training.studies --size full      # a GPU, hours
python -m bookkit.experiments.training.studies --size small     # to see that it runs
"""
