"""Conversions between the logical and the stored order of row statistics of packed (TND) operators."""

from attndsl.base.stored_order import from_stored_order, to_stored_order

__all__ = ["from_stored_order", "to_stored_order"]
