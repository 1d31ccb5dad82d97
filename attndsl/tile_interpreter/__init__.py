"""The tile backend: the NumPy meaning of a finished tile program. It knows no text and no emulator."""
