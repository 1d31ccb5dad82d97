"""Stages of several attentions that are alike but for each attention's own operands become one function.

A kernel that merges attentions (over own and over shared keys, say) has the stages of each. Two stages are
alike if their trees are equal field by field, but for global tensors of one element type, tiling fields of
one type and cross-core flags that stand for each other throughout. One function is then written, and
operands that differ are members of the ``StageOperands`` that it is called with. Stages that differ in
anything else stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from attndsl.codegen.names.members import constant, gm_member, list_member, scalar
from attndsl.codegen.names.spelling import Kind, StageOperand
from attndsl.expr import Expr, Load, Scope, Symbol
from attndsl.expr.reductions import Fold
from attndsl.target import Core
from attndsl.tile.buffers import Buffer, GlobalTensor, ScalarArray
from attndsl.tile.comparison import Comparison
from attndsl.tile.program import Program
from attndsl.tile.statements import PickTensor, SetCrossFlag, SetEvent, Stage, WaitCrossFlag

TYPE, PARAMETER = "StageOperands", "operands"
_CTYPES = {"int64": "int64_t ", "float32": "float "}
_KINDS = (Kind.TENSOR, Kind.LIST, Kind.FIELD, Kind.FLAG)
"""The order of members; among tiling fields, integers come first."""
_SPELLED = {Kind.TENSOR: gm_member, Kind.LIST: list_member}


@dataclass(frozen=True, slots=True)
class Member:
    """A member of the operands: ``ctype name;  // meaning``."""

    ctype: str
    name: str
    meaning: str

    @property
    def is_reference(self) -> bool:
        """Whether it has to be bound where the struct is made."""
        return self.ctype.endswith("&")


@dataclass(frozen=True, slots=True)
class AttentionOperands:
    """What the attention over ``keys`` gives for each member, references first.

    ``name`` is the function that makes them, ``variable`` the local that holds them.
    """

    name: str
    variable: str
    keys: str
    values: tuple[tuple[Member, str], ...]


@dataclass(frozen=True, slots=True)
class SharedStages:
    """Which stages of a program share a function, and what the function is called with.

    Attributes:
        functions: by the name of each stage that shares a function, the first attention's stage, of which
            the function has the body and, without the attention, the name.
        members: what the functions take from an attention. ``operands``: the same for each, by its name.
        spelled: the members as the functions have them, by the first attention's operands.
        taking: the functions that use a member.
    """

    functions: Mapping[str, Stage] = field(default_factory=dict)
    members: tuple[Member, ...] = ()
    operands: Mapping[str, AttentionOperands] = field(default_factory=dict)
    spelled: Mapping[StageOperand, str] = field(default_factory=dict)
    taking: frozenset[str] = frozenset()

    def name(self, stage: Stage) -> str:
        """The function of a stage."""
        return stage.stem if stage.name in self.functions else stage.name

    def arguments(self, stage: Stage) -> tuple[str, ...]:
        """What a stage's function is called with in front of scalars."""
        return (self.operands[stage.attention_name].variable,) if self.name(stage) in self.taking else ()

    def parameters(self, stage: Stage) -> tuple[str, ...]:
        """The declaration of what :meth:`arguments` gives."""
        return (f"const {TYPE} &{PARAMETER}",) if self.arguments(stage) else ()

    def declarations(self, stages: Iterable[Stage]) -> tuple[str, ...]:
        """The locals that hold the operands of these stages."""
        attentions = dict.fromkeys(stage.attention_name for stage in stages if self.arguments(stage))
        made = (self.operands[attention] for attention in attentions)
        return tuple(f"const {TYPE} {each.variable} = {each.name}();" for each in made)


