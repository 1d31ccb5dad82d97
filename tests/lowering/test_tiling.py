"""The tiling: the same numbers in Python and in the generated C++; work is shared out exactly once."""

from __future__ import annotations

import ctypes
import math
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl.codegen.host.problem_rows import outside_names
from attndsl.compiler.prepare_launch import Launch, prepare
from attndsl.execute.execute import plan_of, written
from attndsl.spec.operator.loader import load
from attndsl.target import Core
from attndsl.tile.statements import For, Let, Seq, Stage, Statement
from tests.support.authored import call_of
from tests.support.small_specs import DECODE_SCORES, decode_call, decode_spec
from tests.support.specials import compiled

FEATURES = ("attn_mask", "pse_shift")
PADDED, TILE, RING = 128, 512, 3
# Strides of these tensors are the same whatever the layout: the choice among them is arbitrary.
ONE_LAYOUT = {"host.queryLayout": 0, "host.attentionOutLayout": 0, "host.attnMaskLayout": 0}


@st.composite
def hosts(draw):
    """What the host knows of a legal call; sizes up to the limits of the target."""
    kv_heads, group = draw(st.integers(1, 256)), draw(st.integers(1, 64))
    return {
        "B": draw(st.sampled_from([1, 2, 3, 24, 1000, 65536]) | st.integers(1, 65536)),
        "kvN": kv_heads,
        "N": kv_heads * group,
        "S": draw(st.sampled_from([0, 1, 511, 512, 513, 262144]) | st.integers(1, 262144)),
        "D": draw(st.integers(113, 128)),
        "host.cores": draw(st.integers(1, 24)),
        "host.startTogether": draw(st.integers(0, 1)),
        "host.actualSeqLengthsCount": draw(st.sampled_from([0, 1, 7])),
        "scale_value": draw(st.sampled_from([0.0, 1.0, -0.125, 0.08838834764831845])),
        "host.keyLayout": draw(st.integers(0, 1)),
        "host.valueLayout": draw(st.integers(0, 1)),
        "host.pseShiftLayout": draw(st.integers(0, 1)),
        **ONE_LAYOUT,
    }


def program():
    return compiled(PADDED, "float16", *FEATURES).program


@lru_cache(maxsize=1)
def folder():
    return written(compiled(PADDED, "float16", *FEATURES))


def in_cxx(host):
    """Every field of the struct that the generated ComputeTiling fills."""
    made = compiled(PADDED, "float16", *FEATURES)
    launch = Launch(compiled=made, call=None, host=host, tiling={}, arguments={})
    ctypes_of = {"int64": ctypes.c_int64, "float32": ctypes.c_float}
    fields = [("key", ctypes.c_uint64)]
    fields += [(field.name, ctypes_of[field.ctype]) for field in made.program.fields]
    struct = type("Tiling", (ctypes.Structure,), {"_fields_": fields})
    values = struct.from_buffer_copy(plan_of(launch, folder()).tiling.tobytes())
    return {name: getattr(values, name) for name, _ in fields[1:]}


@settings(max_examples=200)
@given(hosts())
def test_python_and_cxx_compute_the_same_tiling(host):
    expected = program().tiling_values(host)
    got = in_cxx(host)
    assert set(got) == set(expected)
    for field in program().fields:
        wanted = expected[field.name]
        assert got[field.name] == (float(np.float32(wanted)) if field.ctype == "float32" else wanted), (
            field.name
        )


def test_other_tiling_data_are_told_by_field():
    """Of a plan, equal data are not told, one other number is, and data of another size are."""
    launch = prepare(call_of(load("incre_flash_attention"), group=4, keys=600, head_dim=64))
    plan = plan_of(launch, written(launch.compiled))
    assert plan.differing(launch) == ()
    name = next(name for name, ctype in plan.fields if ctype == "int64_t" and name in launch.tiling)
    wrong = replace(launch, tiling={**launch.tiling, name: launch.tiling[name] + 1})
    (said,) = plan.differing(wrong)
    assert said.startswith(f"tiling field {name} is {launch.tiling[name]}, and ")
    assert "bytes" in replace(plan, tiling=plan.tiling[:-8]).differing(launch)[0]


def test_the_host_supplies_exactly_what_the_fields_need():
    layouts = {"host.keyLayout", "host.valueLayout", "host.pseShiftLayout"}
    layouts |= {name for name in outside_names(program().tiling) if name in ONE_LAYOUT}
    sizes = {"B", "kvN", "N", "S", "D", "host.cores", "host.startTogether", "host.actualSeqLengthsCount"}
    assert set(outside_names(program().tiling)) == {*sizes, *layouts, "scale_value"}


