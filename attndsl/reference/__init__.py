"""The reference backend: the NumPy meaning of the graph. It knows no tile and no text."""
