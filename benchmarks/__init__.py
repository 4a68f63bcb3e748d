"""Benchmarks as ratios: every row is measured against a floor or a peer in the same run.

make bench                                   # CPU, a few minutes
python -m benchmarks.run --group gpu         # on a CUDA machine
"""
