"""The strict build of a book whose reference has two modules and one file of tests.

The reference of the whole library, and the pages of all its tests, take two thirds of a build.
"""

import os
import sys

from bookcheck.site import api, build

MODULES = ("masks", "scaled_dot_product")
TESTS = "test_masks.py"

whole, all_tests = api.library(), api.all_tests()
entries = [entry for entry in whole.entries if entry.module in MODULES]
small = api.Library(entries, {name: whole.modules[name] for name in MODULES})
tests = {
    name: [one for one in found if one.file.name == TESTS] for name, found in all_tests.items()
}

if __name__ == "__main__":
    api.library = lambda: small
    api.all_tests = lambda: tests
    status = build.main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
