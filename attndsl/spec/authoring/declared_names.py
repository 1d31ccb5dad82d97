"""What has been declared of an operator so far, and the names that are left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attndsl.base.source_location import SourceLine, author_line
from attndsl.expr import Expr
from attndsl.graph.nodes import Output
from attndsl.spec import errors
from attndsl.spec.authoring.argument_checks import (
    check_name,
    check_text,
)
from attndsl.spec.authoring.declared import DeclaredTensor
from attndsl.spec.contract.arguments import Dim, ParamSpec
from attndsl.spec.contract.constraint import Constraint
from attndsl.target import DEFAULT_DEVICE, Device, UnknownDeviceError
from attndsl.target import device as device_named

_OF_CALLS = ("backend", "precision")
"""Options of :meth:`attndsl.spec.operator.operator.Operator.__call__` itself."""
INDICES = {
    "b": "the batch row (attend.BATCH)",
    "n": "the head (attend.HEAD)",
    "i": "the query (attend.QUERY)",
    "j": "the key (attend.KEY)",
    "g": "the group (attend.GROUP)",
}
"""The names that indices have in expressions, and what they are."""


@dataclass(frozen=True, slots=True)
class ConstraintGroup:
    """What the constraints that are declared together share, see ``op.constraints_on``."""

    when: Expr | None = None
    error: type[Exception] = errors.UnclassifiedError
    argument: str = ""
    early: bool = False


class DeclaredNames:
    """The operator itself and its declarations, each under a name of its own.

    Args: as of :class:`attndsl.spec.authoring.declarations.Declarations`.
    """

    def __init__(
        self, name: str, *, document: str = "", target: str = DEFAULT_DEVICE, summary: str = ""
    ) -> None:
        for argument, text in (
            ("name", name),
            ("document", document),
            ("target", target),
            ("summary", summary),
        ):
            check_text(f"{argument} of an operator", text)
        if not name.isidentifier():
            raise errors.SpecError(f"operator name {name!r} is no identifier", author_line())
        self.name, self.document, self.summary = name, document, summary
        self.where = author_line()
        self.device = _device(target, self.where)
        self.source = name
        """The name that :func:`attndsl.spec.operator.loader.load` takes: its own, or the spec file's."""
        self.constraints: tuple[Constraint, ...] = ()
        self.schedule_choices: dict[str, Any] = {}
        self.schedule_lines: dict[str, SourceLine] = {}
        self._dims: dict[str, Dim] = {}
        self._definition_lines: dict[str, SourceLine] = {}
        self._dim_lines: dict[str, SourceLine] = {}
        self._longest_lines: dict[str, SourceLine] = {}
        self._axes: dict[str, Expr] = {}
        self._arguments: dict[str, DeclaredTensor | ParamSpec] = {}
        self._results: dict[str, tuple[Output, str, dict[str, str | tuple[str, Expr]]]] = {}
        self._derived: list[Constraint] = []
        """The constraints that no author states: what results need of their arguments."""
        self._group = ConstraintGroup()
        self._keyword_only = False

    def _reserve(self, name: str) -> None:
        check_name(name)
        if not name.isidentifier():
            apart = "; names are separated by blanks alone" if "," in name else ""
            raise errors.SpecError(f"{name!r} is no identifier{apart}", author_line())
        if name in _OF_CALLS:
            raise errors.SpecError(f"'{name}' is an option of calls: no argument can have it", author_line())
        if name in self._dims or name in self._arguments or name in self._results:
            raise errors.DuplicateNameError(f"'{name}' is declared twice", author_line())

    def _reserve_symbol(self, name: str) -> None:
        """A name that stands in expressions, where indices have names too."""
        self._reserve(name)
        if name in INDICES:
            raise errors.SpecError(
                f"'{name}' is what expressions call {INDICES[name]}: no size or parameter can have the name; "
                f"call it '{name}_', say",
                author_line(),
            )


def _device(name: str, where: SourceLine) -> Device:
    try:
        return device_named(name)
    except UnknownDeviceError as unknown:
        raise errors.UnknownTargetError(f"target of an operator: {unknown}", where) from None