@settings(max_examples=200)
@given(hosts())
def test_splits_and_blocks(host):
    """As many splits as idle cores allow, or two or three that save a busy core a tenth.

    None is finer than a tile, and there are never more blocks than items or cores. Blocks that may not wait
    for each other share no keys.
    """
    t = program().tiling_values(host)
    pairs, tiles = host["B"] * host["kvN"], math.ceil(host["S"] / TILE)
    assert t["items"] == pairs * t["splits"]
    assert 1 <= t["splits"] <= max(1, tiles)
    busiest, plain = (math.ceil(pairs * parts / host["host.cores"]) for parts in (t["splits"], 1))
    even = t["splits"] <= 3 and 10 * busiest <= 9 * plain * t["splits"]
    assert t["splits"] == 1 or t["items"] <= host["host.cores"] or even
    assert t["blocks"] == min(t["items"], host["host.cores"])
    if not host["host.startTogether"]:
        assert t["splits"] == 1
    elif pairs <= host["host.cores"] and tiles >= host["host.cores"]:
        assert (t["splits"] + 1) * pairs > host["host.cores"], "another split would still have had a core"


def c_strides(shape):
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


@settings(max_examples=100)
@given(hosts())
def test_strides_are_those_of_the_layouts(host):
    """Written out from the shapes of the contract: BSH merges heads and head size, BNSD does not."""
    t = program().tiling_values(host)
    b, n, k, s, d = (host[name] for name in ("B", "N", "kvN", "S", "D"))
    for name in ("key", "value"):
        if host[f"host.{name}Layout"] == 0:  # (B, S, kvN, D) with the last two merged
            batch, row, head, _ = c_strides((b, s, k, d))
        else:  # (B, kvN, S, D)
            batch, head, row, _ = c_strides((b, k, s, d))
        assert (t[f"{name}StrideB"], t[f"{name}StrideK"], t[f"{name}StrideT"]) == (batch, head, row)
    for name in ("query", "attentionOut"):  # (B, 1, N * D) and (B, N, 1, D) agree
        assert (t[f"{name}StrideB"], t[f"{name}StrideN"]) == (n * d, d)
    assert t["pseShiftStrideB"] == (0 if host["host.pseShiftLayout"] == 0 else n * s)
    assert (t["pseShiftStrideN"], t["attnMaskStrideB"]) == (s, s)


@settings(max_examples=100)
@given(hosts())
def test_the_workspace_holds_every_ring_and_partial_apart(host):
    t = program().tiling_values(host)
    group, blocks = host["N"] // host["kvN"], t["blocks"]
    # Partials exist only of split rows; a statistic has a block of 8 lanes.
    rows = t["splits"] * host["B"] * host["N"] if t["splits"] > 1 else 0
    needed = {"scoreRing": RING * group * TILE * 4, "probRing": RING * group * TILE * 2}
    needed |= {"outRing": RING * group * PADDED * 4, "partialMax": rows * 32, "partialSum": rows * 32}
    needed |= {"partialOut": rows * PADDED * 4}
    ranges = []
    for name, size in needed.items():
        start = t[f"{name}Offset"]
        if name.endswith("Ring"):
            part = t[f"{name}Part"]
            assert part >= size
            ranges += [(start + block * part, start + block * part + size) for block in range(blocks)]
        else:
            ranges.append((start, start + size))
    ranges = sorted(pair for pair in ranges if pair[0] < pair[1])
    assert ranges[0][0] >= 0 and ranges[-1][1] <= t["workspaceBytes"]
    assert all(end <= start for (_, end), (start, _) in pairwise(ranges))
    assert all(start % 512 == 0 for start, _ in ranges)


# Who does what: the Lets and loops of the compiled trees, evaluated


def walk_items(core, env, wanted):
    """Values of some scalars for every item of every block of a core kind."""
    tree = program().cores[core]
    loop = next(item for item in tree.walk() if isinstance(item, For) and item.over_items)
    ends = [item for item in tree.walk() if isinstance(item, Let) and item.symbol.same(loop.end)]
    for block in range(env["blocks"]):
        scalars = {**env, "blockIndex": block, "blockCount": env["blocks"]}
        scalars |= {each.symbol.name: int(each.value.evaluate(scalars)) for each in ends}
        bounds = (int(e.evaluate(scalars)) for e in (loop.begin, loop.end, loop.step))
        for turn in (turn for turn in range(*bounds) if turn < env["items"]):
            yield tuple(_lets(loop.body, {**scalars, loop.var.name: turn})[name] for name in wanted)


def _lets(statement, env):
    """Scalars defined in the sequences on the way down to the item's stages."""
    env = dict(env)
    for child in statement.children():
        if isinstance(child, Let):
            env[child.symbol.name] = child.value.evaluate(env)
        elif isinstance(child, Seq):
            env = _lets(child, env)
    return env


