"""The emulator backend: compiles and runs emitted files, and projects as they lie in a folder.

The package knows launches and files, not how a kernel was scheduled.
"""
