"""Settings of the library's tests: the same examples in every run, on every machine."""

from hypothesis import settings

settings.register_profile("book", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("book")
