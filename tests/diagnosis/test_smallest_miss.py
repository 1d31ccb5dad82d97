"""A miss is made small, can be run again by what is printed, and is told with the stage that goes wrong."""

import itertools
import re
import shlex

import numpy as np
import pytest

from attndsl.campaign import judging, verify
from attndsl.campaign.results import MISS
from attndsl.compiler.prepare_launch import prepare
from attndsl.diagnosis.first_difference import first_difference
from attndsl.diagnosis.miss import SmallestMiss
from attndsl.diagnosis.smallest_miss import smallest_miss
from attndsl.emulator.report import Report
from attndsl.reference import run as reference
from attndsl.target import Core
from attndsl.tile_interpreter.last_writer import last_write, stage_of
from attndsl.tile_interpreter.run import interpret
from attndsl.verify.cases.case import Case
from attndsl.verify.cases.cases import Stream
from attndsl.verify.cases.changed_case import WrongChange, changed, smaller, with_changes, work_of_case
from attndsl.verify.data.integers import Integers
from attndsl.verify.space.values import GROUP
from tests.support.disguise import posing_as
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_spec


@pytest.fixture(scope="module")
def operator(tmp_path_factory):
    return decode_spec(
        tmp_path_factory.mktemp("spec"),
        'lengths = op.lengths("lengths", "B", optional=True)',
        "s = attend.scores(query, attend.rows(key, length=lengths)) * 0.2",
        'op.output("out", attend.softmax(s) @ attend.rows(value, length=lengths), like=query)',
    )


@pytest.fixture(scope="module")
def cases(operator):
    return Stream(operator).take(12)


@pytest.fixture(scope="module")
def case(cases):
    """The first case with several batch rows and many keys."""
    every = ((each, each.outline().extents) for each in cases)
    return next(each for each, sizes in every if sizes["B"] > 1 and sizes["T"] > 100 and sizes["K"] > 1)


def wrong_if(condition):
    """A backend that is right but for calls of which ``condition`` holds, whose first result is off."""

    def run(call):
        outputs = [output.copy() for output in reference.run(call)]
        if condition(call):
            outputs[0].flat[0] += 1
        return tuple(outputs), []

    return run


def test_the_smallest_case_is_as_large_as_the_defect_asks_for(case, monkeypatch):
    """Wrong from 17 keys on, with two key/value heads: everything else becomes one."""
    condition = lambda call: call.extents["T"] >= 17 and call.extents["K"] >= 2  # noqa: E731
    monkeypatch.setitem(judging._BACKENDS, "tile", posing_as("tile", wrong_if(condition)))
    row = judging.run_case(case, ("reference", "tile"))
    found = smallest_miss(case, row)
    extents = with_changes(case, {name: str(value) for name, value in found.changes.items()}).call().extents
    assert (extents["B"], extents["N"], extents["K"], extents["T"], extents["D"]) == (1, 2, 2, 17, 1)
    assert found.backend == "tile" and found.difference is None and "off by" in found.message
    monkeypatch.setitem(judging._BACKENDS, "tile", posing_as("tile", wrong_if(lambda call: True)))
    row = judging.run_case(case, ("reference", "tile"))
    assert work_of_case(case.outline()) > work_of_case(_case(case, smallest_miss(case, row)).outline())


def _case(case, found) -> Case:
    return with_changes(case, {name: str(value) for name, value in found.changes.items()})


def test_what_is_printed_runs_the_smallest_case_again(operator, case, monkeypatch):
    monkeypatch.setitem(
        judging._BACKENDS, "tile", posing_as("tile", wrong_if(lambda call: call.extents["T"] >= 17))
    )
    made = {}
    result = verify(operator, only=(case.number,), backends=("tile",), made=made, execute=lambda launch: None)
    (row,) = result.misses
    small = smallest_miss(made[case.number], row)
    told = "\n".join(small.lines())
    (command,) = re.findall(r"attndsl verify .*", told)
    words = shlex.split(command)
    assert words[words.index("--case") + 1] == str(case.number) and words[-2:] == ["--backend", "tile"]
    changes = dict(words[at + 1].split("=", 1) for at, word in enumerate(words) if word == "--with")
    again = verify(
        operator, only=(case.number,), changes=changes, backends=("tile",), execute=lambda launch: None
    )
    (row,) = again.rows
    assert row.results[-1].status == MISS and row.results[-1].message == small.message
    plain = small.to_json()
    assert plain["reproduce"] == command and plain["changes"] == changes and plain["difference"] is None


def test_with_no_tries_the_case_stays_as_it_is(case, monkeypatch):
    monkeypatch.setitem(judging._BACKENDS, "tile", posing_as("tile", wrong_if(lambda call: True)))
    found = smallest_miss(case, judging.run_case(case, ("reference", "tile")), tries=0)
    assert found.changes == {} and found.tries == 0 and found.message


def test_a_case_stays_legal_and_the_same_by_the_same_changes(case):
    sizes = []
    for changes in itertools.islice(smaller(case, {}), 12):
        one, other = changed(case, changes), changed(case, changes)
        assert (one is None) == (other is None)
        if one is not None:
            first, second = one.outline(), other.outline()  # binding checks every constraint
            assert all(np.array_equal(first.arrays[name], second.arrays[name]) for name in first.arrays)
            sizes.append(work_of_case(first))
    assert len(sizes) > 5 and min(sizes) < work_of_case(case.outline())


