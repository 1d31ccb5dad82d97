"""Values beside scores and result rows: tensors by key, key indices, numbers of rows; operations on lanes.

Knows the context of an attention. Knows no mask, no score modifier and no result.
"""
