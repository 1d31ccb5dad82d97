"""What a project lacks, told with the reason; and cases for kernels of prompts, with the most results."""

import json
from pathlib import Path

from attndsl.codegen.kernel_set.kernel_list import kernel_list
from attndsl.codegen.kernel_set.kernel_request import wanted_specializations
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.project.lacking import lacking
from attndsl.codegen.samples.device_cases import DeviceCase, cases_of
from attndsl.compiler.prepare_launch import compiled_for
from attndsl.spec.operator.loader import load_file

CASE = DeviceCase("float16-0-0", {}, {}, {}, {})
PROMPTS = """
from attndsl.spec import Operator, attend
op = Operator("prompts", summary="Attention of prompts, in a window where there is one.")
B, N, K, S, D = op.dims("B N K S D")
op.axes(B=B, N=N, K=K, Q=S, T=S, D=D, E=D)
query = op.input("query", "B N S D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B K S D", dtype=query, axes="B K T D")
value = op.input("value", "B K S D", dtype=query, axes="B K T E")
window = op.param("window", int, default=0, ge=0)
i, j = attend.QUERY, attend.KEY
s = attend.scores(query, attend.rows(key)) * 0.125
s = attend.when(window > 0, s.where((j <= i) & (j > i - window)), s.where(j <= i))
op.output("out", attend.softmax(s) @ attend.rows(value), like=query)
"""


def told(kernels: dict[str, tuple[DeviceCase, ...]], samples: bool = True, **features: str) -> list[str]:
    return [each.split(":")[0] for each in lacking(kernels, features, samples=samples)]


def test_a_project_that_has_all_lacks_nothing() -> None:
    assert told({"one": (CASE,), "two": (CASE,)}) == []


def test_each_thing_that_is_missing_is_told_once_with_its_reason() -> None:
    assert told({"one": (CASE,), "two": ()}, bias="mine.py:9: no rule") == [
        "A kernel for bias",
        "A case for two in `test/`",
    ]
    (why,) = lacking({"one": (CASE,)}, {"bias": "mine.py:9: no rule"}, samples=True)
    assert why == "A kernel for bias: mine.py:9: no rule."
    assert told({"one": (CASE,)}, samples=False) == ["`direct/main.cpp` and `aclnn/`"]
    assert told({"one": (), "two": ()}, samples=False) == ["`test/`, `direct/main.cpp` and `aclnn/`"]


def test_kernels_of_prompts_have_cases_and_tell_their_conditions(tmp_path: Path) -> None:
    (tmp_path / "prompts.py").write_text(PROMPTS)
    operator = load_file(tmp_path / "prompts.py")
    wanted = wanted_specializations(operator, KernelRequest(dtypes=("float16",)))
    kernels = [compiled_for(operator, each.special) for each in wanted]
    cases = [cases_of(each, number) for number, each in enumerate(kernels)]
    assert [len(each) for each in cases] == [1, 1]
    assert [each.arguments["window"] > 1 for (each,) in cases] == [False, True]
    rows = json.loads(kernel_list(kernels))["kernels"]
    assert [row["conditions"] for row in rows] == [[], ["window > 0"]]
