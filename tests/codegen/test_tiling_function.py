"""One tiling function for kernels whose hosts compute most fields alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from attndsl.codegen.host.kernel_conditions import accepted_numbers
from attndsl.codegen.host.kernel_tilings import SCHEDULE, Assigned, Tiling
from attndsl.codegen.host.tiling_function import MergedFunction, Step, common_part, merged
from attndsl.codegen.host.tiling_steps import Spelling, printed_part
from attndsl.expr import Const, Expr, ExprLike, Symbol, as_expr, maximum, select
from attndsl.tile.program import tiling_field_ref

N, B = Symbol("n"), Symbol("b")
LAYOUT = Symbol("host.keyLayout")


def tiling(**values: ExprLike) -> Tiling:
    return Tiling(tuple(Assigned(name, as_expr(value)) for name, value in values.items()))


def accepting(made: Tiling, **numbers: int) -> Tiling:
    """A kernel that takes calls with one number of each argument."""
    return replace(made, accepts={name: frozenset([number]) for name, number in numbers.items()})


def stride(value: ExprLike, *layouts: int) -> Tiling:
    item = Assigned("stride", as_expr(value), "strides", layout=LAYOUT)
    return Tiling((item,), layouts={LAYOUT.name: layouts})


def steps(function: MergedFunction | None) -> list[Step]:
    assert function is not None
    return [step for part in function.parts for step in part.steps]


def computed(function: MergedFunction | None, kernel: int, problem: Mapping[str, int]) -> dict[str, int]:
    """What the function gives for a kernel; fields that it leaves out are 0, as in C++."""
    assert function is not None
    env: dict[str, int] = dict(problem)
    env |= {form.symbol.name: n for form, n in zip(function.forms, function.chosen[kernel], strict=True)}
    found = dict[str, int]()
    for step in steps(function):
        if step.switch is not None:
            taken = [case for case in step.cases if env[step.switch.name] in case.numbers]
        else:
            taken = [case for case in step.cases if case.when is None or case.when.evaluate(env)]
        for item in taken[0].items if taken else ():
            found[item.name] = env[tiling_field_ref(item.name).name] = item.value.evaluate(env)
    return found


def test_fields_that_all_compute_alike_are_assigned_once() -> None:
    function = merged([tiling(rows=N, tasks=N * B), tiling(rows=N, tasks=N * B)])
    (step,) = steps(function)
    assert [item.name for item in step.cases[0].items] == ["rows", "tasks"]


def test_a_field_that_only_some_have_is_computed_for_all() -> None:
    function = merged([tiling(rows=N), tiling(rows=N, window=B)])
    assert computed(function, 0, {"n": 3, "b": 5}) == {"rows": 3, "window": 5}


@pytest.mark.parametrize("divided", [N // B, N % B])
def test_what_could_divide_by_zero_is_computed_for_its_own_kernels_alone(divided: Expr) -> None:
    function = merged([tiling(rows=N), tiling(rows=N, part=divided)])
    assert "part" not in computed(function, 0, {"n": 7, "b": 0})
    assert computed(function, 1, {"n": 7, "b": 4})["part"] == divided.evaluate({"n": 7, "b": 4})
    safe = merged([tiling(rows=N), tiling(rows=N, least=maximum(1, B), part=N // tiling_field_ref("least"))])
    assert len(steps(safe)) == 1, "a field that is at least 1 divides safely"


def test_an_argument_that_kernels_are_picked_by_tells_them_apart() -> None:
    kernels = [accepting(tiling(rows=N), query=0, mask=1), accepting(tiling(rows=N * B), query=1, mask=1)]
    function = merged(kernels)
    (step,) = steps(function)
    assert [str(case.when) for case in step.cases] == ["query == 0", "None"]
    assert function is not None and not function.forms
    assert computed(function, 0, {"n": 3, "b": 5, "query": 0}) == {"rows": 3}
    assert computed(function, 1, {"n": 3, "b": 5, "query": 1}) == {"rows": 15}


def test_an_argument_of_which_two_kernels_take_one_number_tells_nothing() -> None:
    kernels = [accepting(tiling(rows=N), query=1), accepting(tiling(rows=N * B), query=1)]
    function = merged(kernels)
    assert function is not None and [form.name for form in function.forms] == ["rowsForm"]


def test_fields_that_differ_alike_share_a_form() -> None:
    first = tiling(rows=N, stride=B, batch=B, pitch=N)
    second = tiling(rows=N * B, stride=B * 2, batch=B, pitch=N)
    third = tiling(rows=N, stride=B, batch=B)
    function = merged([first, second, third])
    assert function is not None
    assert [(form.name, form.fields) for form in function.forms] == [("rowsForm", ["rows", "stride"])]
    assert function.chosen == ((0,), (1,), (0,))
    for kernel, own in enumerate((first, second, third)):
        problem = {"n": 3, "b": 5}
        found = computed(function, kernel, problem)
        assert {item.name: found[item.name] for item in own.fields} == {
            item.name: item.value.evaluate(problem) for item in own.fields
        }


def test_fields_that_differ_otherwise_have_forms_of_their_own() -> None:
    function = merged([tiling(a=N, b=N), tiling(a=B, b=N), tiling(a=B, b=B)])
    assert function is not None
    assert function.chosen == ((0, 0), (1, 0), (1, 1))


def test_a_field_that_some_kernels_fix_is_a_number_of_theirs() -> None:
    function = merged([tiling(splits=N), tiling(splits=1), tiling(splits=N)])
    assert function is not None
    assert [(form.name, form.is_value) for form in function.forms] == [("fixedSplits", True)]
    assert function.chosen == ((0,), (1,), (0,))
    assert [computed(function, kernel, {"n": 4})["splits"] for kernel in range(3)] == [4, 1, 4]


def test_what_is_the_same_with_the_fields_of_a_kernel_needs_no_condition() -> None:
    """Without splits nothing is stored of them, so that what comes after begins at 0."""
    rows = select(tiling_field_ref("splits") > 1, tiling_field_ref("splits") * B, 0)
    split = tiling(splits=N, rows=rows, start=tiling_field_ref("rows") * 8)
    function = merged([split, tiling(splits=1, start=0)])
    assert function is not None and [form.name for form in function.forms] == ["fixedSplits"]
    assert computed(function, 0, {"n": 4, "b": 5})["start"] == 160
    assert computed(function, 1, {"n": 4, "b": 5})["start"] == 0
    other = merged([split, tiling(splits=2, start=0)])
    assert other is not None and len(other.forms) == 2, "two splits are stored"


def test_a_constant_of_the_schedule_tells_its_kernels_apart() -> None:
    band = Symbol(f"{SCHEDULE}band")
    own = replace(
        tiling(few=maximum(1, band), tasks=N // tiling_field_ref("few")), schedule=frozenset(["band"])
    )
    function = merged([own, tiling(tasks=N)])
    (step,) = steps(function)
    assert str(step.cases[0].when) == "schedule.band > 0" and step.cases[1].when is None
    assert [item.name for item in step.cases[0].items] == ["few", "tasks"]
    assert computed(function, 0, {"n": 8, band.name: 2})["tasks"] == 4
    assert computed(function, 1, {"n": 8, band.name: 0}) == {"tasks": 8}


def test_strides_of_all_layouts_are_one_switch() -> None:
    function = merged([stride(select(LAYOUT == 0, N, B), 0, 1), stride(N * B, 2), stride(0, 3)])
    (step,) = steps(function)
    assert step.switch is not None and step.switch.same(LAYOUT)
    assert [case.numbers for case in step.cases] == [(0,), (1,), (2,)], "0 needs no case"
    for layout, value in enumerate((3, 5, 15)):
        assert computed(function, 0, {"n": 3, "b": 5, LAYOUT.name: layout}) == {"stride": value}


def test_layouts_with_the_same_strides_share_a_case() -> None:
    (step,) = steps(merged([stride(N, 0, 1), stride(B, 2)]))
    assert [case.numbers for case in step.cases] == [(0, 1), (2,)]


def test_strides_that_kernels_disagree_about_are_no_switch() -> None:
    function = merged([stride(N, 0), stride(B, 0)])
    assert function is not None and [form.name for form in function.forms] == ["strideForm"]


def test_every_field_stands_behind_those_that_it_uses() -> None:
    end = tiling_field_ref("first") + Const(8)
    function = merged([tiling(last=Const(0)), tiling(first=N, last=end)])
    assert computed(function, 1, {"n": 4})["last"] == 12
    assert computed(function, 0, {"n": 4})["last"] == 0


def test_a_field_that_an_earlier_function_needs_is_computed_there() -> None:
    rows = Assigned("rows", N)
    tasks = Assigned("tasks", tiling_field_ref("rows") * B, "work")
    function = merged([Tiling((rows, Assigned("heads", B), tasks))])
    assert function is not None
    found = {
        part.topic: [item.name for step in part.steps for item in step.cases[0].items]
        for part in function.parts
    }
    assert found == {"work": ["rows", "tasks"], "": ["heads"]}


def test_orders_that_exclude_each_other_have_no_common_function() -> None:
    one = tiling(a=N, b=tiling_field_ref("a") + Const(1))
    other = tiling(b=N, a=tiling_field_ref("b") + Const(1))
    assert merged([one, other]) is None
    assert merged([one]) is not None and merged([other]) is not None


def test_numbers_that_a_kernel_accepts_follow_from_conditions_on_one_argument() -> None:
    layout, mask = Symbol("layout(key)"), Symbol("given(mask)")
    guards = [
        ((layout == 0) | (layout == 2), True),
        (layout == 2, False),
        ((layout == 0) & (mask == 1), True),
    ]
    assert accepted_numbers(guards, {layout.name: (0, 1, 2), mask.name: (0, 1)}) == {layout.name: {0}}


def named(function: MergedFunction | None, name: str) -> frozenset[str]:
    """The names in a field's value."""
    (found,) = (
        item for step in steps(function) for case in step.cases for item in case.items if item.name == name
    )
    return found.value.symbols()


