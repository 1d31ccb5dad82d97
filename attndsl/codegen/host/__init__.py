"""Host code of an operator: checks, shapes, tiling, the operator definition."""
