"""The formulas of the pages, displayed and in sentences: found, bound to values, executed.

scan       the formulas that the chapters print
checks     how a check is written (`equation`, `by_hand`, `sentences`) and run
sentences  which relations a sentence states, and where their values come from
records    which displays the last checks executed
mutate     planted misprints, which the checks must see
"""
