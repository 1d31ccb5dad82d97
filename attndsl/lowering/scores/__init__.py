"""One rule for each modifier of scores: what it loads for a tile, for a row, and what it does."""
