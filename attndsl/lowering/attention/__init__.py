"""The loop over key tiles of one item: matrix products and the online softmax."""
