"""Comparisons with other libraries: `make test-peers` runs them in an environment of their own."""

import importlib.util

if importlib.util.find_spec("transformers") is None:
    collect_ignore_glob = ["test_*.py"]