def test_integers_start_from_earlier_ones_as_far_as_they_fit(cases):
    found = next(each for each in cases if "lengths" in each.integers and each.assignment["B"] > 2)
    integers = Integers(found.space, {**found.assignment, "B": 2}, np.random.default_rng(1))
    integers.start_from(found.integers)
    assert integers.solve()["lengths"].tolist() == found.integers["lengths"].reshape(-1)[:2].tolist()


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ({"heads": "3"}, "has no variable 'heads'; it has "),
        ({"T": "18"}, "'T' is never '18' in a case; it is one of "),
        ({GROUP: "136", "N": "1"}, "is no legal call; change other variables with these"),
    ],
)
def test_wrong_changes_are_named(case, texts, told):
    with pytest.raises(WrongChange, match=re.escape(told)):
        with_changes(case, texts)


# Where kernel and program part ------------------------------------------------------------------------------


def as_program(damage=None):
    """A kernel that does what its program does, but for what ``damage`` does to its launch in the end."""

    def execute(launch, knobs=None):
        interpret(launch)
        if damage is not None:
            damage(launch, knobs)
        return Report((), {}, {}, (), (1, 1, 2))

    return execute


@pytest.fixture(scope="module")
def call(tmp_path_factory):
    operator = decode_spec(tmp_path_factory.mktemp("small"), DECODE_SCORES, DECODE_RESULT)
    rng = np.random.default_rng(0)
    query, key = (rng.standard_normal((1, 2, rows, 32)).astype(np.float16) for rows in (1, 40))
    return operator.bind(query=query, key=key, value=key)


def part(launch, name):
    """Where a workspace tensor of block 0 begins, and its dtype."""
    (tensor,) = (each for each in launch.compiled.program.workspace if each.name == name)
    return int(tensor.offset.evaluate({**launch.tiling, "blockIndex": 0})), tensor


def test_nothing_differs_where_a_kernel_does_what_its_program_does(call):
    assert first_difference(call, as_program()) is None


@pytest.mark.parametrize(("tensor", "stage"), [("probRing", "SoftmaxTile"), ("scoreRing", "ScoreTile")])
def test_the_first_tensor_that_differs_is_told_with_its_writer(call, tensor, stage):
    """Both a tensor on the way and the result are wrong: the one on the way comes first."""

    def damage(launch, knobs):
        begin, _ = part(launch, tensor)
        launch.workspace[begin : begin + 4] = np.array([3.0, 3.0], np.float16).view(np.uint8)
        launch.outputs()[0].flat[5] += 1

    found = first_difference(call, as_program(damage))
    assert (found.tensor, found.stage, found.element) == (tensor, stage, 0)
    assert found.at["item"] == 0 and found.at["firstKey"] == 0 and (found.row, found.column) == (0, 0)
    assert found.core == ("block 0 AIC" if tensor == "scoreRing" else "block 0 AIV0")
    assert f"written by stage {stage}" in "\n".join(found.lines())


def test_a_wrong_result_alone_is_told_by_its_index(call):
    def damage(launch, knobs):
        launch.outputs()[0].flat[37] += 1

    found = first_difference(call, as_program(damage))
    assert (found.tensor, found.element, found.unlike) == ("out", 37, 1)


def test_what_depends_on_never_written_memory_means_nothing(call):
    """The same element, which the two patterns change, and one that both leave as it is."""

    def poisoned(launch, knobs):
        begin, _ = part(launch, "scoreRing")
        launch.workspace[begin : begin + 4] = np.array([knobs.poison] * 2, np.uint16).view(np.uint8)

    assert first_difference(call, as_program(poisoned)) is None


def test_rounding_is_no_difference(call):
    def rounded(launch, knobs):
        launch.outputs()[0][...] *= np.float16(1.002)

    assert first_difference(call, as_program(rounded)) is None


def test_the_last_writer_of_an_element_is_found(call):
    launch = prepare(call)
    tensor = next(each for each in launch.compiled.program.parameters if each.role == "output")
    interpret(launch)
    write = last_write(launch, tensor, 33)
    assert write.core is Core.AIV and write.item.gm_writes()[0].name == tensor.name
    assert stage_of(launch, write) is not None
    assert last_write(launch, tensor, 10**6) is None


@pytest.mark.parametrize("name", ["outRing", "out"])
def test_a_write_of_an_earlier_step_is_told_with_the_scalars_of_its_own_item(call, name):
    """One core has both heads as items; as the first leaves it is at the second already."""
    launch = prepare(call, 1)
    program = launch.compiled.program
    tensor = next(each for each in (*program.parameters, *program.workspace) if each.name == name)
    write = last_write(launch, tensor, 0, 0)
    assert write.scalars["batch"] == 0
    assert write.scalars.get("kvHead", 0) == 0
    assert not {"item", "takenItem", "task"} & write.scalars.keys()  # of the step that ran, and not kept


@pytest.mark.parametrize(
    ("message", "reports"),
    [
        ("initcheck/undefined_value at attndsl_kernel.h:143: ...", True),
        ("out: error 2.5", False),
    ],
)
def test_what_a_check_alone_finds_is_to_be_reported(message: str, reports: bool) -> None:
    """No author can mend it: numbers that agree leave the check alone."""
    found = {"source": "mine.py", "seed": 0, "case": 1, "backend": "emulator", "changes": {}, "shape": "B1"}
    told = "\n".join(SmallestMiss(**found, tries=1, message=message).lines())
    assert "numbers agree with those of its tile program" in told
    assert ("please report it" in told) is reports
    assert ("found: initcheck/undefined_value" in told) is reports
