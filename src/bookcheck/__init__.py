"""The checks of the book: formulas, notebooks, prose and site."""
