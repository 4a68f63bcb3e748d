"""The value of each kind of node, one module for each family of them."""
