"""Score modifiers: one rule for each kind of graph node.

Knows masks, which are modifiers too, and the operands of scores. Knows nothing of where scores come from and
go to.
"""
