"""What rules write statements with: host fields, sizes, strides, buffers, rings, scalars of loops.

Knows the kernel's signature, the schedule and the tile IR. Knows neither query rows nor keys, no mask and no
score: of an attention only its name and the dtype that the cube multiplies.
"""
