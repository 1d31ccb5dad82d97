"""The devices and their architecture as frozen data, each number with its source."""

from attndsl.target.architecture import Architecture, Core, Memory, MemorySpace, Pipe
from attndsl.target.devices import DEFAULT_DEVICE, Device, UnknownDeviceError, device, device_names

__all__ = [
    "DEFAULT_DEVICE",
    "Architecture",
    "Core",
    "Device",
    "Memory",
    "MemorySpace",
    "Pipe",
    "UnknownDeviceError",
    "device",
    "device_names",
]
