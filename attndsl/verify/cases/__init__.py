"""Cases as a deterministic stream, and the features that each exercises. It takes ``data`` and ``space``."""
