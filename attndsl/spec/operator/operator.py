"""The operator: what was declared, and what every later stage asks of it."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from attndsl.base.disk_cache import content_key
from attndsl.base.source_location import author_line
from attndsl.expr import Expr, Load, Symbol
from attndsl.expr.argument_facts import dtype_of
from attndsl.graph.graph import Graph
from attndsl.graph.nodes import Conditional, Output, names_read
from attndsl.graph.specialize import conditions, specialize
from attndsl.graph.verifier import verify
from attndsl.spec import errors
from attndsl.spec.authoring.argument_checks import check_text, wrong
from attndsl.spec.authoring.declarations import Declarations
from attndsl.spec.authoring.declared import resolve_tensor, roles_of_result
from attndsl.spec.authoring.declared_names import INDICES
from attndsl.spec.binding.binding import bind, bound_value
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.arguments import FLOATS, REQUIRED, Dim, OutputSpec, ParamSpec, TensorSpec
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.contract_text import contract_text
from attndsl.spec.contract.layout import Axis, Layout, parse_layout
from attndsl.spec.contract.shape_rules import shape_constraints
from attndsl.spec.operator.backends import run
from attndsl.spec.operator.modes import Modes
from attndsl.spec.operator.size_checks import check_axes, check_definitions, check_longest, check_shown
from attndsl.spec.operator.specialization_parameters import (
    as_stored,
    default_specialization,
    specialization_samples,
    stored_dtypes,
)
from attndsl.spec.operator.truth_checks import check_truth
from attndsl.target import DEFAULT_DEVICE, Device


class Operator(Declarations):
    """An attention operator: its declarations, and the questions that they answer.

    See :class:`attndsl.spec.authoring.declarations.Declarations` for what an author writes.
    """

    def __init__(
        self, name: str, *, document: str = "", target: str = DEFAULT_DEVICE, summary: str = ""
    ) -> None:
        super().__init__(name, document=document, target=target, summary=summary)
        self._graphs: dict[tuple[object, ...], Graph] = {}
        self._modes: Modes[Operator] = Modes()
        self.files_read: tuple[Path, ...] = ()
        self.file: Path | None = None
        """The files that its spec was loaded from, and the one that declares it; none of an operator that no
        file declares."""
        self._declared_for: Device | None = None

    @cached_property
    def parameters(self) -> tuple[TensorSpec | ParamSpec, ...]:
        """All arguments in signature order."""
        choices = {
            value: spec.name
            for spec in self._arguments.values()
            if isinstance(spec, ParamSpec)
            for value in spec.choices
        }
        names = frozenset(self._dims) | frozenset(self._arguments)
        return tuple(
            self._modes.narrowed(arg)
            if isinstance(arg, ParamSpec)
            else resolve_tensor(arg, self._axes, self._all_dtypes(arg), names, choices)
            for arg in self._arguments.values()
        )

    @cached_property
    def tensors(self) -> tuple[TensorSpec, ...]:
        """The tensor arguments in signature order."""
        return tuple(spec for spec in self.parameters if isinstance(spec, TensorSpec))

    @cached_property
    def params(self) -> tuple[ParamSpec, ...]:
        """The scalar arguments in signature order."""
        return tuple(spec for spec in self.parameters if isinstance(spec, ParamSpec))

    def tensor(self, name: str) -> TensorSpec:
        """The tensor argument of this name."""
        return next(spec for spec in self.tensors if spec.name == name)

    def find_param(self, name: str) -> ParamSpec | None:
        """The scalar argument of this name, if there is one."""
        return next((spec for spec in self.params if spec.name == name), None)

    @property
    def dims_by_name(self) -> dict[str, Dim]:
        """The symbolic sizes."""
        return dict(self._dims)

    @property
    def axis_extents(self) -> dict[str, Expr]:
        """The extent of each attention axis."""
        return dict(self._axes)

    @cached_property
    def outputs(self) -> tuple[OutputSpec, ...]:
        """The results in order."""
        found = []
        for node, like, own in self._results.values():
            inherited = self.tensor(like).layouts
            layouts = (
                {key: self._own_layout(node, key, item) for key, item in own.items()}
                if own
                else {key: self._like_layout(layout, node.axes) for key, layout in inherited.items()}
            )
            quantized = tuple(dict.fromkeys(stored_dtypes(node.source)))
            dtype = "" if node.dtype == like else node.dtype
            found.append(OutputSpec(node.name, like, layouts, node.axes, dtype, quantized, node.where))
        return tuple(found)

    @property
    def rules(self) -> tuple[Constraint, ...]:
        """The ranges of the parameters, and the constraints that are not on several sizes at once.

        Advice on one parameter or size keeps them; of several sizes it is unclear which would change.
        """
        sizes = self._dims.keys()
        return (
            *self.ranges,
            *(rule for rule in self.constraints if len(rule.condition.symbols() & sizes) < 2),
        )

    @cached_property
    def shape_constraints(self) -> tuple[Constraint, ...]:
        """What the layouts demand of the passed shapes, as constraints over ``name.shape[i]``."""
        return shape_constraints(self)

    def graph(self, present: frozenset[str], env: Mapping[str, Any] | None = None) -> Graph:
        """The computation of calls that pass the tensors ``present``, verified.

        ``env``: values of the parameters, dtypes and layouts that ``attend.when`` asks for; without it
        parameters have their defaults, tensors their first dtype and layout.

        Raises:
            GraphError: the spec breaks a rule of the graph.
        """
        names = frozenset(present) | {spec.name for spec in self.tensors if spec.required}
        chosen = default_specialization(self) if env is None else env
        values = {name: chosen.get(name) for name in sorted(self.specialization_parameters)}
        key = (names, *values.items())
        if key not in self._graphs:
            results = specialize(self.roots, names, values)
            outputs = tuple(as_stored(node) for node in results if isinstance(node, Output))
            if len(outputs) != len(self._results) or not outputs:
                raise errors.IncompleteSpecError(
                    f"{self.name} has an output that it cannot compute from {sorted(names)}", self.where
                )
            self._graphs[key] = verify(Graph(self.name, names, outputs))
        return self._graphs[key]

    @cached_property
    def specialization_parameters(self) -> frozenset[str]:
        """Parameters, dtypes and layouts on which a kernel depends.

        Those in conditions (``attend.when``), and dtypes that calls choose (:attr:`free_tensors`).
        """
        return conditions(self.roots) | frozenset(dtype_of(spec.name).name for spec in self.free_tensors)

    @cached_property
    def free_tensors(self) -> tuple[TensorSpec, ...]:
        """The tensors of numbers whose dtype a call chooses: not all that its results may have are legal."""
        read = names_read(self.roots)
        wanted = {dtype for spec in self.outputs for dtype in self.tensor(spec.like).dtypes}
        return tuple(
            spec
            for spec in self.tensors
            if spec.name in read
            and spec.kind == "tensor"
            and not spec.dtype_like
            and len(FLOATS.intersection(spec.dtypes)) > 1
            and not wanted <= set(spec.dtypes)
        )

    @property
    def roots(self) -> tuple[Output, ...]:
        """The outputs with all choices that calls make still open."""
        return tuple(node for node, _, _ in self._results.values())

    def mode(self, suffix: str, *, by: str, value: Any, summary: str = "") -> Operator:
        """An operator of its own that takes the calls in which parameter ``by`` has this value.

        For a document with a table of arguments for each mode: every mode has its own signature, constraints
        and computation, and all are called by the name of this operator. Both declare the parameter.
        """
        for argument, text in (("suffix", suffix), ("by", by), ("summary", summary)):
            check_text(f"{argument} of a mode", text)
        if not isinstance(value, int | str):
            raise wrong("value of a mode", value, "a value of its parameter, an integer or a text")
        if self._modes.parameter not in ("", by) or value in self._modes.operators:
            raise errors.DuplicateNameError(f"mode {by} = {value!r} is declared twice", author_line())
        other = Operator(
            f"{self.name}_{suffix}", document=self.document, target=self.device.name, summary=summary
        )
        other._modes = Modes(parameter=by, own=value, of=self)
        self._modes.parameter = by
        self._modes.operators[value] = other
        with self.constraints_on(error=errors.ParameterError, early=True):
            self.require(Symbol(by) != value, f"is for {other.name}", argument=by, hint="use that operator")
        return other

    @property
    def modes(self) -> tuple[Operator, ...]:
        """The operators that take the calls of this one's name in other modes."""
        return tuple(self._modes.operators.values())

    @property
    def modes_by_value(self) -> tuple[str, Mapping[Any, Operator]]:
        """The parameter whose value decides between the modes, and the operator of each such value."""
        return self._modes.parameter, dict(self._modes.operators)

    @property
    def own_mode(self) -> tuple[str, str] | None:
        """The parameter and the value, as the contract spells it, by which calls of a mode are told; None of
        an operator that is no mode."""
        if self._modes.own is None:
            return None
        spec = next(spec for spec in self.params if spec.name == self._modes.parameter)
        return spec.name, next((word for word in spec.choices if isinstance(word, str)), str(self._modes.own))

    def on(self, device: Device) -> Operator:
        """The same operator, its modes too, with kernels for another device."""
        return self._on(device, self._modes.of)

    def _on(self, device: Device, of: Operator | None) -> Operator:
        other = copy(self)
        other.device, other._declared_for = device, self._declared_for or self.device
        vars(other).pop("content_key", None)  # of the other device
        modes = {value: mode._on(device, other) for value, mode in self._modes.operators.items()}
        other._modes = replace(self._modes, operators=modes, of=of)
        return other

    @property
    def device_option(self) -> str:
        """What commands say of the device: nothing where it is the target of the spec."""
        moved = self._declared_for is not None and self.device is not self._declared_for
        return f" --device {self.device.name}" if moved else ""

    @property
    def spec(self) -> str:
        """The name by which the loader finds it, or the operator that it is a mode of."""
        return (self._modes.of or self).source

    @property
    def spec_file(self) -> str:
        """The name of the file that declares it, without its folder; empty of one declared at a prompt."""
        file = (self._modes.of or self).file
        name = Path(self.where.file).name if file is None else file.name
        return "" if name.startswith("<") else name

    @property
    def schedules_file(self) -> Path | None:
        """Where its stored schedule choices are, if there are any; None if no file declares it."""
        file = (self._modes.of or self).file
        return None if file is None else file.with_suffix(".schedules.json")

    @cached_property
    def content_key(self) -> str | None:
        """A key over the device and the files that the spec was loaded from; None if no file declares it."""
        files = (self._modes.of or self).files_read
        if not files:
            return None
        if self.schedules_file is not None and self.schedules_file.is_file():
            files = (*files, self.schedules_file)
        parts = (part for path in files for part in (path.name, path.read_bytes()))
        return content_key(self.name, self.device.name, *parts)

    @property
    def in_commands(self) -> str:
        """What follows ``attndsl generate`` or ``show``: the spec, and of a mode the value that picks it."""
        mode = "" if self.own_mode is None else " --set {}={}".format(*self.own_mode)
        return shlex.quote(self.spec) + mode

    def mode_named(self, spelled: str) -> Operator:
        """The operator whose calls have this value of the parameter that decides between modes.

        Raises:
            UnknownNameError: naming the values that there are.
        """
        spec = next(spec for spec in self.params if spec.name == self._modes.parameter)
        values = {str(each): value for each, value in spec.choices.items()}
        if spelled not in values:
            raise errors.UnknownNameError(
                f"{spec.name} '{spelled}': {self.name} has {', '.join(values)}", self.where
            )
        return self._modes.operators.get(values[spelled], self)

    def check(self) -> None:
        """Check the spec as far as it can be without a call: layouts, names, the graph of all inputs.

        Raises:
            SpecError: with the author's line.
        """
        if not self._results:
            raise errors.IncompleteSpecError(
                f"{self.name} has no output; end it with op.output(...)", self.where
            )
        known = set(self._dims) | set(self._arguments)
        for rule in self.constraints:
            for name in sorted(rule.symbols() - known - set(rule.over)):
                if not name.endswith(")"):
                    raise errors.UnknownNameError(
                        f"constraint '{rule.condition}': unknown '{name}'{_index_hint(name)}", rule.where
                    )
        self._check_blamed()
        self._check_defaults()
        check_truth(self.roots, self.constraints, self.params, self._dims, self.tensors)
        check_longest(self._longest_lines, self.tensors)
        check_shown(self._dims, self._dim_lines, self.tensors, self._axes, self.roots)
        check_definitions(self._dims, self._definition_lines, (spec.name for spec in self.params))
        check_axes(self.roots, self._axes, self._dims, self.constraints)
        self.outputs  # noqa: B018 - resolves every layout
        self._check_conditions()
        for present in (frozenset[str](), frozenset(spec.name for spec in self.tensors)):
            for values in specialization_samples(self, self.specialization_parameters, present):
                self.graph(present, values)
        for mode in self.modes:
            mode.check()

    def _check_blamed(self) -> None:
        """Constraints blame arguments that there are."""
        names = [*(spec.name for spec in self.tensors), *(spec.name for spec in self.params)]
        for rule in self.constraints:
            if rule.argument and rule.argument not in names:
                close = difflib.get_close_matches(rule.argument, names, 1)
                there = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(names)}"
                raise errors.UnknownNameError(
                    f"argument='{rule.argument}' is no argument of {self.name}; {there}", rule.where
                )

    def _check_defaults(self) -> None:
        """A default has the type of its parameter, and is one of its choices.

        Beyond its range it may be: so a document says that calls have to pass another.
        """
        for spec in self.params:
            if spec.default is REQUIRED or spec.default is None:
                continue
            try:
                bound_value(self, replace(spec, gt=None, ge=None, lt=None, le=None), spec.default)
            except errors.CallError as refused:
                why = str(refused).removeprefix(f"{self.name}: {spec.name}: ").partition("; the default")[0]
                text = f"the default of '{spec.name}' is no legal value: {why}"
                raise errors.SpecError(text, spec.where) from None

    def _check_conditions(self) -> None:
        """What shapes a kernel is known before any size is."""
        for root in self.roots:
            for node in root.walk():
                if not isinstance(node, Conditional):
                    continue
                sizes = node.condition.symbols() & (self._dims.keys() | INDICES.keys())
                read = {part.source for part in node.condition.walk() if isinstance(part, Load)}
                for name in sorted(sizes | read):
                    what = f"elements of '{name}'" if name in read else f"'{name}', a size or an index"
                    raise errors.SpecError(
                        f"attend.when({node.condition}, ...) asks for {what}; it may "
                        "ask for parameters, and for dtypes, layouts and presence of arguments",
                        node.where,
                    )

    def bind(self, /, *args: Any, **kwargs: Any) -> Call:
        """A checked call: sizes, layouts and features resolved.

        Raises:
            CallError: a subclass for each kind of mistake, deriving from the contract's builtin class.
        """
        chosen = self._modes.chosen(self, kwargs)
        return bind(self, args, kwargs) if chosen is self else chosen.bind(*args, **kwargs)

    def __call__(self, /, *args: Any, backend: str = "reference", **kwargs: Any) -> Any:
        """Call the operator: the single result, or a tuple of several.

        ``backend``: ``"reference"``, ``"tile"``, ``"emulator"``, or one that another package registers (see
        :mod:`attndsl.spec.operator.backends`); ``precision``: ``"float32"`` or ``"float64"``, for the
        reference.
        """
        options = {"precision": kwargs.pop("precision")} if "precision" in kwargs else {}
        results = run(self.bind(*args, **kwargs), backend, **options)
        return results[0] if len(results) == 1 else results

    def contract_text(self) -> str:
        """The contract as text: arguments, sizes, constraints with their error classes, results."""
        return "\n\n".join([contract_text(self), *(mode.contract_text() for mode in self.modes)])

    def __repr__(self) -> str:
        return f"Operator({self.name!r})"

    def _own_layout(self, node: Output, key: str, item: str | tuple[str, Expr]) -> Layout:
        text, when = (item, None) if isinstance(item, str) else item
        roles = roles_of_result(node, text, self._axes)
        return parse_layout(text, roles, self._axes, key=key, when=when, where=node.where)

    def _like_layout(self, layout: Layout, axes: tuple[str, ...]) -> Layout:
        """The layout of an input as one of a result: the head size becomes that of values."""
        swap = "D" in layout.roles and "E" in axes

        def as_value(axis: Axis) -> Axis:
            return replace(axis, role="E", extent=self._axes["E"]) if swap and axis.role == "D" else axis

        dims = tuple(tuple(as_value(axis) for axis in dim) for dim in layout.dims)
        roles = tuple("E" if swap and role == "D" else role for role in layout.roles)
        return replace(layout, dims=dims, roles=roles)


def _index_hint(name: str) -> str:
    """What a constraint with an index needs, after "; "."""
    if name not in INDICES:
        return ""
    meaning, symbol = INDICES[name].rstrip(")").split(" (")
    return f"; it counts {meaning}: pass over={{{symbol}: size}}, how many there are"
