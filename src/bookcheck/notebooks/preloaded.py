"""What a kernel has imported before its notebook begins, so that no notebook waits for it.

With it, every call of the library is checked against the shapes in its signature. Importing this
module turns the checks on, because a fork server imports modules and calls nothing.
"""

import importlib

import jaxtyping

# An int is a float as far as type checkers are concerned, and the same is true here.
CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
jaxtyping.install_import_hook("attention_to_rope", CHECKER)

for name in (
    "attention_to_rope.model",
    "bookkit.figures",
    "bookkit.tables",
    "matplotlib.backends.backend_svg",
    "ipykernel.ipkernel",
):
    importlib.import_module(name)
