"""Constraints of a contract as C++ statements that return the message of the Python error.

Python builds the same message in :mod:`attndsl.spec.contract.constraint`; here it is composed of the parts
that are known when code is generated and the values that only a call shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from attndsl.codegen.host.host_expr import HostExpr, index_name, listed_rows
from attndsl.codegen.names.arguments import Names, literal
from attndsl.codegen.names.identifiers import comment, string, strings
from attndsl.expr import Binary, Compare, Const, Expr, Load, Logic, Select, Symbol
from attndsl.expr.argument_facts import GIVEN, LAYOUT, SPLIT, argument_of, given, kind_of
from attndsl.expr.conditions import conjuncts
from attndsl.expr.operators import OPERATORS
from attndsl.expr.reductions import Fold
from attndsl.spec.contract.constraint import Constraint, elements
from attndsl.spec.contract.divisions import guarded
from attndsl.spec.contract.nearest import nearest
from attndsl.spec.contract.wording import spoken

INDENT = "    "
_TEXT_WIDTH = 96


def sources(constraint: Constraint) -> tuple[str, ...]:
    """The tensors whose elements a constraint reads."""
    found: dict[str, None] = {}
    for part in _parts(constraint):
        for node in part.walk():
            if isinstance(node, Load):
                found.setdefault(node.source)
    return tuple(found)


def on_host(constraint: Constraint, names: Names) -> bool:
    """Whether the host has all that it reads; the content of other tensors stays on the device."""
    return all(listed_rows(name) or names.argument(name).on_host for name in sources(constraint))


class ConstraintWriter:
    """Writes the checks of one operator."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._expr = HostExpr(names)

    def lines(self, constraint: Constraint) -> Iterator[str]:
        """The statements that check one constraint."""
        yield f"// {comment(f'{constraint.subject}: {constraint.text}')}"
        guards = [*self._readable(constraint)]
        inner: list[str] = []
        for part in conjuncts(None if constraint.when is None else guarded(constraint.when)):
            looped = bool(part.symbols() & set(constraint.over)) or self._reads(part, constraint)
            (inner if looped and constraint.over else guards).append(self._grouped(part))
        depth = 0
        if constraint.over and guards:
            yield f"if ({' && '.join(guards)}) {{"
            depth, guards = 1, []
        for index, extent in constraint.over.items():
            var = index_name(index)
            yield INDENT * depth + f"for (int64_t {var} = 0; {var} < {self._expr.text(extent)}; ++{var}) {{"
            depth += 1
        before = (*guards, *inner)
        broken = self._expr.condition(guarded(constraint.condition), negated=True, alone=not before)
        yield INDENT * depth + f"if ({' && '.join((*before, broken))}) {{"
        for line in self._report(constraint):
            yield INDENT * (depth + 1) + line
        for level in range(depth, -1, -1):
            yield INDENT * level + "}"

    def _reads(self, part: Expr, constraint: Constraint) -> bool:
        return bool(constraint.over) and any(isinstance(node, Load) for node in part.walk())

    def _grouped(self, part: Expr) -> str:
        text = self._expr.text(part)
        return f"({text})" if isinstance(part, Logic | Select) else text

    def _readable(self, constraint: Constraint) -> Iterator[str]:
        """What has to be there before elements are read; a tensor that is read only where it is passed may
        be absent."""
        for name in sources(constraint):
            absent = {given(name).name: False}
            left = [part.substitute(absent) for part in _parts(constraint)]
            needed = any(isinstance(node, Load) and node.source == name for p in left for node in p.walk())
            text = f"{self._expr.source(name)}.Readable()"
            item = self._names.argument(listed_rows(name) or name)
            if not listed_rows(name) and item.tensor is not None and item.tensor.optional and not needed:
                text = f"(!{self._expr.source(name)}.given || {text})"
            yield text

    # --------------------------------------------------------------------------------------------
    # The message

    def _report(self, constraint: Constraint) -> Iterator[str]:
        values = list(_each_once(self._values(constraint.condition, constraint)))
        if values:
            yield "Values values;"
            yield from values
        shown = "values" if values else "Values{}"
        subject, text = string(constraint.subject), strings(constraint.text, _TEXT_WIDTH - 24)
        advice = self._advice(constraint)
        error = string(constraint.error.__name__)
        head = f"Violation({error}, kOperator, {subject},"
        if constraint.warns:
            yield f"warnings.push_back({head}"
            yield from (INDENT + piece for piece in text[:-1])
            yield f"{INDENT}{text[-1]}, {shown}, {advice}).message);"
            return
        yield f"return {head}"
        yield from (INDENT + piece for piece in text[:-1])
        yield f"{INDENT}{text[-1]}, {shown},"
        yield f"{INDENT}{advice});"

    def _values(self, expr: Expr, constraint: Constraint) -> Iterator[str]:
        if isinstance(expr, Load):
            place = self._expr.source(expr.source)
            index = self._expr.text(expr.index)
            yield f"values.AddElement({string(spoken(expr.source))}, {place}, {index});"
        elif isinstance(expr, Symbol):
            if expr.name not in constraint.over and kind_of(expr.name) not in (GIVEN, SPLIT):
                yield f"values.Add({string(spoken(expr.name))}, {self._expr.symbol(expr.name)});"
        elif isinstance(expr, Fold):
            yield f"values.Add({self._fold_name(expr)}, {self._expr.text(expr)});"
        elif isinstance(expr, Select):
            for part in elements(expr.condition):
                yield from self._values(part, constraint)
            then = list(self._values(expr.then, constraint))
            other = list(self._values(expr.otherwise, constraint))
            if then:
                yield f"if ({self._expr.condition(expr.condition)}) {{"
                yield from (INDENT + line for line in then)
                yield "}"
            if other:
                yield f"if ({self._expr.condition(expr.condition, negated=True)}) {{"
                yield from (INDENT + line for line in other)
                yield "}"
        else:
            for child in expr.children():
                yield from self._values(child, constraint)

    def _fold_name(self, fold: Fold) -> str:
        """How messages name it, which depends on what is passed."""
        flags = sorted(name for name in fold.symbols() if kind_of(name) in (GIVEN, LAYOUT))
        texts: dict[str, list[str]] = {}
        for values in product(*(self._values_of(name) for name in flags)):
            known = dict(zip(flags, values, strict=True))
            test = " && ".join(self._is(name, value) for name, value in known.items())
            texts.setdefault(str(fold.substitute(known)), []).append(test)
        if len(texts) == 1:
            return string(next(iter(texts)))
        *some, last = texts
        choices = [f"{' || '.join(f'({t})' for t in texts[text])} ? {string(text)}" for text in some]
        return f"{' : '.join(choices)} : {string(last)}"

    def _values_of(self, name: str) -> tuple[bool | str, ...]:
        """The values of a symbol such as ``given(x)`` or ``layout(x)``."""
        tensor = self._names.argument(argument_of(name)).tensor
        assert tensor is not None
        return (True, False) if kind_of(name) == GIVEN else tuple(tensor.layouts)

    def _is(self, name: str, value: bool | str) -> str:
        place = self._expr.symbol(name)
        if isinstance(value, str):
            return f"{place} == {string(value)}"
        return place if value else f"!{place}"

    def _advice(self, constraint: Constraint) -> str:
        """The nearest legal value and the author's next step."""
        near = self._nearest(constraint.condition, constraint.subject)
        if not constraint.hint or near == '""':
            return string(constraint.hint) if constraint.hint else near
        return f"Both({near}, {string(constraint.hint)})"

    def _nearest(self, condition: Expr, subject: str) -> str:
        """As :func:`attndsl.spec.contract.nearest.nearest`, but by the violated constraint alone."""
        if isinstance(condition, Logic) and condition.op == "and":
            near = [self._nearest(part, subject) for part in (condition.left, condition.right)]
            holds = self._expr.condition(condition.left)
            return f"({holds} ? std::string({near[1]}) : std::string({near[0]}))"
        if not isinstance(condition, Compare) or _about_presence(condition):
            return string(nearest(condition, {}))
        left, right, op = condition.left, condition.right, condition.op
        if isinstance(right, Symbol) and not isinstance(left, Symbol | Load | Fold):
            left, right, op = right, left, OPERATORS[op].mirrored
        if isinstance(left, Select):
            sides = (Compare(op, side, right) for side in (left.then, left.otherwise))
            near = [self._nearest(side, subject) for side in sides]
            holds = self._expr.condition(left.condition)
            return (
                '""' if near == ['""'] * 2 else f"({holds} ? std::string({near[0]}) : std::string({near[1]}))"
            )
        target = left.left if isinstance(left, Binary) and left.op == "%" else left
        named = not isinstance(target, Load) and str(target) != subject
        of = self._named(target) if named else '""'
        if target is not left:
            if isinstance(target, Const) or op != "==" or not isinstance(right, Const) or right.value != 0:
                return '""'
            assert isinstance(left, Binary)
            step = self._expr.text(left.right)
            lowest = step if isinstance(target, Symbol) else "0"
            return f"NearestMultiples({self._expr.text(target)}, {step}, {lowest}, {of})"
        if not isinstance(left, Symbol | Load | Fold) or op == "!=":
            return '""'
        kind = self._expr.kind(right)
        if kind in ("str", "bool", "dtype") or self._expr.kind(left) == "bool":
            shown = (
                f"({self._expr.text(right)}) != 0"
                if self._expr.kind(left) == "bool"
                else self._expr.text(right)
            )
            return f'"it must be " + Text({shown})'
        shift = {"<": -1, ">": 1}.get(op, 0)
        if kind == "float":
            return '""' if shift else f"NearestLegal({self._expr.text(right)}, {of})"
        if isinstance(right, Const):
            return f"NearestLegal({literal(int(right.value) + shift)}, {of})"
        offset = {-1: " - 1", 1: " + 1"}.get(shift, "")
        text = self._expr.text(right)
        return f"NearestLegal({f'({text})' if offset and '?' in text else text}{offset}, {of})"

    def _named(self, target: Expr) -> str:
        """ " of D", or of a sum whose words depend on what is passed."""
        if isinstance(target, Fold):
            return f'" of " + std::string({self._fold_name(target)})'
        return string(f" of {target}")


def _each_once(lines: Iterable[str]) -> Iterator[str]:
    """Statements that show values, without those that show in any case what was shown before in any case."""
    shown: set[str] = set()
    for line in lines:
        if line not in shown:
            yield line
        if line.startswith("values."):
            shown.add(line)


def _parts(constraint: Constraint) -> list[Expr]:
    when = [] if constraint.when is None else [constraint.when]
    return [*when, constraint.condition, *constraint.over.values()]


def _about_presence(condition: Expr) -> bool:
    return (
        isinstance(condition, Compare)
        and isinstance(condition.left, Symbol)
        and kind_of(condition.left.name) in (GIVEN, SPLIT)
    )
