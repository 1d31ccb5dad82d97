"""The constraints of an operator and the limits of its kernels."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from attndsl.base.source_location import author_line
from attndsl.expr import Expr, ExprLike, Symbol
from attndsl.spec import errors
from attndsl.spec.authoring.argument_checks import (
    check_condition,
    check_error_class,
    check_expression,
    check_flags,
    check_text,
    check_texts,
    wrong,
)
from attndsl.spec.authoring.declared_names import ConstraintGroup, DeclaredNames
from attndsl.spec.contract.constraint import Constraint


class ConstraintDeclarations(DeclaredNames):
    """How an author declares what must hold of calls."""

    def require(
        self,
        condition: Expr,
        text: str,
        *,
        error: type[Exception] | None = None,
        when: Expr | None = None,
        over: Mapping[Symbol, ExprLike] | None = None,
        argument: str = "",
        hint: str = "",
    ) -> None:
        """A constraint of the contract: raised in Python, checked on the host, printed.

        Args:
            condition: what must hold; elements of integer tensors are read with index symbols.
            text: the constraint in words.
            error: the class of the contract for its violation; without one, both ValueError and RuntimeError.
            when: it matters only where this holds.
            over: extent of each index symbol that the condition uses.
            argument: the argument to blame, where it does not follow from the condition.
            hint: the next step, where no nearest legal value can be computed.
        """
        check_condition("the condition of a constraint", condition)
        check_text("the text of a constraint", text)
        check_texts(hint=hint, argument=argument)
        if when is not None:
            check_condition("when", when)
        if error is not None:
            check_error_class("error", error)
        if over is not None and not (
            isinstance(over, Mapping) and all(isinstance(index, Symbol) for index in over)
        ):
            raise wrong("over", over, "a mapping from index symbols to their extents")
        ranges = {index.name: check_expression("over", extent) for index, extent in (over or {}).items()}
        group = self._group
        scope = when if group.when is None else group.when if when is None else group.when & when
        self._add(
            Constraint(
                condition,
                text,
                error=error or group.error,
                when=scope,
                over=ranges,
                argument=argument or group.argument,
                hint=hint,
                where=author_line(),
                early=group.early,
            )
        )

    @contextlib.contextmanager
    def constraints_on(
        self,
        when: Expr | None = None,
        *,
        error: type[Exception] = errors.UnclassifiedError,
        argument: str = "",
        early: bool = False,
    ) -> Iterator[None]:
        """The constraints declared inside share an error class and matter only where ``when`` holds.

        ``argument``: the argument that they blame, where they name no other.
        ``early``: parameters and the presence of arguments decide them, so that they are checked before any
        tensor is looked at.
        """
        check_error_class("error", error)
        check_text("argument", argument)
        check_flags(early=early)
        if when is not None:
            check_condition("when", when)
        before, self._group = self._group, ConstraintGroup(when, error, argument, early)
        try:
            yield
        finally:
            self._group = before

    def limit(self, condition: Expr, text: str, *, when: Expr | None = None) -> None:
        """A limit of the kernels on the target, not of the operator: the reference takes more."""
        check_condition("the condition of a limit", condition)
        check_text("the text of a limit", text)
        if when is not None:
            check_condition("when", when)
        line = author_line()
        self._add(Constraint(condition, text, errors.TargetLimitError, when, target=True, where=line))

    def _add(self, constraint: Constraint) -> None:
        self.constraints = (*self.constraints, constraint)
