"""build.sh from end to end, with stand-ins of both generations of CANN's rules; host code is compiled."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from attndsl.api import ops
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.project.project import plan_project

SMALL = KernelRequest(dtypes=("float16",), features=frozenset(), head_sizes=(16,))
KERNEL = "relay_attention_custom"
pytestmark = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("bash", "cmake", "make", "cc", "c++", "ar")),
    reason="no CMake or no C++ compiler",
)

# What CANN's generator writes from a definition, which it finds in a library.
_OPBUILD = """
function(generated library folder)
    if(NOT EXISTS ${library})
        message(FATAL_ERROR "no library with the definition")
    endif()
    file(WRITE ${folder}/op_proto.cc "int proto;")
    file(WRITE ${folder}/op_proto.h "")
    file(WRITE ${folder}/aclnn_any.cpp "int aclnn;")
    file(WRITE ${folder}/aclnn_any.h "")
endfunction()
function(definition standard sources folder)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -fPIC -fsyntax-only ${standard} ${sources}
        -D_GLIBCXX_USE_CXX11_ABI=0 -I ${ASCEND_CANN_PACKAGE_PATH}/include COMMAND_ERROR_IS_FATAL ANY)
    file(TOUCH ${folder}/all.so)  # nobody loads it
    generated(${folder}/all.so ${folder})
endfunction()
"""

# What is built here is not run.
_FAST = """
set(CMAKE_CXX_FLAGS_RELEASE "-O0")
"""

# The files that every project has before CANN 9. Host code is C++11: the interface's option comes last.
_CMAKE = {
    "cmake/config.cmake": _FAST
    + """
set(ASCEND_AUTOGEN_PATH ${CMAKE_BINARY_DIR}/autogen)
file(MAKE_DIRECTORY ${ASCEND_AUTOGEN_PATH})
""",
    "cmake/func.cmake": _OPBUILD
    + """
function(opbuild)
    cmake_parse_arguments(GIVEN "" "OUT_DIR" "OPS_SRC" ${ARGN})
    definition(-std=c++11 "${GIVEN_OPS_SRC}" ${GIVEN_OUT_DIR})
endfunction()
function(get_system_info OUT)
    set(${OUT} somewhere PARENT_SCOPE)
endfunction()
function(add_ops_compile_options OP_TYPE)
    cmake_parse_arguments(GIVEN "" "" "COMPUTE_UNIT;OPTIONS" ${ARGN})
    file(WRITE ${ASCEND_AUTOGEN_PATH}/options.ini "${OP_TYPE},${GIVEN_OPTIONS}")
endfunction()
function(add_kernels_compile)
    add_custom_target(binary DEPENDS cust_optiling)
endfunction()
""",
    "cmake/intf.cmake": """
add_library(intf_pub INTERFACE)
target_compile_options(intf_pub INTERFACE -fPIC $<$<COMPILE_LANGUAGE:CXX>:-std=c++11>)
target_compile_definitions(intf_pub INTERFACE _GLIBCXX_USE_CXX11_ABI=0)
target_include_directories(intf_pub INTERFACE ${ASCEND_CANN_PACKAGE_PATH}/include)
target_link_directories(intf_pub INTERFACE ${ASCEND_CANN_PACKAGE_PATH}/lib64)
""",
    "cmake/makeself.cmake": """
