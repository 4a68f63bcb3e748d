"""Comparisons with other libraries: `make test-peers` runs them in an environment of their own."""

import importlib.util
import os

if importlib.util.find_spec("transformers") is None:
    collect_ignore_glob = ["test_*.py"]  # and the other tests of this run keep their surroundings
else:
    # Read when Triton is imported, which `transformers` may do before a test of a kernel does.
    os.environ["TRITON_INTERPRET"] = "1"
