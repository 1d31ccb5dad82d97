"""Shapes of results where a graph's compilation does not know all sizes, or knows them as symbols."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.codegen.host.host_files import host_files
from attndsl.codegen.names.arguments import names_of
from attndsl.emulator.toolchain import find_compiler
from tests.support.compile_once import require_compiled

from .contract_calls import LEGAL
from .op_host_calls import mostly_long, op_host

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("shapes")


def shape_of(value):
    first = value[0] if isinstance(value, list | tuple) else value
    return first.shape


@pytest.mark.parametrize("name", mostly_long(LEGAL))
def test_unknown_sizes_stay_unknown_and_all_others_are_told(name, folder):
    """One argument without sizes at a time: as many dimensions, each of them the result's or unknown."""
    operator = getattr(ops, name)
    for label, call in LEGAL[name].items():
        chosen = operator._modes.chosen(operator, call)
        made = op_host(chosen, folder)
        told = made.infer(call)
        assert told is not None
        followed = {spec.like for spec in chosen.outputs}
        for spec in chosen.tensors:
            if spec.kind == "lengths" or call.get(spec.name) is None or not len(call[spec.name]):
                continue
            open_shape = [-1] * len(shape_of(call[spec.name]))
            got = made.infer(call, unknown={spec.name: open_shape})
            assert got is not None, (label, spec.name)
            for (dtype, shape), (wanted_dtype, wanted) in zip(got, told, strict=True):
                assert dtype == wanted_dtype and len(shape) == len(wanted), (label, spec.name)
                assert all(a in (b, -1) for a, b in zip(shape, wanted, strict=True)), (
                    label,
                    spec.name,
                    shape,
                )
            unknown = [-1 in shape for _, shape in got[: len(chosen.outputs)]]
            if spec.name in followed:
                assert all(unknown), (label, spec.name)
            else:  # values tell the head size of results; so does their cache where it is passed alone
                assert not unknown[0] or spec.name in ("value", "cacheV"), (label, spec.name)


@pytest.mark.parametrize("name", mostly_long(LEGAL))
def test_integers_that_are_not_there_yet_leave_shapes_as_they_are(name, folder):
    operator = getattr(ops, name)
    for label, call in LEGAL[name].items():
        made = op_host(operator._modes.chosen(operator, call), folder)
        assert made.infer(call, unread=True) == made.infer(call), label


def test_an_unknown_rank_is_no_rank(folder):
    call = next(iter(LEGAL["relay_attention"].values()))
    got = op_host(ops.relay_attention, folder).infer(call, unknown={"query": [-2]})
    assert [shape for _, shape in got] == [(-2,)]


@pytest.mark.long
def test_lists_that_are_updated_have_a_result_for_each_tensor(folder):
    """Behind the results; each as long as its cache."""
    operator = ops.self_attention
    calls = [call for call in LEGAL["self_attention"].values() if "cacheK" in call]
    call = dict(next(each for each in calls if operator._modes.chosen(operator, each) is operator))
    cache = call["cacheK"][0] if isinstance(call["cacheK"], list | tuple) else call["cacheK"]
    made = op_host(operator, folder)
    told = made.infer(call)[0]
    longer = [((0, 0), (0, 0), (0, b), (0, 0)) for b in range(cache.shape[1])]
    keys = [np.pad(cache[:1, b : b + 1], pad) for b, pad in enumerate(longer)]
    call |= {"cacheK": keys, "cacheV": [each.copy() for each in keys], "layerId": [0]}
    dtype = cache.dtype.name
    assert made.infer(call) == [told, *[(dtype, each.shape) for each in keys] * 2]


PROGRAM = """#include <cstdio>
#include <cstdlib>
{headers}
struct Symbol {{
    Symbol(int64_t number) : text(std::to_string(number)) {{}}
    template <size_t N> Symbol(const char (&name)[N]) : text(name) {{}}
    Symbol(const Symbol &a, char sign, const Symbol &b) : text("(" + a.text + sign + b.text + ")") {{}}
    std::string text;
}};
Symbol operator*(const Symbol &a, const Symbol &b) {{ return Symbol(a, '*', b); }}
Symbol operator/(const Symbol &a, const Symbol &b) {{ return Symbol(a, '/', b); }}
bool operator==(const Symbol &a, const Symbol &b) {{ return a.text == b.text; }}
template <class Results> void Print(const Results &results)
{{
    for (const auto &result : results) {{
        const std::vector<Symbol> nothing{{"?"}};
        for (const Symbol &size : result.value_or(nothing)) std::printf("%s ", size.text.c_str());
        std::printf("\\n");
    }}
}}
int main(int, char **arguments)
{{
    switch (std::atoi(arguments[1])) {{
{cases}
    }}
}}
"""
CASE = """    case {number}: {{
        {host}::Call call;
        {fill}
        Print({host}::ResultShapes<Symbol>(call, {{ {shapes} }}));
        break;
    }}"""
SYMBOLS = {
    "merged heads": (
        ops.incre_flash_attention,
        "call.num_heads = 4;",
        '{"query", {"b", 1, "h"}}',
        ["b 1 h"],
    ),
    "several results": (
        ops.nsa_compress_attention,
        "call.select_block_count = 16;",
        '{"query", {"t", "n", "d"}}, {"key", {"r", "k", "d"}}, {"value", {"r", "k", "e"}}',
        ["t n e", "t k 16", "t n 8", "t n 8"],
    ),
    "a size of another tensor": (
        ops.self_attention,
        "call.headNum = 6; call.kvHeadNum = 3;",
        '{"query", {"t", "h"}}, {"value", {"t", "v"}}',
        ["t (6*(v/3))"],
    ),
    "a size that nothing shows": (
        ops.self_attention,
        "call.headNum = 6;",
        '{"query", {"t", "h"}}',
        ["?"],
    ),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Prints the shapes of the case whose number it is given."""
    folder, cases, headers = tmp_path_factory.mktemp("symbols"), [], {}
    for number, (operator, fill, shapes, _) in enumerate(SYMBOLS.values()):
        names = names_of(operator)
        for name, text in host_files(names).items():
            (folder / name.rpartition("/")[2]).write_text(text)
        headers[f'#include "{names.op}_shapes.h"'] = None
        cases.append(CASE.format(number=number, host=names.host, fill=fill, shapes=shapes))
    source, made = folder / "main.cpp", folder / "program"
    source.write_text(PROGRAM.format(headers="\n".join(headers), cases="\n".join(cases)))
    require_compiled(["-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror", source], made)
    return made


@pytest.mark.parametrize("case", SYMBOLS)
def test_symbols_reach_the_results(case, program):
    """What a dimension of an argument shows as a whole is not taken apart."""
    command = [program, str([*SYMBOLS].index(case))]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert [line.strip() for line in said.splitlines()] == SYMBOLS[case][-1]