def shared_stages(
    program: Program, ctypes: Mapping[GlobalTensor, str], functions: Sequence[Stage] = ()
) -> SharedStages:
    """The stages of a program whose cores are split that share functions.

    ``ctypes``: the C++ types of elements of its tensors. ``functions``: more stages, which both kinds of core
    call.
    """
    stages = [_stages(program, core) for core in (Core.AIC, Core.AIV)]
    stages.append({stage.name: stage for stage in functions})
    attentions = attention_names(program)
    operands = _Operands(program, ctypes)
    pairs: dict[str, _Pairs] = {attention: {} for attention in attentions}
    first_of: dict[str, Stage] = {}
    for each in stages:
        for group in _groups(each.values(), attentions):
            compared = [
                _compared(group[0], other, operands, pairs[other.attention_name]) for other in group[1:]
            ]
            if all(found is not None for found in compared):
                pairs |= {
                    stage.attention_name: found or {}
                    for stage, found in zip(group[1:], compared, strict=True)
                }
                first_of |= {stage.name: group[0] for stage in group}
    differing = {own for found in pairs.values() for own, other in found.items() if own != other}
    order = sorted(_in_order(pairs.values(), differing), key=operands.rank)
    members = _members(order, attentions[0], operands) if order else ()
    spelled = {own: f"{PARAMETER}.{each.name}" for own, each in zip(order, members, strict=True)}
    return SharedStages(
        functions=first_of,
        members=members,
        operands={
            attention: _operands_of(attention, members, [pairs[attention].get(own, own) for own in order])
            for attention in attentions
            if order
        },
        spelled=spelled,
        taking=frozenset(each.stem for each in first_of.values() if differing & operands.used_by(each)),
    )


def attention_names(program: Program) -> tuple[str, ...]:
    """The names of a program's attentions in order; none where it has one alone."""
    stages = (_stages(program, core) for core in (Core.AIC, Core.AIV))
    names = (stage.attention_name for each in stages for stage in each.values())
    return tuple(dict.fromkeys(filter(None, names)))


_Pairs = dict[StageOperand, StageOperand]
"""What stands, in another attention, for an operand of the first."""


class _Operands:
    """What may differ between attentions: the tensors, tiling fields and flags of a program."""

    def __init__(self, program: Program, ctypes: Mapping[GlobalTensor, str]) -> None:
        tensors = (*program.parameters, *program.workspace)
        self._tensors = {tensor.name: tensor for tensor in tensors}
        self._ctypes = ctypes
        self._fields = {each.name: each for each in program.fields}

    def ctype(self, own: StageOperand) -> str:
        """The type of its member, with what stands between the type and the name."""
        if own.kind is Kind.LIST:
            return "ListTensorDesc &"
        if own.kind is Kind.TENSOR:
            tensor = self._tensors[own.name]
            # which element of a list it is, stages choose
            return f"{'' if tensor.listed else 'const '}GlobalTensor<{self._ctypes[tensor]}> &"
        return "uint16_t " if own.kind is Kind.FLAG else _CTYPES[self._fields[own.name].ctype]

    def meaning(self, own: StageOperand) -> str:
        """What it is, for the reader."""
        if own.kind is Kind.TENSOR:
            return self._tensors[own.name].meaning
        return self._fields[own.name].meaning if own.kind is Kind.FIELD else ""

    def rank(self, own: StageOperand) -> tuple[int, bool]:
        """What members are ordered by."""
        real = own.kind is Kind.FIELD and self._fields[own.name].ctype == "float32"
        return _KINDS.index(own.kind), real

    def alike(self, first: StageOperand, second: StageOperand) -> bool:
        """Whether one may stand for the other."""
        return first == second or (first.kind is second.kind and self.ctype(first) == self.ctype(second))

    def used_by(self, stage: Stage) -> frozenset[StageOperand]:
        """The operands that a stage uses."""
        comparison = _StageComparison(self, {})
        comparison.same(stage.body, stage.body)
        return frozenset(comparison.pairs)


class _StageComparison(Comparison):
    """Compares the bodies of two stages; ``pairs`` has what stands for what, ``known`` pairs included."""

    def __init__(self, operands: _Operands, known: _Pairs) -> None:
        super().__init__()
        self._operands = operands
        self.pairs = dict(known)

    def decided(self, first: Any, second: Any) -> bool | None:
        if isinstance(first, Buffer | ScalarArray):
            return first is second
        if type(first) is not type(second):
            return False
        if isinstance(first, Expr):
            return self._expressions(first, second)
        if isinstance(first, GlobalTensor):
            return self._pair(Kind.TENSOR, first.name, second.name)
        if isinstance(first, PickTensor):
            return self._pair(Kind.LIST, first.tensor.name, second.tensor.name) and self.same_fields(
                first, second
            )
        if isinstance(first, SetCrossFlag | WaitCrossFlag):
            but = frozenset({"name", "flag"})
            return self._pair(Kind.FLAG, first.name, second.name) and self.same_fields(first, second, but)
        if isinstance(first, SetEvent):  # ``buffers`` are told with the event's id, once
            return self.same_fields(first, second, frozenset({"buffers"}))
        return None

    def _expressions(self, first: Expr, second: Any) -> bool | None:
        if isinstance(first, Symbol) and first.scope is Scope.TILING:
            return second.scope is Scope.TILING and self._pair(Kind.FIELD, first.name, second.name)
        if isinstance(first, Fold):
            return self._folds(first, second)
        if isinstance(first, Load) and first.scope is Scope.GLOBAL:
            named = self._pair(Kind.TENSOR, first.source, second.source)
            return named and self.same_fields(first, second, frozenset({"source"}))
        return None

    def _folds(self, first: Fold, second: Fold) -> bool:
        """A fold is a function of its own, which reads members of the kernel: what it reads is fixed."""
        fixed = first.body.same(second.body) and first.title == second.title and first.op == second.op
        return fixed and self.same_fields(first, second, frozenset({"title"}))

    def _pair(self, kind: Kind, first: str, second: str) -> bool:
        own, other = StageOperand(kind, first), StageOperand(kind, second)
        return self._operands.alike(own, other) and self.pairs.setdefault(own, other) == other


