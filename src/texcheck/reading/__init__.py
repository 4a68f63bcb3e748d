"""From the parsed structure to nodes, by the declared symbols alone."""
