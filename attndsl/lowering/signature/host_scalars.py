"""What the host of a kernel knows of a call: the scalars that tiling fields are computed from, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attndsl.expr import Expr, Symbol
from attndsl.expr.reductions import Fold
from attndsl.lowering.signature.enum_parameters import number_of
from attndsl.spec.binding.call import Call
from attndsl.tile.naming import camel

if TYPE_CHECKING:
    from attndsl.lowering.signature.kernel_signature import KernelInterface

HOST = "host."
"""In front of what the host knows besides sizes and parameters, so that none of these has its name."""
CORES = Symbol(f"{HOST}cores")


def layout_choice(tensor: str) -> Symbol:
    """The host scalar that holds the number of a tensor's layout among those that are declared."""
    return Symbol(f"{HOST}{camel(tensor)}Layout")


def length_count(tensor: str) -> Symbol:
    """The host scalar that holds the number of entries of lengths."""
    return Symbol(f"{HOST}{camel(tensor)}Count")


def folds_of(size: Expr) -> tuple[Fold, ...]:
    """The sums and maxima of lengths that a size depends on: the host of a kernel supplies them."""
    return tuple(node for node in size.walk() if isinstance(node, Fold))


def fold_name(fold: Fold) -> str:
    """The host scalar that holds a sum or a maximum, such as ``maxOfSeqLen``."""
    return f"{HOST}{fold.name[:1].lower()}{fold.name[1:]}"


def dimension(tensor: str, number: int) -> Symbol:
    """The host scalar that holds the size of a dimension of a tensor that is passed."""
    return Symbol(f"{HOST}{camel(tensor)}Dim{number}")


def host_scalars(call: Call, interface: KernelInterface, cores: int) -> dict[str, Any]:
    """Everything the tiling fields of a call are computed from: sizes, parameters, layouts, cores."""
    env: dict[str, Any] = {**call.env(), **call.arrays, CORES.name: cores}
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
    for output in call.operator.outputs:
        env[layout_choice(output.name).name] = env[layout_choice(output.like).name]
    for name, words in interface.words.items():
        env[name] = number_of(env[name], words)
    for fold in (node for size in call.operator.axis_extents.values() for node in folds_of(size)):
        env[fold_name(fold)] = fold.evaluate(env)
    return env
