"""Notebooks that stay true: outputs compared, rules inspected, chapters executed and tested."""
