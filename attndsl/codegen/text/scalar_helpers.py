"""The scalar functions that generated C++ defines for itself, each only where it is used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from attndsl.base.errors import InternalError
from attndsl.codegen.names.members import ENTRY_SIZE, fold_function, member
from attndsl.codegen.text.cxx_expressions import FUNCTIONS, cxx_text, passed_scalars
from attndsl.expr import Binary, Element, Expr, Load, Scope
from attndsl.expr.reductions import Fold
from attndsl.tile.entry_size import EntrySize


@dataclass(frozen=True, slots=True)
class Helper:
    """A function that gives an ``int64_t``. ``doc``: a sentence on what that is.

    ``static``: it uses no member of the kernel. ``members``: the members that it keeps from call to call.
    """

    name: str
    doc: str
    parameters: str
    lines: tuple[str, ...]
    static: bool = True
    members: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """What stands in front of ``inline``."""
        return "static " if self.static else ""


_FUNCTIONS = ("min", "max", "ceil_div", "round_up", "floor_div", "floor_mod")
"""Operations that C++ spells as calls of functions in ``op_host/arithmetic.h``."""


def used_helpers(exprs: Iterable[Expr]) -> tuple[str, ...]:
    """The functions of two numbers that some expressions call, in a fixed order."""
    used = {node.op for expr in exprs for node in expr.walk() if isinstance(node, Binary)}
    return tuple(FUNCTIONS[op] for op in _FUNCTIONS if op in used)


def kernel_helpers(exprs: Iterable[Expr]) -> tuple[Helper, ...]:
    """A function for each sum, maximum or minimum over an index range, and that for sizes in lists.

    The functions of two numbers are in ``op_kernel/attndsl_kernel.h``.

    Raises:
        InternalError: two different folds have the same name.
    """
    known = tuple(exprs)
    folds: dict[str, Fold] = {}
    for node in (node for expr in known for node in expr.walk()):
        if isinstance(node, Fold) and not folds.setdefault(fold_function(node), node).computes_like(node):
            name = fold_function(node)
            raise InternalError(f"two folds are called {name}: {folds[name]} and {node}; give one a title")
    lists = (_SIZE_FROM_END,) if any(isinstance(n, EntrySize) for expr in known for n in expr.walk()) else ()
    return (*lists, *(_fold_helper(fold) for fold in folds.values()))


_MOST_DIMENSIONS = 8
_SIZE_FROM_END = Helper(
    ENTRY_SIZE,
    "The size of a dimension of a tensor in a list; fromEnd 1: the last dimension.",
    "ListTensorDesc &list, int64_t index, int64_t fromEnd",
    (
        f"uint64_t sizes[{_MOST_DIMENSIONS}];",
        "TensorDesc<uint8_t> entry;",
        "entry.SetShapeAddr(sizes);",
        "list.GetDesc(entry, static_cast<uint32_t>(index));",
        "return static_cast<int64_t>(sizes[entry.GetDim() - fromEnd]);",
    ),
)


def _is_running(fold: Fold) -> bool:
    """Whether a sum over a range goes on where the last call ended: the terms stay the same in a launch."""
    fixed = all(symbol.scope is Scope.TILING for symbol in fold.captured())
    loads = [node for node in fold.body.walk() if isinstance(node, Load | Element)]
    return fold.op == "sum" and fixed and all(node.scope is Scope.GLOBAL for node in loads)


def _running_sum(fold: Fold) -> Helper:
    """A sum of a range from 0 on as a member function. Items come in order, up or down: a step is a term."""
    stem = f"{fold.name[:1].lower()}{fold.name[1:]}"
    end, total = member(f"{stem}End"), member(f"{stem}Sum")
    value = cxx_text(fold.body, {fold.index: end})
    lines = (
        f"for (; {end} < extent; ++{end}) {{",
        f"    {total} += {value};",
        "}",
        f"while ({end} > extent) {{",
        f"    --{end};",
        f"    {total} -= {value};",
        "}",
        f"return {total};",
    )
    doc = "The sum of the lengths in front, counted up or down from where the last call ended."
    return Helper(fold_function(fold), doc, "int64_t extent", lines, static=False, members=(end, total))


_FOUND = {"sum": "The sum of a number", "max": "The largest of a number", "min": "The smallest of a number"}


def _fold_helper(fold: Fold) -> Helper:
    """The loop over the range, as a member function of its extent and the scalars of the body."""
    if _is_running(fold):
        return _running_sum(fold)
    index, captured = fold.index, tuple(symbol.name for symbol in passed_scalars(fold))
    value = cxx_text(fold.body, {name: name for name in captured})
    lines = ["int64_t found = 0;", f"for (int64_t {index} = 0; {index} < extent; ++{index}) {{"]
    if fold.op == "sum":
        lines.append(f"    found += {value};")
    else:
        better = ">" if fold.op == "max" else "<"
        lines.append(f"    const int64_t value = {value};")
        lines.append(f"    found = {index} == 0 || value {better} found ? value : found;")
    parameters = ", ".join(f"int64_t {name}" for name in ("extent", *captured))
    doc = f"{_FOUND[fold.op]} for each {index} below extent, 0 if there is none."
    return Helper(fold_function(fold), doc, parameters, (*lines, "}", "return found;"), static=False)
