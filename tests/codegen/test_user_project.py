"""A project that a user has edited, run on the emulator in place of freshly generated text."""

from __future__ import annotations

import re
import shutil
from functools import lru_cache
from pathlib import Path

import pytest

from attndsl.api import ops
from attndsl.base.package_files import generated_dir
from attndsl.campaign import NotGenerated, Verification, verify
from attndsl.codegen.kernel_set.kernel_list import KERNEL_LIST, IllegalKernelList, read_kernel_list
from attndsl.codegen.kernel_set.kernel_names import kernel_name
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.project.project import plan_projects
from attndsl.compiler.prepare_launch import prepare
from attndsl.emulator.statements import NotUnderstood
from attndsl.execute.coverage import Coverage
from attndsl.execute.user_project import NoProject, UnknownMember, UserProject
from attndsl.verify.cases.cases import Stream

OPERATOR = ops.incre_flash_attention
REQUEST = KernelRequest(dtypes=("float16",), head_sizes=(64,), features=frozenset({"attn_mask"}))
KERNEL = "op_kernel/incre_flash_attention_d64_attn_mask.h"
ENTRY = "op_kernel/incre_flash_attention_custom.cpp"
PLAN = "op_host/incre_flash_attention_plan.h"


@lru_cache(maxsize=1)
def files() -> dict[str, str]:
    (project,) = plan_projects(OPERATOR, REQUEST)
    return project.files()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project of one kernel, under a name of the user's."""
    for name, text in files().items():
        path = tmp_path / "mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "mine"


def edit(path: Path, old: str, new: str) -> int:
    """Replace a text that occurs once; returns its line."""
    text = path.read_text()
    assert text.count(old) == 1, f"{text.count(old)} times: {old}"
    path.write_text(text.replace(old, new))
    return text[: text.index(old)].count("\n") + 1


def found(folder: Path, coverage: Coverage | None = None, cases: int = 2) -> Verification:
    project = UserProject.at(folder, OPERATOR, coverage)
    return verify(
        OPERATOR,
        cases=cases,
        backends=("emulator",),
        execute=project.execute,
        kernels=project.kernels(),
        options=f"--project {folder}",
    )


def test_an_unedited_project_passes_over_cases_for_its_kernels(folder: Path) -> None:
    seen = Coverage()
    result = found(folder, seen, cases=4)
    assert result.ok and len(result.rows) == 4
    assert {(row.dtype, row.padded_head_size, "attn_mask" in row.features) for row in result.rows} == {
        ("float16", 64, True)
    }
    (kernel,) = seen.kernels()
    assert kernel.file == folder / KERNEL and kernel.launches == 4
    assert result.rows[0].reproduce.endswith(f"--case 0 --project {folder}")


def test_an_event_that_is_left_out_is_reported_at_its_place_in_the_users_file(folder: Path) -> None:
    text = (folder / KERNEL).read_text()
    head = text.index("inline void SoftmaxTile")
    wait = re.compile(r"^ *WaitFlag<HardEvent::MTE2_V>\(kScoreReady.*;\n", re.MULTILINE).search(text, head)
    assert wait is not None
    (folder / KERNEL).write_text(text[: wait.start()] + "\n" + text[wait.end() :])
    result = found(folder)
    message = result.misses[0].results[-1].message
    assert re.search(rf"(racecheck|synccheck)/\w+ at {Path(KERNEL).name}:\d+", message), message


def test_a_wrong_value_and_a_wrong_tiling_are_reported(folder: Path) -> None:
    edit(
        folder / PLAN,
        "tiling.scaleValue = problem.scale_value;",
        "tiling.scaleValue = 2 * problem.scale_value;",
    )
    result = found(folder, cases=4)  # among them one whose scores are not all alike
    assert not result.ok and "off by" in result.misses[0].results[-1].message


def test_a_header_and_a_tiling_field_of_the_users_own(folder: Path) -> None:
    """The tiling data is whatever the project says it is."""
    (folder / "op_kernel/mine.h").write_text("#define MINE(tiling) ((tiling).keptTwice / 2)\n")
    tiling = folder / "op_kernel/incre_flash_attention_tiling.h"
    edit(tiling, "    int64_t kvHeads;", "    int64_t keptTwice;\n    int64_t kvHeads;")
    edit(
        folder / PLAN,
        "tiling.group = ",
        "tiling.keptTwice = 2 * (problem.N / problem.kvN);\n    tiling.group = ",
    )
    edit(folder / KERNEL, '#include "kernel_operator.h"', '#include "kernel_operator.h"\n#include "mine.h"')
    edit(folder / KERNEL, "tiling_ = tiling;", "tiling_ = tiling;\n        tiling_.group = MINE(tiling);")
    assert found(folder).ok
    (folder / "op_kernel/mine.h").write_text("#define MINE(tiling) ((tiling).keptTwice)\n")
    assert not found(folder).ok


