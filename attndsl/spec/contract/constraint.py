"""Constraints of a contract: declared once, checked in Python, printed, and lowered to host checks.

A constraint is a symbolic condition over dimensions, parameters, presence of arguments and elements of
integer tensors. Elements are read with index symbols (``lengths[b]``); the constraint then holds for
every index in its ``over`` ranges.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from attndsl.base.facts import kept
from attndsl.base.source_location import UNKNOWN_LINE, SourceLine, author_line
from attndsl.expr import Expr, Load, Select, Symbol
from attndsl.expr.argument_facts import GIVEN, SPLIT, argument_of, kind_of
from attndsl.expr.array_evaluation import evaluate_arrays
from attndsl.expr.conditions import conjuncts
from attndsl.expr.reductions import Fold, with_presence
from attndsl.spec.contract.divisions import guarded
from attndsl.spec.contract.nearest import Rival, nearest
from attndsl.spec.contract.wording import spoken, spoken_text
from attndsl.spec.errors import UnclassifiedError


@dataclass(frozen=True)
class Constraint:
    """``condition`` must hold whenever ``when`` does.

    ``over``: extent of each index symbol; ``argument``: what the message blames; ``error``: the class that
    is raised; ``hint``: the next step, where the nearest legal value cannot be computed; ``target``: a limit
    of the kernels on the target, not of the operator. ``early``: parameters and the presence of arguments
    decide it, before any tensor is looked at. An ``error`` that is a Warning is only a warning.
    """

    condition: Expr
    text: str
    error: type[Exception] = UnclassifiedError
    when: Expr | None = None
    over: Mapping[str, Expr] = field(default_factory=dict)
    argument: str = ""
    hint: str = ""
    target: bool = False
    where: SourceLine = UNKNOWN_LINE
    early: bool = False

    @kept
    def tensors(self) -> frozenset[str]:
        """Integer tensors whose elements are read."""
        return self._tensors

    @cached_property
    def _tensors(self) -> frozenset[str]:
        parts = [self.condition] + ([self.when] if self.when is not None else [])
        return frozenset(node.source for part in parts for node in part.walk() if isinstance(node, Load))

    @kept
    def symbols(self) -> frozenset[str]:
        """Dimensions, parameters and features that the condition depends on."""
        return self._symbols

    @cached_property
    def _symbols(self) -> frozenset[str]:
        return self.condition.symbols() | (self.when.symbols() if self.when is not None else frozenset())

    def decided_by(self, known: Collection[str]) -> bool:
        """Whether these symbols alone tell if a call keeps what the contract says: no element is read."""
        return not (self.target or self.over or self.tensors()) and self.symbols() <= set(known)

    def violation(self, env: Mapping[str, Any]) -> dict[str, Any] | None:
        """None if the constraint holds, else the environment in which it fails (indices included).

        A constraint that reads a tensor which the call does not pass does not apply.
        """
        here = self._guarded._here(env)
        if any(name not in env for name in here.tensors()):
            return None
        if not here.over:
            if here.when is not None and not here.when.evaluate(env):
                return None
            return None if here.condition.evaluate(env) else dict(env)
        outside = [part for part in conjuncts(here.when) if not part.symbols() & set(here.over)]
        if not all(part.evaluate(env) for part in outside):
            return None
        return here._first_index(env)

    @cached_property
    def _guarded(self) -> Constraint:
        """The constraint as it is evaluated: what divides by zero does not hold."""
        when = None if self.when is None else guarded(self.when)
        return replace(self, condition=guarded(self.condition), when=when)

    def _here(self, env: Mapping[str, Any]) -> Constraint:
        """The constraint with choices by presence made."""
        given = tuple((name, bool(env[name])) for name in self._presence if name in env)
        if not given:
            return self
        if given not in self._chosen:
            known = dict(given)
            condition = with_presence(self.condition, known)
            when = None if self.when is None else with_presence(self.when, known)
            over = {name: with_presence(extent, known) for name, extent in self.over.items()}
            self._chosen[given] = replace(self, condition=condition, when=when, over=over)
        return self._chosen[given]

    @cached_property
    def _presence(self) -> tuple[str, ...]:
        """The questions in it whether an argument is there."""
        extents = (name for extent in self.over.values() for name in extent.symbols())
        return tuple(sorted(name for name in self.symbols().union(extents) if kind_of(name) == GIVEN))

    @cached_property
    def _chosen(self) -> dict[tuple[tuple[str, bool], ...], Constraint]:
        """The constraint by the answers to them, each made when it is first asked for."""
        return {}

    def _first_index(self, env: Mapping[str, Any]) -> dict[str, Any] | None:
        sizes = [int(extent.evaluate(env)) for extent in self.over.values()]
        grids = np.meshgrid(*(np.arange(size) for size in sizes), indexing="ij", sparse=True)
        local = {**env, **dict(zip(self.over, grids, strict=True))}
        with np.errstate(divide="ignore", invalid="ignore"):  # what is divided by 0 is not looked at
            bad = np.broadcast_to(~np.asarray(evaluate_arrays(self.condition, local), bool), sizes)
            if self.when is not None:
                bad = bad & np.broadcast_to(np.asarray(evaluate_arrays(self.when, local), bool), sizes)
        if not bad.any():
            return None
        first = np.unravel_index(int(np.argmax(bad)), sizes)
        return {**env, **{name: int(index) for name, index in zip(self.over, first, strict=True)}}

    @property
    def warns(self) -> bool:
        """Whether a call that breaks it is computed all the same."""
        return issubclass(self.error, Warning)

    def raise_for(self, operator: str, env: Mapping[str, Any], rivals: Iterable[Constraint] = ()) -> None:
        """Raise the constraint's error for the failing environment ``env``.

        ``rivals``: the operator's other constraints, which the advice must not break.
        """
        values = "; ".join(f"{name} is {value}" for name, value in self._values(env))
        found = ""
        with contextlib.suppress(ZeroDivisionError):
            kept = [rule._rival() for rule in rivals if rule._bounds_advice()]
            found = nearest(self._shown(env), env, kept, self.subject)
        parts = (found, self.hint)
        advice = "; ".join(part for part in parts if part)
        message = (
            f"{operator}: {self.subject}: {self.text}"
            + (f"; {values}" if values else "")
            + (f"; {advice}" if advice else "")
        )
        if issubclass(self.error, Warning):
            caller = author_line()
            warnings.warn_explicit(message, self.error, caller.file, caller.line)
        else:
            raise self.error(message)

    def _bounds_advice(self) -> bool:
        """Whether advice on another constraint must keep this one: a rule of every call on single values."""
        return not (self.target or self.over or self.warns)

    def _rival(self) -> Rival:
        """This constraint for advice: kept as well where what it reads is not known."""
        read = bool(self.tensors())

        def kept(env: Mapping[str, Any]) -> bool:
            return read or not self.symbols() <= env.keys() or self.violation(env) is None

        return Rival(self.condition, kept)

    def describe(self, words: Callable[[Expr], str] = str) -> str:
        """The condition as text, with its scope; ``words``: how an expression is said."""
        scope = (
            f" for all {', '.join(f'{i} < {words(n)}' for i, n in self.over.items())}" if self.over else ""
        )
        return f"{words(self.condition)}{scope}" + (
            f", when {words(self.when)}" if self.when is not None else ""
        )

    @property
    def subject(self) -> str:
        """The argument to blame: as the author says, else what the condition reads."""
        if self.argument:
            return self.argument
        loads = {node.source for node in self.condition.walk() if isinstance(node, Load)}
        loads -= {name for name in loads if "(" in name}  # what is known of an argument, not one itself
        names = sorted(loads) or sorted(self.condition.symbols())
        return ", ".join(dict.fromkeys(argument_of(name) for name in names))

    def _values(self, env: Mapping[str, Any]) -> list[tuple[str, Any]]:
        shown: dict[str, Any] = {}

        def visit(node: Expr) -> None:
            if isinstance(node, Load):
                array = np.asarray(env[node.source])
                index = np.unravel_index(int(node.index.evaluate(env)), array.shape)
                shown[f"{spoken(node.source)}[{', '.join(str(int(i)) for i in index)}]"] = array[index].item()
            elif isinstance(node, Symbol):
                told = node.name in env and kind_of(node.name) not in (GIVEN, SPLIT)
                if node.name not in self.over and told:
                    shown[spoken(node.name)] = env[node.name]
            elif isinstance(node, Fold):
                shown[spoken_text(node)] = node.evaluate(env)
            elif isinstance(node, Select):  # the other side may read elements that do not exist
                for part in elements(node.condition):
                    visit(part)
                visit(node.then if node.condition.evaluate(env) else node.otherwise)
            else:
                for child in node.children():
                    visit(child)

        visit(self._shown(env))
        return list(shown.items())

    def _shown(self, env: Mapping[str, Any]) -> Expr:
        """The condition as messages show it: with choices made, also those inside of sums and maxima."""
        if not any(isinstance(node, Fold | Select) for node in self.condition.walk()):
            return self.condition
        settled = with_presence(self.condition, env)
        folded = [name for node in settled.walk() if isinstance(node, Fold) for name in node.symbols()]
        return settled.substitute({name: env[name] for name in folded if "(" in name and name in env})


def elements(expr: Expr) -> Iterator[Load]:
    """The elements that ``expr`` reads, but those inside of sums and maxima."""
    if isinstance(expr, Load):
        yield expr
    elif not isinstance(expr, Fold):
        for child in expr.children():
            yield from elements(child)
