"""The arguments of an operator as the host code of its project sees them: names, kinds, C++ types."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from attndsl.codegen.names.identifiers import (
    comment,
    file_stem,
    identifier,
    identifiers,
    pascal,
    snake,
    string,
)
from attndsl.graph.nodes import CacheAppend, Input
from attndsl.spec.contract.arguments import DTYPES, OutputSpec, ParamSpec, TensorSpec
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.contract import Contract

# Members and locals of generated host code that stand beside an argument, result or size.
_BESIDE = ("{}_", "{}_list", "{}_layout", "{}_value", "longest_{}", "{}List", "{}Ref", "{}Only", "{}Address")
# What a kernel uses where its parameters stand.
_OF_KERNELS = frozenset(
    (
        "pipe",
        "kernel",
        "userWorkspace",
        "tilingData",
        "OnlyTensor",
        "CopyTiling",
        "Bind",
        "GetBlockIdx",
        "GetBlockNum",
        "GetSubBlockIdx",
    )
)

_CXX = {int: "int64_t", float: "double", bool: "bool", str: "std::string"}


@dataclass(frozen=True, slots=True)
class Dtype:
    """A dtype: its name, the enumerators of host code, of CANN's graphs and of aclnn."""

    name: str
    member: str
    ge: str
    acl: str


_GE = {"bfloat16": "BF16", "float32": "FLOAT", "float64": "DOUBLE"}
DTYPE_ROWS = tuple(
    Dtype(
        name,
        f"k{name.capitalize()}",
        f"DT_{_GE.get(name, name.upper())}",
        f"ACL_{_GE.get(name, name.upper())}",
    )
    for name in sorted(DTYPES)
)


def dtype_member(name: str) -> str:
    """``kFloat16`` for ``float16``."""
    return next(row.member for row in DTYPE_ROWS if row.name == name)


def dtype_row(name: str) -> Dtype:
    """The row of a dtype."""
    return next(row for row in DTYPE_ROWS if row.name == name)


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: its spec, its identifier, and how it is passed.

    ``listed``: as a list of tensors; ``on_host``: the host may read its elements.
    """

    spec: TensorSpec | ParamSpec
    name: str

    @property
    def tensor(self) -> TensorSpec | None:
        """The spec of a tensor, None of a scalar."""
        return self.spec if isinstance(self.spec, TensorSpec) else None

    @property
    def listed(self) -> bool:
        """Whether it is passed as a list of tensors."""
        spec = self.tensor
        return spec is not None and bool(spec.sequence_of or spec.list_of is not None or spec.split)

    @property
    def entries(self) -> str:
        """The member of the call that holds the tensors of a list; one beside it has what it stands for."""
        return self.name if self.tensor is None or self.tensor.list_of is not None else f"{self.name}_list"

    @property
    def on_host(self) -> bool:
        """Whether the host reads its elements: lengths, maps."""
        return self.tensor is not None and self.tensor.kind == "lengths"

    @property
    def passed(self) -> bool:
        """Whether a call of the built operator has it: reserved bytes are left out."""
        return not (isinstance(self.spec, ParamSpec) and self.spec.type is bytes)

    @property
    def ctype(self) -> str:
        """The type of its member in the call."""
        if isinstance(self.spec, ParamSpec):
            return _CXX[self.spec.type]
        return "attndsl::TensorList" if self.listed else "attndsl::Tensor"

    @property
    def default(self) -> str:
        """The initial value of its member."""
        if not isinstance(self.spec, ParamSpec):
            return ""
        value = self.spec.choices.get(self.spec.default, self.spec.default)
        return literal(value if self.spec.optional else self.spec.type())

    @property
    def meaning(self) -> str:
        """A phrase for a comment."""
        return comment(self.spec.meaning)


def literal(value: object) -> str:
    """A Python scalar as a C++ literal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return string(value)
    if isinstance(value, float):
        if value != value:
            return "NAN"
        return repr(value) if abs(value) != float("inf") else ("INFINITY" if value > 0 else "-INFINITY")
    if isinstance(value, int):
        if not -(2**63) < value < 2**63:
            raise ValueError(f"{value} does not fit int64")
        return str(value)
    raise TypeError(f"no literal for {value!r}")


