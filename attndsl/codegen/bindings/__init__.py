"""The calls of an operator from PyTorch and through aclnn."""
