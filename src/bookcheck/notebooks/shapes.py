"""Importing this before the library checks every call of it against the shapes in its signatures.

The tests do so, and so do the kernels in which they run notebooks; the reference tells readers how.
"""

import jaxtyping

# An int is a float as far as type checkers are concerned, and the same is true here.
CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
jaxtyping.install_import_hook("attention_to_rope", CHECKER)
