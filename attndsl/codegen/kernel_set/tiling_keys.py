"""Tiling keys: the number by which a host tells the device which specialisation a call needs."""

from __future__ import annotations

import zlib

from attndsl.codegen.host.problem_members import VALUE_SIZE, io_tensor
from attndsl.codegen.kernel_set.dispatch_guards import selectors
from attndsl.compiler.compile import Compiled
from attndsl.lowering.signature.specialisation import feature_names
from attndsl.target import ATLAS_A2


def tiling_key(compiled: Compiled) -> int:
    """Decimal ``FFF SS T``: features as bits, head size in fractals of 16, index of the io dtype.

    What else a kernel is chosen by is hashed into the digits in front. The key of a specialisation is the
    same whichever others are generated with it, and never 0.
    """
    operator, special = compiled.operator, compiled.specialisation
    bits = sum(1 << i for i, name in enumerate(feature_names(operator)) if name in special.features)
    dtype = io_tensor(operator).dtypes.index(special.dtype)
    key = (bits * 100 + special.padded_head_size // ATLAS_A2.fractal) * 10 + dtype
    rest = [item.test for item in selectors(compiled) if item.symbols or f".{VALUE_SIZE} " in item.test]
    return key + zlib.crc32("".join(rest).encode()) * 10**8 if rest else key
