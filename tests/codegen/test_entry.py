"""The kernel function: what CANN's build reads off it, and which kernels the binary of a dtype column has."""

from __future__ import annotations

import re
import subprocess

import pytest

from attndsl.api import ops
from attndsl.codegen.samples.device_files import device_files
from attndsl.compiler.compile import compile_operator
from attndsl.emulator.toolchain import find_compiler
from attndsl.lowering.signature.specialization import Specialization

OP = "incre_flash_attention"
DTYPES = {"float16": ("DT_FLOAT16", 1), "bfloat16": ("DT_BF16", 27)}
SPELLED = {"float16": "half", "bfloat16": "bfloat16_t"}


@pytest.fixture(scope="module")
def files():
    features = (frozenset(), frozenset({"attn_mask"}))
    kernels = [
        Specialization(dtype=d, padded_head_size=64, features=each) for d in DTYPES for each in features
    ]
    return device_files([compile_operator(ops.incre_flash_attention, each) for each in kernels])


def test_the_structure_of_the_tiling_data_is_registered_and_read_through_cann(files):
    """Otherwise its size is unknown, and a build for static shapes, which has no address, reads nothing."""
    body = files[f"op_kernel/{OP}_custom.cpp"].partition("GM_ADDR tiling)\n{\n")[2]
    (struct,) = re.findall(r"^struct (\w+) \{", files[f"op_kernel/{OP}_tiling.h"], re.MULTILINE)
    assert body.lstrip().startswith(f"REGISTER_TILING_DEFAULT({struct});")
    assert f"GET_TILING_DATA_WITH_STRUCT({struct}, tilingData, tiling);" in body
    assert len(re.findall(r"\btiling\b", body)) == 1, "nothing else looks at the address"
    for name, text in files.items():
        assert name.endswith("_custom.cpp") or "GM_ADDR tiling" not in text, name


@pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")
@pytest.mark.parametrize("dtype", [None, *DTYPES])
def test_a_column_has_the_kernels_of_its_dtype(files, dtype, tmp_path):
    """A build that does not tell the dtype has all."""
    source = re.sub(r"#include .*", r"// \g<0>", files[f"op_kernel/{OP}_custom.cpp"])
    source = source.replace("// #include", "included")
    (tmp_path / "entry.cpp").write_text(source)
    flags = [f"-D{name}={number}" for name, number in DTYPES.values()]
    flags += [] if dtype is None else [f"-DORIG_DTYPE_QUERY={DTYPES[dtype][0]}"]
    compiler = find_compiler()
    command = [*compiler.command, "-E", "-P", *flags, str(tmp_path / "entry.cpp")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    wanted = sorted(SPELLED[name] for name in DTYPES if dtype in (None, name) for _ in range(2))
    assert len(re.findall(rf'included "{OP}_d64', text)) == len(wanted)
    assert sorted(re.findall(rf"chosen = {OP}_d64\w*;\s+chosen::\w+<(\w+)> kernel;", text)) == wanted
    assert text.count("TILING_KEY_IS") == len(wanted)
