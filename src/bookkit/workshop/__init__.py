"""The workshop: twelve steps in which the reader writes the book's model in NumPy.

skeleton    the file that the reader gets: twelve steps as empty functions
solution    the same functions, written
probes      what the checks try
comparing   results as a few numbers, and their comparison
signatures  naming a mistake by the numbers that it returns, which signatures.json stores
errors      what the errors of Python and NumPy mean
steps       the chapter and the hints of each step
checking    verdicts in words
page        the same in a notebook
texts       what a reader wrote in the page, as functions
playground  the solution's model with parts switched off, for the page of that name
__main__    the command python -m bookkit.workshop

All of it needs NumPy only, because it also runs in the reader's browser.
"""
