"""The same mathematics, tuned: read the modules beside this folder first.

blockwise    attention block by block, in memory linear in N
ring         attention over several processes, each holding a part of the sequence
rope_triton  RoPE of queries and keys in one pass on a GPU, with its gradient (Triton)
attention_triton  attention as a short GPU kernel, to read (Triton)
"""
