"""The ways to compute a call; all take the same :class:`Call` and return the same arrays."""

from attndsl.spec.operator.backends import BACKENDS, Backend, find_backend, run, run_checked

__all__ = ["BACKENDS", "Backend", "find_backend", "run", "run_checked"]
