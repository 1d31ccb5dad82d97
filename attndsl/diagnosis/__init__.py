"""What a miss comes down to: the smallest case found for it, and where the kernel leaves its tile program.

Knows cases, how they are judged, and both backends that run what was lowered. Decides no result: a record
says the same whatever is here.
"""
