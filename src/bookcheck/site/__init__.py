"""How the site is built: formulas, figures, folded blocks, page assets and what is checked of them."""
