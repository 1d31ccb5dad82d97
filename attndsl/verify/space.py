"""The space of an operator's legal calls: variables with their interesting values, and clauses.

Everything is derived from the declaration: what is optional, the dtypes and layouts, the choices and
bounds of parameters, the sizes with their role in attention, and the constraints. An assignment gives each
variable a value; it is a legal call when it keeps all clauses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from attndsl.schedule.choices import resolve
from attndsl.spec.arguments import Dim, ParamSpec, TensorSpec, dtype_of, given, layout_of
from attndsl.spec.constraint import Constraint
from attndsl.spec.operator import Operator
from attndsl.symbolic import Compare, Const, Expr, Symbol

Assignment = dict[str, Any]
GROUP = "group"
FILL = "data"
RECIPROCAL_ROOT = "1/sqrt(D)"
# A value that is listed several times is drawn as much more often.
FLOATS = (*(RECIPROCAL_ROOT,) * 4, 1.0, 0.125, -0.5, 0.0)
PROBE = "probe"
FILLS = (PROBE, "normal", "normal", "extreme", "ramp", "tiny")
LENGTH_FILLS = (*("mixed", "edges") * 3, "full", "single", "zero", "one")
MASK_FILLS = (*("random",) * 4, *("rows",) * 2, "none", "last", "all")
MAX_ROW_ELEMENTS = 1 << 21
"""Elements of a key or value tensor, at most: a case takes a fraction of a second."""
MAX_SCORES = 1 << 19


@dataclass(frozen=True)
class Values:
    """Interesting values of the sizes, by their role in attention."""

    batch: tuple[int, ...] = (1, 2, 3, 5, 13, 27)
    kv_heads: tuple[int, ...] = (1, 2, 3, 4, 8)
    group: tuple[int, ...] = (1, 2, 3, 5, 7, 8, 16, 17, 32, 33, 64)
    head: tuple[int, ...] = (1, 16, 40, 64, 80, 100, 128, 256, 512)
    keys: tuple[int, ...] = (0, 1, 2, 15, 17, 33, 100, 257)
    long_keys: tuple[int, ...] = (4095, 4096, 8192)
    block: tuple[int, ...] = (16, 32, 48, 128, 512)
    pages: tuple[int, ...] = (1, 3, 8, 40)
    columns: tuple[int, ...] = (1, 2, 3, 5, 9)
    other: tuple[int, ...] = (1, 2, 3, 5, 17)

    def of_role(self, role: str, tile: int, ring: int) -> tuple[int, ...]:
        """Values for an attention axis; keys surround multiples of the schedule's key tile."""
        edges = (tile - 1, tile, tile + 1, 2 * tile + 1, ring * tile - 1, (ring + 2) * tile + 5)
        table = {
            "B": self.batch,
            "K": self.kv_heads,
            "N": tuple(sorted({k * g for k in self.kv_heads for g in self.group})),
            "T": (*self.keys, *edges, *self.long_keys),
            "D": self.head,
            "E": self.head,
            "P": self.pages,
            "R": self.block,
            "W": self.columns,
        }
        return tuple(dict.fromkeys(table.get(role, self.other)))


@dataclass(frozen=True)
class Clause:
    """A condition over the environment of an assignment; ``variables``: what can repair it."""

    name: str
    variables: tuple[str, ...]
    holds: Callable[[Mapping[str, Any]], bool]


