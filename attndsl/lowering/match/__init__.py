"""The graph side: the attention pattern, stored inputs, the schedule that it fixes and the one stated.

Knows graph nodes and schedule options. Knows no tile statement.
"""
