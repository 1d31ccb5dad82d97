"""Calls for a project's own tests: recipes for the tensors, and what the reference computes, as text.

Tensors of numbers are made from a counter by integer arithmetic, the same in Python and in C++, so that a
project carries no arrays but the expected results.
"""

from __future__ import annotations

import base64
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from attndsl.base.jobs import fork_map
from attndsl.codegen.kernel_set.dispatch_guards import ignored_features
from attndsl.codegen.kernel_set.kernel_request import legal_choice
from attndsl.compiler.compile import Compiled
from attndsl.compiler.prepare_launch import specialization_of
from attndsl.expr.argument_facts import LONGEST, kind_of, passed, split_of
from attndsl.graph.nodes import expressions_of
from attndsl.lowering.errors import ScheduleError
from attndsl.lowering.signature.specialization import (
    Specialization,
    decisions_of,
    feature_names,
    features_told,
    kernel_inputs,
    settings_of,
)
from attndsl.reference import run as reference
from attndsl.spec.contract.arguments import DTYPES, TensorSpec
from attndsl.spec.contract.layout import Array
from attndsl.spec.errors import CallError, ContractWarning
from attndsl.spec.operator.operator import Operator
from attndsl.verify.cases.case import Case
from attndsl.verify.data.integers import Integers
from attndsl.verify.judge.benchmark import precision
from attndsl.verify.space.solve import solve
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import GROUP, WARNED, WORKLOAD, Values

ATTEMPTS = 24
MOST_INPUTS, MOST_RESULTS, MOST_STORED = 400_000, 8_000, 20_000
"""Elements of all tensors, and of all results, that a case may have; bytes of a stored tensor, compressed."""


_SMALL = {"B": 2, "G": 2, "K": 2, "T": 33, "U": 33}
_SMALL_KEYS, _SMALL_QUERIES = 33, 3
_SMALLER = _SMALL | {"N": 2, "Q": 3, "T": 17, "U": 17}
_SMALLER_KEYS = 15
"""Sizes of axes, and lengths of the longest rows, that cases have, as near as the contract allows; the
smaller ones where half of the attempts have made none that is small enough."""
_FEW_HEADS = Values(kv_heads=(1, 2, 3, 4, 8), group=(1, 2, 3, 5, 7, 8, 16, 17, 32, 33, 64))
"""Sizes that are chosen from: tensors travel as text."""


@dataclass(frozen=True)
class Recipe:
    """A tensor: explicit ``values``, its ``stored`` bytes, or random values of ``seed``.

    ``numbers``: calls pass a list.
    """

    dtype: str
    shape: tuple[int, ...]
    seed: int = 0
    values: tuple[int, ...] | None = None
    numbers: bool = False
    stored: bytes | None = None

    def array(self) -> Array:
        """The tensor."""
        if self.values is not None:
            return np.array(self.values, DTYPES[self.dtype]).reshape(self.shape)
        if self.stored is not None:
            return np.frombuffer(self.stored, DTYPES[self.dtype]).reshape(self.shape).copy()
        return random_tensor(self.dtype, self.shape, self.seed)


@dataclass(frozen=True)
class DeviceCase:
    """One call: recipes, lists of recipes and scalars by argument, and the expected results.

    ``entries``: of the lengths that it passes, as kernels read them. ``precisions``: the dtype whose rounding
    errors a result has, see :func:`attndsl.verify.judge.benchmark.precision`.
    """

    name: str
    arguments: dict[str, Recipe | tuple[Recipe, ...] | Any]
    expected: dict[str, Array]
    entries: dict[str, int]
    precisions: dict[str, str]

    def values(self) -> dict[str, Any]:
        """The arguments of the call."""
        return {name: made(recipe) for name, recipe in self.arguments.items()}

    @property
    def made_by_counting(self) -> bool:
        """Whether its tensors are made without their bytes, so that a sample in C++ can make them."""
        recipes = (value for value in self.arguments.values() if isinstance(value, Recipe))
        return all(recipe.stored is None for recipe in recipes)

    def to_json(self) -> dict[str, Any]:
        """As it stands in ``cases.json``."""
        expected = {
            name: {
                "dtype": array.dtype.name,
                "shape": list(array.shape),
                "bytes": base64.b64encode(array.tobytes()).decode(),
                **({} if self.precisions[name] == array.dtype.name else {"precision": self.precisions[name]}),
            }
            for name, array in self.expected.items()
        }
        arguments = {name: _as_json(value) for name, value in self.arguments.items()}
        return {"name": self.name, "arguments": arguments, "expected": expected}


