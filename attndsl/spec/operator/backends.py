"""Backends compute calls. A package registers one by an entry point of the group ``attndsl.backends``.

The entry point's name is the backend's, its object a :class:`Backend`. So an operator runs its calls without
an import of what is above it, and a backend of another package needs no change here.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from attndsl.spec.binding.call import Call
from attndsl.spec.contract.arguments import DTYPES
from attndsl.spec.contract.layout import Array
from attndsl.spec.errors import (
    BackendLoadError,
    BackendNotInstalledError,
    SignatureError,
    UnknownBackendError,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "attndsl.backends"
BACKENDS = ("reference", "tile", "emulator")
"""The backends of attndsl itself, from the meaning of a call to its generated kernel."""

Checked = tuple[tuple[Array, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Backend:
    """A way to compute calls.

    ``run(call, **options)``: the results in the order of the contract; rows that the call appends are written
    to ``call.arrays``. ``options``: the names of the options that it takes. ``on_target``: the limits of the
    kernels on the target apply. ``run_checked``: the results, and a line for each defect that the backend's
    own checks find; None of a backend without checks.
    """

    run: Callable[..., tuple[Array, ...]]
    options: tuple[str, ...] = ()
    on_target: bool = True
    run_checked: Callable[[Call], Checked] | None = None


def find_backend(name: str) -> Backend:
    """The backend of this name, imported at its first use.

    Raises:
        UnknownBackendError: no package registers the name; with the nearest one.
        BackendNotInstalledError: the name is one of attndsl's own, but its installation does not register it.
        BackendLoadError: what the name is registered for cannot be imported, or is no :class:`Backend`.
    """
    found = _registered()
    if name in found:
        return _loaded(name)
    if name in BACKENDS:
        raise BackendNotInstalledError(
            f"backend '{name}' is not installed: no entry point of the group '{GROUP}' has this name; "
            "install attndsl again (in a checkout: pip install -e .)"
        )
    known = tuple(dict.fromkeys((*BACKENDS, *sorted(found))))
    close = difflib.get_close_matches(str(name), known, 1)
    advice = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(known)}"
    raise UnknownBackendError(f"unknown backend {name!r}; {advice}")


def run(call: Call, backend: str = "reference", **options: Any) -> tuple[Array, ...]:
    """The results of ``call``, in the order of the contract.

    Raises:
        UnknownBackendError: with the nearest name.
        TargetLimitError: the kernels on the target do not take this call.
        SignatureError: no backend has such an option.
    """
    chosen = find_backend(backend)
    _check_options(backend, chosen, options)
    if chosen.on_target:
        call.check_target()
    empty = _empty_results(call)
    if empty is not None:
        return empty
    results = chosen.run(call, **{name: options[name] for name in chosen.options if name in options})
    call.write_back()
    return results


def run_checked(call: Call, backend: str) -> Checked:
    """The results of a call as ``backend`` alone makes them, and what its own checks found.

    The emulator has checks; what they find is no error here. Nothing is written back to a caller's array.
    """
    chosen = find_backend(backend)
    return (chosen.run(call), ()) if chosen.run_checked is None else chosen.run_checked(call)


@cache
def _registered() -> dict[str, EntryPoint]:
    """The entry points by name; read once a process, as that looks at every installed package."""
    from importlib.metadata import entry_points  # here: most commands run no backend

    return {each.name: each for each in entry_points(group=GROUP)}


@cache
def _loaded(name: str) -> Backend:
    entry = _registered()[name]
    try:
        found = entry.load()
    except (ImportError, AttributeError) as error:
        raise BackendLoadError(
            f"backend '{name}' cannot be imported from '{entry.value}': {error}; install its package again"
        ) from error
    if not isinstance(found, Backend):
        raise BackendLoadError(
            f"backend '{name}': '{entry.value}' is a {type(found).__name__}; it must be a Backend"
        )
    return found


def _check_options(name: str, chosen: Backend, options: Mapping[str, Any]) -> None:
    """An option of any backend is legal: it is of no effect elsewhere, so that one call can be compared on
    all of them."""
    if options.keys() <= set(chosen.options):
        return
    known = dict.fromkeys(option for each in _registered() for option in find_backend(each).options)
    for option in options:
        if option not in known:
            raise SignatureError(
                f"unknown option '{option}' of backend '{name}'; there are {', '.join(known)}"
            )


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
        results.append(np.zeros(shape, DTYPES.get(dtypes.get(output.name, ""), DTYPES[call.dtype])))
    return tuple(results)
