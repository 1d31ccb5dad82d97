"""All files of an operator's project by path."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any

from attndsl.base.jobs import fork_map
from attndsl.codegen.bindings.aclnn import aclnn_lines, aclnn_order
from attndsl.codegen.bindings.torch_text import torch_text
from attndsl.codegen.host.host_files import definition_files, guard_of, host_files
from attndsl.codegen.kernel.shared_texts import SharedText
from attndsl.codegen.kernel_set.kernel_list import KERNEL_LIST, kernel_list
from attndsl.codegen.kernel_set.kernel_names import is_cut, kernel_name
from attndsl.codegen.names.arguments import DTYPE_ROWS, Names
from attndsl.codegen.project.attributes import attribute_rows, reserved_inputs
from attndsl.codegen.project.lacking import lacking
from attndsl.codegen.samples.device_cases import DeviceCase, cases_of
from attndsl.codegen.samples.device_files import files_around, kernel_file, kernel_files, with_used_runtime
from attndsl.codegen.samples.direct import SMALLEST, UNITS, direct_text
from attndsl.codegen.text.render import render, runtime
from attndsl.compiler.compile import Compiled

_DOCSTRING = 90
"""Columns of the first docstring of a Python function, without its indent and quotes."""


@dataclass(frozen=True, kw_only=True)
class ReadmeFacts:
    """What the project's README tells of the operator.

    ``command``: what generates it, ``verify``: what executes its files. ``not_lowered``: features without a
    kernel, with the reason. ``says``: what else a reader should know of all kernels.
    """

    command: str
    verify: str
    names: Names
    name: str
    document: str
    summary: str
    features: tuple[str, ...]
    not_lowered: Mapping[str, str]
    says: tuple[str, ...] = ()


def project_files(projects: Sequence[tuple[Sequence[Compiled], ReadmeFacts]]) -> tuple[dict[str, str], ...]:
    """Every file of projects with kernels, made by the same processes.

    Work that takes long comes first, so that these end at the same time.
    """
    around = [_around(kernels, page) for kernels, page in projects]
    cases = [
        [partial(cases_of, each, number) for number, each in enumerate(kernels)] for kernels, _ in projects
    ]
    texts = [
        [partial(_text_at, path, text) for path, text in kernel_files(kernels).items()]
        for kernels, _ in projects
    ]
    every: list[Callable[[], Any]] = [*chain(*around), *chain(*cases), *chain(*texts)]
    done = fork_map(lambda task: task(), every)
    files, calls, more = ([list(islice(done, len(work))) for work in kind] for kind in (around, cases, texts))
    return tuple(
        _files(kernels, page, dict(chain.from_iterable(each.items() for each in (*first, *last))), found)
        for (kernels, page), first, found, last in zip(projects, files, calls, more, strict=True)
    )


def _around(kernels: Sequence[Compiled], page: ReadmeFacts) -> list[Callable[[], dict[str, str]]]:
    """What makes the files that no kernel's text and no call is in."""
    names = page.names
    return [
        partial(files_around, kernels),  # first, as it takes longest
        partial(host_files, names),
        partial(definition_files, names, kernels),
        partial(binding_files, names, page),
    ]


def _files(
    kernels: Sequence[Compiled],
    page: ReadmeFacts,
    found: dict[str, str],
    calls: Sequence[tuple[DeviceCase, ...]],
) -> dict[str, str]:
    """All files of a project, with those that several processes have made; ``calls``: of the project's own
    tests, by kernel."""
    names, by_kernel = page.names, dict(zip(map(kernel_name, kernels), calls, strict=True))
    cases = tuple(case for of_kernel in by_kernel.values() for case in of_kernel)
    plain = [case for case in cases if case.made_by_counting]
    smallest = min(plain, key=lambda each: sum(a.size for a in each.expected.values()), default=None)
    samples = smallest is not None
    missing = tuple(lacking(by_kernel, page.not_lowered, samples=samples))
    found = with_used_runtime(found) | build_files(
        names, page, samples=samples, tests=bool(cases), missing=missing, cut=any(map(is_cut, kernels))
    )
    found |= launch_files(names, smallest)
    found[KERNEL_LIST] = kernel_list(kernels)
    return found | (test_files(names, cases) if cases else {})


