"""Fields that a plan computes alike for each attention of a kernel are calls of one function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from attndsl.codegen.host.kernel_tilings import Assigned, Tiling
from attndsl.codegen.host.problem_rows import Row
from attndsl.codegen.host.shared_fields import SharedField, shared_fields
from attndsl.codegen.host.tiling_function import merged
from attndsl.codegen.host.tiling_steps import Spelling, TilingPart, printed_part
from attndsl.expr import Const, Expr, Symbol, as_expr, ceil_div, minimum, select
from attndsl.tile.program import TilingField, tiling_field_ref

B, S1, S2, CORES = Symbol("b"), Symbol("s1"), Symbol("s2"), Symbol("cores")
NAMES = ("Key", "KeyShare")


def ref(name: str) -> Symbol:
    return tiling_field_ref(name)


def of_attention(name: str, keys: Expr, **changed: Expr | int) -> dict[str, Assigned]:
    """Tasks, three numbers that lead from them and from tiles to splits, and what splits lead to."""
    tasks, tiles, most, even = (ref(each + name) for each in ("tasks", "tiles", "most", "even"))
    values: dict[str, Expr | int] = {
        "tasks": B * keys,
        "tiles": ceil_div(keys, 64),
        "most": minimum(CORES, tiles),
        "rounds": ceil_div(tasks, CORES),
        "even": ref("rounds" + name) * most,
        "splits": select(even > tiles, most, select(even > 2, 2, 1)),
        "items": tasks * ref("splits" + name),
        **changed,
    }
    numbers = {"tiles", "most", "rounds", "even"}
    return {
        each: Assigned(each + name, as_expr(value), "work", host_only=each in numbers)
        for each, value in values.items()
    }


def kernel(*attentions: Mapping[str, Assigned], more: tuple[Assigned, ...] = ()) -> Tiling:
    return Tiling((*(item for each in attentions for item in each.values()), *more))


def found(*tilings: Tiling, names: tuple[str, ...] = NAMES) -> list[SharedField]:
    function = merged(tilings)
    assert function is not None
    return [each for part in function.parts for each in shared_fields(part, function.names, names)]


OWN, SHARE = of_attention("Key", S1), of_attention("KeyShare", S2)


def printed(made: Tiling) -> TilingPart:
    function = merged([made])
    assert function is not None
    (part,) = function.parts
    items = [item for step in part.steps for case in step.cases for item in case.items]
    names = {each: f"problem.{each}" for each in ("b", "s1", "s2", "cores")}
    names |= {ref(each.name).name: each.name if each.host_only else f"tiling.{each.name}" for each in items}
    spelling = Spelling(
        names,
        {},
        {
            each.name: TilingField(each.name, "int64", Const(0), "", host_only=True)
            for each in items
            if each.host_only
        },
        {each.name: Row("int64_t", each.name, "parts of keys") for each in items if not each.host_only},
    )
    return printed_part(part, spelling, "", list(shared_fields(part, function.names, NAMES)))


def test_a_field_of_each_attention_is_a_call_of_one_function() -> None:
    """It takes the fields and numbers of an attention that its way begins with."""
    part = printed(kernel(OWN, SHARE))
    (function,) = part.functions
    assert (function.ctype, function.name, function.takes) == ("int64_t", "SplitsOf", ("problem",))
    assert function.meaning == "Parts of keys, of one attention."
    assert function.declared("Tiling") == ("const Problem &problem", "int64_t tiles", "int64_t tasks")
    assert function.lines == (
        "const int64_t most = MinOf(problem.cores, tiles);",
        "const int64_t rounds = CeilDiv(tasks, problem.cores);",
        "const int64_t even = rounds * most;",
        "if (even > tiles) {",
        "    return most;",
        "} else if (even > 2) {",
        "    return 2;",
        "} else {",
        "    return 1;",
        "}",
    )
    assert part.lines == (
        "tiling.tasksKey = problem.b * problem.s1;",
        "const int64_t tilesKey = CeilDiv(problem.s1, 64);",
        "tiling.splitsKey = SplitsOf(problem, tilesKey, tiling.tasksKey);",
        "tiling.itemsKey = tiling.tasksKey * tiling.splitsKey;",
        "tiling.tasksKeyShare = problem.b * problem.s2;",
        "const int64_t tilesKeyShare = CeilDiv(problem.s2, 64);",
        "tiling.splitsKeyShare = SplitsOf(problem, tilesKeyShare, tiling.tasksKeyShare);",
        "tiling.itemsKeyShare = tiling.tasksKeyShare * tiling.splitsKeyShare;",
    )
    assert (part.helpers, part.takes) == (("CeilDiv",), ("problem", "tiling"))


def test_a_function_may_take_nothing_of_an_attention() -> None:
    """The value is the same for all then, and the numbers on the way to it stand once."""
    own, share = (
        of_attention(name, keys, tiles=B + 1, rounds=B * CORES)
        for name, keys in zip(NAMES, (S1, S2), strict=True)
    )
    part = printed(kernel(own, share))
    assert part.functions[0].declared("Tiling") == ("const Problem &problem",)
    assert part.lines[1] == "tiling.splitsKey = SplitsOf(problem);"


def test_a_number_that_leads_elsewhere_too_is_a_parameter() -> None:
    (field,) = found(kernel(of_attention("Key", S1, tiles=B + 1), of_attention("KeyShare", S2, tiles=B + 1)))
    assert [item.name for item in field.items] == ["tiles", "most", "rounds", "even", "splits"]
    assert field.parameters == ("tasks",)
    more = Assigned("rows", ref("tilesKeyShare") * 2, "work")
    own, share = (of_attention(name, keys, tiles=B + 1) for name, keys in zip(NAMES, (S1, S2), strict=True))
    (field,) = found(kernel(own, share, more=(more,)))
    assert [item.name for item in field.items] == ["most", "rounds", "even", "splits"]
    assert field.parameters == ("tiles", "tasks")
    assert field.arguments("splitsKeyShare") == ("tilesKeyShare", "tasksKeyShare")
    assert field.arguments("itemsKeyShare") is None


@pytest.mark.parametrize(
    "share",
    [
        of_attention("KeyShare", S2, splits=select(ref("evenKeyShare") > 3, ref("mostKeyShare"), 1)),
        of_attention("KeyShare", S2, rounds=ceil_div(ref("tasksKeyShare"), CORES) + 1),
        of_attention("KeyShare", S2, rounds=ceil_div(ref("tasksKey"), CORES)),
        {name: item for name, item in SHARE.items() if name not in ("splits", "items")},
    ],
    ids=["the field itself", "a number", "with the other's tasks", "no such field"],
)
def test_what_attentions_compute_otherwise_stays(share: Mapping[str, Assigned]) -> None:
    """With a number less that both compute alike, two are left, which are worth no function."""
    assert found(kernel(OWN, SHARE)) and not found(kernel(OWN, share))


def test_one_attention_has_no_function_nor_have_fields_that_kernels_compute_otherwise() -> None:
    assert not found(kernel(OWN), names=("Key",))
    other = of_attention("Key", S1, splits=select(ref("evenKey") > 9, ref("mostKey"), 1))
    assert not found(kernel(OWN, SHARE), kernel(other, SHARE))
    assert found(kernel(OWN, SHARE), kernel(OWN, SHARE))


def test_a_stem_that_is_a_field_itself_names_no_other() -> None:
    field = Assigned("splits", as_expr(1), "work")
    assert not found(kernel(OWN, SHARE, more=(field,)))
    assert found(kernel(OWN, SHARE, more=(replace(field, name="split"),)))
