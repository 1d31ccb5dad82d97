"""The kernel function: what CANN's build reads off it, and which kernels the binary of a dtype column has."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from attndsl import emulator
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
    assert len(re.findall(rf'included "{OP}_d64', text)) == 2, "each text once"
    assert sorted(re.findall(rf"chosen = {OP}_d64\w*;\s+chosen::\w+<(\w+)> kernel;", text)) == wanted
    assert text.count("TILING_KEY_IS") == len(wanted)


STUB = """
namespace {name} {{
template <typename T>
class IncreFlashAttentionKernel {{
public:
    template <typename... Arguments>
    __aicore__ inline void Run(Arguments &&...) {{}}
}};
}}
"""


@pytest.fixture(scope="module")
def dispatching(files, tmp_path_factory):
    """The kernel function with kernels that do nothing."""
    folder, name = tmp_path_factory.mktemp("entry"), f"{OP}_custom.cpp"
    for path, text in files.items():
        if path.endswith("_tiling.h"):
            (folder / Path(path).name).write_text(text)
    names = set(re.findall(rf'#include "({OP}_d64\w*)\.h"', files[f"op_kernel/{name}"]))
    stubs = "".join(STUB.format(name=each) for each in sorted(names))
    text = re.sub(rf'#include "{OP}_d64\w*\.h"\n', "", files[f"op_kernel/{name}"])
    (folder / name).write_text(text.replace("// The only tensor", f"{stubs}\n// The only tensor"))
    return emulator.build(folder / name, entry=f"{OP}_custom")


@pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")
@pytest.mark.parametrize("known", [True, False])
def test_a_key_of_no_kernel_ends_the_launch(files, dispatching, known):
    """Else it would return without a word, and its results would be what memory held."""
    keys = re.findall(r"TILING_KEY_IS\((\d+)\)", files[f"op_kernel/{OP}_custom.cpp"])
    key = int(keys[-1]) if known else 1 + max(map(int, keys))
    parameters = re.findall(
        r"GM_ADDR (\w+)[,)]", files[f"op_kernel/{OP}_custom.cpp"].partition('extern "C"')[2]
    )
    lists = {"key", "value"}
    tensor = np.zeros(64, np.float16)
    arguments = [
        emulator.Argument(each, [tensor] if each in lists else np.zeros(4096, np.uint8))
        for each in parameters
    ]
    if known:
        dispatching.run(1, arguments, tiling_key=key)
    else:
        with pytest.raises(emulator.LaunchError, match="Trap"):
            dispatching.run(1, arguments, tiling_key=key)
