"""The reference backend: the NumPy meaning of the graph. It knows no tile and no text.

Its modules in order, each of which imports only later ones: ``run``; ``whole``, where the tables of all rules
stand; ``merge`` and ``block_selection``; ``streaming``; ``tasks`` and ``scores``; ``cache``, ``rows``,
``ranges`` and ``query_space``; ``blocks`` and ``state``; ``row_reader`` and the arithmetic.
"""
