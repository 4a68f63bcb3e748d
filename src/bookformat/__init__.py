"""What a page of the book consists of: the site is built from it, and the checks read it.

notebooks     cells, and the form in which a notebook is stored
myst          directives, roles and displays of the text
formulas      displayed equations, and formulas in sentences
values        numbers in sentences that are computed
records       which equations the last checks executed
reading_time  how long a chapter takes
paths         where all this is
"""
