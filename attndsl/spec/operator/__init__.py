"""The operator, its modes, what its kernels depend on, its backends, and how operators are found.

The top of :mod:`attndsl.spec`: it takes ``authoring``, ``binding`` and ``contract``.
"""
