"""The contract of an operator as every stage after its declaration reads it: arguments, sizes, constraints,
results, and the computation of a call.

:class:`attndsl.spec.operator.operator.Operator` has this shape. What takes a contract declares nothing, runs
nothing, and so needs no operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from attndsl.base.source_location import SourceLine
from attndsl.expr import Expr
from attndsl.graph.graph import Graph
from attndsl.graph.nodes import Output
from attndsl.spec.contract.arguments import Dim, OutputSpec, ParamSpec, TensorSpec
from attndsl.spec.contract.constraint import Constraint
from attndsl.target import Device


class Contract(Protocol):
    """What is declared once of an operator, to be read only; it hashes by identity."""

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str:
        """The name of the operator, of its Python function and of its kernel."""

    @property
    def document(self) -> str:
        """Where the contract is published."""

    @property
    def device(self) -> Device:
        """The device that kernels are made for."""

    @property
    def summary(self) -> str:
        """One sentence on the computation."""

    @property
    def where(self) -> SourceLine:
        """The author's line."""

    @property
    def spec_file(self) -> str:
        """The name of the file that declares it, without its folder; empty of one declared at a prompt."""

    @property
    def spec(self) -> str:
        """The name by which the loader finds it, or the operator that it is a mode of."""

    @property
    def in_commands(self) -> str:
        """What follows ``attndsl generate`` or ``show``: the spec, and of a mode the value that picks it."""

    @property
    def own_mode(self) -> tuple[str, str] | None:
        """The parameter and the value by which calls of a mode are told; None of an operator that is no
        mode."""

    @property
    def modes(self) -> tuple[Contract, ...]:
        """The contracts of the calls of this one's name in other modes."""

    @property
    def modes_by_value(self) -> tuple[str, Mapping[Any, Contract]]:
        """The parameter whose value decides between the modes, and the contract of each such value."""

    @property
    def parameters(self) -> tuple[TensorSpec | ParamSpec, ...]:
        """All arguments in signature order."""

    @property
    def tensors(self) -> tuple[TensorSpec, ...]:
        """The tensor arguments in signature order."""

    @property
    def params(self) -> tuple[ParamSpec, ...]:
        """The scalar arguments in signature order."""

    def tensor(self, name: str) -> TensorSpec:
        """The tensor argument of this name."""

    def find_param(self, name: str) -> ParamSpec | None:
        """The scalar argument of this name, if there is one."""

    @property
    def free_tensors(self) -> tuple[TensorSpec, ...]:
        """The tensors of numbers whose dtype a call chooses."""

    @property
    def dims_by_name(self) -> Mapping[str, Dim]:
        """The symbolic sizes."""

    @property
    def axis_extents(self) -> Mapping[str, Expr]:
        """The extent of each attention axis."""

    @property
    def outputs(self) -> tuple[OutputSpec, ...]:
        """The results in order."""

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The declared constraints, in order."""

    @property
    def rules(self) -> tuple[Constraint, ...]:
        """The constraints that advice on one parameter or size keeps."""

    @property
    def shape_constraints(self) -> tuple[Constraint, ...]:
        """What the layouts demand of the passed shapes, as constraints over ``name.shape[i]``."""

    @property
    def specialization_parameters(self) -> frozenset[str]:
        """Parameters, dtypes and layouts on which a kernel depends."""

    @property
    def schedule_choices(self) -> Mapping[str, Any]:
        """Tile sizes, ring depth and splits that the author states."""

    @property
    def schedule_lines(self) -> Mapping[str, SourceLine]:
        """The author's line of each of them."""

    @property
    def roots(self) -> tuple[Output, ...]:
        """The outputs with all choices that calls make still open."""

    def graph(self, present: frozenset[str], env: Mapping[str, Any] | None = None) -> Graph:
        """The verified computation of calls that pass the tensors ``present``.

        Raises:
            GraphError: the spec breaks a rule of the graph.
        """