def test_a_kernel_that_does_not_compile_is_a_miss_with_its_line(folder: Path) -> None:
    line = edit(folder / KERNEL, "tiling_ = tiling;", "tiling_.grupp = 1;")
    message = found(folder, cases=1).misses[0].results[-1].message
    assert f"{Path(KERNEL).name}:{line}:" in message and "grupp" in message


def test_a_plan_that_picks_no_kernel_is_named(folder: Path) -> None:
    edit(folder / PLAN, "problem.attnMaskGiven != 0", "problem.attnMaskGiven == 0")
    message = found(folder, cases=1).misses[0].results[-1].message
    assert "NoKernel" in message and PLAN in message
    assert "incre_flash_attention_float16_d64_attn_mask" in message


@pytest.mark.parametrize("name", [KERNEL, PLAN, KERNEL_LIST, "op_kernel/incre_flash_attention_tiling.h"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(NoProject, match=re.escape(str(folder / name))):
        UserProject.at(folder, OPERATOR)


def test_another_folder_is_no_project(folder: Path) -> None:
    (folder / ENTRY).unlink()
    for place in (folder, folder / "op_kernel", generated_dir() / "relay_attention"):
        with pytest.raises(NoProject, match=f"no {ENTRY}"):
            UserProject.at(place, OPERATOR)


def test_a_problem_with_members_that_nobody_fills_is_refused(folder: Path) -> None:
    edit(folder / PLAN, "    int64_t D = 0;", "    int64_t sparsity = 0;\n    int64_t D = 0;")
    with pytest.raises(UnknownMember, match="sparsity"):
        UserProject.at(folder, OPERATOR)


def test_a_kernel_of_the_users_own_is_asked_for_and_taken_from_the_list(folder: Path) -> None:
    name = "op_kernel/incre_flash_attention_d64_faster.h"
    shutil.copy(folder / KERNEL, folder / name)
    edit(folder / ENTRY, '_attn_mask.h"', '_faster.h"')
    with pytest.raises(IllegalKernelList, match=f"does not list {name}"):
        UserProject.at(folder, OPERATOR)
    edit(folder / KERNEL_LIST, f'"file": "{KERNEL}"', f'"file": "{name}"')
    assert found(folder).ok


def test_a_kernel_that_no_call_is_for_is_named(folder: Path) -> None:
    edit(folder / KERNEL_LIST, '"dtype": "float16"', '"dtype": "float32"')
    with pytest.raises(NotGenerated, match="float16_d64_attn_mask"):
        found(folder)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"kernels"', '"kernel"', "KeyError: 'kernels'"),
        ('"features": ["attn_mask"]', '"features": ["sparsity"]', "has sparsity, of which"),
        ('"settings": {}', '"settings": {"sparsity": 1}', "has sparsity, of which"),
        ('"head_size": 64', '"head_size": "wide"', "is no list of kernels"),
        ('"dtype": "float16", ', "", "KeyError: 'dtype'"),
    ],
)
def test_a_list_that_says_nothing_is_refused(folder: Path, old: str, new: str, message: str) -> None:
    edit(folder / KERNEL_LIST, old, new)
    with pytest.raises(IllegalKernelList, match=message):
        UserProject.at(folder, OPERATOR)


def test_statements_that_cannot_be_told_are_no_case_s_fault(folder: Path) -> None:
    (folder / "op_kernel/broken.h").write_text("inline void F()\n{\n    G(1;\n}\n")
    UserProject.at(folder, OPERATOR)
    with pytest.raises(NotUnderstood, match=r"broken\.h: line 3"):
        UserProject.at(folder, OPERATOR, Coverage())


@pytest.mark.parametrize(
    ("mode", "kernel"),
    [
        ("relay_attention", "relay_attention_bfloat16_d128"),
        ("self_attention_pa_encoder", "self_attention_pa_encoder_float16_d128_e128_value_logN"),
        # calls pass a mask that this kernel does not read, and a plan that saw none would take another
        (
            "self_attention_pa_encoder",
            "self_attention_pa_encoder_float16_d128_e128_value_maskType_SLIDING_WINDOW_COMPRESS",
        ),
    ],
)
def test_kernels_of_shipped_projects_have_cases_and_their_own_plans(mode: str, kernel: str) -> None:
    """The problem that is filled in Python is that of the project's host: the same kernel, blocks and
    workspace as the kernel has on its own."""
    operator = ops.self_attention if mode.startswith("self") else ops.relay_attention
    project = UserProject.at(generated_dir() / mode, operator)
    wanted = next(each for each in project.kernels() if each.name == kernel)
    keys = {each.name: each.key for each in read_kernel_list(project.operator, project.folder / KERNEL_LIST)}
    for case in Stream(operator, kernels=(wanted,)).take(1):
        launch = prepare(case.call())
        plan = project.plan(launch)
        assert kernel_name(launch.compiled) == kernel and plan.key == keys[kernel]
        assert (plan.blocks, plan.workspace) == (launch.blocks, launch.workspace_bytes)
