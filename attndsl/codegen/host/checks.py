"""The host checks of a contract as data for their template: the call, its sizes, the checks in their order.

The order is that of :mod:`attndsl.spec.binding.binding`: presence, ranges, what the author wants early,
dtypes, parameters alone, shapes, then the constraints as they are declared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from attndsl.codegen.host.host_constraints import INDENT, ConstraintWriter, on_host, sources
from attndsl.codegen.host.host_expr import HostExpr, rows_member
from attndsl.codegen.names.arguments import Argument, Names, dtype_member, literal
from attndsl.codegen.names.identifiers import comment, escaped, string, strings
from attndsl.expr import Const, Load, Symbol
from attndsl.expr.argument_facts import GIVEN, asks, split_of
from attndsl.spec import errors
from attndsl.spec.contract.arguments import Dim, ParamSpec, TensorSpec
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.enumerated import choices_text
from attndsl.spec.contract.layout import Layout
from attndsl.spec.contract.packed_rows import measured_by_sums
from attndsl.spec.contract.split import BATCH, SINGLE, batch_extent, one_row, row_extent
from attndsl.spec.contract.wording import spoken


@dataclass(frozen=True, slots=True)
class Member:
    """``ctype name = value;  // meaning``."""

    ctype: str
    name: str
    value: str
    meaning: str


@dataclass(frozen=True, slots=True)
class CheckFunction:
    """One group of checks: its parameters as declared, and what the caller passes."""

    name: str
    doc: str
    parameters: str
    arguments: str
    lines: tuple[str, ...]

    @property
    def unused(self) -> tuple[str, ...]:
        """Parameters that no line looks at."""
        names = self.arguments.split(", ")
        return tuple(name for name in names if not any(re.search(rf"\b{name}\b", x) for x in self.lines))


@dataclass(frozen=True, kw_only=True)
class CheckText:
    """Everything the template prints."""

    names: Names
    operator: str
    document: str
    members: tuple[Member, ...]
    sizes: tuple[Member, ...]
    functions: tuple[CheckFunction, ...]
    target: CheckFunction
    unchecked: tuple[str, ...]


_CALL, _CALL_SIZES = "const Call &call", "const Call &call, const Sizes &sizes"


def check_text(names: Names) -> CheckText:
    """The host checks of an operator."""
    return _Checks(names).text()


