"""The stages of the loop over an item's key tiles: matrix multiplies, online softmax, requantization.

Knows scores, masks, rows and keys. Knows nothing of what is done with rows once they are complete.
"""