def made(value: Recipe | tuple[Recipe, ...] | Any) -> Any:
    """The value of an argument from its recipe."""
    if isinstance(value, Recipe):
        return value.array().tolist() if value.numbers else value.array()
    if isinstance(value, tuple):
        return [each.array() for each in value]
    return value


def random_tensor(dtype: str, shape: tuple[int, ...], seed: int) -> Array:
    """Multiples of 1/64 from -2 on; for bytes and truth values one in three is 1 (SplitMix64)."""
    count = int(np.prod(shape))
    with np.errstate(over="ignore"):
        x = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        x += np.uint64(seed) * np.uint64(0xD1B54A32D192ED03)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits = (x >> np.uint64(40)).astype(np.int64)
    numbers: Array = bits % 3 == 0 if DTYPES[dtype].kind in "biu" else (bits % 256 - 128) / 64
    return numbers.astype(DTYPES[dtype]).reshape(shape)


def device_cases(kernels: Sequence[Compiled], each: int = 1) -> tuple[DeviceCase, ...]:
    """``each`` calls for every kernel, and one without share groups where calls may have none, small enough
    to travel as text."""
    found = fork_map(lambda number: cases_of(kernels[number], number, each), range(len(kernels)))
    return tuple(case for of_kernel in found for case in of_kernel)


