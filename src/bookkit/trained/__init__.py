"""The book's own small language model, and what the pages ask of it.

It is a decoder of 2.4 million parameters that reads Python sources byte by byte: 6 layers, d = 192,
6 query heads that share 2 key-value heads of 32 dimensions, texts of 1,024 bytes.

    from bookkit import book_model
    from bookkit.trained import held_out, trace

    model = book_model()                     # one_file.llama.Model, float32
    found = trace(model, held_out(512))      # scores, weights, residual stream … of every layer

model    its weights and its loss        text     what it reads
probes   looking inside                  waves    how scores depend on distance
schemes  smaller models, each with another positional encoding; query_bias is one of them
encodings   the trained weights of six of these
"""

from bookkit.trained.encodings import encoding_model as encoding_model
from bookkit.trained.model import STORED as STORED
from bookkit.trained.model import TRAINED_LENGTH as TRAINED_LENGTH
from bookkit.trained.model import load as load
from bookkit.trained.model import loss as loss
from bookkit.trained.model import untrained as untrained
from bookkit.trained.probes import largest as largest
from bookkit.trained.probes import repeated as repeated
from bookkit.trained.probes import trace as trace
from bookkit.trained.probes import weight_on_copy as weight_on_copy
from bookkit.trained.probes import weight_on_previous as weight_on_previous
from bookkit.trained.probes import without as without
from bookkit.trained.text import START as START
from bookkit.trained.text import held_out as held_out
