#!/bin/bash
# Builds RelayAttentionCustom into build_out/custom_opp_*.run.
# Needs CANN 8.1 or later and CMake 3.19 or later.
set -euo pipefail
cd "$(dirname "$(realpath "$0")")"

if [ -z "${ASCEND_HOME_PATH:-}" ]; then
    echo "ASCEND_HOME_PATH is not set: source set_env.sh of your CANN installation first" >&2
    exit 1
fi
# The build rules are CANN's own. Before CANN 9 they are files that every project has, and compile
# host code as C++11.
rules="$ASCEND_HOME_PATH/tools/op_project_templates/ascendc/customize"
mark=.copied_by_build_sh
for folder in cmake scripts; do
    if [ -e "$folder" ] && [ ! -e "$folder/$mark" ]; then
        echo "$PWD/$folder is where CANN's build rules go: move what is yours elsewhere" >&2
        exit 1
    fi
    rm -rf "$folder"
done
if [ -f "$rules/cmake/func.cmake" ]; then
    cp -r "$rules/cmake" "$rules/scripts" .
    touch "cmake/$mark" "scripts/$mark"
    sed -i 's/-std=c++11/-std=c++17/g' cmake/*.cmake
elif [ ! -d "$ASCEND_HOME_PATH/compiler/tikcpp/ascendc_kernel_cmake" ]; then
    echo "$ASCEND_HOME_PATH has no build rules: is the CANN toolkit installed completely?" >&2
    exit 1
fi

rm -rf build_out
cmake -S . --preset default
cmake --build build_out --target binary -j"$(nproc)"
cmake --build build_out --target package -j"$(nproc)"
ls build_out/custom_opp_*.run
