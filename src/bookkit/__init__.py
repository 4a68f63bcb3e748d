"""What the book's pages use beside the library: figures, tables, random numbers, experiments.

figures      one look for all figures, stored as SVG with a text alternative
tables       numbers as a table
tickets      the running example, two train tickets made of the same four words
randomness   random numbers that are the same on every machine
adam         the optimizer of the pages that train
exercises    checks that tell in words what is wrong with a reader's function
saying       what these checks say in the language of the reader
records      rows of experiments that take longer than a page may
traffic      counting bytes and operations of code that runs
seconds      bytes, operations and the least seconds of a model on a named GPU, by formula
workshop     twelve steps in which readers write the model in NumPy, and checks that name mistakes
trained      the book's own small language model, and looking inside it
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from one_file.llama import Model


def book_model() -> "Model":
    """The book's own small language model, in float32 (see `bookkit.trained`)."""
    from bookkit import trained  # here, so that importing bookkit stays quick

    return trained.load(trained.STORED)
