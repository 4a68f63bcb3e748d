"""pybtex' search for plugins; see `booksite.citations`."""

import subprocess
import sys

SEARCHES = """
import pybtex.plugin
count = 0
real = pybtex.plugin.entry_points
def counted(**names):
    global count
    count += 1
    return real(**names)
pybtex.plugin.entry_points = counted
if {patched}:
    from booksite import citations
    citations.setup(None)
for _ in range(3):
    pybtex.plugin.find_plugin("pybtex.style.names", "plain")
print(count)
"""


def searches(*, patched):
    """How often packages are searched for one plugin that is asked for three times."""
    code = SEARCHES.format(patched=patched)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_a_plugin_is_searched_for_once():
    assert searches(patched=True) == 1


def test_pybtex_still_searches_each_time():
    assert searches(patched=False) == 3, "pybtex keeps what it finds: remove booksite.citations"
