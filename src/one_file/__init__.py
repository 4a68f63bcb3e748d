"""Whole models in one file each, to be read and copied; they import nothing of the house."""