file(GLOB_RECURSE FOUND RELATIVE ${CPACK_TEMPORARY_DIRECTORY} ${CPACK_TEMPORARY_DIRECTORY}/*)
file(WRITE ${CPACK_EXTERNAL_BUILT_PACKAGES} "${FOUND}")
""",
    "cmake/util/gen_version_info.sh": "touch $2/version.info\n",
    "scripts/install.sh": "vendor_name=customize\n",
    "scripts/upgrade.sh": "vendor_name=customize\n",
}

# From CANN 9 on: a package of CMake's. Options of the caller come behind the rules' own.
_PACKAGE = (
    _OPBUILD
    + _FAST
    + """
set(ASCEND_AUTOGEN_PATH ${CMAKE_BINARY_DIR}/autogen)
file(MAKE_DIRECTORY ${ASCEND_AUTOGEN_PATH})
function(npu_op_package name)
    cmake_parse_arguments(GIVEN "" "TYPE" "CONFIG" ${ARGN})
    add_custom_target(binary)
    add_custom_target(package COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/custom_opp_somewhere.run)
endfunction()
function(npu_op_code_gen)
    cmake_parse_arguments(GIVEN "" "OUT_DIR;PACKAGE" "SRC;COMPILE_OPTIONS" ${ARGN})
    definition("-std=c++11;${GIVEN_COMPILE_OPTIONS}" "${GIVEN_SRC}" ${GIVEN_OUT_DIR})
endfunction()
function(npu_op_library name type)
    add_library(${name} OBJECT ${ARGN})
    target_include_directories(${name} PRIVATE ${ASCEND_CANN_PACKAGE_PATH}/include)
    target_compile_features(${name} PRIVATE cxx_std_11)
    add_dependencies(binary ${name})
endfunction()
function(npu_op_kernel_options name OP_TYPE)
    cmake_parse_arguments(GIVEN "" "" "COMPUTE_UNIT;OPTIONS" ${ARGN})
    file(WRITE ${ASCEND_AUTOGEN_PATH}/options.ini "${OP_TYPE},${GIVEN_OPTIONS}")
endfunction()
function(npu_op_kernel_sources name)
    cmake_parse_arguments(GIVEN "" "OP_TYPE;KERNEL_FILE" "" ${ARGN})
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${GIVEN_KERNEL_FILE})
        message(FATAL_ERROR "no kernel file")
    endif()
endfunction()
function(npu_op_kernel_library name)
    cmake_parse_arguments(GIVEN "" "SRC_BASE;TILING_LIBRARY" "" ${ARGN})
    add_custom_target(${name} DEPENDS ${GIVEN_TILING_LIBRARY})
endfunction()
function(npu_op_package_add name)
    cmake_parse_arguments(GIVEN "" "" "LIBRARY" ${ARGN})
    foreach(library ${GIVEN_LIBRARY})
        if(NOT TARGET ${library})
            message(FATAL_ERROR "no ${library}")
        endif()
    endforeach()
endfunction()
"""
)
OWN_SYNCHRONIZATION = "ALL,--cce-auto-sync=off"
"""What the kernels are compiled with: flags and barriers are theirs alone."""
_LIBRARIES = ("exe_graph", "register", "tiling_api", "rt2_registry", "nnopbase", "ascendcl")


def toolkit(home: Path, files: dict[str, str]) -> Path:
    """A folder in the place of an installed CANN."""
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    shutil.copytree(Path(__file__).parent / "cann_host", home / "include")
    (home / "lib64").mkdir()
    for name in _LIBRARIES:
        subprocess.run(["ar", "rcs", home / "lib64" / f"lib{name}.a"], check=True)
    return home


def before_9(home: Path) -> Path:
    rules = "tools/op_project_templates/ascendc/customize"
    return toolkit(home, {f"{rules}/{name}": text for name, text in _CMAKE.items()})


def from_9(home: Path) -> Path:
    return toolkit(home, {"compiler/tikcpp/ascendc_kernel_cmake/asc-config.cmake": _PACKAGE})


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package") / "relay_attention"
    for name, text in plan_project(ops.relay_attention, SMALL).files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def build(project, home):
    env = {**os.environ, "ASCEND_HOME_PATH": str(home)}
    done = subprocess.run(["bash", "build.sh"], cwd=project, env=env, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.long
def test_the_package_is_built_by_rules_that_are_files(project, tmp_path):
    """Host code is C++17, whatever the rules say; all libraries are where an installed package has them."""
    code, said = build(project, before_9(tmp_path / "cann"))
    assert code == 0, said[-3000:]
    (package,) = (project / "build_out").glob("custom_opp_*.run")
    found = package.read_text()
    for part in ("op_api/lib/libcust_opapi.so", "op_api/include/aclnn_any.h", "op_proto/inc/op_proto.h"):
        assert f"packages/vendors/customize/{part}" in found
    assert "libcust_opmaster_rt2.0.so" in found and "libcust_opsproto_rt2.0.so" in found
    assert (project / "build_out/autogen/options.ini").read_text() == OWN_SYNCHRONIZATION


@pytest.mark.long
def test_the_package_is_built_by_rules_that_are_a_package(project, tmp_path):
    code, said = build(project, from_9(tmp_path / "cann"))
    assert code == 0, said[-3000:]
    assert not (project / "cmake").exists(), "rules of another CANN are gone"
    assert (project / "build_out/autogen/options.ini").read_text() == OWN_SYNCHRONIZATION


@pytest.mark.parametrize("folder", ["cmake", "scripts"])
def test_folders_of_the_user_stay(project, tmp_path, folder):
    mine = tmp_path / "project" / folder / "mine.txt"
    shutil.copytree(
        project, tmp_path / "project", ignore=shutil.ignore_patterns("cmake", "scripts", "build_out")
    )
    mine.parent.mkdir()
    mine.write_text("mine")
    code, said = build(tmp_path / "project", before_9(tmp_path / "cann"))
    assert code == 1 and f"/{folder} is where CANN's build rules go" in said
    assert mine.read_text() == "mine"


def test_a_cann_without_rules_is_told(project, tmp_path):
    code, said = build(project, toolkit(tmp_path / "cann", {}))
    assert code == 1 and f"{tmp_path}/cann has no build rules: is the CANN toolkit installed" in said
