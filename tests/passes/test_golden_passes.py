"""One small attention as text: its graph, lowered, and behind each pass; reviewed in ``tests/golden/passes``.

Dense decoding in fp16, keys not split: rows start, tiles of keys are scored and weighed, rows are written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from attndsl.compiler.compile import compile_operator
from attndsl.lowering.signature.specialization import Specialization
from attndsl.passes import twin_programs
from attndsl.passes.pass_manager import PASSES, Pass
from attndsl.spec.operator.operator import Operator
from attndsl.tile.printer import print_memory_map, print_program
from attndsl.tile.program import Program
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_spec

STEPS = ["lowered", *(each.name for each in PASSES)]
FILES = {name: f"{name}.txt" for name in STEPS}
GRAPH = "graph.txt"


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Operator:
    folder = tmp_path_factory.mktemp("golden")
    return decode_spec(folder, DECODE_SCORES, DECODE_RESULT, schedule="split_kv=1")


@pytest.fixture(scope="module")
def programs(operator: Operator) -> dict[str, Program]:
    """The program behind each step, by the step's name."""
    found: dict[str, Program] = {}

    def noting(each: Pass) -> Pass:
        def run(program: Program) -> Program:
            found.setdefault("lowered", program)
            found[each.name] = each.run(program)
            return found[each.name]

        return replace(each, run=run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(twin_programs, "PASSES", tuple(map(noting, PASSES)))
        compile_operator(operator, Specialization(dtype="float16", padded_head_size=16))
    return found


def as_text(name: str, program: Program) -> str:
    """The statements, or the memory map of a pass that only places buffers."""
    text = print_memory_map(program) if name == "plan_memory" else print_program(program)
    return f"{text}\n"


def test_the_graph_is_the_one_that_was_reviewed(
    operator: Operator, golden: Callable[[str, str], None]
) -> None:
    """What is matched and lowered, without the author's lines."""
    golden(f"passes/{GRAPH}", f"{operator.graph(frozenset()).key}\n")


@pytest.mark.parametrize("name", STEPS)
def test_the_program_is_the_one_that_was_reviewed(
    name: str, programs: dict[str, Program], golden: Callable[[str, str], None]
) -> None:
    golden(f"passes/{FILES[name]}", as_text(name, programs[name]))


def test_planning_memory_leaves_the_statements_alone(programs: dict[str, Program]) -> None:
    """Which is why its golden file is a memory map."""
    assert print_program(programs["plan_memory"]) == print_program(programs["split_cores"])


def test_every_file_belongs_to_a_step() -> None:
    folder = Path(__file__).parents[1] / "golden" / "passes"
    assert sorted(each.name for each in folder.iterdir()) == sorted([GRAPH, *FILES.values()])
