"""From the arguments of a call to a checked :class:`Call`.

The order of the checks: signature, types and dtypes, choices and ranges of parameters, shapes,
divisibility, then the spec's constraints in the order of their declaration.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from attndsl.expr.argument_facts import dtype_of, given, layout_of, rows_of, split_of
from attndsl.spec import errors
from attndsl.spec.binding.call import Call
from attndsl.spec.binding.shapes import ShapeSolver
from attndsl.spec.contract.arguments import DTYPES, ParamSpec, TensorSpec, dtype_name
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.contract import Contract
from attndsl.spec.contract.enumerated import choices_text, likely, reserved_bytes
from attndsl.spec.contract.layout import Array
from attndsl.spec.contract.lists import is_list, tensor_list
from attndsl.spec.contract.packed_rows import longest_rows, measured_by_sums

_INT64 = np.iinfo(np.int64)


def bind(operator: Contract, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
    """See :meth:`Operator.bind`."""
    values = arguments_by_name(operator, args, kwargs)
    params: dict[str, Any] = {}
    arrays: dict[str, Array] = {}
    lists: dict[str, tuple[Array, ...]] = {}
    for spec in operator.parameters:
        value = values.get(spec.name)
        if isinstance(spec, ParamSpec):
            params[spec.name] = _scalar(operator, spec, values.get(spec.name, spec.default))
        elif value is not None and is_list(operator.name, spec, value):
            lists[spec.name] = tensor_list(operator.name, spec, value)
        elif value is not None:
            arrays[spec.name] = _array(operator, spec, value)
        elif spec.required:
            kind = "integers are" if spec.kind == "lengths" else "a tensor is"
            raise errors.ArgumentTypeError(f"{operator.name}: {spec.name}: {kind} needed, got None")
    presence = {given(spec.name).name: spec.name in arrays or spec.name in lists for spec in operator.tensors}
    splits = {split_of(s.name).name: s.split and s.name in lists for s in operator.tensors}
    presence |= splits
    _check_early(operator, params, presence)
    dtypes = _checked_dtypes(operator, arrays, lists)
    params = {spec.name: _in_range(operator, spec, params[spec.name]) for spec in operator.params}
    extra: dict[str, Any] = dict(presence)
    for spec in operator.tensors:  # what is not passed has no dtype and no layout
        extra |= {dtype_of(spec.name).name: None, layout_of(spec.name).name: None}
    extra |= {dtype_of(name).name: dtype for name, dtype in dtypes.items()}
    extra |= longest_rows(operator.tensors, arrays)
    _check_constraints(operator, {**params, **splits}, only_parameters=True)
    numbers = {s.name: arrays[s.name].astype(np.int64) for s in operator.tensors if _has_lengths(s, arrays)}
    solver = ShapeSolver(operator, {**params, **extra, **numbers})
    layouts = _solve(operator, solver, arrays, lists)
    extra |= {layout_of(name).name: key for name, key in layouts.items()}
    extra |= {rows_of(name): np.array(rows) for name, rows in solver.entry_rows.items()}
    arrays |= {name: solver.cropped(name, array) for name, array in arrays.items()}
    arrays |= {s.name: _rowwise(s, arrays[s.name], solver) for s in operator.tensors if s.name in arrays}
    _check_constraints(operator, {**solver.dims, **params, **extra, **arrays})
    passed = {name: array for name, array in arrays.items() if operator.tensor(name).kind == "tensor"}
    arrays = {name: _contiguous(array) for name, array in arrays.items()}
    lists = {name: tuple(_contiguous(each) for each in entries) for name, entries in lists.items()}
    io_dtype = _io_dtype(operator, arrays)
    call = Call(operator, solver.dims, params, arrays, layouts, io_dtype, extra, lists, passed)
    _check_writeable(operator, call)
    return call


def arguments_by_name(operator: Contract, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Positional and named arguments by name.

    Raises:
        SignatureError: an argument is unknown, missing, repeated or one too many.
    """
    specs = operator.parameters
    positional = [spec for spec in specs if not (isinstance(spec, ParamSpec) and spec.keyword_only)]
    if len(args) > len(positional):
        raise errors.SignatureError(
            f"{operator.name}: {len(args)} positional arguments, the signature has {len(positional)}:"
            f" {', '.join(spec.name for spec in positional)}"
        )
    values = {spec.name: value for spec, value in zip(positional, args, strict=False)}
    names = [spec.name for spec in specs]
    aliases = {spec.alias: spec.name for spec in operator.params}
    for spelled, value in kwargs.items():
        name = aliases.get(spelled, spelled)
        if name not in names:
            close = difflib.get_close_matches(name, names, 1, 0.75)
            advice = f"; did you mean '{close[0]}'?" if close else f"; there are {', '.join(names)}"
            raise errors.SignatureError(f"{operator.name}: unknown argument '{name}'{advice}")
        if name in values:
            raise errors.SignatureError(f"{operator.name}: {name}: passed by position and by name; drop one")
        values[name] = value
    missing = [spec.name for spec in specs if not spec.optional and spec.name not in values]
    if missing:
        raise errors.SignatureError(f"{operator.name}: {missing[0]}: this argument is missing")
    return values