def _stages(program: Program, core: Core) -> dict[str, Stage]:
    """The stages of a kind of core by name, in program order."""
    tree = program.cores.get(core)
    found: dict[str, Stage] = {}
    for item in tree.walk() if tree is not None else ():
        if isinstance(item, Stage):
            found.setdefault(item.name, item)
    return found


def _groups(stages: Collection[Stage], attentions: Sequence[str]) -> list[tuple[Stage, ...]]:
    """The stages that do the same for each of several attentions, the first one's in front."""
    by_stem: dict[str, dict[str, Stage]] = {}
    names = {stage.name for stage in stages}
    for stage in stages:
        if stage.attention_name and stage.stem not in names:
            by_stem.setdefault(stage.stem, {})[stage.attention_name] = stage
    every = len(attentions) if len(attentions) > 1 else 0
    return [
        tuple(each[attention] for attention in attentions) for each in by_stem.values() if len(each) == every
    ]


def _compared(first: Stage, other: Stage, operands: _Operands, known: _Pairs) -> _Pairs | None:
    """The pairs that make two stages one, ``known`` ones included; None if they differ in anything else."""
    comparison = _StageComparison(operands, known)
    but = frozenset({"name", "attention_name"})
    return comparison.pairs if comparison.same_fields(first, other, but) else None


def _in_order(pairs: Iterable[_Pairs], differing: set[StageOperand]) -> tuple[StageOperand, ...]:
    """The first attention's operands that differ in any other, in the order of their use."""
    return tuple(dict.fromkeys(own for found in pairs for own in found if own in differing))


def _members(order: Sequence[StageOperand], attention: str, operands: _Operands) -> tuple[Member, ...]:
    """The members for operands of the first attention, whose name they leave out."""
    short = [_name(own, attention) for own in order]
    names = [
        _name(own, attention if short.count(each) == 1 else "")
        for own, each in zip(order, short, strict=True)
    ]
    described = ((operands.ctype(own), operands.meaning(own)) for own in order)
    return tuple(
        Member(ctype, name, meaning) for name, (ctype, meaning) in zip(names, described, strict=True)
    )


def _name(own: StageOperand, attention: str) -> str:
    """``scoreRingGm`` for the tensor ``scoreRingKey`` of the attention ``Key``."""
    head, found, tail = own.name.rpartition(attention) if attention else (own.name, "", "")
    within = found and head and (not tail or tail[0].isupper())
    name = head + tail if within else own.name
    if own.kind in _SPELLED:
        return _SPELLED[own.kind](name).strip("_")
    return f"{name[:1].lower()}{name[1:]}"


def _operands_of(
    attention: str, members: Sequence[Member], operands: Sequence[StageOperand]
) -> AttentionOperands:
    variable = f"{keys_of(attention)}Operands"
    values = tuple(zip(members, map(member_text, operands), strict=True))
    return AttentionOperands(f"{attention}Operands", variable, keys_of(attention), values)


def member_text(own: StageOperand) -> str:
    """An operand as functions that do not share it have it."""
    if own.kind in _SPELLED:
        return _SPELLED[own.kind](own.name)
    return constant(own.name) if own.kind is Kind.FLAG else scalar(Symbol(own.name, Scope.TILING))


def keys_of(attention: str) -> str:
    """The keys that an attention is named after."""
    return f"{attention[:1].lower()}{attention[1:]}"
