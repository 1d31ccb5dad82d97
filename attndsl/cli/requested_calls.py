"""The call that ``--shape``, ``--dtype``, ``--set`` and ``--feature`` describe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from attndsl.cli.command_options import Function, feature_option, one_dtype_option, set_option
from attndsl.cli.command_values import LARGEST, named_values, whole

if TYPE_CHECKING:
    from attndsl.spec.binding.call import Call
    from attndsl.spec.operator.operator import Operator


_shape_option = click.option(
    "--shape", "shapes", multiple=True, metavar="NAME=NUMBER,...", help="sizes by the contract's names"
)


def call_options(function: Function) -> Function:
    """``--shape``, ``--dtype``, ``--set`` and ``--feature``, as arguments of :func:`requested_call`."""
    for option in (feature_option, set_option, one_dtype_option, _shape_option):
        function = option(function)
    return function


def requested_sizes(shapes: Sequence[str]) -> dict[str, int]:
    """The sizes of ``--shape`` by name.

    Raises:
        click.UsageError: a part is no ``NAME=NUMBER``, or gives a name twice.
    """
    sizes = named_values(shapes, "--shape", "NAME=NUMBER, for example batch=2")
    return {name: whole(text, f"--shape {name}", least=-LARGEST) for name, text in sizes.items()}


def requested_call(
    operator: Operator,
    shapes: Sequence[str],
    dtypes: tuple[str, ...],
    settings: Sequence[str],
    features: Sequence[str],
) -> Call:
    """A call of the operator, or of the mode that the settings choose, with these sizes and settings.

    Raises:
        click.UsageError: an option is no ``NAME=VALUE``, or gives a name twice.
        ProfileError: a name is unknown, or no legal call has these values.
    """
    from attndsl.codegen.kernel_set.kernel_request import chosen_mode, requested_values
    from attndsl.codegen.kernel_set.request import KernelRequest
    from attndsl.verify.cases.shaped_call import call_of_shape

    sizes = requested_sizes(shapes)
    asked = named_values(settings, "--set", "NAME=VALUE, for example maskType=NORM")
    if "D" in asked:
        raise click.UsageError("--set D: sizes of a call are given by --shape, with the contract's names")
    for name in sizes.keys() & asked.keys():
        raise click.UsageError(f"'{name}' is given by --shape and by --set; give it once")
    request = KernelRequest(dtypes=dtypes or None, settings=tuple(asked.items()))
    operator, request = chosen_mode(operator, request)
    return call_of_shape(
        operator,
        sizes,
        dtype=dtypes[0] if dtypes else None,
        features=features,
        settings=requested_values(operator, request),
    )
