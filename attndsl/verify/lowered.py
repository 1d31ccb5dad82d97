"""Which features the compiler lowers, asked of the compiler itself."""

from __future__ import annotations

from attndsl.graph.errors import GraphError
from attndsl.schedule.choices import resolve
from attndsl.schedule.errors import NotLowered
from attndsl.schedule.lower import lower
from attndsl.schedule.lowerable import check_lowerable
from attndsl.schedule.pattern import recognise
from attndsl.schedule.problem import candidate, describe_problem
from attndsl.spec.errors import SpecError
from attndsl.spec.operator import Operator

_memo: dict[tuple[int, str, frozenset[str]], str] = {}


def not_lowered(operator: Operator, dtype: str, present: frozenset[str]) -> str:
    """Why calls with these tensors have no kernel; empty if they have one.

    Only the missing lowering rule counts: a schedule that does not fit is an error, not a gap.
    """
    key = (id(operator), dtype, present)
    if key not in _memo:
        _memo[key] = _reason(operator, dtype, present)
    return _memo[key]


def _reason(operator: Operator, dtype: str, present: frozenset[str]) -> str:
    lengths = {spec.name for spec in operator.tensors if spec.kind == "lengths"}
    features = present - lengths
    problem = describe_problem(operator, dtype, 16, features)
    try:
        computation = recognise(operator.graph(problem.present).outputs)
        check_lowerable(candidate(operator, computation, dtype, problem.present))
        lower(computation, problem, resolve(operator.schedule_choices, operator.schedule_lines))
    except NotLowered as gap:
        return str(gap)
    except (GraphError, SpecError):
        return ""
    return ""