def cases_of(compiled: Compiled, number: int, each: int = 1) -> tuple[DeviceCase, ...]:
    """``each`` calls for the kernel that is the ``number``-th of its project."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContractWarning)  # such calls are legal, and cases like others
        return tuple(_of_kernel(compiled, each, number))


def _of_kernel(compiled: Compiled, each: int, number: int) -> Iterator[DeviceCase]:
    yield from _drawn(compiled, number, {}, range(each))
    groups = str(compiled.operator.axis_extents.get("G"))
    if 0 in _space(compiled.operator).variables.get(groups, ()):  # lists without tensors
        yield from _drawn(compiled, number, {groups: 0}, range(each, each + 1))


def _drawn(
    compiled: Compiled, number: int, fixed: Mapping[str, Any], places: Sequence[int]
) -> Iterator[DeviceCase]:
    """Calls for a kernel by their ``places`` among its cases, with some values of variables."""
    operator, special = compiled.operator, compiled.specialization
    space, found = _space(operator), 0
    chosen = dict[str, Any]()
    for attempt in range(ATTEMPTS):
        smaller = attempt >= ATTEMPTS // 2
        if attempt in (0, ATTEMPTS // 2):
            chosen = _settled(compiled, all_settings=smaller) | _sizes(compiled, space, smaller=smaller)
        pins = dict(chosen)
        if smaller:
            pins |= _other_numbers(compiled, space, pins, attempt - ATTEMPTS // 2)
        pins |= fixed
        rng = np.random.default_rng([number, attempt])
        assignment = solve(
            space, rng, {name: value for name, value in pins.items() if name in space.variables}
        )
        case = None
        if assignment is not None:
            kept = space.canonical(assignment)
            integers = Integers(space, kept, rng).solve()
            if integers is not None:
                made_up = Case(operator, space, number, attempt, kept, integers)
                case = _small(compiled, made_up, f"{special.dtype}-{number}-{places[found]}")
        if case is not None:
            yield case
            found += 1
        if found == len(places):
            return


@cache
def _space(operator: Operator) -> CaseSpace:
    """One for all kernels: its clauses are compiled once."""
    return CaseSpace(operator, _FEW_HEADS)


def _sizes(compiled: Compiled, space: CaseSpace, *, smaller: bool) -> dict[str, Any]:
    """Head sizes as in the kernel, all other sizes small."""
    operator, special, found = compiled.operator, compiled.specialization, dict[str, Any]()
    head, values = (str(operator.axis_extents[axis]) for axis in "DE")
    for role, wanted in (_SMALLER if smaller else _SMALL).items():
        name = str(operator.axis_extents.get(role))
        if name in space.variables and name != head:
            found[name] = _nearest(space.variables[name], wanted)
    for name, legal in space.variables.items():
        if kind_of(name) == LONGEST:  # rows of keys may be empty
            longest = _SMALL_KEYS if 0 in legal else _SMALL_QUERIES
            found[name] = _nearest(legal, min(longest, _SMALLER_KEYS) if smaller else longest)
    own_keys = str(operator.axis_extents.get("T"))
    if smaller and own_keys == str(operator.axis_extents.get("Q")) and own_keys in found:
        found[own_keys] = _nearest(
            space.variables[own_keys], _SMALLER_KEYS
        )  # prompts: as many queries as keys
    if GROUP in space.variables:
        found[GROUP] = _nearest(space.variables[GROUP], 1 if smaller else _SMALL["G"])
    found[head] = special.padded_head_size
    if special.padded_value_size is not None:
        for name in (values, *_told_by(compiled, values)):
            if name != head and special.padded_value_size in space.variables.get(name, ()):
                found[name] = special.padded_value_size
    return found


def _other_numbers(
    compiled: Compiled, space: CaseSpace, pins: Mapping[str, Any], attempt: int
) -> dict[str, Any]:
    """Other numbers in place of those that the kernel is specialized on, on the same side of 0: with a window
    of 1 results are copies of values, which tell nothing."""
    found = dict[str, Any]()
    for name in compiled.operator.specialization_parameters & pins.keys() & space.variables.keys():
        chosen, spec = pins[name], compiled.operator.find_param(name)
        if spec is None or spec.choices or spec.type not in (int, float) or not chosen:
            continue
        legal = [each for each in space.variables[name] if not isinstance(each, str)]
        others = [each for each in dict.fromkeys(legal) if each and (each > 0) == (chosen > 0)]
        found[name] = [chosen, *others][attempt % (len(others) + 1)]
    return found


def _told_by(compiled: Compiled, size: str) -> tuple[str, ...]:
    """The parameters that say a size which no tensor of the kernel shows."""
    operator, special = compiled.operator, compiled.specialization
    passed = [spec for spec in operator.tensors if not spec.optional or spec.name in special.features]
    default = operator.dims_by_name[size].default if size in operator.dims_by_name else None
    if default is None or any("E" in spec.axes for spec in passed):
        return ()
    return tuple(sorted(default.symbols()))


def _settled(compiled: Compiled, *, all_settings: bool) -> dict[str, Any]:
    """Presence and all that is chosen from a few values, as near to the contract's defaults as can be.

    ``all_settings``: the other numbers, too, that the kernel is specialized on, such as a window above 0.
    """
    operator, special = compiled.operator, compiled.specialization
    told = frozenset(feature_names(operator)) - ignored_features(operator, special)
    wanted: dict[str, Any] = passed(told, special.features)
    choice = legal_choice(operator, wanted | dict(special.settings), special.dtype)
    pins: dict[str, Any] = {WORKLOAD: "any", WARNED: False}
    pins |= {split_of(spec.name).name: False for spec in operator.tensors}
    if choice is None:
        return pins
    free = {param.name for param in operator.params if not param.choices and param.type is not bool}
    free -= operator.specialization_parameters if all_settings else frozenset()
    pins |= {name: value for name, value in choice.settings.items() if name not in free and value is not None}
    present = choice.present
    if features_told(operator, present, choice.settings) != special.features:
        # a tensor may be read beside integers alone, which no kernel is specialized on
        present = present | kernel_inputs(operator, special.features)
    return pins | passed((spec.name for spec in operator.tensors), present)


def _nearest(values: Sequence[Any], wanted: int) -> Any:
    return min(values, key=lambda each: abs(each - wanted))


def _small(compiled: Compiled, case: Case, name: str) -> DeviceCase | None:
    """The case with recipes for its tensors; None if it is too large, has no results, or is meant for another
    kernel."""
    operator = compiled.operator
    if not 0 < case.result_elements() <= MOST_RESULTS:
        return None
    try:
        arguments = case.arguments()
    except CallError:
        return None
    tensors = {spec.name: spec for spec in operator.tensors}
    if sum(_size(arguments[key]) for key in tensors if key in arguments) > MOST_INPUTS:
        return None
    held, unread = _held_to_values(operator), unread_numbers(compiled)
    recipes = {
        key: _recipe(tensors[key], value, seed, key in held) if key in tensors else value
        for seed, (key, value) in enumerate(arguments.items(), 1)
        if value is not None and not isinstance(value, bytes) and key not in unread
    }
    if any(len(zlib.compress(each)) > MOST_STORED for each in _stored(recipes)):
        return None
    try:
        call = operator.bind(**{key: made(value) for key, value in recipes.items()})
        call.check_target()
        fits = _is_served(operator, specialization_of(call), compiled.specialization)
    except (CallError, ScheduleError):
        return None
    if not fits:
        return None
    results = reference.run(call, precision="float64")
    if not _telling(results):
        return None
    expected = dict(zip((spec.name for spec in operator.outputs), results, strict=True))
    lengths = (spec.name for spec in operator.tensors if spec.kind == "lengths" and spec.name in recipes)
    entries = {each: int(call.arrays[each].size) for each in lengths}
    return DeviceCase(name, recipes, expected, entries, {each: precision(call, each) for each in expected})


@lru_cache(maxsize=1024)
def unread_numbers(compiled: Compiled) -> frozenset[str]:
    """Optional parameters that are numbers of any size and that the kernel's computation does not read.

    Calls leave them out: a random one looks as if it meant something.
    """
    operator, special = compiled.operator, compiled.specialization
    graph = operator.graph(kernel_inputs(operator, special.features), settings_of(operator, special))
    read = {name for expr in expressions_of(graph.outputs) for name in expr.symbols()}
    read |= operator.specialization_parameters
    floats = (spec for spec in operator.params if spec.type is float and spec.optional and not spec.choices)
    return frozenset(spec.name for spec in floats if spec.name not in read)


def _is_served(operator: Operator, asked: Specialization, made: Specialization) -> bool:
    """Whether calls with one specialization have the kernel of another, as all windows above 0 have."""
    if asked == made:
        return True
    return replace(asked, settings=made.settings) == made and decisions_of(operator, asked) == decisions_of(
        operator, made
    )


def _telling(results: Sequence[Array]) -> bool:
    """Whether the results would show that a kernel did nothing, or only copied values.

    Integers are rounded sums: no copies, but they may be all alike.
    """
    written = all(each.size > 0 and bool((each != 0).any()) for each in results)
    return written and any(
        len(np.unique(each)) > 2
        if each.dtype.kind in "iu"
        else bool((each[np.isfinite(each)].astype(np.float64) * 64 % 1 != 0).any())
        for each in results
    )


def _size(value: Any) -> int:
    return sum(_size(each) for each in value) if isinstance(value, list | tuple) else int(np.size(value))


@cache
def _held_to_values(operator: Operator) -> frozenset[str]:
    """The tensors whose elements the contract speaks of, such as masks of a given form."""
    return frozenset(name for rule in operator.constraints for name in rule.tensors())


def _stored(recipes: Mapping[str, Any]) -> Iterator[bytes]:
    for value in recipes.values():
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, Recipe) and each.stored is not None:
                yield each.stored


def _recipe(spec: TensorSpec, value: Any, seed: int, held: bool) -> Recipe | tuple[Recipe, ...]:
    if spec.list_of is not None and isinstance(value, np.ndarray):
        value = list(value)  # an array stacks the tensors of a list
    entries = isinstance(value, list | tuple) and bool(value) and isinstance(value[0], np.ndarray)
    if spec.list_of is not None or entries:  # a list of tensors may be empty
        return tuple(_array_recipe(spec, each, 100 * seed + i) for i, each in enumerate(value))
    if isinstance(value, list | tuple):
        array = np.array(value, DTYPES["int64" if "int64" in spec.dtypes else spec.dtypes[0]])
        return replace(_array_recipe(spec, array, seed), numbers=True)
    array = np.ascontiguousarray(value)
    if held and array.dtype.kind in "fV":
        return Recipe(array.dtype.name, array.shape, stored=array.tobytes())
    return _array_recipe(spec, array, seed)


def _array_recipe(spec: TensorSpec, array: Array, seed: int) -> Recipe:
    explicit = array.dtype.kind in "iu" and array.dtype.itemsize > 1
    if explicit or spec.kind == "lengths":
        return Recipe(array.dtype.name, array.shape, values=tuple(int(each) for each in array.reshape(-1)))
    return Recipe(array.dtype.name, array.shape, seed)


def _as_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_as_json(each) for each in value]
    if isinstance(value, Recipe):
        row: dict[str, Any] = {"dtype": value.dtype, "shape": list(value.shape)}
        if value.stored is not None:
            return row | {"bytes": base64.b64encode(zlib.compress(value.stored, 9)).decode()}
        return row | ({"seed": value.seed} if value.values is None else {"values": list(value.values)})
    return value.item() if isinstance(value, np.generic) else value
