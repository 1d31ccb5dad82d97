"""Symbolic scalars: sizes, constraints, tiling fields, addresses; how they are evaluated, bounded and proved.

The package knows no tensor, no tile and no device.
"""