@dataclass(frozen=True)
class CaseSpace:
    """Variables, clauses and what an assignment means, for one operator.

    ``values``: the interesting sizes; an author with other needs passes his own.
    """

    operator: Operator
    values: Values = field(default_factory=Values)

    @cached_property
    def edges(self) -> tuple[int, int]:
        """Key tile and ring depth of the operator's schedule."""
        schedule = resolve(self.operator.schedule_choices, self.operator.schedule_lines)
        return schedule.tile_k, schedule.ring

    @cached_property
    def optional(self) -> tuple[str, ...]:
        """The optional tensors."""
        return tuple(spec.name for spec in self.operator.tensors if spec.optional)

    @cached_property
    def variables(self) -> dict[str, tuple[Any, ...]]:
        """Each variable with its values."""
        found: dict[str, tuple[Any, ...]] = {}
        for spec in self.operator.tensors:
            if spec.optional:
                found[given(spec.name).name] = (False, True)
            found[dtype_of(spec.name).name] = spec.dtypes
            if spec.layouts:
                found[layout_of(spec.name).name] = tuple(spec.layouts)
            if spec.kind == "lengths":
                found[fill_of(spec.name)] = LENGTH_FILLS
        for param in self.operator.params:
            found[param.name] = self._param_values(param)
        for name, dim in self.operator.dims_by_name.items():
            if dim.definition is None:
                found[name] = self._bounded(name, self._role_values(name))
        if {"N", "K"} <= set(self.operator.axis_extents):
            found[GROUP] = self.values.group
        return {**found, FILL: FILLS, "mask": MASK_FILLS}

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        """Everything that a legal call keeps and that does not depend on elements of tensors."""
        found = [
            Clause(rule.text, self._repairs(rule.symbols()), partial(_keeps, rule))
            for rule in self.operator.constraints
            if not rule.tensors() and not rule.over  # those over elements are left to binding
        ]
        for spec in self.operator.tensors:
            found += self._tensor_clauses(spec)
        extents = self.operator.axis_extents
        if GROUP in self.variables:
            symbols = extents["N"].symbols() | extents["K"].symbols()
            found.append(Clause("group", (*self._repairs(symbols), GROUP), self._group_fits))
        sizes = frozenset(name for extent in extents.values() for name in extent.symbols())
        found.append(Clause("every size is shown", self._repairs(sizes) + self._givens, self._all_shown))
        found.append(Clause("small enough to run", self._repairs(sizes), self._affordable))
        return tuple(found)

    def environment(self, assignment: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters, presence, dtypes, layouts and sizes under the names that constraints use."""
        env: dict[str, Any] = {GROUP: assignment.get(GROUP)}
        shown: set[str] = set()
        for spec, passed, dtype, layout in self._names:
            present = spec.required or bool(assignment[passed])
            env[passed] = present
            if not present:
                continue
            env[dtype] = assignment[dtype]
            if spec.layouts:
                key = assignment[layout]
                env[layout] = key
                shown |= self._shown[spec.name, key]
        for param in self.operator.params:
            env[param.name] = assignment[param.name]
        for name, dim in self._dims.items():
            if dim.definition is not None:
                env[name] = int(dim.definition.evaluate(env))
            elif name in shown:
                env[name] = assignment[name]
        for name, dim in self._dims.items():
            if name not in env and dim.default is not None and dim.default.symbols() <= env.keys():
                env[name] = int(dim.default.evaluate(env))
        for param in self.operator.params:
            if env[param.name] is RECIPROCAL_ROOT:
                env[param.name] = float(max(self.extents(env).get("D", 1), 1)) ** -0.5
        return env

    def extents(self, env: Mapping[str, Any]) -> dict[str, int]:
        """The attention axes' sizes that ``env`` tells."""
        return {
            role: int(extent.evaluate(env))
            for role, extent, symbols in self._extents
            if symbols <= env.keys()
        }

    def violated(self, assignment: Mapping[str, Any]) -> list[Clause]:
        """The clauses that an assignment breaks."""
        env = self.environment(assignment)
        return [clause for clause in self.clauses if not clause.holds(env)]

    def canonical(self, assignment: Mapping[str, Any]) -> Assignment:
        """The assignment without variables that mean nothing in it."""
        env = self.environment(assignment)
        shown = {name for spec in self.present(env) for name in self._shown_by(spec, env)}
        kept = {}
        for name, value in assignment.items():
            tensor = name.partition("(")[2].rstrip(")")
            if tensor and not name.startswith("given(") and not env[given(tensor).name]:
                continue
            dim = self.operator.dims_by_name.get(name)
            if dim is not None and name not in shown:
                continue
            kept[name] = value
        return kept

    def present(self, env: Mapping[str, Any]) -> tuple[TensorSpec, ...]:
        """The tensors that a call passes."""
        return tuple(spec for spec in self.operator.tensors if env[given(spec.name).name])

    # --------------------------------------------------------------------------------------------

    @cached_property
    def _givens(self) -> tuple[str, ...]:
        return tuple(given(name).name for name in self.optional)

    @cached_property
    def _dims(self) -> dict[str, Dim]:
        return self.operator.dims_by_name

    @cached_property
    def _names(self) -> tuple[tuple[TensorSpec, str, str, str], ...]:
        """Each tensor with its variables."""
        return tuple(
            (spec, given(spec.name).name, dtype_of(spec.name).name, layout_of(spec.name).name)
            for spec in self.operator.tensors
        )

    @cached_property
    def _shown(self) -> dict[tuple[str, str], frozenset[str]]:
        """The sizes that each layout of each tensor shows."""
        return {
            (spec.name, key): frozenset(name for size in layout.shape() for name in size.symbols())
            for spec in self.operator.tensors
            for key, layout in spec.layouts.items()
        }

    @cached_property
    def _extents(self) -> tuple[tuple[str, Expr, frozenset[str]], ...]:
        return tuple((role, size, size.symbols()) for role, size in self.operator.axis_extents.items())

    def _shown_by(self, spec: TensorSpec, env: Mapping[str, Any]) -> frozenset[str]:
        return self._shown[spec.name, env[layout_of(spec.name).name]] if spec.layouts else frozenset()

    def _param_values(self, param: ParamSpec) -> tuple[Any, ...]:
        default = (param.default,) if param.optional else ()
        if param.choices:
            return tuple(dict.fromkeys(param.choices))
        if param.type is bool:
            return (False, True)
        if param.type is float:
            return self._in_bounds(param, (*FLOATS, *default))
        if param.type is str:
            return default
        return self._in_bounds(param, dict.fromkeys((*default, *self._role_values(param.name))))

    def _in_bounds(self, param: ParamSpec, values: Iterable[Any]) -> tuple[Any, ...]:
        def legal(value: Any) -> bool:
            return isinstance(value, str) or all(b.evaluate({param.name: value}) for b in param.bounds())

        return tuple(value for value in values if legal(value))

    def _role_values(self, name: str) -> tuple[int, ...]:
        """The values of every attention axis whose size ``name`` is, or defines."""
        found: list[int] = []
        for role, extent in self.operator.axis_extents.items():
            defining = {
                symbol
                for dim in extent.symbols()
                for symbol in self._definition(dim)
            }  # fmt: skip
            if (isinstance(extent, Symbol) and extent.name == name) or name in defining:
                found += self.values.of_role(role, *self.edges)
        return tuple(dict.fromkeys(found)) or self.values.other

    def _definition(self, dim: str) -> frozenset[str]:
        declared = self.operator.dims_by_name.get(dim)
        return (
            frozenset() if declared is None or declared.definition is None else declared.definition.symbols()
        )

    def _bounded(self, name: str, values: tuple[int, ...]) -> tuple[int, ...]:
        """The values within the limits that constraints put on this size alone."""
        alone = [rule.condition for rule in self.operator.constraints if rule.when is None and not rule.over]
        simple = [each for each in alone if _about(each, name)]
        return tuple(value for value in values if all(each.evaluate({name: value}) for each in simple))

    def _repairs(self, symbols: Iterable[str]) -> tuple[str, ...]:
        """The variables behind ``symbols``; a derived size stands for what defines it."""
        found: dict[str, None] = {}
        for symbol in sorted(symbols):
            if symbol in self.variables:
                found[symbol] = None
            dim = self.operator.dims_by_name.get(symbol)
            for source in (dim.definition, dim.default) if dim is not None else ():
                if isinstance(source, Expr):
                    found |= dict.fromkeys(self._repairs(source.symbols()))
        return tuple(found)

    def _tensor_clauses(self, spec: TensorSpec) -> list[Clause]:
        found = []
        present, dtype = given(spec.name).name, dtype_of(spec.name).name
        own = (present,) if spec.optional else ()
        if any(layout.when is not None for layout in spec.layouts.values()):
            used = {
                name
                for layout in spec.layouts.values()
                if layout.when is not None
                for name in layout.when.symbols()
            }
            repairs = (layout_of(spec.name).name, *own, *self._repairs(used))
            found.append(Clause(f"layout of {spec.name}", repairs, lambda env: _layout_applies(spec, env)))
        if spec.dtype_like:
            likes = tuple(dtype_of(name).name for name in spec.dtype_like)
            repairs = (dtype, *own, *(name for name in likes if name in self.variables))
            found.append(Clause(f"dtype of {spec.name}", repairs, lambda env: _dtype_fits(spec, env)))
        return found

    def _group_fits(self, env: Mapping[str, Any]) -> bool:
        extents = self.extents(env)
        return extents.get("N", 1) == extents.get("K", 1) * int(env[GROUP])

    def _all_shown(self, env: Mapping[str, Any]) -> bool:
        return self._dims.keys() <= env.keys()

    def _affordable(self, env: Mapping[str, Any]) -> bool:
        size = {**dict.fromkeys("BNKQTDEPR", 1), **self.extents(env)}
        rows = size["B"] * size["K"] * size["T"] * max(size["D"], size["E"])
        pages = size["P"] * size["R"] * size["K"] * max(size["D"], size["E"])
        scores = size["B"] * size["N"] * size["Q"] * size["T"]
        return max(rows, pages) <= MAX_ROW_ELEMENTS and scores <= MAX_SCORES


def fill_of(name: str) -> str:
    """The variable that tells how an integer tensor is filled."""
    return f"fill({name})"


def _keeps(rule: Constraint, env: Mapping[str, Any]) -> bool:
    """Whether a constraint holds; one over what is absent does."""
    try:
        return (rule.when is not None and not rule.when.evaluate(env)) or bool(rule.condition.evaluate(env))
    except KeyError:
        return True


def _layout_applies(spec: TensorSpec, env: Mapping[str, Any]) -> bool:
    if not env[given(spec.name).name]:
        return True
    when = spec.layouts[env[layout_of(spec.name).name]].when
    return when is None or bool(when.evaluate(env))


def _dtype_fits(spec: TensorSpec, env: Mapping[str, Any]) -> bool:
    if not env[given(spec.name).name]:
        return True
    likes = [dtype_of(name).name for name in spec.dtype_like]
    present = [env[name] for name in likes if name in env]
    legal = {*spec.dtypes_alone, *(present or spec.dtypes)}
    return env[dtype_of(spec.name).name] in legal


def _about(condition: Expr, name: str) -> bool:
    """Whether a condition compares this size alone with a number."""
    if not isinstance(condition, Compare) or not isinstance(condition.right, Const):
        return False
    return condition.symbols() == {name}
