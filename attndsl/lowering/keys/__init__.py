"""Where the rows of keys and values are: for a key tile, the segments in which they lie.

Knows the emitter, and of query rows what a task and a segment are. Knows no mask, and nothing of what is
computed with its rows.
"""
