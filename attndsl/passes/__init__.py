"""The passes from a joint tile program to a finished one, and the order in which they run.

A pass is a function from program to program; the verifier of :mod:`attndsl.tile` stands between passes.
"""
