"""attndsl: a kernel compiler and DSL for attention on Ascend NPUs."""

__version__ = "0.1.0"
