"""Every stage of an operator's way to source, as text."""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.codegen.device_files import device_files, kernel_path
from attndsl.codegen.project import Selection, plan_project
from attndsl.hardware import Core
from attndsl.schedule.compile import Compiled
from attndsl.schedule.specialisation import kernel_inputs, settings_of
from attndsl.spec.operator import Operator
from attndsl.tile.printer import print_memory_map, print_statement


def describe_stages(operator: Operator, selection: Selection, stages: Sequence[str]) -> dict[str, str]:
    """The wanted stages by name: contract, graph, schedule, tile, memory, cores, source.

    Where the selection leaves dtype or features open, the first dtype and all features that lower.

    Raises:
        ScheduleError: a stage behind the graph is wanted and the operator has no lowering for it.
    """
    texts: dict[str, str] = {}
    compiled: Compiled | None = None
    for stage in stages:
        if stage == "contract":
            texts[stage] = operator.contract_text()
            continue
        if compiled is None:
            project = plan_project(operator, selection)
            if not project.kernels:
                texts[stage] = f"no kernel yet: {project.reason}"
                if stage == "graph":
                    texts[stage] = operator.graph(kernel_inputs(operator, frozenset())).print()
                continue
            compiled = project.kernels[-1]
        texts[stage] = _stage_text(stage, compiled)
    return texts


def _stage_text(stage: str, compiled: Compiled) -> str:
    special = compiled.specialisation
    if stage == "graph":
        present = kernel_inputs(compiled.operator, special.features)
        return compiled.operator.graph(present, settings_of(compiled.operator, special)).print()
    if stage == "schedule":
        return compiled.schedule_text
    if stage == "tile":
        return print_statement(compiled.joint.body)
    if stage == "memory":
        return print_memory_map(compiled.program)
    if stage == "cores":
        trees = compiled.program.cores
        return "\n\n".join(f"{core.value}:\n{print_statement(trees[core], 1)}" for core in Core)
    return device_files([compiled])[kernel_path(compiled)]