def bound_value(operator: Contract, spec: ParamSpec, value: Any) -> Any:
    """What a value of a parameter stands for in a call.

    Raises:
        CallError: it has another type, or is out of range.
    """
    return _in_range(operator, spec, _scalar(operator, spec, value))


def _scalar(operator: Contract, spec: ParamSpec, value: Any) -> Any:
    kinds: dict[type, tuple[type, ...]] = {
        int: (int, np.integer),
        float: (float, np.floating),
        str: (str,),
        bool: (bool, np.bool_),
    }
    if spec.type is bytes:
        return reserved_bytes(operator.name, spec, value)
    wrong_bool = isinstance(value, bool) and spec.type is not bool
    spelled = _is_choice(spec, value) and not wrong_bool
    if isinstance(value, str) and any(isinstance(choice, str) for choice in spec.choices):
        return value  # an unknown name is a wrong choice, not a wrong type
    if spec.takes_int and isinstance(value, int | np.integer) and not wrong_bool:
        value = _as_float(int(value))
    if (wrong_bool or not isinstance(value, kinds[spec.type])) and not spelled:
        advice = f"; write {spec.type(value)}" if _is_same_number(spec, value) else ""
        default = f"; the default is {spec.default!r}" if spec.optional and not advice else ""
        raise errors.ArgumentTypeError(
            f"{operator.name}: {spec.name}: must be a Python {spec.type.__name__},"
            f" got {_short(value)} of type {type(value).__name__}{advice}{default}"
        )
    return value if spelled and not isinstance(value, kinds[spec.type]) else spec.type(value)


