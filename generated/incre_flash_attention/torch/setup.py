"""Builds the extension incre_flash_attention_npu beside this file.

../direct has to be built first, see README.md.
"""

import os
from pathlib import Path

import torch_npu
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

HERE = Path(__file__).resolve().parent
DIRECT = HERE.parent / "direct"
BUILD = DIRECT / "build"
CANN = Path(os.environ["ASCEND_HOME_PATH"])
NPU = Path(torch_npu.__file__).resolve().parent
LAUNCHERS = BUILD.rglob("aclrtlaunch_incre_flash_attention_custom.h")

setup(
    name="incre_flash_attention_npu",
    ext_modules=[
        CppExtension(
            "incre_flash_attention_npu",
            ["incre_flash_attention_npu.cpp"],
            include_dirs=[
                str(DIRECT),
                str(CANN / "include"),
                str(NPU / "include"),
                *(str(path.parent) for path in LAUNCHERS),
            ],
            library_dirs=[str(CANN / "lib64"), str(NPU / "lib"), str(BUILD / "lib"), str(BUILD)],
            runtime_library_dirs=[str(BUILD / "lib"), str(BUILD)],
            libraries=["ascendcl", "torch_npu", "incre_flash_attention_custom_kernels"],
        )
    ],
    cmdclass={"build_ext": BuildExtension.with_options(no_python_abi_suffix=True)},
)
