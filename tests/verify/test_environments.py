"""What an assignment means: sizes that follow from others, lengths as long as they may be, what is forced."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attndsl.expr import Expr, Load, Symbol
from attndsl.expr.argument_facts import longest_of
from attndsl.spec import Operator, errors
from attndsl.spec.contract.arguments import Dim
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.split import ONE_EACH
from attndsl.verify.cases.cases import spaces
from attndsl.verify.space import space as module
from attndsl.verify.space.derived_variables import DerivedVariable, DerivedVariables, _derived
from attndsl.verify.space.resting_variables import Reads, resting_on
from attndsl.verify.space.solve import solve
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import GROUP, RECIPROCAL_ROOT, WORKLOAD
from tests.support.case_spaces import space_of
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_spec


def derived(*variables: DerivedVariable, **exact: bool) -> DerivedVariables:
    names = {
        bound: frozenset(each.name for each in variables if each.bound is bound) for bound in (True, False)
    }
    return DerivedVariables(variables, frozenset(name for name in exact if exact[name]), names[True])


N, T, U = map(Symbol, "NTU")


def test_a_size_that_follows_is_no_larger_than_it_must_be() -> None:
    """Bounded by several it has the largest, and some more; exact where a condition says so."""
    bounds = [DerivedVariable("n", T + 0, None, True), DerivedVariable("n", U + 0, None, True)]
    exact = DerivedVariable("n", U + 1, T > 3, False)
    shown = frozenset({"n"})
    for variables, env, wanted in (
        (bounds, {"T": 7, "U": 2}, 7 + 5),
        (bounds, {"T": 2, "U": 7}, 7 + 5),
        (bounds, {"U": 4}, 4 + 5),
        (bounds, {}, 1 + 5),
        ([*bounds, exact], {"T": 4, "U": 2}, 3),
        ([*bounds, exact], {"T": 3, "U": 2}, 3 + 5),
        ([exact, *bounds], {"T": 4, "U": 2}, 3),
    ):
        found: dict[str, Any] = dict(env)
        derived(*variables).apply(found, shown, {"n": 5})
        assert found["n"] == wanted, (variables, env)


def test_sizes_that_no_tensor_shows_follow_from_nothing() -> None:
    """Parameters do."""
    variable = DerivedVariable("n", T + 1, None, False)
    for shown, exact, wanted in ((set(), False, False), ({"n"}, False, True), (set(), True, True)):
        found: dict[str, Any] = {"T": 2}
        derived(variable, n=exact).apply(found, frozenset(shown), {})
        assert ("n" in found) is wanted
    assert [each is variable.source for each in derived(variable).sources("n")] == [True]
    assert derived(variable).sources("m") == ()


FOLLOWS = """
M, E2 = op.dims("M E2")
op.require(M == B + 1, "one more")
op.axes(L=M)
starts = op.lengths("starts", "M", one_for_all=False)
flags = op.input("flags", "E2", dtype="float32", indexed=True)
op.require(E2 == 2 * D, "twice")
"""


def test_lengths_have_the_size_that_follows_from_another(tmp_path: Path) -> None:
    """Their shapes are told before what follows from their elements."""
    scores = f"{DECODE_SCORES}; s = s.where(j < starts[b] + flags[0] * 0.0)"
    (space,) = spaces(decode_spec(tmp_path, scores, DECODE_RESULT, declared=FOLLOWS))
    assert not {"M", "E2"} & space.variables.keys()
    assignment = solve(space, np.random.default_rng(0), {"B": 3, "D": 16, WORKLOAD: "any"})
    assert assignment is not None
    env = space.environment(assignment)
    assert (env["M"], env["E2"], len(env["starts"])) == (4, 32, 4)


def test_a_list_of_a_tensor_for_each_batch_row_has_one_layer() -> None:
    """Caches come as a list of these, or with all layers."""
    space = space_of("self_attention")
    for split in (True, False):
        pins = {"split(cacheK)": split, "split(cacheV)": split, "layerNum": 5, WORKLOAD: "any"}
        pins |= {"given(cacheK)": True, "given(cacheV)": True}
        assignment = {name: values[0] for name, values in space.variables.items()} | pins
        assert space.environment(assignment)["layerNum"] == (1 if split else 5)
        assignment |= {"split(cacheV)": False, "split(cacheK)": False}
        assert space.environment(assignment)["layerNum"] == 5


def test_lengths_are_as_long_as_the_assignment_says(tmp_path: Path) -> None:
    """Prefix sums are sums of these; of made ones the longest is told."""
    space: CaseSpace = space_of("nsa_compress_attention")
    name = next(spec.name for spec in space.integers if spec.prefix_sums)
    assignment = solve(space, np.random.default_rng(0), {longest_of(name).name: 3, "B": 2, WORKLOAD: "any"})
    assert assignment is not None
    env = space.environment(assignment)
    assert list(env[name]) == [3 * place for place in range(1, len(env[name]) + 1)]
    made = {each: np.asarray(env[each]) for each in (spec.name for spec in space.integers)}
    made[name] = np.array([2, 9])
    assert space.environment(assignment, made)[longest_of(name).name] == 7


# What follows from what -------------------------------------------------------------------------------------

LENGTH, BYTE = Load("lengths", Symbol("b")), Load("mask", Symbol("b"))
SIZE, DEFINED, COUNT = Symbol("n"), Symbol("defined"), Symbol("count")


def rule(condition: Any, **more: Any) -> Constraint:
    return Constraint(condition, "is so", **more)


@pytest.mark.parametrize(
    ("of", "found"),
    [
        (rule(SIZE == LENGTH), ("n", False)),
        (rule(SIZE == LENGTH, when=COUNT > 1), ("n", False)),
        (rule(LENGTH + 1 == SIZE), ("n", False)),
        (rule(SIZE == BYTE), None),
        (rule(SIZE == LENGTH, error=errors.ContractWarning), None),
        (rule(SIZE == LENGTH, target=True), None),
        (rule(SIZE == LENGTH, over={"b": Symbol("B")}), None),
        (rule(DEFINED == LENGTH), None),
        (rule(SIZE >= LENGTH), ("n", True)),
        (rule(LENGTH <= SIZE), ("n", True)),
        (rule(SIZE <= LENGTH), None),
        (rule(LENGTH >= SIZE), None),
        (rule(DEFINED >= LENGTH), None),
        (rule(Symbol("B") + 1 <= SIZE), None),
        (rule(Symbol("B") + 1 == SIZE), ("n", False)),
        (rule(SIZE == COUNT + 1), None),
        (rule(COUNT == SIZE + 1), ("count", False)),
        (rule(COUNT == SIZE + 1, when=SIZE > 1), None),
        (rule(COUNT == LENGTH), None),
        (rule(SIZE == 3), None),
        (rule(SIZE == 3, when=LENGTH > 1), None),
        (rule((SIZE == LENGTH) & (SIZE > 1)), None),
    ],
    ids=str,
)
def test_which_rules_make_a_size_follow(of: Constraint, found: tuple[str, bool] | None) -> None:
    """A comparison that is always or under conditions asked, with lengths or sizes; a parameter always."""
    kinds = {"lengths": "lengths", "mask": "tensor"}
    operator: Any = SimpleNamespace(
        tensors=[SimpleNamespace(name=name, kind=kind) for name, kind in kinds.items()],
        dims_by_name={"n": Dim("n"), "B": Dim("B"), "defined": Dim("defined", definition=SIZE + 1)},
        params=[SimpleNamespace(name="count")],
    )
    made = [(each.name, each.bound) for each in _derived(operator, of)]
    assert made == ([] if found is None else [found])


def resting(**dims: Dim) -> Any:
    """Whether ``n`` may change with little else, among sizes of which integers have that shape."""
    length: Any = SimpleNamespace(layouts={"": SimpleNamespace(shape=lambda: (SIZE,))})
    every = {"n": Dim("n"), "o": Dim("o"), **dims}
    nothing: Any = SimpleNamespace(variables=())
    reads: Reads = Expr.symbols
    return resting_on(["n", "o"], every, nothing, [length], {"T": Symbol("t")}, reads).get("n")


def test_what_elements_define_is_no_end_of_a_change() -> None:
    assert resting(d=Dim("d", definition=SIZE * 2)).sizes[0][0] == "d"
    assert resting(d=Dim("d", definition=Load("lengths", Symbol("one")))) is None


def test_a_size_of_which_others_are_made_is_no_end_of_a_change() -> None:
    """A default, or another definition, reads it."""
    twice = Dim("d", definition=SIZE * 2)
    assert resting(d=twice, t=Dim("t", default=Symbol("d") + 1)) is None
    assert resting(d=twice, e=Dim("e", definition=Symbol("d") + 1)) is None
    assert [name for name, _ in resting(d=twice, e=Dim("e", definition=SIZE + 1)).sizes] == ["d", "e"]


def test_what_others_define_does_not_move() -> None:
    found = resting(d=Dim("d", definition=SIZE * 2), u=Dim("u", definition=Symbol("o") + 1))
    assert [name for name, _ in found.sizes] == ["d"] and not found.axes


# Variables and clauses --------------------------------------------------------------------------------------


def test_integers_alone_are_filled_as_lengths_are() -> None:
    for name in ("incre_flash_attention", "nsa_compress_attention", "relay_attention", "sigmoid"):
        space = space_of(name)
        fills = {each for each in space.variables if each.startswith("fill(")}
        assert fills == {f"fill({spec.name})" for spec in space.integers}


def test_fills_on_which_it_depends_how_many_keys_a_row_has() -> None:
    """Of keys, of keys that rows share, and of groups; not of queries and blocks."""
    wanted = {
        "relay_attention": ("kvSeqLen", "kvShareMap", "kvShareLen"),
        "nsa_compress_attention": ("actual_cmp_seq_kvlen",),
        "self_attention_pa_encoder": (),
    }
    for name, of in wanted.items():
        assert space_of(name).fills_of_key_counts == tuple(f"fill({each})" for each in of)


def test_what_every_second_operator_lacks_is_no_variable(tmp_path: Path) -> None:
    """Query heads of a key head, where there are none; a tensor that forces what is selected."""
    assert space_of("nsa_compress_attention").forces and not space_of("sigmoid").forces
    op = Operator("rows")
    S, D = op.dims("S D")
    op.axes(S=S, D=D)
    query = op.input("query", "S D", dtype="float16", axes="S D")
    op.output("out", query * 2.0, like=query)
    space = CaseSpace(op)
    assert GROUP not in space.variables and "group" not in {each.name for each in space.clauses}


def test_rules_over_elements_are_no_clauses() -> None:
    for name in ("incre_flash_attention", "nsa_compress_attention", "relay_attention"):
        space = space_of(name)
        names = {each.name for each in space.clauses}
        over = {rule.text for rule in space.operator.constraints if rule.tensors() or rule.over}
        others = {rule.text for rule in space.operator.constraints if not (rule.tensors() or rule.over)}
        assert over - others and not (over - others) & names and others <= names


def test_a_scale_is_a_number_or_follows_from_the_head_size() -> None:
    space = space_of("sigmoid")
    assignment = {name: values[0] for name, values in space.variables.items()} | {"D": 64}
    for scale, wanted in ((RECIPROCAL_ROOT, 0.125), (0.5, 0.5), (1.0, 1.0)):
        assert space.environment({**assignment, "scale": scale})["scale"] == wanted


def test_an_absent_tensor_has_no_dtype_and_no_layout() -> None:
    space = space_of("incre_flash_attention")
    assignment = {name: values[0] for name, values in space.variables.items()}
    for passed in (True, False):
        env = space.environment({**assignment, "given(pse_shift)": passed})
        assert (env["dtype(pse_shift)"] is not None, env["layout(pse_shift)"] is not None) == (passed, passed)


def test_what_tensors_tell_is_kept_for_some_assignments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most changes of a search are of sizes; memory is bounded."""
    space = CaseSpace(space_of("incre_flash_attention").operator)
    told: list[int] = []
    own = CaseSpace._tell
    monkeypatch.setattr(CaseSpace, "_tell", lambda self, of: told.append(1) or own(self, of))
    monkeypatch.setattr(module, "_KNOWN_TENSORS", 2)
    assignment = {name: values[0] for name, values in space.variables.items()}
    kinds = [{**assignment, "given(pse_shift)": one, "given(attn_mask)": two} for one in (True, False)
             for two in (True, False)]  # fmt: skip
    for each in (*kinds[:2], *kinds[:2], {**kinds[1], "B": 5}):
        space.environment(each)
    assert len(told) == 2
    for each in kinds:
        space.environment(each)
        assert len(space._known_tensors) <= 2