def _as_float(value: int) -> float:
    """An integer as a number; one beyond all numbers is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _is_same_number(spec: ParamSpec, value: Any) -> bool:
    """Whether a number of another type says what is meant."""
    if spec.type is float:
        return type(value) is int and not math.isinf(_as_float(value))
    return spec.type is int and isinstance(value, float) and value.is_integer()


def _is_choice(spec: ParamSpec, value: Any) -> bool:
    return isinstance(value, int | str) and any(
        type(value) is type(choice) and value == choice for choice in spec.choices
    )


def _in_range(operator: Contract, spec: ParamSpec, value: Any) -> Any:
    if spec.choices:
        if value in spec.choices:
            return spec.choices[value]
        legal = choices_text(spec, 2)
        raise (spec.error or errors.ChoiceError)(
            f"{operator.name}: {spec.name}: {value!r} is none of {legal}; {likely(spec, value)}"
        )
    if isinstance(value, float) and (np.isnan(value) or (spec.finite and np.isinf(value))):
        wanted = "finite" if spec.finite else "a number"
        raise (spec.error or errors.RangeError)(
            f"{operator.name}: {spec.name}: must be {wanted}, got {value}; pass a number such as 1.0"
        )
    for bound in spec.bounds():
        if not bound.evaluate({spec.name: value}):
            limit = bound.right.evaluate({})
            raise (spec.error or errors.RangeError)(
                f"{operator.name}: {spec.name}: must be {bound.op} {limit}, got {value}{spec.nearest(bound)}"
            )
    if isinstance(value, int) and not _INT64.min <= value <= _INT64.max:
        limit = _INT64.max if value > 0 else _INT64.min
        raise (spec.error or errors.RangeError)(
            f"{operator.name}: {spec.name}: must fit int64, the type that a host has it in, {_INT64.min} to"
            f" {_INT64.max}, got {_short(value)}; the nearest legal value is {limit}"
        )
    return value


def _array(operator: Contract, spec: TensorSpec, value: Any) -> Array:
    if spec.kind == "lengths" and isinstance(value, list | tuple):
        return _integers(operator, spec, value)
    if spec.sequence_of:
        value = value[0]
    if not isinstance(value, np.ndarray | np.generic) or not spec.arrays:
        kind = "a list, tuple or array of integers" if spec.kind == "lengths" else "a NumPy array"
        kind = kind if spec.arrays else "a list or tuple of integers"
        raise errors.ArgumentTypeError(
            f"{operator.name}: {spec.name}: must be {kind} of dtype {' or '.join(spec.dtypes)},"
            f" got {_short(value)} of type {type(value).__name__}{_as_written(spec, value)}"
        )
    array = np.asarray(value)
    if spec.prefix_sums and array.dtype == np.int32:  # as of a list, hosts have them as int64
        return array.astype(np.int64)
    return array


def _as_written(spec: TensorSpec, value: Any) -> str:
    """How a value of the wrong type is passed."""
    if not spec.arrays and isinstance(value, np.ndarray):
        return f"; write {spec.name}.tolist()"
    if spec.kind == "lengths" and isinstance(value, int) and not isinstance(value, bool):
        return f"; write [{value}]"
    return (
        f"; write numpy.array({_short(value)}, ...)" if isinstance(value, int | float | list | tuple) else ""
    )


def _integers(operator: Contract, spec: TensorSpec, value: list[Any] | tuple[Any, ...]) -> Array:
    dtype = DTYPES["int64" if "int64" in spec.dtypes else spec.dtypes[0]]
    limits = np.iinfo(dtype)
    if value and all(isinstance(item, list | tuple) and len(item) == len(value[0]) for item in value):
        return np.stack([_integers(operator, spec, item) for item in value])
    value = [item.item() if isinstance(item, np.ndarray) and not item.ndim else item for item in value]
    for position, item in enumerate(value):
        if isinstance(item, bool) or not isinstance(item, int | np.integer):
            raise errors.ArgumentTypeError(
                f"{operator.name}: {spec.name}[{position}]: must be an integer,"
                f" got {_short(item)} of type {type(item).__name__}"
            )
        if not limits.min <= int(item) <= limits.max:
            raise errors.LengthRangeError(
                f"{operator.name}: {spec.name}[{position}]: {item} does not fit {dtype.name};"
                f" the nearest legal value is {limits.max if item > 0 else 0}"
            )
    return np.array([int(item) for item in value], dtype=dtype)


def _checked_dtypes(
    operator: Contract, arrays: Mapping[str, Array], lists: Mapping[str, tuple[Array, ...]]
) -> dict[str, str]:
    """The dtype of each tensor that is passed; a list has that of its tensors."""
    tensors = {name: {name: array} for name, array in arrays.items()}
    for name, entries in lists.items():
        tensors[name] = {f"{name}[{position}]": entry for position, entry in enumerate(entries)}
    dtypes = {name: dtype_name(next(iter(group.values()))) for name, group in tensors.items() if group}
    for spec in operator.tensors:
        for label, array in tensors.get(spec.name, {}).items():
            _check_dtype(operator, spec, label, dtype_name(array), dtypes)
            if dtype_name(array) != dtypes[spec.name]:
                raise errors.DtypeMismatchError(
                    f"{operator.name}: {label}: dtype {dtype_name(array)} differs from {spec.name}[0], which"
                    f" is {dtypes[spec.name]}; all tensors of the list must have one dtype"
                )
    return dtypes


def _check_dtype(
    operator: Contract, spec: TensorSpec, label: str, found: str, dtypes: Mapping[str, str]
) -> None:
    like = [name for name in spec.dtype_like if name in dtypes]
    legal = spec.legal_dtypes(dtypes)
    if found in legal:
        return
    if found not in spec.dtypes or not like:
        raise errors.DtypeError(
            f"{operator.name}: {label}: dtype {found} is not supported; it must be {_either(legal)}"
        )
    raise errors.DtypeMismatchError(
        f"{operator.name}: {label}: dtype {found} differs from {like[0]}, which is"
        f" {dtypes[like[0]]}; it must be {_either(legal)}"
    )


def _rowwise(spec: TensorSpec, array: Array, solver: ShapeSolver) -> Array:
    """Lengths as int64, one a row; other tensors as they are."""
    if spec.kind != "lengths":
        return array
    if array.ndim > 1:
        return array.astype(np.int64)
    rows = int(next(iter(spec.layouts.values())).shape()[0].evaluate(solver.env()))
    values = array.reshape(-1).astype(np.int64)
    return np.broadcast_to(values, (rows,)) if values.size == 1 else values


def _contiguous(array: Array) -> Array:
    """In native byte order and C-contiguous; a copy only where it is not."""
    return np.ascontiguousarray(array, dtype=DTYPES[dtype_name(array)]).reshape(array.shape)


def _check_constraints(operator: Contract, env: Mapping[str, Any], *, only_parameters: bool = False) -> None:
    """All constraints, or those that parameters alone decide: they come before the shapes."""
    for constraint in operator.constraints:
        if constraint.target or constraint.early or (only_parameters and not _reads_only(constraint, env)):
            continue
        failing = constraint.violation(env)
        if failing is not None:
            constraint.raise_for(operator.name, failing, operator.rules)


def _check_early(operator: Contract, params: Mapping[str, Any], presence: Mapping[str, bool]) -> None:
    """The constraints that the author wants checked before any tensor is looked at."""
    early = [constraint for constraint in operator.constraints if constraint.early]
    if not early:
        return
    ranged = {spec.name: _in_range(operator, spec, params[spec.name]) for spec in operator.params}
    for constraint in early:
        failing = constraint.violation({**ranged, **presence})
        if failing is not None:
            constraint.raise_for(operator.name, failing, operator.rules)


def _solve(
    operator: Contract,
    solver: ShapeSolver,
    arrays: Mapping[str, Array],
    lists: Mapping[str, tuple[Array, ...]],
) -> dict[str, str]:
    """The layout of each tensor; what the longest rows measure comes after the prefix sums that tell them."""
    measured = measured_by_sums(operator)
    layouts = solver.solve({name: array for name, array in arrays.items() if name not in measured}, lists)
    sums = {spec.name for spec in operator.tensors if spec.prefix_sums}
    for constraint in operator.constraints:
        if constraint.argument in sums and not constraint.warns:
            failing = constraint.violation(solver.env())
            if failing is not None:
                constraint.raise_for(operator.name, failing, operator.rules)
    return layouts | solver.solve({name: array for name, array in arrays.items() if name in measured})


def _has_lengths(spec: TensorSpec, arrays: Mapping[str, Array]) -> bool:
    return spec.kind == "lengths" and spec.name in arrays


def _check_writeable(operator: Contract, call: Call) -> None:
    """What the call updates in place can be written.

    Raises:
        ReadOnlyError: naming the first argument that cannot.
    """
    for name in call.graph.updated():
        if not call.passed[name].flags.writeable:
            raise errors.ReadOnlyError(
                f"{operator.name}: {name}: is updated in place, but the array is read-only;"
                f" pass {name}.copy() or an array of your own"
            )


def _reads_only(constraint: Constraint, names: Mapping[str, Any]) -> bool:
    return not constraint.tensors() and constraint.symbols() <= names.keys()


def _io_dtype(operator: Contract, arrays: Mapping[str, Array]) -> str:
    return dtype_name(arrays[operator.outputs[0].like])


def _either(names: set[str]) -> str:
    return " or ".join(sorted(names))


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 40 else f"{text[:37]}..."
