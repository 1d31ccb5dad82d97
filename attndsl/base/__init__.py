"""Errors, source locations, files that travel with the package, reserved names, stored orders.

Everything may import this package; it imports nothing of attndsl.
"""
