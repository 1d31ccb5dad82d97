"""Tensor-level IR: nodes, shapes, verification and printing."""
