"""The stages of an operator's way to source as text, from the disk where nothing has changed since."""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.base.package_files import sources_key
from attndsl.cli.stored_answers import stored_answer
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.spec.operator.operator import Operator


def stage_texts(
    operator: Operator, request: KernelRequest, stages: Sequence[str], *, explained: bool = False
) -> dict[str, str]:
    """The wanted stages by name; a second call with the same spec, request and sources compiles nothing.

    ``explained``: as of :func:`attndsl.cli.stages.describe_stages`.

    Raises:
        As :func:`attndsl.cli.stages.describe_stages`.
    """

    def describe() -> dict[str, str]:
        from attndsl.cli.stages import describe_stages  # late: a stored answer needs no compiler

        return describe_stages(operator, request, stages, explained=explained)

    if operator.content_key is None:
        return describe()
    told = (operator.in_commands, operator.device.model_version, request.told, str(explained), *stages)
    parts = ("show", sources_key(), operator.content_key, *told)
    found: dict[str, str] = stored_answer(parts, describe)
    return found