def test_what_repairs_a_list_and_a_dtype_that_follows() -> None:
    space = CaseSpace(space_of("incre_flash_attention").operator)
    repairs = {each.name: set(each.variables) for each in space.clauses}
    assert repairs["rows of a list of key"] == {"split(key)", "layout(key)"}
    assert repairs["tensors of a list of key"] == {"split(key)", "B"}
    assert repairs["dtype of key"] == {"dtype(key)", "dtype(query)"}
    assert [name for name in repairs if name.startswith("dtype of")] == ["dtype of key"]


@pytest.mark.parametrize("split", [True, False])
def test_sizes_beside_that_of_batch_rows_are_one_in_lists(split: bool) -> None:
    """Of tensors that may be lists."""
    axes = [SimpleNamespace(role=role, extent=Symbol(role.lower())) for role in (*sorted(ONE_EACH), "Q")]
    layout = SimpleNamespace(dims=[axes])
    operator: Any = SimpleNamespace(tensors=[SimpleNamespace(name="x", split=split, layouts={"": layout})])
    wanted = {(role.lower(), "split(x)") for role in ONE_EACH} if split else set()
    assert set(CaseSpace(operator)._alone) == wanted


def test_a_change_on_which_little_rests_makes_no_environment_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    space = space_of("relay_attention")
    assignment = {name: values[0] for name, values in space.variables.items()}
    env = space.environment(assignment)
    monkeypatch.setattr(CaseSpace, "environment", None)
    assert space.changed(env, assignment, "headNum", 5)["headNum"] == 5
