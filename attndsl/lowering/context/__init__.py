"""One attention as the rules of masks, scores, matrix stages and results see it.

Knows rows, keys and values, and all that is below them. Knows no mask and no score rule.
"""
