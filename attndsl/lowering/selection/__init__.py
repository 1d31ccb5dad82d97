"""The selection of key blocks: a second run over an item's tiles, once its rows are complete.

Knows the stages of the loop over key tiles, which it runs again. Knows nothing of results but its own.
"""
