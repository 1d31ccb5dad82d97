"""Predicted times of one call's kernel on the emulator: where they go, and how far they are from the device's
bounds."""
