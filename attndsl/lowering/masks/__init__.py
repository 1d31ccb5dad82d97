"""One rule for each kind of mask: what it loads, what it hides, which keys it lets a task skip.

Knows the context of an attention. Knows nothing of other score modifiers, of matrix stages, or of results.
"""
