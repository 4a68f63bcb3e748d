"""Benchmarks as ratios: every row is measured against a floor or a peer in the same run.

make bench                                                  # CPU, a few minutes
python -m laboratory.speed.run --group gpu         # on a CUDA machine
python -m laboratory.speed.run --group gpu-calls   # there, ours and the fastest peers
python -m laboratory.speed.run --group gpu-attention  # there, the textbook form of it
python -m laboratory.speed.run --group gpu-block   # there, one attention block
python -m laboratory.speed.run --group gpu-tiles   # there, how the kernel's work is cut
"""
