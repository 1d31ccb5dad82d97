"""The generated op_host source, compiled against stand-ins of CANN's interfaces and called through ctypes."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from attndsl.codegen.host.host_files import definition_files, host_files
from attndsl.codegen.host.problem_rows import Row
from attndsl.codegen.host.tiling_text import host_text
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.names.arguments import names_of
from attndsl.codegen.project.project import plan_project
from attndsl.codegen.samples.device_files import device_files
from attndsl.spec.operator.operator import Operator
from tests.support.compile_once import require_compiled

from .host_calls import Blob, Blobs

FAST = "relay_attention"
STAND_INS = Path(__file__).parent / "cann_host"
GE_TYPES = {
    0: "float32", 1: "float16", 2: "int8", 3: "int32", 4: "uint8", 8: "uint32", 9: "int64", 10: "uint64",
    11: "float64", 12: "bool", 27: "bfloat16", 28: "",
}  # fmt: skip

_GLUE = """
#include <cstring>
#include "{source}"
struct Blob {{
    int64_t given, dtype, rank; const int64_t *shape; const void *values;
    int64_t integer; double number; const char *text; int64_t list, count; const Blob *entries;
}};
static void Add(gert::Input &input, const Blob &b)
{{
    input.instances.count += 1;
    gert::StorageShape shape;
    shape.shape.SetDimNum(b.rank);
    for (int64_t i = 0; i < b.rank; ++i) shape.shape.SetDim(i, b.shape[i]);
    input.shapes.push_back(shape);
    gert::CompileTimeTensorDesc description;
    description.dtype = attndsl::ToGe(static_cast<attndsl::DataType>(b.dtype));
    input.descriptions.push_back(description);
    gert::Tensor tensor;
    tensor.data = b.values;
    input.tensors.push_back(tensor);
}}
static void Fill(gert::Context &context, const Blob *blobs, const char *kinds)
{{
    for (const char *kind = kinds; *kind != 0; ++kind, ++blobs) {{
        if (*kind == '-') continue;
        if (*kind == 't') {{
            gert::Input input;
            if (blobs->entries != nullptr)
                for (int64_t i = 0; i < blobs->count; ++i) Add(input, blobs->entries[i]);
            else if (blobs->given) Add(input, *blobs);
            context.inputs.push_back(input);
            continue;
        }}
        gert::RuntimeAttrs::Value value;
        value.integer = blobs->integer;
        value.number = static_cast<float>(blobs->number);
        value.flag = blobs->integer != 0;
        value.text = blobs->text == nullptr ? "" : blobs->text;
        context.attrs.values.push_back(value);
    }}
}}
static std::string Ports(const std::vector<ops::OpParamDef> &ports)
{{
    std::string out = "[";
    for (const auto &p : ports) {{
        out += (out.size() > 1 ? "," : "") + ("{{\\"name\\":\\"" + p.name);
        out += "\\",\\"kind\\":" + std::to_string(p.kind);
        out += ",\\"depends\\":" + std::to_string(p.depends) + ",\\"formats\\":" + std::to_string(p.formats);
        out += ",\\"unknown\\":" + std::to_string(p.unknown) + ",\\"dtypes\\":[";
        for (size_t i = 0; i < p.dtypes.size(); ++i) out += (i ? "," : "") + std::to_string(p.dtypes[i]);
        out += "]}}";
    }}
    return out + "]";
}}
extern "C" void describe(char *out, int64_t room)
{{
    const ops::OpDef &op = *ops::Registered();
    std::string text = "{{\\"type\\":\\"" + op.type + "\\",\\"inputs\\":" + Ports(op.inputs);
    text += ",\\"outputs\\":" + Ports(op.outputs) + ",\\"attrs\\":[";
    for (size_t i = 0; i < op.attrs.size(); ++i)
        text += (i ? "," : "") + ("{{\\"name\\":\\"" + op.attrs[i].name + "\\",\\"kind\\":") +
            std::to_string(op.attrs[i].kind) + "}}";
    text += "],\\"socs\\":[";
    for (size_t i = 0; i < op.core.socs.size(); ++i) text += (i ? ",\\"" : "\\"") + op.core.socs[i] + "\\"";
    std::strncpy(out, (text + "]}}").c_str(), room - 1);
}}
static void AddResults(gert::Context &context)
{{
    const ops::OpDef &op = *ops::Registered();
    for (const auto &port : op.outputs) {{
        gert::AnchorInstanceInfo info;
        for (const auto &other : context.results) info.start += other.count;
        info.count = 1;
        for (size_t i = 0; i < op.inputs.size(); ++i)
            if (op.inputs[i].name == port.name) info.count = context.inputs[i].instances.count;
        context.results.push_back(info);
    }}
}}
extern "C" void infer(const Blob *blobs, const char *kinds, int64_t shapeless, int64_t typeless,
    char *out, int64_t room)
{{
    gert::InferShapeContext shapes;
    shapes.missing = static_cast<size_t>(shapeless);
    gert::InferDataTypeContext dtypes;
    dtypes.missing = static_cast<size_t>(typeless);
    Fill(shapes, blobs, kinds);
    Fill(dtypes, blobs, kinds);
    AddResults(shapes);
    AddResults(dtypes);
    const bool ok = ops::Registered()->shape(&shapes) == ge::GRAPH_SUCCESS &&
        ops::Registered()->dtype(&dtypes) == ge::GRAPH_SUCCESS;
    std::string text = ok ? "[" : "null";
    for (size_t i = 0; ok && i < shapes.outputs.size(); ++i) {{
        text += (i ? ",[" : "[") + std::to_string(dtypes.outputs[i]);
        for (size_t d = 0; d < shapes.outputs[i].GetDimNum(); ++d)
            text += "," + std::to_string(shapes.outputs[i].GetDim(d));
        text += "]";
    }}
    std::strncpy(out, (ok ? text + "]" : text).c_str(), room - 1);
}}
extern "C" int64_t tile(const Blob *blobs, const char *kinds, int64_t cores, const char *missing,
    int64_t *numbers, uint8_t *data)
{{
    gert::TilingContext context;
    context.missing = missing;
    fe::PlatFormInfos platform;
    platform.cubeCores = static_cast<uint32_t>(cores);
    context.platform = cores < 0 ? nullptr : &platform;
    Fill(context, blobs, kinds);
    if (ops::Registered()->core.tiling(&context) != ge::GRAPH_SUCCESS) return -1;
    numbers[0] = static_cast<int64_t>(context.key);
    numbers[1] = context.blocks;
    numbers[2] = static_cast<int64_t>(context.workspace[0]);
    numbers[3] = context.mode;
    std::memcpy(data, context.data.data(), context.data.size());
    return static_cast<int64_t>(context.data.size());
}}
"""


def mostly_long(items: Iterable[Any], name: Callable[[Any], str] = str) -> list[Any]:
    """Each takes a compiler's run over the host code of an operator; one of them is in the fast suite."""
    return [
        pytest.param(item, marks=() if name(item) == FAST else pytest.mark.long, id=name(item))
        for item in items
    ]


class OpHost:
    """The host code of an operator's project, with the kernels of a request."""

    def __init__(self, operator: Operator, folder: Path, request: KernelRequest) -> None:
        self.operator, self.names = operator, names_of(operator)
        kernels = plan_project(operator, request).kernels
        files = host_files(self.names) | definition_files(self.names, kernels)
        files |= device_files(kernels) if kernels else {}
        self.fields = host_text(kernels).fields if kernels else ()
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        glue = folder / "op_host" / "glue.cpp"
        glue.write_text(_GLUE.format(source=f"{self.names.kernel}.cpp"))
        made = folder / "op_host.so"
        flags = [
            "-std=c++17",
            "-O0",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-format-truncation",
            "-shared",
            "-fPIC",
        ]
        include = ["-isystem", str(STAND_INS)]
        require_compiled([*flags, *include, glue], made)
        self._library = ctypes.CDLL(str(made))
        self._library.tile.restype = ctypes.c_int64
        self._kinds = "".join(
            "t" if item.tensor is not None else "a" if item.passed else "-" for item in self.names.arguments
        ).encode()

    def _text(self, function: Any, *arguments: Any) -> Any:
        out = ctypes.create_string_buffer(1 << 16)
        function(*arguments, out, ctypes.c_int64(len(out)))
        return json.loads(out.value.decode())

    def definition(self) -> Any:
        """What the definition tells CANN."""
        return self._text(self._library.describe)

    def infer(
        self,
        call: Mapping[str, Any],
        unknown: Mapping[str, Sequence[int]] | None = None,
        unread: bool = False,
        shapeless: int = -1,
        typeless: int = -1,
    ) -> list[tuple[str, tuple[int, ...]]] | None:
        """Dtype and shape of each output, or None where the call is refused.

        ``unknown``: shapes that a graph's compilation sees, by argument; ``unread``: integers have no values;
        ``shapeless``, ``typeless``: the index of an output that the context of shapes, of dtypes has not.
        """
        blobs = self._blobs(call)
        for position, item in enumerate(self.names.arguments):
            blob = blobs[position]
            if item.on_host and unread:
                blob.values = None
            if unknown is not None and item.spec.name in unknown:
                for each in blob.entries[: blob.count] if item.listed else (blob,):
                    self._shape(each, unknown[item.spec.name])
        rows = self._text(
            self._library.infer, blobs, self._kinds, ctypes.c_int64(shapeless), ctypes.c_int64(typeless)
        )
        return None if rows is None else [(GE_TYPES[row[0]], tuple(row[1:])) for row in rows]

    def _shape(self, blob: Blob, sizes: Sequence[int]) -> None:
        shape = (ctypes.c_int64 * len(sizes))(*sizes)
        self._kept._kept.append(shape)
        blob.rank, blob.shape = len(sizes), shape

    def tile(self, call: Mapping[str, Any], cores: int, missing: str = "") -> dict[str, Any] | None:
        """Key, blocks, workspace, schedule mode and tiling data, or None where the call is refused.

        Negative ``cores``: the context has no platform information; ``missing``: a slot that it has not.
        """
        numbers, data = (ctypes.c_int64 * 4)(), ctypes.create_string_buffer(1 << 14)
        size = self._library.tile(
            self._blobs(call), self._kinds, ctypes.c_int64(cores), missing.encode(), numbers, data
        )
        if size < 0:
            return None
        names = ("key", "blocks", "workspace", "mode")
        return dict(zip(names, numbers, strict=True)) | {"data": fields_of(self.fields, data.raw[:size])}

    def _blobs(self, call: Mapping[str, Any]) -> Any:
        self._kept = Blobs(self.operator, call)
        return ctypes.cast(self._kept.array, ctypes.POINTER(Blob))


def fields_of(rows: tuple[Row, ...], data: bytes) -> dict[str, Any]:
    """The members of a tiling struct."""
    types = {"int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "float": ctypes.c_float}
    members = [(row.name, types[row.ctype]) for row in rows]
    struct = type("Tiling", (ctypes.Structure,), {"_fields_": members}).from_buffer_copy(data)
    return {name: getattr(struct, name) for name, _ in members}


@lru_cache(maxsize=16)
def op_host(operator: Operator, folder: Path, request: KernelRequest = KernelRequest()) -> OpHost:  # noqa: B008
    """The compiled host code; once a session."""
    return OpHost(operator, folder / names_of(operator).op, request)
