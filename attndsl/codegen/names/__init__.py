"""How arguments, constants and files are spelled in emitted code."""
