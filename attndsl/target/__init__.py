"""The target as frozen data: memories, pipes, limits and rates, each with its source."""

from attndsl.target.atlas_a2 import ATLAS_A2, Core, Device, Memory, MemorySpace, Pipe

__all__ = ["ATLAS_A2", "Core", "Device", "Memory", "MemorySpace", "Pipe"]
