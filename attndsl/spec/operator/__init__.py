"""The operator, its modes, what its kernels depend on, and how operators are found."""