@st.composite
def shares(draw):
    batch, kv_heads = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    capacity = draw(st.integers(0, 9000))
    lengths = draw(st.lists(st.integers(0, capacity), min_size=batch, max_size=batch))
    host = {
        "B": batch, "kvN": kv_heads, "N": kv_heads * draw(st.integers(1, 64)), "S": capacity, "D": 128,
        "host.cores": draw(st.integers(1, 24)), "host.startTogether": draw(st.integers(0, 1)),
        "host.actualSeqLengthsCount": batch, "scale_value": 1.0,
        "host.keyLayout": 0, "host.valueLayout": 0, "host.pseShiftLayout": 0, **ONE_LAYOUT,
    }  # fmt: skip
    return host, lengths


@settings(max_examples=80)
@given(shares())
def test_every_item_is_done_once_and_its_splits_cover_the_keys(problem):
    host, lengths = problem
    env = {**program().tiling_values(host), "actual_seq_lengths": np.array(lengths)}
    for core in (Core.AIC, Core.AIV):
        names = ["keyEnd", "firstTile", "tiles"]
        if core is Core.AIC:
            names = ["batch", "kvHead", *names]
        found = sorted(walk_items(core, {**env, "subBlock": 0}, names))
        assert len(found) == env["items"]
        if core is Core.AIV:
            continue
        for batch in range(host["B"]):
            for head in range(host["kvN"]):
                parts = [row[2:] for row in found if row[:2] == (batch, head)]
                assert len(parts) == env["splits"]
                assert {length for length, _, _ in parts} == {lengths[batch]}
                tiles = sorted(tile for _, start, count in parts for tile in range(start, start + count))
                assert tiles == list(range(math.ceil(lengths[batch] / TILE)))


@settings(max_examples=60)
@given(group=st.integers(1, 64))
def test_the_two_vector_cores_share_the_rows(group):
    env = {**one_task(group), "splits": 1, "items": 1, "blocks": 1}
    taken = []
    for sub in (0, 1):
        ((begin, rows),) = walk_items(Core.AIV, {**env, "subBlock": sub}, ("rowBegin", "rows"))
        taken += range(begin, begin + rows)
        assert 0 <= rows <= 32
    assert sorted(taken) == list(range(group))


def one_task(group):
    sizes = {"B": 1, "kvN": 1, "N": group, "S": 9, "D": 128, "host.cores": 1, "host.startTogether": 1}
    rest = {
        "host.actualSeqLengthsCount": 0,
        "scale_value": 1.0,
        "host.keyLayout": 0,
        "host.valueLayout": 0,
        "host.pseShiftLayout": 0,
    }
    return program().tiling_values({**sizes, **rest, **ONE_LAYOUT})


def _stage(name) -> Statement:
    tree = program().cores[Core.AIV]
    return next(item for item in tree.walk() if isinstance(item, Stage) and item.name == name)


@settings(max_examples=60)
@given(heads=st.integers(1, 200), tokens=st.integers(1, 5), blocks=st.integers(1, 12))
def test_all_vector_cores_merge_every_row_once(heads, tokens, blocks):
    stage = _stage("MergePartials")
    loop = next(item for item in stage.walk() if isinstance(item, For) and item.var.name == "unit")
    env = _lets(stage, {"rowTotal": tokens * heads, "queryHeads": heads, "blockCount": blocks})
    rows = []
    for core in range(2 * blocks):
        scalars = {**env, "blockIndex": core // 2, "subBlock": core % 2}
        bounds = (int(e.evaluate(scalars)) for e in (loop.begin, loop.end, loop.step))
        for unit in range(*bounds):
            one = _lets(loop.body, {**scalars, "unit": unit})
            assert one["firstRow"] == one["token"] * heads + one["firstHead"]
            rows += [(one["token"], one["firstHead"] + row) for row in range(one["stepRows"])]
    assert sorted(rows) == [(token, head) for token in range(tokens) for head in range(heads)]


def test_a_number_of_the_host_is_that_of_its_floats(tmp_path):
    """1 - x of a float x: of 0.8 it is not the float next to 0.2."""
    out = 'op.output("out", attend.softmax(s) @ attend.rows(value) * (1 - x), like=query)'
    op = decode_spec(tmp_path, DECODE_SCORES, out, declared='x = op.param("x", float, default=0.8)')
    launch = prepare(op.bind(**decode_call(t=20)))
    plan = plan_of(launch, written(launch.compiled))
    assert plan.differing(launch) == ()
    assert launch.tiling["resultMultiply"] == np.float32(1) - np.float32(0.8) != np.float32(0.2)
