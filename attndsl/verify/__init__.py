"""Verification: makes cases of an operator's declaration and judges results against the spec in float64.

The package runs nothing: cases go to backends in :mod:`attndsl.campaign`. ``cases`` stands on ``data``, and
``data`` on ``space``; ``judge`` knows none of them.
"""
