"""Checks of formulas in other people's texts, which they name by label or line.

Nothing of the texts is here: each file says which page of which commit it is for, and reads it from
the folder that the variable ``TEXTS`` of the environment names; ``texcheck check`` sets it to the
folder of its page.
"""
