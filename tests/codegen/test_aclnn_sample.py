"""The aclnn sample, linked with a stand-in of the package: it compares, says what fails, gives all back."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from attndsl.api import ops
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.names.arguments import names_of
from attndsl.codegen.project.project import plan_project
from attndsl.emulator.toolchain import INCLUDE, find_compiler
from tests.support.compile_once import require_compiled

from .compiling import aclnn_header

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")
NAMES = names_of(ops.incre_flash_attention)
SMALL = KernelRequest(dtypes=("float16",), features=frozenset({"attn_mask"}), head_sizes=(16,))

# The runtime counts what is taken and not given back. The operator has the expected result, where the query
# is what the sample says.
_STAND_IN = """
#include <cstdio>
#include <cstdlib>
#include <string>
#include "aclnn_{kernel}.h"
#include "sample_case.h"
#undef aclrtMalloc
using namespace attndsl;
struct aclTensor {{ void *address; size_t bytes; }};
struct aclTensorList {{ std::vector<const aclTensor *> entries; }};
struct aclIntArray {{}};
static int live = 0, allocations = 0;
static std::vector<aclTensor *> made;
static bool Fails(const char *what) {{ return std::getenv("FAILS") == std::string(what); }}
attnemu::NameNextAllocation::NameNextAllocation(const char *) {{}}
aclError aclInit(const char *) {{ return 0; }}
aclError aclFinalize() {{ std::fprintf(stderr, "%d not given back\\n", live); return 0; }}
aclError aclrtSetDevice(int32_t) {{ return 0; }}
aclError aclrtResetDevice(int32_t) {{ return 0; }}
aclError aclrtCreateStream(aclrtStream *) {{ return 0; }}
aclError aclrtDestroyStream(aclrtStream) {{ return 0; }}
aclError aclrtSynchronizeStream(aclrtStream) {{ return Fails("stream") ? 507015 : 0; }}
const char *aclGetRecentErrMsg() {{ return "as told"; }}
aclError aclrtMalloc(void **address, size_t bytes, aclrtMemMallocPolicy, attnemu::SourceLine)
{{
    if ((Fails("memory") && ++allocations == 2) || (Fails("workspace") && bytes == 12345)) return 1;
    ++live;
    *address = std::malloc(bytes);
    return 0;
}}
aclError aclrtFree(void *address, attnemu::SourceLine) {{ --live; std::free(address); return 0; }}
aclError aclrtMemcpy(void *to, size_t, const void *from, size_t bytes, aclrtMemcpyKind kind,
    attnemu::SourceLine)
{{
    if (Fails("copy back") && kind == ACL_MEMCPY_DEVICE_TO_HOST) return 1;
    std::memcpy(to, from, bytes);
    return 0;
}}
aclTensor *aclCreateTensor(const int64_t *shape, uint64_t rank, aclDataType type, const int64_t *, int64_t,
    aclFormat, const int64_t *, uint64_t, void *address)
{{
    if (Fails("tensor") && made.size() == 1) return nullptr;
    size_t bytes = type == ACL_FLOAT16 ? 2 : 1;
    for (uint64_t i = 0; i < rank; ++i) bytes *= shape[i];
    made.push_back(new aclTensor{{address, bytes}});
    ++live;
    return made.back();
}}
aclnnStatus aclDestroyTensor(const aclTensor *tensor) {{ --live; delete tensor; return 0; }}
aclTensorList *aclCreateTensorList(const aclTensor *const *entries, uint64_t count)
{{
    if (Fails("list")) return nullptr;
    ++live;
    return new aclTensorList{{{{entries, entries + count}}}};
}}
aclnnStatus aclDestroyTensorList(const aclTensorList *list)
{{
    for (const aclTensor *each : list->entries) aclDestroyTensor(each);
    --live;
    delete list;
    return 0;
}}
aclIntArray *aclCreateIntArray(const int64_t *, uint64_t) {{ ++live; return new aclIntArray; }}
aclnnStatus aclDestroyIntArray(const aclIntArray *integers) {{ --live; delete integers; return 0; }}
{ask}
{{
    *size = 12345;
    return Fails("ask") ? 161002 : 0;
}}
aclnnStatus aclnn{type}(void *, uint64_t, aclOpExecutor *, aclrtStream)
{{
    const std::vector<uint8_t> query = Elements(sample::query);
    const aclTensor &first = *made.front(), &result = *made.back();
    if (query.size() != first.bytes || std::memcmp(query.data(), first.address, first.bytes) != 0) return 0;
    for (size_t i = 0; !Fails("nothing written") && i < sample::attention_out.size(); ++i) {{
        const double wrong = Fails("one element") && i == 7 ? 0.5 : 0;
        const uint64_t bits = Encode(DataType::kFloat16, sample::attention_out[i] + wrong);
        std::memcpy(static_cast<uint8_t *>(result.address) + 2 * i, &bits, 2);
    }}
    return Fails("launch") ? 561000 : 0;
}}
"""


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """The program."""
    folder = tmp_path_factory.mktemp("aclnn") / NAMES.op
    for name, text in plan_project(ops.incre_flash_attention, SMALL).files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    header = aclnn_header(NAMES)
    (folder / f"aclnn/aclnn_{NAMES.kernel}.h").write_text(header)
    asked = re.search(r"aclnnStatus \w+GetWorkspaceSize\(.*, uint64_t \*", header)
    assert asked is not None
    ask = f"{asked[0]}size, aclOpExecutor **)"
    stand_in = folder / "aclnn/stand_in.cpp"
    stand_in.write_text(_STAND_IN.format(kernel=NAMES.kernel, type=NAMES.type, ask=ask))
    made = folder / "program"
    includes = ["-isystem", INCLUDE, "-isystem", folder / "aclnn", "-I", folder / "direct"]
    require_compiled(["-std=c++17", "-O0", *includes, folder / "aclnn/main.cpp", stand_in], made)
    return made


def run(sample, fails):
    done = subprocess.run([sample], env={**os.environ, "FAILS": fails}, capture_output=True, text=True)
    assert done.stderr.endswith("0 not given back\n"), done.stderr
    return done.returncode, done.stdout, done.stderr.removesuffix("0 not given back\n")


def test_results_are_compared(sample):
    code, out, err = run(sample, "")
    assert (
        code == 0
        and out.endswith("\nok\n")
        and out.startswith("attention_out: largest difference ")
        and not err
    )


@pytest.mark.parametrize("fails", ["one element", "nothing written", "copy back"])
def test_wrong_results_are_noticed(sample, fails):
    code, out, err = run(sample, fails)
    assert code == 1 and out.endswith("\nWRONG\n") and not err


@pytest.mark.parametrize(
    ("fails", "words"),
    [
        ("tensor", "the tensors of the call cannot be made\n"),
        ("list", "the tensors of the call cannot be made\n"),
        ("memory", "the tensors of the call cannot be made\n"),
        ("ask", f"aclnn{NAMES.type}GetWorkspaceSize: 161002 as told\n"),
        ("workspace", "device memory for the workspace is missing\n"),
        ("launch", f"aclnn{NAMES.type}: 561000 as told\n"),
        ("stream", "the kernel failed, error 507015 as told\n"),
    ],
)
def test_what_fails_is_said_and_all_is_given_back(sample, fails, words):
    assert run(sample, fails) == (1, "", words)
