"""Comparisons with other libraries: `make test-peers` runs them in an environment of their own."""

import importlib.util
import os

if importlib.util.find_spec("transformers") is None:
    collect_ignore_glob = ["test_*.py"]

# Triton reads this when it is imported, which `transformers` may do before a test of a kernel does.
os.environ["TRITON_INTERPRET"] = "1"
