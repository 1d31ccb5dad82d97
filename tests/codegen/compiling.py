"""Compiles the host sources of a written project against stand-ins of CANN's and PyTorch's interfaces."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from attndsl.codegen.names.arguments import Names, names_of
from attndsl.emulator.toolchain import INCLUDE
from attndsl.spec.contract.arguments import ParamSpec
from attndsl.spec.operator.operator import Operator
from tests.support.compile_once import compile_once

HERE = Path(__file__).parent
_FLAGS = ["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unknown-pragmas"]

LAUNCHER = """#pragma once
#include <cstdint>
template <class... A>
uint32_t aclrtlaunch_{0}(uint32_t, void *, A...);
#undef ACLRT_LAUNCH_KERNEL
#define ACLRT_LAUNCH_KERNEL(k) aclrtlaunch_##k
"""

# What the real header includes (aclnn/acl_meta.h), and the two functions that CANN's build generates.
_ACLNN = """#pragma once
#include <cstdint>
#include "acl/acl.h"
struct aclTensor;
struct aclTensorList;
struct aclIntArray;
struct aclOpExecutor;
using aclnnStatus = int32_t;
aclTensor *aclCreateTensor(const int64_t *, uint64_t, aclDataType, const int64_t *, int64_t, aclFormat,
    const int64_t *, uint64_t, void *);
aclTensorList *aclCreateTensorList(const aclTensor *const *, uint64_t);
aclIntArray *aclCreateIntArray(const int64_t *, uint64_t);
aclnnStatus aclDestroyTensor(const aclTensor *);
aclnnStatus aclDestroyTensorList(const aclTensorList *);
aclnnStatus aclDestroyIntArray(const aclIntArray *);
aclnnStatus aclnn{type}GetWorkspaceSize({parameters}, uint64_t *, aclOpExecutor **);
aclnnStatus aclnn{type}(void *, uint64_t, aclOpExecutor *, aclrtStream);
"""


def strict(*arguments: object) -> tuple[int, str]:
    """Exit code and warnings of a strict look at C++ sources."""
    return compile_once([*_FLAGS, *arguments])


def check_headers(
    operators: Mapping[str, tuple[Operator, Path]], flags: Sequence[str], work: Path
) -> dict[str, tuple[int, str]]:
    """What the compiler says of the header of host checks of each operator, whose project is in a folder.

    One run reads all of them behind each other, which takes a tenth of a run for each: the standard library
    is read once. Namespaces and include guards of one name are told apart by the file around them, headers
    stay as they are. Where the run says anything, each header is read for itself.
    """
    headers, lines = {}, []
    for number, (label, (operator, project)) in enumerate(operators.items()):
        names = names_of(operator)
        headers[label] = header = project / "op_host" / f"{names.op}_check.h"
        guards = re.findall(r"^#ifndef (\w+_CHECK_H)$", header.read_text(), re.MULTILINE)
        assert len(guards) == 1, guards
        lines += [f"#undef {guards[0]}", f"#define {names.host} {names.host}_{number}"]
        lines += [f'#include "{header}"', f"#undef {names.host}"]
    together = work / "all_checks.cpp"
    together.write_text("\n".join([*lines, ""]))
    folders = [word for _, project in operators.values() for word in ("-I", project / "op_host")]
    if compile_once(["-std=c++17", "-fsyntax-only", *flags, *folders, together]) == (0, ""):
        return dict.fromkeys(headers, (0, ""))
    alone = ["-std=c++17", "-fsyntax-only", *flags, "-x", "c++"]
    return {label: compile_once([*alone, header]) for label, header in headers.items()}


def aclnn_header(names: Names) -> str:
    """The header that CANN generates for the operator, as far as the sample needs it."""
    kinds = []
    for item in names.tensors:
        kind = "aclIntArray" if item.on_host else "aclTensorList" if item.listed else "aclTensor"
        kinds.append(f"const {kind} *")
    for item in names.params:
        assert isinstance(item.spec, ParamSpec)
        kinds.append({int: "int64_t", float: "double", bool: "bool", str: "char *"}[item.spec.type])
    kinds += ["const aclTensor *"] * len(names.outputs)
    return _ACLNN.format(type=names.type, parameters=", ".join(kinds))


def host_sources(operator: Operator, project: Path, stand_ins: Path) -> dict[str, tuple[int, str]]:
    """What the compiler says of each host source of a project, by path; ``stand_ins``: for headers."""
    names = names_of(operator)
    stand_ins.mkdir(exist_ok=True)
    (stand_ins / f"aclrtlaunch_{names.kernel}.h").write_text(LAUNCHER.format(names.kernel))
    (stand_ins / f"aclnn_{names.kernel}.h").write_text(aclnn_header(names))
    runtime = ["-isystem", INCLUDE, "-isystem", stand_ins]
    interfaces = {
        f"op_host/{names.kernel}.cpp": ["-isystem", HERE / "cann_host"],
        "direct/main.cpp": runtime,
        "aclnn/main.cpp": runtime,
        f"torch/{names.op}_npu.cpp": ["-isystem", HERE / "torch_host", *runtime],
    }
    return {name: strict(*flags, project / name) for name, flags in interfaces.items()}
