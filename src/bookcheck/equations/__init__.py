"""The formulas of the pages, displayed and in sentences: found, bound to values, executed.

checks     how a check is written (`equation`, `sentences`) and run
sentences  which relations a sentence states, and where their values come from
mutate     planted misprints, which the checks must see

The formulas that pages print are found by `bookformat.formulas`; `bookformat.records` keeps which
of them the last checks executed.
"""
