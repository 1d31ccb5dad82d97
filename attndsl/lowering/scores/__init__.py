"""Score modifiers: one rule for each kind of graph node, and the statements of elementwise operations.

Knows masks, which are modifiers too, and the context of an attention. Knows nothing of where scores come
from and go to.
"""
