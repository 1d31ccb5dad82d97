"""The derived events and barriers of compiled programs: enough, balanced, within the hardware's ids."""

from __future__ import annotations

import pytest

from attndsl.passes.events.hazards import find_problems
from attndsl.passes.events.ring_order import find_early_flags
from attndsl.passes.events.synchronize import synchronize
from attndsl.target import Core
from attndsl.tile.instructions import Instruction
from attndsl.tile.statements import Barrier, If, Note, Seq, SetEvent, Statement, WaitEvent, as_seq, rewrite
from attndsl.tile.verifier import events_balance
from tests.support.devices import ARCHITECTURE
from tests.support.specials import compiled

from .trees import find_conflicts

COMBINATIONS = (
    (16, "bfloat16"), (64, "float16", "attn_mask"), (80, "bfloat16", "pse_shift"), (128, "float16"),
    (128, "bfloat16", "attn_mask", "pse_shift"), (208, "float16", "attn_mask", "pse_shift"),
    (256, "bfloat16"), (512, "float16", "attn_mask"),
)  # fmt: skip
CORES = tuple(Core)


def without(tree: Seq, gone: set[Statement]) -> Seq:
    """The tree without some statements, and without the branches that are empty then."""

    def change(item: Statement) -> Statement | None:
        return None if item in gone or (isinstance(item, If) and not item.then.body) else item

    return as_seq(rewrite(tree, change) or Seq(body=()))


def of_kind(tree: Seq, kind: type[Statement]) -> list[Statement]:
    return [item for item in tree.walk() if type(item) is kind]


@pytest.mark.parametrize("combination", COMBINATIONS, ids=str)
def test_nothing_is_left_unordered(combination):
    program = compiled(*combination).program
    for core in CORES:
        assert find_conflicts(program.cores[core]) == ()
    assert list(events_balance(program)) == []


@pytest.mark.parametrize("combination", COMBINATIONS, ids=str)
def test_ids_are_within_the_hardware_and_apart(combination):
    """Two events of one pipe pair never share an id."""
    for tree in compiled(*combination).program.cores.values():
        taken: dict[tuple[object, object], dict[int, str]] = {}
        for event in of_kind(tree, SetEvent):
            ids = taken.setdefault((event.source, event.target), {})
            for number in range(event.first_id, event.first_id + event.ids):
                assert 0 <= number < ARCHITECTURE.event_ids
                assert ids.setdefault(number, event.name) == event.name


@pytest.mark.parametrize("combination", COMBINATIONS[2:5], ids=str)
@pytest.mark.parametrize("core", CORES, ids=lambda core: core.value)
def test_each_barrier_is_needed(combination, core):
    tree = compiled(*combination).program.cores[core]
    for barrier in of_kind(tree, Barrier):
        assert find_conflicts(without(tree, {barrier})), f"{core.value}: a barrier orders nothing"


@pytest.mark.parametrize("combination", COMBINATIONS[2:5], ids=str)
@pytest.mark.parametrize("core", CORES, ids=lambda core: core.value)
def test_each_event_is_needed_and_balanced(combination, core):
    """A set or wait less is out of balance; all statements of an event less leave something unordered."""
    program = compiled(*combination).program
    tree = program.cores[core]
    events = [item for item in tree.walk() if isinstance(item, SetEvent)]
    for event in events:
        less = program.with_(cores={**program.cores, core: without(tree, {event})})
        assert any(event.name in problem for problem in events_balance(less))
    for name in {event.name for event in events}:
        same = {event for event in events if event.name == name}
        assert _disorder(without(tree, same)), f"{core.value}: {name} orders nothing"


def _disorder(tree: Seq) -> tuple[object, ...]:
    """Races, events that are raised too often, and flags that are raised too early."""
    return (*find_problems(tree), *find_early_flags(tree))


def _neighbours(tree: Seq) -> list[tuple[SetEvent, WaitEvent]]:
    """A set and a wait of one event in the same sequence: together they leave the balance alone."""
    found = []
    for sequence in (item for item in tree.walk() if isinstance(item, Seq)):
        sets = {s.name: s for s in sequence.body if type(s) is SetEvent and s.slot is None}
        found += [(sets[w.name], w) for w in sequence.body if isinstance(w, WaitEvent) and w.name in sets]
    return found


@pytest.mark.parametrize("core", CORES, ids=lambda core: core.value)
def test_each_pair_in_one_sequence_is_needed(core):
    """Also where the event has further pairs elsewhere."""
    tree = compiled(128, "float16", "attn_mask", "pse_shift").program.cores[core]
    pairs = [pair for pair in _neighbours(tree) if not pair[0].reuse]
    assert len(pairs) > 4
    for pair in pairs:
        assert _disorder(without(tree, set(pair))), f"{core.value}: {pair[0].name} orders nothing"


def test_a_tree_without_any_order_is_full_of_conflicts():
    """The analysis does not call everything ordered: the bare trees conflict on nearly every buffer."""
    for core in CORES:
        tree = compiled().program.cores[core]
        bare = without(tree, {item for item in tree.walk() if isinstance(item, SetEvent | Barrier)})
        shared = {conflict.buffer for conflict in find_conflicts(bare)}
        used = {
            b
            for item in tree.walk()
            if isinstance(item, Instruction)
            for b in (*item.reads(), *item.writes())
        }
        assert len(shared) >= len(used) - 1


def test_the_same_program_gets_the_same_events():
    """Deriving twice from one unsynchronized program: the same statements in the same places."""
    program = compiled().program
    bare = program.with_(
        cores={
            core: without(tree, {item for item in tree.walk() if isinstance(item, SetEvent | Barrier)})
            for core, tree in program.cores.items()
        }
    )
    again = synchronize(bare)
    for core in CORES:
        assert _order(again.cores[core]) == _order(program.cores[core])


def _order(tree: Seq) -> list[tuple[object, ...]]:
    """Notes aside: those of barriers stay behind when the barriers go."""
    return [_spelled(item) for item in tree.walk() if not isinstance(item, Note)]


def _spelled(item: Statement) -> tuple[object, ...]:
    if isinstance(item, SetEvent):
        return (type(item).__name__, item.name, item.first_id, item.slot)
    return (type(item).__name__,)
