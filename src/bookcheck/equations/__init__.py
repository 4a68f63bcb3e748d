"""Every displayed equation has a label and a check that executes its printed text.

scan      the equations that the chapters print
records   what the last checks found, and whether it still holds
checks    how a check is written (`equation`, `by_hand`) and run
mutate    planted misprints, which the checks must see
"""
