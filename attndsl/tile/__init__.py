"""Tile IR: buffers at planned addresses, loops, instructions and their synchronization."""
