"""The device that tests take where it does not matter which, and its architecture."""

from attndsl.target import DEFAULT_DEVICE, device

DEVICE = device(DEFAULT_DEVICE)
ARCHITECTURE = DEVICE.architecture
