"""What the book's pages use beside the library: they draw, tabulate, draw lots and measure.

figures      one look for all figures, stored as SVG with a text alternative
tables       numbers as a table
tickets      the running example, two train tickets made of the same four words
randomness   random numbers that are the same on every machine
exercises    checks that tell in words what is wrong with a reader's function
experiments  the trainings of chapter 16 and the benchmarks of chapter 18, with recorded rows
"""
