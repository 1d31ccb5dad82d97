"""Verification: makes cases of an operator's declaration and judges results against the spec in float64.

The package runs nothing: cases go to backends in :mod:`attndsl.campaign`.
"""
