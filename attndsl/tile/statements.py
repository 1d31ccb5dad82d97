"""The tree of a tile program: scalars, loops, buffer lifetimes, stages and instructions.

A program starts *joint*: one tree for all cores, whose :class:`Pipelined` loops hold stages that belong
to the cube or to the vector cores. Passes add cross-core flags, split it by core, and add the events
and barriers of each core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from operator import is_not

from attndsl.base.facts import kept
from attndsl.base.source_location import UNKNOWN_LINE, SourceLine
from attndsl.expr import Compare, Const, Expr, Logic, Named, Symbol
from attndsl.target import Core, Pipe
from attndsl.tile.buffers import Buffer, GlobalTensor, ScalarArray
from attndsl.tile.naming import stage_name


@dataclass(frozen=True, eq=False, kw_only=True)
class Statement:
    """A node of the tree; identity is object identity."""

    where: SourceLine = UNKNOWN_LINE

    def children(self) -> tuple[Statement, ...]:
        """Statements directly inside."""
        return ()

    def with_children(self, children: tuple[Statement, ...]) -> Statement:
        """The same statement around other children."""
        return self

    def walk(self) -> Iterator[Statement]:
        """This statement and all inside it, in program order."""
        return iter(self.inside())

    @kept
    def inside(self) -> tuple[Statement, ...]:
        """This statement and all inside it, in program order."""
        found: list[Statement] = []
        open_: list[Statement] = [self]
        while open_:
            found.append(open_.pop())
            open_ += reversed(found[-1].children())
        return tuple(found)


@dataclass(frozen=True, eq=False, kw_only=True)
class Seq(Statement):
    """Statements one after the other."""

    body: tuple[Statement, ...]

    def children(self) -> tuple[Statement, ...]:
        return self.body

    def with_children(self, children: tuple[Statement, ...]) -> Seq:
        return replace(self, body=children)


@dataclass(frozen=True, eq=False, kw_only=True)
class Note(Statement):
    """A sentence for the reader about the statements that follow; becomes a comment."""

    text: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Let(Statement):
    """A scalar that stays constant from here to the end of the enclosing body.

    ``why``: a sentence for the reader about its value; becomes a comment.
    """

    symbol: Symbol
    value: Expr
    why: str = ""

    @property
    def is_condition(self) -> bool:
        """Whether the scalar is true or false."""
        return isinstance(self.value, Compare | Logic)


@dataclass(frozen=True, eq=False, kw_only=True)
class PickTensor(Statement):
    """From here on ``tensor``, an argument that is a list, is its element ``index``, on this core."""

    tensor: GlobalTensor
    index: Expr


@dataclass(frozen=True, eq=False, kw_only=True)
class Collect(Statement):
    """``array`` holds, in ascending order, the ``index`` of begin <= index < extent for which ``condition``
    holds, the first ``skip`` of them left out; ``count`` is their number.

    Ends early when the array is full: collecting again with ``begin`` one behind the last element goes on.
    The array stays as it is until it is collected again; ``count`` is a scalar as of a :class:`Let`.
    ``place``: the element of the array that is the first of them; others keep what was collected there.
    """

    array: ScalarArray
    count: Symbol
    index: Symbol
    extent: Expr
    condition: Expr
    begin: Expr = field(default_factory=lambda: Const(0))
    skip: Expr = field(default_factory=lambda: Const(0))
    place: Expr = field(default_factory=lambda: Const(0))


@dataclass(frozen=True, eq=False, kw_only=True)
class For(Statement):
    """``for var in range(begin, end, step)``.

    ``disjoint``: buffers of which different iterations touch different elements.
    ``runs``: the body runs at least once whenever the loop is reached.
    ``over_items``: it is a core's loop over the items of its block.
    """

    var: Symbol
    end: Expr
    body: Seq
    begin: Expr = field(default_factory=lambda: Const(0))
    step: Expr = field(default_factory=lambda: Const(1))
    disjoint: tuple[Buffer, ...] = ()
    runs: bool = False
    over_items: bool = False

    def children(self) -> tuple[Statement, ...]:
        return (self.body,)

    def with_children(self, children: tuple[Statement, ...]) -> For:
        return replace(self, body=as_seq(children[0]))


@dataclass(frozen=True, eq=False, kw_only=True)
class If(Statement):
    """``then`` where ``condition`` holds, else ``otherwise``."""

    condition: Expr
    then: Seq
    otherwise: Seq | None = None

    def children(self) -> tuple[Statement, ...]:
        return (self.then,) if self.otherwise is None else (self.then, self.otherwise)

    def with_children(self, children: tuple[Statement, ...]) -> If:
        otherwise = as_seq(children[1]) if len(children) > 1 else None
        return replace(self, then=as_seq(children[0]), otherwise=otherwise)


@dataclass(frozen=True, eq=False, kw_only=True)
class Either(If):
    """An If of which each side defines all ``scalars``: they are known behind it.

    Arrays that one side alone collects are read where the same condition says that it was that side.
    ``attention_names``: as of stages, what ``then`` and ``otherwise`` are about.
    """

    scalars: tuple[Symbol, ...]
    attention_names: tuple[str, str]

    @property
    def sides(self) -> tuple[Seq, Seq]:
        """The side where the condition holds, and the other one."""
        assert self.otherwise is not None
        return self.then, self.otherwise


@dataclass(frozen=True, kw_only=True)
class Steps:
    """How a continuous pipeline counts.

    Attributes:
        counter: the steps that have begun on a core, a member of the kernel.
        slot: a step's slot of rings of ``depth`` slots.
        runs: the runs of the loop that have begun and have steps, a member of the kernel.
        run: a run's slot of ``depth`` slots; runs that are in flight at once have different ones.
        depth: one more than the deepest lag.
    """

    counter: Symbol
    slot: Symbol
    runs: Symbol
    run: Symbol
    depth: Named


@dataclass(frozen=True, eq=False, kw_only=True)
class KeepScalars(Statement):
    """A step of a continuous pipeline begins: the values of ``scalars`` stay known for ``steps.depth`` steps.

    The counters go up, that of the runs where ``begins`` holds; the slots are scalars as of a :class:`Let`.
    ``attention_name``: as of a stage.
    """

    core: Core
    attention_name: str
    steps: Steps
    begins: Expr
    scalars: tuple[Symbol, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Earlier(If):
    """``then``, with ``keep.scalars`` as they were ``back`` steps before, if there were as many steps.

    The condition compares the counter of the steps with ``back``; ``distance``: this as the kernel writes it.
    """

    keep: KeepScalars
    back: int
    distance: Expr | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Alloc(Statement):
    """A lifetime: each execution takes the next slot of all ``buffers`` together and gives it back."""

    buffers: tuple[Buffer, ...]
    body: Seq

    def children(self) -> tuple[Statement, ...]:
        return (self.body,)

    def with_children(self, children: tuple[Statement, ...]) -> Alloc:
        return replace(self, body=as_seq(children[0]))


@dataclass(frozen=True, eq=False, kw_only=True)
class Handed(Alloc):
    """A part of a lifetime that goes from one stage of a step to another, in slot ``slot``, that of the step.

    The part that ``begins`` the lifetime writes the buffer, and may read it; the other one ends it, and reads
    it. Both stand in stages of one continuous pipeline.
    """

    slot: Symbol
    begins: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Shared(Handed):
    """A lifetime that goes over iterations: from the first half of a run to the last, where halves take them
    in turn, or from the first iteration of a half to its last.

    Its body runs in each of them: what writes the buffer, under ``first``, and what reads it. ``last``:
    whether the lifetime ends. It may have two parts, in stages that both run in each iteration: what writes
    ``begins`` the lifetime alone, what reads, later, alone ``ends`` it.
    """

    first: Expr
    last: Expr
    ends: bool = True


@dataclass(frozen=True, eq=False, kw_only=True)
class Stage(Statement):
    """A named piece of one core kind's work; a function of the generated kernel.

    A stage may hold parts of itself that are stages, functions that it calls; what other stages wait for is
    the whole. The code generator finds the scalars that the function is called with.

    ``doc``: one sentence for the reader of the generated file. ``after_all_cores``: a barrier of all cores of
    its kind comes before it. ``attention_name``: what ``name`` ends with after ``For``, if there
    are several attentions; stages that differ in nothing but the attention's own tensors and sizes become one
    function. ``awaits``: rings that another stage of its core reads later in the step; it waits for them and
    does nothing else. ``warms``: a ring whose slots a stage of the vector cores stores to, one after the
    other, before the pipeline: what it stores means nothing, but L2 holds the slots then. A stage of the cube
    with the same ring waits for the next slot and does nothing else.
    """

    name: str
    core: Core
    doc: str
    body: Seq
    after_all_cores: bool = False
    attention_name: str = ""
    awaits: tuple[GlobalTensor, ...] = ()
    warms: GlobalTensor | None = None

    @property
    def stem(self) -> str:
        """What the stage does, whichever attention's it is."""
        return self.name.removesuffix(stage_name("", self.attention_name))

    def children(self) -> tuple[Statement, ...]:
        return (self.body,)

    def with_children(self, children: tuple[Statement, ...]) -> Stage:
        return replace(self, body=as_seq(children[0]))


