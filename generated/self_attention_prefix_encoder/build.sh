#!/bin/bash
# Builds SelfAttentionPrefixEncoderCustom into build_out/custom_opp_*.run. Needs CANN 8.1 or later and CMake 3.19 or later.
set -euo pipefail
cd "$(dirname "$(realpath "$0")")"

if [ -z "${ASCEND_HOME_PATH:-}" ]; then
    echo "ASCEND_HOME_PATH is not set: source set_env.sh of your CANN installation first" >&2
    exit 1
fi
# The package's build rules belong to CANN and come from there.
templates="$ASCEND_HOME_PATH/tools/op_project_templates/ascendc/customize"
for part in cmake scripts; do
    if [ ! -d "$templates/$part" ]; then
        echo "$templates/$part does not exist: is the CANN toolkit installed completely?" >&2
        exit 1
    fi
    rm -rf "./$part"
    cp -r "$templates/$part" "./$part"
done

rm -rf build_out
cmake -S . --preset default
cmake --build build_out --target binary -j"$(nproc)"
cmake --build build_out --target package -j"$(nproc)"
ls build_out/custom_opp_*.run
