"""The legal calls of an operator as variables and clauses, what its tensors are for, and the search for
assignments. The lowest part of :mod:`attndsl.verify`."""