@dataclass(frozen=True, eq=False, kw_only=True)
class EitherStage(Stage):
    """One of two stages, each iteration's own. Its body is an If with a stage on each side.

    It is no function of the kernel. What is known of stages, such as lags, and the tensors that they write
    and read, is known of both as one.
    """

    @property
    def branch(self) -> If:
        """The choice between both."""
        branch = only(self.body)
        assert isinstance(branch, If)
        return branch

    @property
    def sides(self) -> tuple[Stage, Stage]:
        """The stage where the condition holds, and the other one."""
        first, second = (only(side) for side in self.branch.children())
        assert isinstance(first, Stage)
        assert isinstance(second, Stage)
        return first, second

    def with_sides(self, first: Stage, second: Stage) -> EitherStage:
        """The same choice between other stages."""
        return replace(self, body=seq(self.branch.with_children((seq(first), seq(second)))))


@dataclass(frozen=True, eq=False, kw_only=True)
class Pipelined(Statement):
    """A loop whose stages run skewed: stage k works on iteration ``step - lags[k]``.

    Both core kinds run all steps; each runs its own stages, in the order given. ``prefetch``: the constant
    that is the deepest lag, by which the kernel names it; ``lead``: the constant that is the lag of stages
    after those that prepare a tile.

    A *continuous* loop does not drain: when it runs again, its stages with a lag first work on the last
    iterations of the run before, with the scalars of that run. ``steps`` counts the steps of all runs. The
    last run has as many steps as the deepest lag, without work of their own.
    ``when``: for each stage the condition under which it has work in an iteration, None: always; for a
    continuous loop only. ``shorter``: rings with fewer slots than the others, and how many; for a continuous
    loop only. ``sums``: rings in which the iterations of a run are added up, in the slot of the run; for a
    continuous loop only. ``turn``: by how many iterations those of a run are apart that are added up: 1, or
    the halves of the run, which take iterations in turn and have slots of their own.
    """

    var: Symbol
    extent: Expr
    stages: tuple[Stage, ...]
    lags: tuple[int, ...]
    prefetch: Named | None = None
    lead: Named | None = None
    steps: Steps | None = None
    when: tuple[Expr | None, ...] = ()
    shorter: tuple[tuple[GlobalTensor, int], ...] = ()
    sums: tuple[GlobalTensor, ...] = ()
    turn: Expr = field(default_factory=lambda: Const(1))

    @property
    def continuous(self) -> bool:
        """Whether the pipeline goes on from one run of the loop to the next."""
        return self.steps is not None

    def children(self) -> tuple[Statement, ...]:
        return self.stages

    def with_children(self, children: tuple[Statement, ...]) -> Pipelined:
        return replace(self, stages=tuple(as_stage(child) for child in children))


