"""Test vectors of RoPE for other languages, published under `_static/rope-vectors/`."""

from pathlib import Path

from sphinx.application import Sphinx

from attention_to_rope.rope_families import write_vectors

FOLDER = Path("_static") / "rope-vectors"


def publish(app: Sphinx, error: Exception | None) -> None:
    """Write the vectors into the finished site."""
    if error is None and app.builder.name == "html":
        write_vectors(Path(app.outdir) / FOLDER)


def setup(app: Sphinx) -> None:
    """Connect it."""
    app.connect("build-finished", publish)
