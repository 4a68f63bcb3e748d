"""How the site is made from the chapters, and what is checked of the result."""
