"""Importing this does once what every kernel would do first: import much, and draw a figure."""

import gc
from importlib import import_module

import_module("bookcheck.notebooks.shapes")  # before the library, whose calls it checks
# What pages import, named even where another module happens to import it today: without the library
# in this list, each of fifty kernels decorated its functions anew, in a second.
PAGES_IMPORT = (
    "attention_to_rope.checkpoints",
    "attention_to_rope.fast",
    "bookkit.exercises",
    "bookkit.models",
    "bookkit.randomness",
    "bookkit.records",
    "bookkit.tables",
    "bookkit.traffic",
    "bookkit.trained",
    "one_file.llama",
)
for name in (*PAGES_IMPORT, "ipykernel.debugger", "psutil"):
    import_module(name)
import_module("torch._dynamo")  # which optimizers import, in 2 s
figures = import_module("bookkit.figures")
with figures.matplotlib.rc_context():  # or its settings would already hold on every page
    drawing, _ = figures.figure(2, 2, subplot_kw={"title": "$x$"})  # makes a parser of formulas
    figures.svg(drawing, alt="")
gc.freeze()  # nothing of this is garbage, and looking for it would copy all of it into each kernel
