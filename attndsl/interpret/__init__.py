"""NumPy meanings: of the graph (reference) and of the tile program."""
