"""What a kernel takes: specialization parameters, arguments, strides, names of what only the host knows.

Knows an operator's declarations. Knows no schedule, and no call: values for a launch are the compiler's.
"""