@dataclass(frozen=True, eq=False, kw_only=True)
class SetEvent(Statement):
    """The source pipe sets event ``name`` once all its earlier instructions are complete.

    ``slot_of``: the buffer whose current slot selects among ``ids`` consecutive ids; ``slot`` selects one
    outright. ``reuse``: the event says that a slot is free again, not that its content is ready.
    ``buffers``: those whose touches it orders, in program order. ``also``: those that the source pipe writes
    before them, which need no event of their own because of it.
    """

    name: str
    source: Pipe
    target: Pipe
    ids: int = 1
    first_id: int = -1
    slot_of: Buffer | None = None
    slot: int | None = None
    reuse: bool = False
    buffers: tuple[Buffer, ...] = ()
    also: tuple[Buffer, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class WaitEvent(SetEvent):
    """The target pipe starts nothing further before event ``name`` is set; clears it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Barrier(Statement):
    """Earlier instructions of the pipe complete before a later one starts.

    ``when``: where this does not hold the core orders by itself what the pipe does to ``buffer``, for which
    alone the barrier is then meant.
    """

    pipe: Pipe
    when: Expr | None = None
    buffer: Buffer | None = None


BLOCK_MODE, DEVICE_MODE = 2, 0
"""Of a cross-core flag: between an AIC and its AIVs, among all cores of a kind."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SetCrossFlag(Statement):
    """A cross-core flag, raised once the pipe's earlier instructions are complete.

    ``mode``: 0 among all cores of a kind, 2 between an AIC and its two AIVs.
    """

    name: str
    flag: int
    mode: int
    pipe: Pipe


@dataclass(frozen=True, eq=False, kw_only=True)
class WaitCrossFlag(Statement):
    """The whole core waits for a cross-core flag."""

    name: str
    flag: int


def seq(*statements: Statement | None) -> Seq:
    """A sequence with nested sequences flattened and Nones dropped."""
    body: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Seq):
            body.extend(statement.body)
        elif statement is not None:
            body.append(statement)
    return Seq(body=tuple(body))


def as_seq(statement: Statement) -> Seq:
    """The statement as a sequence."""
    return statement if isinstance(statement, Seq) else Seq(body=(statement,))


def only(body: Statement | None) -> Statement | None:
    """The statement that is all of a body; None where there are several, or none."""
    if isinstance(body, Seq):
        return only(body.body[0]) if len(body.body) == 1 else None
    return body


def outer_stages(tree: Statement) -> Iterator[Stage]:
    """The stages of a tree that stand in no other stage, in program order."""
    if isinstance(tree, Stage):
        yield tree
        return
    for child in tree.children():
        yield from outer_stages(child)


def as_stage(statement: Statement) -> Stage:
    """The statement, which has to be a stage."""
    assert isinstance(statement, Stage)
    return statement


def rewrite(statement: Statement, change: Callable[[Statement], Statement | None]) -> Statement | None:
    """Rebuild bottom-up; ``change`` maps each rebuilt statement to its replacement, None drops it."""
    old = statement.children()
    new = [rewrite(child, change) for child in old] if old else []
    if new and any(map(is_not, new, old)):
        if isinstance(statement, Seq):
            statement = seq(*new)
        else:
            statement = statement.with_children(tuple(child or Seq(body=()) for child in new))
    return change(statement)
