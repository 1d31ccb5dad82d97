"""The values of a kernel's host scalars for one call: what its tiling fields are computed from."""

from __future__ import annotations

from typing import Any

from attndsl.lowering.signature.enum_parameters import number_of
from attndsl.lowering.signature.host_scalars import (
    CORES,
    L2_BYTES,
    START_TOGETHER,
    dimension,
    fold_name,
    folds_of,
    layout_choice,
    length_count,
)
from attndsl.lowering.signature.kernel_signature import KernelSignature
from attndsl.spec.binding.call import Call


def launch_scalars(call: Call, signature: KernelSignature, cores: int) -> dict[str, Any]:
    """Everything the tiling fields of a call are computed from: sizes, parameters, layouts, the device.

    Blocks start together, as those of a package do in batch mode.
    """
    held = call.operator.device.l2_bytes if call.l2_bytes is None else call.l2_bytes
    device = {CORES.name: cores, L2_BYTES.name: held, START_TOGETHER.name: 1}
    env: dict[str, Any] = {**call.env(), **call.arrays, **device}
    for spec in call.operator.tensors:
        if spec.kind == "lengths":
            array = call.arrays.get(spec.name)
            env[length_count(spec.name).name] = 0 if array is None else array.size
        if spec.name in call.layouts:
            env[layout_choice(spec.name).name] = list(spec.layouts).index(call.layouts[spec.name])
        if spec.at_least:
            shape = call.arrays[spec.name].shape if spec.name in call.arrays else ()
            for number in range(max(layout.rank for layout in spec.layouts.values())):
                env[dimension(spec.name, number).name] = shape[number] if number < len(shape) else 0
    for name, words in signature.enums.items():
        env[name] = number_of(env[name], words)
    for fold in (node for size in call.operator.axis_extents.values() for node in folds_of(size)):
        env[fold_name(fold)] = fold.evaluate(env)
    return env
