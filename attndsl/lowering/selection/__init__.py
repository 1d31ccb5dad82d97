"""The selection of key blocks: of an item's only tile with its softmax, of several when they come again.

Knows the stages of the loop over key tiles, which it runs again. Knows nothing of results but its own.
"""
