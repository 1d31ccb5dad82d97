// Arguments of a call as CANN's contexts hold them, read into what the contract's checks look at.
#ifndef ATTNDSL_CANN_CALL_H
#define ATTNDSL_CANN_CALL_H

#include <cstdio>

#include "contract.h"
#include "register/op_def_registry.h"

// CANN's log, of libascendalog; weak, as its headers declare it: build tools load this library
// without it.
extern "C" void DlogRecord(int32_t module, int32_t level, const char *format, ...)
    __attribute__((weak));

namespace attndsl {

inline DataType FromGe(ge::DataType dtype)
{
    switch (dtype) {
        case ge::DT_BF16:
            return DataType::kBfloat16;
        case ge::DT_BOOL:
            return DataType::kBool;
        case ge::DT_FLOAT16:
            return DataType::kFloat16;
        case ge::DT_FLOAT:
            return DataType::kFloat32;
        case ge::DT_DOUBLE:
            return DataType::kFloat64;
        case ge::DT_INT32:
            return DataType::kInt32;
        case ge::DT_INT64:
            return DataType::kInt64;
        case ge::DT_INT8:
            return DataType::kInt8;
        case ge::DT_UINT32:
            return DataType::kUint32;
        case ge::DT_UINT64:
            return DataType::kUint64;
        case ge::DT_UINT8:
            return DataType::kUint8;
        default:
            return DataType::kNone;
    }
}

inline ge::DataType ToGe(DataType dtype)
{
    switch (dtype) {
        case DataType::kBfloat16:
            return ge::DT_BF16;
        case DataType::kBool:
            return ge::DT_BOOL;
        case DataType::kFloat16:
            return ge::DT_FLOAT16;
        case DataType::kFloat32:
            return ge::DT_FLOAT;
        case DataType::kFloat64:
            return ge::DT_DOUBLE;
        case DataType::kInt32:
            return ge::DT_INT32;
        case DataType::kInt64:
            return ge::DT_INT64;
        case DataType::kInt8:
            return ge::DT_INT8;
        case DataType::kUint32:
            return ge::DT_UINT32;
        case DataType::kUint64:
            return ge::DT_UINT64;
        case DataType::kUint8:
            return ge::DT_UINT8;
        default:
            return ge::DT_UNDEFINED;
    }
}

inline std::vector<int64_t> SizesOf(const gert::Shape &shape)
{
    std::vector<int64_t> sizes;
    for (size_t i = 0; i < shape.GetDimNum(); ++i) {
        sizes.push_back(shape.GetDim(i));
    }
    return sizes;
}

inline const gert::Shape *ShapeOf(const gert::TilingContext *context, size_t input, size_t entry)
{
    const gert::StorageShape *shape = context->GetDynamicInputShape(input, entry);
    return shape == nullptr ? nullptr : &shape->GetOriginShape();
}

inline const gert::Shape *ShapeOf(const gert::InferShapeContext *context, size_t input,
                                  size_t entry)
{
    return context->GetDynamicInputShape(input, entry);
}

template <typename Context>
inline Tensor ReadEntry(const Context *context, size_t input, size_t entry, DataType listed)
{
    Tensor tensor;
    const gert::Shape *shape = ShapeOf(context, input, entry);
    if (shape == nullptr) {
        return tensor;
    }
    tensor.given = true;
    tensor.shape = SizesOf(*shape);
    const auto *description = context->GetDynamicInputDesc(input, entry);
    tensor.dtype = description == nullptr ? DataType::kNone : FromGe(description->GetDataType());
    if (listed != DataType::kNone) {
        // An array of integers, whose dtype in CANN is always int64.
        tensor.stored = tensor.dtype;
        tensor.dtype = tensor.dtype == DataType::kInt64 ? listed : tensor.dtype;
        const gert::Tensor *values = context->GetDynamicInputTensor(input, entry);
        tensor.values = values == nullptr ? nullptr : values->template GetData<uint8_t>();
    }
    return tensor;
}

inline Tensor ReadEntry(const gert::InferDataTypeContext *context, size_t input, size_t entry,
                        DataType)
{
    Tensor tensor;
    tensor.dtype = FromGe(context->GetDynamicInputDataType(input, entry));
    tensor.given = tensor.dtype != DataType::kNone;
    return tensor;
}

// One tensor; absent optional tensors are not given. `listed`: the host may read its elements,
// which are integers of this dtype in the contract.
template <typename Context>
inline Tensor ReadTensor(const Context *context, size_t input, DataType listed = DataType::kNone)
{
    return ReadEntry(context, input, 0, listed);
}

// A list of tensors. Where `always` is false, a single tensor stands for itself and is no list;
// where `required` is true, a list without entries is a list.
template <typename Context>
inline TensorList ReadList(const Context *context, size_t input, bool always, bool required)
{
    TensorList list;
    const auto *instances = context->GetIrInputInstanceInfo(input);
    const size_t count = instances == nullptr ? 0 : instances->GetInstanceNum();
    for (size_t entry = 0; entry < count; ++entry) {
        list.entries.push_back(ReadEntry(context, input, entry, DataType::kNone));
    }
    list.given = required || count > 0;
    list.list = always || count != 1;
    list.dtype = count > 0 ? list.entries[0].dtype : DataType::kNone;
    return list;
}

// `shape` is null where a context has no such output.
inline ge::graphStatus SetShape(gert::Shape *shape, const std::vector<int64_t> &sizes)
{
    if (shape == nullptr) {
        return ge::GRAPH_FAILED;
    }
    shape->SetDimNum(sizes.size());
    for (size_t i = 0; i < sizes.size(); ++i) {
        shape->SetDim(i, sizes[i]);
    }
    return ge::GRAPH_SUCCESS;
}

// An output of the definition that is an input, updated in place: as many instances, each with what
// the input's has.
inline ge::graphStatus InferUpdated(gert::InferShapeContext *context, size_t input, size_t output)
{
    const auto *instances = context->GetIrOutputInstanceInfo(output);
    const size_t count = instances == nullptr ? 0 : instances->GetInstanceNum();
    for (size_t entry = 0; entry < count; ++entry) {
        const gert::Shape *shape = context->GetDynamicInputShape(input, entry);
        gert::Shape *updated = context->GetOutputShape(instances->GetInstanceStart() + entry);
        if (shape == nullptr) {
            continue;
        }
        if (updated == nullptr) {
            return ge::GRAPH_FAILED;
        }
        *updated = *shape;
    }
    return ge::GRAPH_SUCCESS;
}

inline ge::graphStatus InferUpdated(gert::InferDataTypeContext *context, size_t input,
                                    size_t output)
{
    const auto *instances = context->GetIrOutputInstanceInfo(output);
    const size_t count = instances == nullptr ? 0 : instances->GetInstanceNum();
    for (size_t entry = 0; entry < count; ++entry) {
        if (context->SetOutputDataType(instances->GetInstanceStart() + entry,
                                       context->GetDynamicInputDataType(input, entry)) !=
            ge::GRAPH_SUCCESS) {
            return ge::GRAPH_FAILED;
        }
    }
    return ge::GRAPH_SUCCESS;
}

// Levels of CANN's log.
enum class LogLevel : int32_t { kWarning = 2, kError = 3 };

// Writes a message to CANN's log, where it is found beside CANN's own: the node and its type, then
// the message. Where no log is loaded, to stderr.
template <typename Context>
void Log(const Context *context, LogLevel level, const std::string &message)
{
    constexpr int32_t kOperators = 63;  // CANN's number for messages of operators
    const char *name = context->GetNodeName();
    const char *type = context->GetNodeType();
    const std::string text = std::string("OP(") + (name == nullptr ? "" : name) + ", " +
                             (type == nullptr ? "" : type) + "): " + message;
    if (DlogRecord != nullptr) {
        DlogRecord(kOperators, static_cast<int32_t>(level), "%s", text.c_str());
    } else {
        std::fprintf(stderr, "[%s] %s\n", level == LogLevel::kError ? "ERROR" : "WARNING",
                     text.c_str());
    }
}

// Says what is wrong with a call, and refuses it.
template <typename Context>
ge::graphStatus Refuse(const Context *context, const Status &status)
{
    Log(context, LogLevel::kError, status.error + ": " + status.message);
    return ge::GRAPH_FAILED;
}

}  // namespace attndsl

#endif  // ATTNDSL_CANN_CALL_H
