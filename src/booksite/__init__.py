"""How the site is made from the chapters: Sphinx extension, translation, PDF and notebooks."""