def test_a_value_that_contains_that_of_another_field_names_the_field() -> None:
    """It is computed first; a field with the whole value of another keeps its own, which may change alone."""
    made = tiling(lanes=(N // B) * 32, step=N // B, twin=N // B, rows=N)
    function = merged([made])
    assert named(function, "lanes") == {tiling_field_ref("step").name}
    assert named(function, "twin") == {"n", "b"}
    assert computed(function, 0, {"n": 7, "b": 3}) == {"lanes": 64, "step": 2, "twin": 2, "rows": 7}


def test_strides_of_two_tensors_are_not_named_after_each_other() -> None:
    def strides(*names: str) -> Tiling:
        values = zip(names, (N * B, N * B * 4), strict=True)
        return Tiling(tuple(Assigned(name, value, "strides") for name, value in values))

    own = merged([strides("keyStrideT", "keyStrideB")])
    assert named(own, "keyStrideB") == {tiling_field_ref("keyStrideT").name}
    other = merged([strides("keyStrideT", "valueStrideB")])
    assert named(other, "valueStrideB") == {"n", "b"}


SPELLING = Spelling({"n": "problem.n", "b": "problem.b"}, {}, {})


def lines(value: Expr) -> tuple[str, ...]:
    made = merged([tiling(splits=value)])
    assert made is not None
    (part,) = made.parts
    return printed_part(part, SPELLING, "").lines


def test_a_choice_of_choices_is_printed_as_alternatives() -> None:
    assert lines(select(N > 0, select(B > 1, B, 2), 1)) == (
        "if (problem.n <= 0) {",
        "    tiling.splits = 1;",
        "} else if (problem.b > 1) {",
        "    tiling.splits = problem.b;",
        "} else {",
        "    tiling.splits = 2;",
        "}",
    )
    assert lines(select(N > 0, B, 1)) == ("tiling.splits = problem.n > 0 ? problem.b : 1;",)


def test_a_number_that_is_compared_with_several_is_looked_for_among_them() -> None:
    several = select((N == 1) | (N == 2) | (N == 4), B, 0)
    assert lines(several) == ("tiling.splits = attndsl::IsOneOf(problem.n, 1, 2, 4) ? problem.b : 0;",)
    for other in ((N == 1) | (N == 2), (N == 1) | (B == 2) | (N == 4), (N == 1) | (N == 2) | (N > 4)):
        (line,) = lines(select(other, B, 0))
        assert "IsOneOf" not in line


@pytest.mark.parametrize(("value", "alone"), [(N * B, True), (N * tiling_field_ref("tasks"), False)])
def test_strides_of_kernels_that_no_order_suits_are_computed_together(value: Expr, alone: bool) -> None:
    """Unless they need a field that is computed elsewhere."""
    first = Tiling((Assigned("tasks", N, "work"), Assigned("stride", value, "strides")))
    second = Tiling((*first.fields, Assigned("pitch", B, "strides")))
    part = common_part([first, second], "strides")
    assert (part is not None) == alone
    names = (
        {item.name for step in part.steps for case in step.cases for item in case.items} if part else set()
    )
    assert names == ({"stride", "pitch"} if alone else set())
