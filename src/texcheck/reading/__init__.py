"""The meaning of a parsed formula: a module for each kind of construct, and what they share."""
