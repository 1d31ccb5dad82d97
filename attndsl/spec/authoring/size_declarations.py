"""The sizes of an operator: symbols, definitions, defaults and roles in attention."""

from __future__ import annotations

from dataclasses import replace

from attndsl.base.source_location import author_line
from attndsl.expr import Const, Expr, ExprLike, Symbol
from attndsl.graph.nodes import AXIS_MEANINGS, AXIS_ORDER
from attndsl.spec import errors
from attndsl.spec.authoring.argument_checks import (
    check_expression,
    check_text,
    wrong,
)
from attndsl.spec.authoring.declared_names import DeclaredNames
from attndsl.spec.contract.arguments import Dim


class SizeDeclarations(DeclaredNames):
    """How an author declares sizes."""

    def dims(self, names: str, *, default: int | None = None) -> tuple[Symbol, ...]:
        """Symbolic sizes, in the document's letters; ``default``: value where no shape shows them."""
        check_text("the names of sizes", names)
        fixed = None if default is None else check_expression("default", default)
        for name in names.split():
            self._reserve_symbol(name)
            self._dims[name] = Dim(name, default=fixed)
            self._dim_lines[name] = author_line()
        return tuple(Symbol(name) for name in names.split())

    def dim(self, name: str, *, default: ExprLike | None = None) -> Symbol:
        """One symbolic size; ``default``: an expression for where no shape shows it."""
        self._reserve_symbol(name)
        self._dims[name] = Dim(
            name, default=None if default is None else check_expression("default", default)
        )
        self._dim_lines[name] = author_line()
        return Symbol(name)

    def let(self, dim: Symbol, value: Expr) -> None:
        """Define a size by parameters, as in ``op.let(N, num_heads)``; shapes are then checked against it."""
        self._declared_dim(dim)
        definition = check_expression(f"the definition of '{dim.name}'", value)
        chain = self._dims_behind(definition)
        if dim.name in chain:
            raise errors.SpecError(f"size '{dim.name}' is defined by itself: {definition}", author_line())
        self._dims[dim.name] = Dim(dim.name, definition, self._dims[dim.name].default)
        self._definition_lines[dim.name] = author_line()

    def default(self, dim: Symbol, value: ExprLike) -> None:
        """The value of a size where no shape shows it, which may read lengths declared by now."""
        self._declared_dim(dim)
        self._dims[dim.name] = replace(self._dims[dim.name], default=check_expression("default", value))

    def axes(self, **extents: ExprLike) -> None:
        """The roles of the sizes in attention (see :mod:`attndsl.graph.nodes`), as in ``op.axes(K=kvN)``."""
        for role, extent in extents.items():
            if role not in AXIS_ORDER:
                known = ", ".join(f"{axis} {meaning}" for axis, meaning in AXIS_MEANINGS.items())
                raise errors.UnknownNameError(f"'{role}' is no axis; there are {known}", author_line())
            found = check_expression(f"the extent of axis {role}", extent)
            if isinstance(found, Const) and not (isinstance(found.value, int) and found.value > 0):
                raise wrong(f"the extent of axis {role}", extent, "a whole number of at least 1, or a size")
            self._axes[role] = found

    def _declared_dim(self, dim: object) -> None:
        if not isinstance(dim, Symbol):
            raise wrong("the size", dim, "a dimension that op.dims or op.dim declared")
        if dim.name not in self._dims:
            raise errors.UnknownNameError(f"'{dim.name}' is no declared dimension", author_line())

    def _dims_behind(self, expr: Expr) -> set[str]:
        """The symbols that an expression depends on, through definitions of sizes too."""
        found: set[str] = set()
        open_ = [expr]
        while open_:
            for name in open_.pop().symbols() - found:
                found.add(name)
                known = self._dims.get(name)
                if known is not None and known.definition is not None:
                    open_.append(known.definition)
        return found
