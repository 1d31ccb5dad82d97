"""What leaves an item: rows, partial rows and their merge, row statistics, zeros for padded positions.

Knows rows and scores' operands of a row. Knows nothing of the loop over key tiles that made the rows.
"""
