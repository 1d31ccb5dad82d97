"""Cross-core flags between stages, derived from the workspace tensors that they write and read."""
