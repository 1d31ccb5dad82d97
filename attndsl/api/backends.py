"""The three ways to compute a call; all take the same :class:`Call` and return the same arrays."""

from __future__ import annotations

import difflib
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attndsl.spec.errors import SignatureError, UnknownBackendError
from attndsl.tile.buffers import NUMPY_DTYPES

if TYPE_CHECKING:
    from attndsl.spec.binding.call import Call
    from attndsl.spec.contract.layout import Array


@dataclass(frozen=True)
class Backend:
    """Where ``run(call, **options)`` is defined; it is imported at first use.

    ``on_target``: the limits of the kernels on the target apply.
    """

    module: str
    options: tuple[str, ...] = ()
    on_target: bool = True


BACKENDS = {
    "reference": Backend("attndsl.reference.run", ("precision",), on_target=False),
    "tile": Backend("attndsl.tile_interpreter.run"),
    "emulator": Backend("attndsl.execute.execute"),
}


def run(call: Call, backend: str = "reference", **options: Any) -> tuple[Array, ...]:
    """The results of ``call``, in the order of the contract.

    Raises:
        UnknownBackendError: with the nearest name.
        TargetLimitError: the kernels on the target do not take this call.
        SignatureError: the backend has no such option.
    """
    if backend not in BACKENDS:
        close = difflib.get_close_matches(str(backend), BACKENDS, 1)
        advice = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(BACKENDS)}"
        raise UnknownBackendError(f"unknown backend {backend!r}; {advice}")
    chosen = BACKENDS[backend]
    # The reference's own options are of no effect elsewhere, so that one call can be compared on all.
    known = {name for each in BACKENDS.values() for name in each.options}
    for name in options:
        if name not in known:
            raise SignatureError(
                f"unknown option '{name}' of backend '{backend}'; there are {', '.join(known)}"
            )
    if chosen.on_target:
        call.check_target()
    empty = _empty_results(call)
    if empty is not None:
        return empty
    module = importlib.import_module(chosen.module)
    results: tuple[Array, ...] = module.run(call, **{k: v for k, v in options.items() if k in chosen.options})
    call.write_back()
    return results


def run_checked(call: Call, backend: str) -> tuple[tuple[Array, ...], tuple[str, ...]]:
    """The results of a call as ``backend`` alone makes them, and what its own checks found.

    The emulator has checks; what they find is no error here. Nothing is written back to a caller's array.
    """
    module = importlib.import_module(BACKENDS[backend].module)
    if hasattr(module, "run_checked"):
        outputs, findings = module.run_checked(call)
        return outputs, findings
    return module.run(call), ()


def _empty_results(call: Call) -> tuple[Array, ...] | None:
    """The results of a call all of whose results have no element, and which changes no argument: nothing is
    computed and nothing launched. None for any other call."""
    if call.graph.updated():
        return None
    env = {**call.env(), **call.arrays}
    dtypes = {node.name: node.dtype for node in call.graph.outputs}
    results = []
    for output in call.operator.outputs:
        shape = [int(size.evaluate(env)) for size in output.layout(call.layouts[output.like]).shape()]
        if 0 not in shape:
            return None
        dtype = NUMPY_DTYPES.get(dtypes.get(output.name, ""), NUMPY_DTYPES.get(call.dtype))
        results.append(np.zeros(shape, dtype))
    return tuple(results)
