"""The checks of the book: formulas, notebooks, prose and site."""

import sys
from types import ModuleType
from typing import cast

# Importing nbformat would build 38 grammars of internet addresses for two seconds, in every program
# that reads a notebook. jsonschema does without them where this package is missing, as it is now.
sys.modules.setdefault("rfc3987_syntax", cast(ModuleType, None))