class Names:
    """All names of one operator's project."""

    def __init__(self, operator: Contract) -> None:
        self.operator = operator
        self.op = file_stem(operator.name)
        self.type = f"{pascal(self.op)}Custom"
        self.kernel = snake(self.type)
        self.host = f"{self.op}_host"
        self.tiling = f"{pascal(self.op)}Tiling"

    @cached_property
    def _spelled(self) -> dict[str, str]:
        """The identifiers of arguments, results and sizes, which are declared with names of their own."""
        operator = self.operator
        declared = [spec.name for spec in (*operator.parameters, *operator.outputs)]
        return identifiers([*declared, *operator.dims_by_name], _BESIDE)

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """All arguments in signature order."""
        return tuple(Argument(spec, self._spelled[spec.name]) for spec in self.operator.parameters)

    @cached_property
    def tensors(self) -> tuple[Argument, ...]:
        """The tensor arguments."""
        return tuple(item for item in self.arguments if item.tensor is not None)

    @cached_property
    def params(self) -> tuple[Argument, ...]:
        """The scalar arguments of the built operator."""
        return tuple(item for item in self.arguments if item.tensor is None and item.passed)

    @cached_property
    def dims(self) -> dict[str, str]:
        """The identifier of each size."""
        return {name: self._spelled[name] for name in self.operator.dims_by_name}

    @cached_property
    def outputs(self) -> dict[str, str]:
        """The identifier of each result."""
        return {spec.name: self._spelled[spec.name] for spec in self.operator.outputs}

    @cached_property
    def renamed(self) -> dict[str, str]:
        """The contract's names of the arguments by their identifiers, where these differ."""
        return {item.name: item.spec.name for item in self.arguments if item.name != item.spec.name}

    @cached_property
    def updated(self) -> tuple[Argument, ...]:
        """The tensors that the computation updates in place in some calls."""
        nodes = (node for root in self.operator.roots for node in root.walk())
        caches = [node.cache for node in nodes if isinstance(node, CacheAppend)]
        found = {part.name for cache in caches for part in cache.walk() if isinstance(part, Input)}
        found -= {item.spec.name for item in self.tensors if item.on_host}
        return tuple(item for item in self.tensors if item.spec.name in found)

    def rules_of(self, item: Argument) -> tuple[Constraint, ...]:
        """The constraints that look at one scalar argument alone, in every call."""
        of = {item.spec.name}
        return tuple(
            rule
            for rule in self.operator.constraints
            if rule.when is None and rule.decided_by(of) and rule.symbols() == of and not rule.warns
        )

    def takes(self, item: Argument, value: object) -> bool:
        """Whether some legal call may have the value of a scalar argument: no bound and no constraint on it
        alone is against it."""
        assert isinstance(item.spec, ParamSpec)
        rules = (*item.spec.bounds(), *(rule.condition for rule in self.rules_of(item)))
        return all(rule.evaluate({item.spec.name: value}) for rule in rules)

    def may_be_left_out(self, item: Argument) -> bool:
        """Whether a scalar argument has a default that the contract takes."""
        spec = item.spec
        assert isinstance(spec, ParamSpec)
        return spec.optional and self.takes(item, spec.choices.get(spec.default, spec.default))

    def argument(self, name: str) -> Argument:
        """The argument of this name."""
        return next(item for item in self.arguments if item.spec.name == name)

    def address(self, name: str) -> str:
        """The kernel's parameter for an argument or result: no member's name, nor what kernels use."""
        found = self._spelled.get(name) or identifier(name)
        return f"{found}Address" if found.endswith("_") or found in _OF_KERNELS else found

    def output(self, name: str) -> OutputSpec:
        """The result of this name."""
        return next(spec for spec in self.operator.outputs if spec.name == name)


@lru_cache(maxsize=64)
def names_of(operator: Contract) -> Names:
    """The names of an operator's project."""
    return Names(operator)
