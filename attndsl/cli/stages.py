"""Every stage of an operator's way to source, as text."""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.cli.command_frame import NO_KERNEL
from attndsl.codegen.kernel_set.kernel_request import chosen_mode, wanted_specializations
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.compiler.compile import Compiled
from attndsl.compiler.prepare_launch import compiled_for
from attndsl.compiler.tiling_proofs import print_proofs
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.signature.specialization import kernel_inputs, settings_of
from attndsl.spec.operator.operator import Operator
from attndsl.tile.printer import print_memory_map, print_program
from attndsl.verify.cases.cases import spaces
from attndsl.verify.space.solve import check_some_value


def describe_stages(
    operator: Operator, request: KernelRequest, stages: Sequence[str], *, explained: bool = False
) -> dict[str, str]:
    """The wanted stages by name: contract, graph, schedule, tile, memory, cores, source,
    tiling.

    Where the request leaves something open, the kernel of the contract's defaults. ``explained``: with the
    schedule, its bound and those of other schedules.

    Raises:
        NoValue: no size, or no value of a parameter, keeps the spec's own constraints.
        UserError: the request names what the operator does not have, or does not allow.
        ScheduleError: a stage behind the graph is wanted and the operator has no lowering for it.
    """
    texts: dict[str, str] = {}
    for space in spaces(operator):
        check_some_value(space)
    operator, request = chosen_mode(operator, request)
    if request != KernelRequest():  # what is asked for is checked, whatever is shown
        wanted_specializations(operator, request)
    for stage in stages:
        if stage == "contract":
            texts[stage] = operator.contract_text()
            continue
        special = wanted_specializations(operator, request)[0].special
        if stage == "graph":
            present = kernel_inputs(operator, special.features)
            texts[stage] = operator.graph(present, settings_of(operator, special)).print()
            continue
        try:
            compiled = compiled_for(operator, special)
            if stage == "tiling":
                texts[stage] = print_proofs(operator, special)
            elif stage == "schedule" and explained:
                from attndsl.cli.schedule_text import schedule_explained  # loads the emulator's side

                texts[stage] = schedule_explained(compiled)
            else:
                texts[stage] = _stage_text(stage, compiled)
        except NotLowered as error:
            if request.by_name:
                raise
            texts[stage] = f"{NO_KERNEL}{error}"
    return texts


def _stage_text(stage: str, compiled: Compiled) -> str:
    if stage == "schedule":
        return compiled.schedule_text
    if stage == "tile":
        return print_program(compiled.joint)
    if stage == "memory":
        return print_memory_map(compiled.program)
    if stage == "cores":
        return print_program(compiled.program)
    from attndsl.codegen.samples.device_files import device_files, kernel_path  # loads the templates

    return device_files([compiled])[kernel_path(compiled)]
