"""What the Python wrappers of generated projects import: ``from attndsl.spec.loader import load``."""

from attndsl.spec.operator.loader import load

__all__ = ["load"]
