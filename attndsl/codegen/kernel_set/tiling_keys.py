"""Tiling keys: the number by which a host tells the device which specialization a call needs."""

from __future__ import annotations

import zlib

from attndsl.codegen.host.problem_members import VALUE_SIZE, io_tensor
from attndsl.codegen.kernel.kernel import kernel_name
from attndsl.codegen.kernel_set.dispatch_guards import selectors
from attndsl.codegen.names.arguments import names_of
from attndsl.codegen.names.identifiers import pascal
from attndsl.compiler.compile import Compiled
from attndsl.lowering.signature.specialization import feature_names


def key_name(compiled: Compiled) -> str:
    """The name of a kernel's tiling key."""
    suffix = kernel_name(compiled).removeprefix(f"{names_of(compiled.operator).op}_")
    return f"k{pascal(suffix)}"


def tiling_key(compiled: Compiled) -> int:
    """Decimal ``FFF SS T``: features as bits, head size in fractals of 16, index of the io dtype.

    What else a kernel is chosen by is hashed into the digits in front. The key of a specialization is the
    same whichever others are generated with it, and never 0.
    """
    operator, special = compiled.operator, compiled.specialization
    bits = sum(1 << i for i, name in enumerate(feature_names(operator)) if name in special.features)
    dtype = io_tensor(operator).dtypes.index(special.dtype)
    fractals = special.padded_head_size // operator.device.architecture.fractal
    key = (bits * 100 + fractals) * 10 + dtype
    rest = [item.test for item in selectors(compiled) if item.symbols or f".{VALUE_SIZE} " in item.test]
    return key + zlib.crc32("".join(rest).encode()) * 10**8 if rest else key
