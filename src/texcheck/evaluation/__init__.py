"""The value of an expression tree: a module for each kind of construct, and what they share."""
