"""Statements found in kernel sources, and marked so that a run tells which it reached."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attndsl import emulator
from attndsl.base.package_files import generated_dir
from attndsl.emulator.statements import NotUnderstood, instrument

SOURCE = """#include "kernel_operator.h"
#define TWICE(x) \\
    x; x
using namespace AscendC;  // not a statement; "{"
constexpr int64_t Half(int64_t x) { return x / 2; }
struct Pair { int first = 1, second{2}; };
class Kernel {
public:
    __aicore__ inline Kernel(int64_t n) : n_{n}, twice_(2 * n) { twice_ += 0; }
    __aicore__ inline int64_t Count() const
    {
        using Number = int64_t;
        static constexpr Number kTen = 10;
        Number count = 0;
        for (Number i = 0; i < n_; ++i)
            if (i % 2 == 0)
                ++count;
            else if (i > 100) { count = -1; }
            else
                count += 0;
        do { ++count; } while (count < 0);
        while (count > kTen) --count;
        switch (count) {
        case 1: count = 1; break;
        default: { count += 0; }
        }
        const auto more = [](Number x) { return x + 1; };
        return more(count) - 1;
    }
    __aicore__ inline void Unused() { n_ = 0; }
private:
    int64_t n_ = 0;
    int64_t twice_ = 0;
};
extern "C" __global__ __aicore__ void count(GM_ADDR out)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    if ASCEND_IS_AIV {
        if (GetBlockIdx() == 0) {
            Kernel kernel(5);
            GlobalTensor<int64_t> result;
            result.SetGlobalBuffer(reinterpret_cast<__gm__ int64_t *>(out));
            result.SetValue(0, kernel.Count());
            DataCacheCleanAndInvalid<int64_t, CacheLine::SINGLE_CACHE_LINE,
                DcciDst::CACHELINE_OUT>(result);
        }
    }
}
"""


def test_a_run_tells_which_statements_it_reached() -> None:
    marked, statements = instrument(SOURCE, 7)
    assert marked.count("\n") == SOURCE.count("\n")
    out = np.zeros(1, np.int64)
    kernel = emulator.build(marked, entry="count")
    report = kernel.run(1, [emulator.Argument("out", out, output=True)])
    assert report.ok and out[0] == 4
    missed = [each for number, each in enumerate(statements, 7) if number not in report.reached]
    assert [(each.function, each.text) for each in missed] == [
        ("Count", "count = -1;"),
        ("Count", "--count;"),
        ("Count", "count = 1;"),
        ("Count", "break;"),
        ("Unused", "n_ = 0;"),
    ]
    plain = emulator.build(SOURCE, entry="count").run(1, [emulator.Argument("out", out, output=True)])
    assert plain.ok and plain.reached == ()


def test_lines_functions_and_branches_of_statements() -> None:
    _, statements = instrument(SOURCE)
    found = {each.text: each for each in statements}
    lines = SOURCE.split("\n")
    for text in ("count = -1;", "switch (count)", "if ASCEND_IS_AIV", "else if (i > 100)"[5:]):
        assert text in lines[found[text].line - 1]
    assert found["count = -1;"].within == "if (i > 100)" and found["++count;"].function == "Count"
    assert found["count += 0;"].within == "switch (count)"  # the latter of two
    assert found["twice_ += 0;"].function == "Kernel" and found["twice_ += 0;"].within == ""
    assert not any("using" in text or "constexpr" in text or "return x" in text[:9] for text in found)
    joined = (
        "DataCacheCleanAndInvalid<int64_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(result);"
    )
    assert joined in found


def test_every_function_of_a_generated_kernel_is_found() -> None:
    for path in sorted(generated_dir().glob("*/op_kernel/*_d128*.h"))[:3]:
        text = Path(path).read_text()
        functions = {each.function for each in instrument(text)[1]}
        assert {"RunCube", "RunVector", "ScoreTile", "SoftmaxTile", "Run"} <= functions


@pytest.mark.parametrize(
    ("text", "line"),
    [("void f()\n{\n    g(1;\n}\n", 3), ("void f()\n{\n    if (a) {\n}\n", 5)],
)
def test_a_bracket_that_is_not_closed_is_named_by_its_line(text: str, line: int) -> None:
    with pytest.raises(NotUnderstood, match=f"line {line}: "):
        instrument(text)