def _text_at(path: str, text: SharedText) -> dict[str, str]:
    return {path: kernel_file(text)}


def build_files(
    names: Names,
    page: ReadmeFacts,
    *,
    samples: bool,
    tests: bool,
    missing: Sequence[str] = (),
    cut: bool = False,
) -> dict[str, str]:
    """README, build script and build rules of the operator package; ``missing``: what the project lacks;
    ``cut``: that names of its files end with a tiling key."""
    told = {
        "cut": cut,
        "samples": samples,
        "tests": tests,
        "missing": missing,
        "attributes": tuple(attribute_rows(names)),
        "reserved": tuple(reserved_inputs(names)),
    }
    return {
        "README.md": render("project/README.md.j2", project=page, **told),
        "CMakeLists.txt": render("project/CMakeLists.txt.j2", names=names),
        "CMakePresets.json": render(
            "project/CMakePresets.json.j2", names=names, socs=names.operator.device.architecture.socs
        ),
        ".gitignore": render("project/gitignore.j2", names=names),
        "build.sh": render("project/build.sh.j2", names=names),
        "op_host/CMakeLists.txt": render("project/op_host_CMakeLists.txt.j2", names=names),
        "op_kernel/CMakeLists.txt": render("project/op_kernel_CMakeLists.txt.j2", names=names),
    }


def binding_files(names: Names, page: ReadmeFacts) -> dict[str, str]:
    """The custom operator of PyTorch and the Python function in front of it."""
    text = torch_text(names)
    wrapper = render(
        "torch/wrapper.py.j2",
        names=names,
        torch=text,
        document=_python_text(page.document),
        summary=textwrap.wrap(_python_text(page.summary or page.name), _DOCSTRING),
        spec=_python_text(names.operator.spec),
        name_literal=repr(names.operator.name),
    )
    return {
        f"torch/{names.op}_npu.cpp": render(
            "torch/extension.cpp.j2",
            names=names,
            torch=text,
        ),
        f"torch/{names.op}.py": wrapper,
        "torch/setup.py": render("torch/setup.py.j2", names=names),
    }


def launch_files(names: Names, case: DeviceCase | None) -> dict[str, str]:
    """Direct launches, and the samples that make the call of ``case``."""
    values = {
        "direct": direct_text(names, case),
        "names": names,
        "guard": guard_of(names),
        "device": names.operator.device,
    }
    found = {
        f"direct/{names.op}_run.h": render("direct/run.h.j2", **values),
        f"direct/{names.kernel}_direct.cpp": render("direct/kernel.cpp.j2", **values),
        "direct/CMakeLists.txt": render("direct/CMakeLists.txt.j2", names=names, sample=case is not None),
    }
    if case is None:
        return found
    lines, order = aclnn_lines(names, case), aclnn_order(names)
    return found | {
        "direct/main.cpp": render("direct/main.cpp.j2", **values),
        "direct/sample_tensors.h": runtime("direct/sample_tensors.h"),
        "direct/sample_case.h": render("direct/sample_case.h.j2", **values),
        "aclnn/main.cpp": render("aclnn/call.cpp.j2", **values, dtypes=DTYPE_ROWS, aclnn=lines, order=order),
        "aclnn/CMakeLists.txt": render("aclnn/CMakeLists.txt.j2", names=names),
    }


def test_files(names: Names, cases: Sequence[DeviceCase]) -> dict[str, str]:
    """The test on a device with its cases."""
    text = torch_text(names)
    return {
        "test/cases.json": _cases_json(names, cases),
        "test/test_on_device.py": render(
            "device_test/test_on_device.py.j2", names=names, torch=text, units=UNITS, smallest=SMALLEST
        ),
    }


def _cases_json(names: Names, cases: Sequence[DeviceCase]) -> str:
    rows = []
    for case in cases:
        row = case.to_json()
        row["arguments"] = {names.argument(name).name: value for name, value in row["arguments"].items()}
        rows.append(json.dumps(row, sort_keys=False))
    head = json.dumps(names.operator.name)
    return '{"operator": ' + head + ', "cases": [\n' + ",\n".join(rows) + "\n]}\n"


def _python_text(text: str) -> str:
    """Text that can stand inside any Python string literal of one line."""
    return text.replace("\\", "/").replace('"', "'")
