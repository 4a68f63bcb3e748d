"""The same mathematics, tuned. The taught modules never import it: the caller chooses.

blockwise         attention block by block, in memory linear in N
rope_eager        RoPE in fewer operations, for models that run without being compiled
ring              attention over several processes, each holding a part of the sequence
rope_triton       RoPE of queries and keys in one pass on a GPU, with its gradient (Triton);
                  rope_kernel is its kernel
attention_triton  attention as a short GPU kernel, to read (Triton)
"""

from attention_to_rope.fast.blockwise import blockwise_attention as blockwise_attention
from attention_to_rope.fast.rope_eager import EagerRotary as EagerRotary
from attention_to_rope.fast.rope_eager import rotate_eagerly as rotate_eagerly
from attention_to_rope.fast.rope_triton import rotate_queries_and_keys as rotate_queries_and_keys
