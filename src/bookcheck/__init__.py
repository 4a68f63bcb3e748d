"""The checks of the book: its formulas, what its notebooks print, numbers in its sentences."""
