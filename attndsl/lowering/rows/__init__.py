"""Which query rows a task has, where each is stored, and where its result goes.

Knows the emitter. Knows nothing of keys, nor of what is computed with its rows.
"""