class _Checks:
    def __init__(self, names: Names) -> None:
        self.names, self.operator = names, names.operator
        self.expr, self.writer = HostExpr(names), ConstraintWriter(names)
        params = {spec.name for spec in self.operator.params}
        params |= {split_of(spec.name).name for spec in self.operator.tensors}
        rules = [rule for rule in self.operator.constraints if not rule.target and on_host(rule, names)]
        self.early = [rule for rule in rules if rule.early]
        late = [rule for rule in rules if not rule.early]
        self.alone = [rule for rule in late if not rule.tensors() and rule.symbols() <= params]
        sums = {spec.name for spec in self.operator.tensors if spec.prefix_sums}
        rest = [rule for rule in late if rule not in self.alone]
        self.sums = [r for r in rest if r.argument in sums and not r.warns]
        self.rest = [rule for rule in rest if not any(rule is other for other in self.sums)]
        self.target = [rule for rule in self.operator.constraints if rule.target and on_host(rule, names)]

    def text(self) -> CheckText:
        functions = (
            CheckFunction(
                "ResolveLists",
                "What has to be passed is there; arguments that are lists stand for what they hold.",
                "Call &call",
                "call",
                tuple(self._presence()),
            ),
            self._function("CheckRanges", "Parameters are legal values.", self._ranges(), _CALL),
            self._constraints("CheckEarly", "What parameters and presence decide.", self.early),
            self._function("CheckDtypes", "Dtypes.", self._dtypes(), _CALL),
            self._constraints("CheckParameters", "What parameters alone decide.", self.alone),
            CheckFunction(
                "SolveSizes",
                "The sizes of the contract from the shapes of the arguments.",
                "const Call &call, Sizes &sizes",
                "call, sizes",
                tuple(self._solve()),
            ),
            self._constraints(
                "CheckConstraints", "The constraints, in the contract's order.", self.rest, sizes=True
            ),
        )
        early = bool(self.early)
        order = (0, 1, 2, 3, 4, 5, 6) if early else (0, 3, 1, 4, 5, 6)
        chosen = tuple(functions[i] for i in order if functions[i].lines or i in (0, 5))
        return CheckText(
            names=self.names,
            operator=comment(self.operator.name),
            document=comment(self.operator.document),
            members=tuple(self._members()),
            sizes=tuple(self._size_members()),
            functions=chosen,
            target=self._constraints(
                "CheckTarget", "What kernels on the target take.", self.target, sizes=True
            ),
            unchecked=tuple(dict.fromkeys(self._unchecked())),
        )

    def _function(self, name: str, doc: str, lines: Iterator[str], parameters: str) -> CheckFunction:
        arguments = "call, sizes" if "sizes" in parameters else "call"
        return CheckFunction(name, doc, parameters, arguments, tuple(lines))

    def _constraints(
        self, name: str, doc: str, rules: list[Constraint], *, sizes: bool = False
    ) -> CheckFunction:
        lines = tuple(line for rule in rules for line in self.writer.lines(rule))
        warns = any(rule.warns for rule in rules)
        parameters = (_CALL_SIZES if sizes else _CALL) + (
            ", std::vector<std::string> &warnings" if warns else ""
        )
        arguments = ("call, sizes" if sizes else "call") + (", warnings" if warns else "")
        return CheckFunction(name, doc, parameters, arguments, lines)

    def _unchecked(self) -> Iterator[str]:
        for rule in self.operator.constraints:
            if not on_host(rule, self.names):
                device = [n for n in sources(rule) if "(" in n or not self.names.argument(n).on_host]
                yield comment(f"{rule.subject}: {rule.text} (reads {', '.join(device)})")

    # --------------------------------------------------------------------------------------------
    # Members

    def _members(self) -> Iterator[Member]:
        for item in self.names.arguments:
            if not item.passed:
                continue
            spec = item.tensor
            if spec is not None and item.listed and spec.list_of is None:
                one = "a list of one tensor" if spec.sequence_of else "a tensor"
                listed = f"{one}, or a list of one a batch row" if spec.split else "a list"
                yield Member("TensorList", f"{item.name}_list", "", listed)
                yield Member("Tensor", item.name, "", f"the tensor in {item.name}_list")
                continue
            ctype = item.ctype.removeprefix("attndsl::")
            yield Member(ctype, item.name, item.default, self._meaning(item))

    def _meaning(self, item: Argument) -> str:
        words = [item.meaning] if item.meaning else []
        if item.tensor is not None:
            words = ["optional"] * item.tensor.optional + ["read by the host"] * item.on_host + words
        return "; ".join(words)

    def _size_members(self) -> Iterator[Member]:
        for name, dim in self.operator.dims_by_name.items():
            yield Member("int64_t", self.names.dims[name], "attndsl::kUnknown", _dim_meaning(dim))
        for spec in self.operator.tensors:
            if spec.prefix_sums:
                name = self.names.argument(spec.name).name
                yield Member("int64_t", f"longest_{name}", "0", f"rows of the longest batch row of {name}")
        for item in self.names.tensors:
            if item.tensor is not None and item.tensor.split:
                yield Member("RowCounts", rows_member(item), "{}", f"rows of each tensor of {item.name}")
            if item.tensor is not None and item.tensor.layouts:
                yield Member("std::string", f"{item.name}_layout", '"None"', f"layout of {item.name}")

    # --------------------------------------------------------------------------------------------
    # Presence, ranges, dtypes

    def _presence(self) -> Iterator[str]:
        for item in self.names.tensors:
            spec = item.tensor
            assert spec is not None
            passed = item.entries if item.listed else item.name
            if spec.required:
                yield f"if (!call.{passed}.given) {{"
                yield f"{INDENT}return Missing(kOperator, {string(spec.name)});"
                yield "}"
        for item in self.names.tensors:
            spec, name = item.tensor, string(item.spec.name)
            assert spec is not None
            if spec.list_of is not None:
                yield from _checked(f"CheckEntries(kOperator, {name}, call.{item.name})")
                yield f"if (!call.{item.name}.entries.empty()) {{"
                yield f"{INDENT}call.{item.name}.dtype = call.{item.name}.entries[0].dtype;"
                yield "}"
            elif spec.split:
                place = f"{literal(bool(spec.sequence_of))}, call.{item.name}_list, call.{item.name}"
                yield from _checked(f"OneOrMany(kOperator, {name}, {place})")
            elif spec.sequence_of:
                place = f"call.{item.name}_list, call.{item.name}"
                yield from _checked(f"Only(kOperator, {name}, {place})")

    def _ranges(self) -> Iterator[str]:
        for item in self.names.params:
            spec = item.spec
            assert isinstance(spec, ParamSpec)
            place, start = f"call.{item.name}", f'std::string(kOperator) + ": {escaped(spec.name)}: '
            error = string((spec.error or errors.ChoiceError).__name__)
            if spec.choices:
                values = list(dict.fromkeys(spec.choices.values()))
                test = " && ".join(f"{place} != {literal(value)}" for value in values)
                yield f"if ({test}) {{"
                shown = f"Quoted({place})" if spec.type is str else f"Text({place})"
                yield f'{INDENT}return Fail({error}, {start}" + {shown} + " is none of "'
                pieces = strings(choices_text(spec, 2), 90)
                yield from (INDENT * 2 + piece for piece in pieces[:-1])
                numbers = [literal(number) for number in values if isinstance(number, int | float)]
                near = f'"; " + NearestOf({place}, {{{", ".join(numbers)}}})' if numbers else '""'
                yield f"{INDENT * 2}{pieces[-1]} + std::string({near}));"
                yield "}"
                continue
            error = string((spec.error or errors.RangeError).__name__)
            if spec.type is float:
                wanted = "finite" if spec.finite else "a number"
                yield f"if ({place} {'- ' + place + ' != 0' if spec.finite else '!= ' + place}) {{"
                yield f'{INDENT}return Fail({error}, {start}must be {wanted}, got " + Text({place}) +'
                yield f'{INDENT * 2}"; pass a number such as 1.0");'
                yield "}"
            for bound in spec.bounds():
                assert isinstance(bound.right, Const)
                limit = bound.right.value
                advice = spec.nearest(bound)
                yield f"if (!({place} {bound.op} {literal(limit)})) {{"
                yield f'{INDENT}return Fail({error}, {start}must be {bound.op} {limit}, got " +'
                yield f"{INDENT * 2}Text({place}){f' + {string(advice)}' if advice else ''});"
                yield "}"

    def _dtypes(self) -> Iterator[str]:
        for item in self.names.tensors:
            spec = item.tensor
            assert spec is not None
            like = [f"{{{string(n)}, call.{self.names.argument(n).name}.dtype}}" for n in spec.dtype_like]
            all_of, alone = _members_of(spec.dtypes), _members_of(spec.dtypes_alone)
            same, name = _list(like), string(spec.name)
            yield f"if (call.{item.name}.given) {{"
            if spec.list_of is not None:
                call = f"CheckDtypes(kOperator, {name}, call.{item.name},"
            elif spec.split:
                call = f"CheckDtypes(kOperator, {name}, call.{item.name}_list,"
            else:
                call = f"CheckDtype(kOperator, {name}, call.{item.name}.dtype,"
            yield f"{INDENT}const DtypeRule rule{{{all_of},"
            yield f"{INDENT * 2}{alone}, {same}}};"
            yield f"{INDENT}const Status status = attndsl::{call} rule);"
            yield f"{INDENT}if (!status.Ok()) {{"
            yield f"{INDENT * 2}return status;"
            yield f"{INDENT}}}"
            yield "}"

    # --------------------------------------------------------------------------------------------
    # Shapes

    def _solve(self) -> Iterator[str]:
        yield "SizeSolver solver(kOperator);"
        for spec in self.operator.tensors:
            if spec.prefix_sums:
                name = self.names.argument(spec.name).name
                yield f"sizes.longest_{name} = LongestRow(call.{name});"
        for name in self.operator.dims_by_name:
            ident = self.names.dims[name]
            yield f"Size {ident}_({string(name)}, sizes.{ident});"
        used = {
            axis.extent.name
            for spec in self.operator.tensors
            for layout in spec.layouts.values()
            for dim in layout.dims
            for axis in dim
            if isinstance(axis.extent, Symbol)
        }
        for item in self.names.params:
            if item.spec.name in used:
                yield f"int64_t {item.name}_value = call.{item.name};"
                yield f"Size {item.name}_({string(item.spec.name)}, {item.name}_value);"
                yield f"{item.name}_.parameter = true;"
        for name, known in self.operator.dims_by_name.items():
            if known.definition is not None:
                origin = ", ".join(sorted(known.definition.symbols()))
                value = self.expr.text(known.definition)
                yield f"{self.names.dims[name]}_.Define({value}, {string(origin)});"
        by_sums = measured_by_sums(self.operator)
        measured = [item for item in self.names.tensors if item.tensor and item.tensor.name in by_sums]
        for item in self.names.tensors:
            if item not in measured:
                yield from self._match(item)
        yield from _checked("solver.Finish()")
        for name, dim in self.operator.dims_by_name.items():
            yield from self._default(name, dim)
        for name in self.operator.dims_by_name:
            yield from _checked(f"solver.Shown({self.names.dims[name]}_)")
        for rule in self.sums:
            yield from self.writer.lines(rule)
        for item in measured:
            yield from self._match(item)
        if measured:
            yield from _checked("solver.Finish()")

    def _match(self, item: Argument) -> Iterator[str]:
        spec = item.tensor
        assert spec is not None
        if not spec.layouts:
            return
        rank, shape = (spec.shape_error or errors.RankError), (spec.shape_error or errors.ShapeError)
        rule = f"Shaped{{{string(spec.name)}"
        if spec.shape_error is not None or spec.at_least:
            rule += f", {string(rank.__name__)}, {string(shape.__name__)}"
        rule += ", true}" if spec.at_least else "}"
        place = f"call.{item.name}"
        if spec.list_of is not None:
            start = f"solver.MatchList({rule}, {place}, {self._factor(spec.list_of)}"
        elif spec.kind == "lengths":
            start = f"solver.MatchLengths({rule}, {place}"
        else:
            start = f"solver.Match({rule}, {place}"
        layouts = [self._layout(layout) for layout in spec.layouts.values()]
        end = f", {literal(spec.one_for_all)}" if spec.kind == "lengths" else ""
        if spec.split:
            yield from self._match_rows(item, rule)
            yield "else {"
        else:
            yield "{"
        yield f"{INDENT}const Status status = {start}, {{"
        yield from (f"{INDENT * 3}{layout}," for layout in layouts)
        yield f"{INDENT * 2}}}{end}, sizes.{item.name}_layout);"
        yield f"{INDENT}if (!status.Ok()) {{"
        for demand in self._of_parameters(spec):
            yield from (INDENT * 2 + line for line in self.writer.lines(demand))
        yield f"{INDENT * 2}return status;"
        yield f"{INDENT}}}"
        yield "}"

    def _match_rows(self, item: Argument, rule: str) -> Iterator[str]:
        """A list of one tensor a batch row."""
        spec = tensor_of(item)
        whole = [layout for layout in spec.layouts.values() if BATCH in layout.roles]
        axes = [axis for layout in whole for dim in layout.dims for axis in dim if axis.role in SINGLE[1:]]
        single = dict.fromkeys(f"&{self._factor(axis.extent)}" for axis in axes)
        batch, rows = (self._factor(extent(whole[0])) for extent in (batch_extent, row_extent))
        yield f"if (call.{item.name}_list.given && call.{item.name}_list.list) {{"
        first = f"solver.MatchRows({rule}, call.{item.name}_list, {literal(bool(spec.sequence_of))},"
        yield f"{INDENT}const Status status = {first}"
        yield f"{INDENT * 2}{batch}, {rows}, {_list([*single])}, {{"
        for layout in spec.layouts.values():
            one = one_row(layout) if BATCH in layout.roles else replace(layout, dims=())
            yield f"{INDENT * 3}{self._layout(one)},"
        yield f"{INDENT * 2}}}, sizes.{rows_member(item)}, sizes.{item.name}_layout);"
        yield f"{INDENT}if (!status.Ok()) {{"
        yield f"{INDENT * 2}return status;"
        yield f"{INDENT}}}"
        yield "}"

    def _of_parameters(self, spec: TensorSpec) -> Iterator[Constraint]:
        """What parameters demand of the sizes that they state comes before what shapes show."""
        params = {each.name for each in self.operator.params}
        stated = {
            name for layout in spec.layouts.values() for size in layout.shape() for name in size.symbols()
        }
        for rule in self.rest:
            plain = rule.condition.symbols() <= params and not rule.tensors() and not rule.over
            if plain and rule.symbols() & stated & params and not rule.warns:
                yield rule

    def _layout(self, layout: Layout) -> str:
        applies = "true" if layout.when is None else self.expr.text(layout.when)
        facts = [] if layout.when is None else [self._fact(name) for name in sorted(layout.when.symbols())]
        dims = ", ".join(f"{{{', '.join(self._factor(axis.extent) for axis in dim)}}}" for dim in layout.dims)
        pieces = f",\n{INDENT * 4} ".join(facts)
        return f"{{{applies}, {string(layout.key)}, {{{dims}}},\n{INDENT * 4}{{{pieces}}}}}"

    def _fact(self, name: str) -> str:
        """What a call says of a symbol, as :func:`attndsl.spec.contract.wording.fact`."""
        place, about = self.expr.symbol(name), string(name)
        kind, argument = asks(name)
        if kind == GIVEN:
            return f'{{{about}, {string(argument)} + std::string({place} ? " is passed" : " is absent")}}'
        return f"{{{about}, {string(spoken(name) + ' is ')} + Text({place})}}"

    def _factor(self, extent: object) -> str:
        if isinstance(extent, Const):
            return literal(extent.value)
        assert isinstance(extent, Symbol)
        dims = self.names.dims
        return f"{dims[extent.name] if extent.name in dims else self.names.argument(extent.name).name}_"

    def _default(self, name: str, dim: Dim) -> Iterator[str]:
        if dim.default is None:
            return
        ident = self.names.dims[name]
        tests = [f"!{ident}_.Known()"]
        dims = self.operator.dims_by_name
        symbols = sorted(dim.default.symbols(), key=lambda n: list(dims).index(n) if n in dims else -1)
        tests += [f"{self.names.dims[n]}_.Known()" for n in symbols if n in dims]
        loads = {node.source for node in dim.default.walk() if isinstance(node, Load)}
        tests += [f"{self.expr.source(source)}.Readable()" for source in sorted(loads)]
        yield f"if ({' && '.join(tests)}) {{"
        yield f'{INDENT}{ident}_.Define({self.expr.text(dim.default)}, "default");'
        yield "}"


def _checked(call: str) -> Iterator[str]:
    yield f"if (const Status status = {call}; !status.Ok()) {{"
    yield f"{INDENT}return status;"
    yield "}"


def _members_of(dtypes: tuple[str, ...]) -> str:
    return _list([f"DataType::{dtype_member(name)}" for name in dtypes])


def _list(items: list[str]) -> str:
    return f"{{{', '.join(items)}}}"


def _dim_meaning(dim: Dim) -> str:
    if dim.definition is not None:
        return comment(str(dim.definition))
    return comment(f"if no shape shows it: {dim.default}") if dim.default is not None else ""


def tensor_of(item: Argument) -> TensorSpec:
    """The spec of an argument that is known to be a tensor."""
    assert item.tensor is not None
    return item.tensor
