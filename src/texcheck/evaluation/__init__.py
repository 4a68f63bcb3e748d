"""The value of an expression tree, by numbers.

``evaluator`` has what all constructs share, ``rules`` says which function evaluates which node, and
there is a module for each kind of construct. A function for a node gets the evaluator and the node.
"""
