"""Which kernels an operator's project has, and how a host picks one by the tiling key."""
