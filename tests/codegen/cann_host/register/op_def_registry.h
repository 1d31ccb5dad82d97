// A stand-in of ours for CANN's host interfaces, as far as generated operators use them: contexts hold what a test
// puts there, an operator definition remembers what it is told.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ge {
enum DataType {
    DT_FLOAT = 0, DT_FLOAT16 = 1, DT_INT8 = 2, DT_INT32 = 3, DT_UINT8 = 4, DT_UINT32 = 8, DT_INT64 = 9, DT_UINT64 = 10,
    DT_DOUBLE = 11, DT_BOOL = 12, DT_BF16 = 27, DT_UNDEFINED = 28
};
enum Format { FORMAT_ND = 2 };
using graphStatus = uint32_t;
using Status = uint32_t;  // the real headers have it too, beside the checks' own
constexpr graphStatus GRAPH_SUCCESS = 0;
constexpr graphStatus GRAPH_FAILED = 0xFFFFFFFF;
}  // namespace ge

namespace fe {
class PlatFormInfos {
public:
    uint32_t cubeCores = 24;
    uint64_t l2Bytes = 192 << 20;
};
}  // namespace fe

namespace gert {
class Shape {
public:
    size_t GetDimNum() const { return dims_.size(); }
    int64_t GetDim(size_t i) const { return dims_[i]; }
    void SetDimNum(size_t count) { dims_.resize(count); }
    void SetDim(size_t i, int64_t size) { dims_[i] = size; }

private:
    std::vector<int64_t> dims_;
};

class StorageShape {
public:
    const Shape &GetOriginShape() const { return shape; }
    Shape shape;
};

class Tensor {
public:
    template <typename T>
    const T *GetData() const { return static_cast<const T *>(data); }
    const void *data = nullptr;
};

class CompileTimeTensorDesc {
public:
    ge::DataType GetDataType() const { return dtype; }
    ge::DataType dtype = ge::DT_UNDEFINED;
};

class AnchorInstanceInfo {
public:
    size_t GetInstanceNum() const { return count; }
    size_t GetInstanceStart() const { return start; }
    size_t count = 0;
    size_t start = 0;
};

class RuntimeAttrs {
public:
    struct Value {
        int64_t integer = 0;
        float number = 0;
        bool flag = false;
        std::string text;
    };
    const int64_t *GetInt(size_t i) const { return &values[i].integer; }
    const float *GetFloat(size_t i) const { return &values[i].number; }
    const bool *GetBool(size_t i) const { return &values[i].flag; }
    const char *GetStr(size_t i) const { return values[i].text.c_str(); }
    std::vector<Value> values;
};

// One input of the definition with its instances.
struct Input {
    AnchorInstanceInfo instances;
    std::vector<StorageShape> shapes;
    std::vector<CompileTimeTensorDesc> descriptions;
    std::vector<Tensor> tensors;
};

class Context {
public:
    const AnchorInstanceInfo *GetIrInputInstanceInfo(size_t i) const { return &inputs[i].instances; }
    const AnchorInstanceInfo *GetIrOutputInstanceInfo(size_t i) const { return &results[i]; }
    const CompileTimeTensorDesc *GetDynamicInputDesc(size_t i, size_t entry) const
    {
        return Has(i, entry) ? &inputs[i].descriptions[entry] : nullptr;
    }
    const Tensor *GetDynamicInputTensor(size_t i, size_t entry) const
    {
        return Has(i, entry) ? &inputs[i].tensors[entry] : nullptr;
    }
    const RuntimeAttrs *GetAttrs() const { return &attrs; }
    const char *GetNodeName() const { return "node"; }
    const char *GetNodeType() const { return "Type"; }

    std::vector<Input> inputs;
    std::vector<AnchorInstanceInfo> results;
    RuntimeAttrs attrs;

protected:
    bool Has(size_t i, size_t entry) const { return entry < inputs[i].instances.count; }
};

class TilingContext : public Context {
public:
    const StorageShape *GetDynamicInputShape(size_t i, size_t entry) const
    {
        return Has(i, entry) ? &inputs[i].shapes[entry] : nullptr;
    }
    fe::PlatFormInfos *GetPlatformInfo() const { return platform; }
    template <typename T>
    T *GetTilingData()
    {
        data.resize(sizeof(T));
        return reinterpret_cast<T *>(data.data());
    }
    size_t *GetWorkspaceSizes(size_t count)
    {
        workspace.resize(count);
        return workspace.data();
    }
    // A status that is dropped is an error of the compiler here.
    [[nodiscard]] ge::graphStatus SetTilingKey(uint64_t value) { return Set("tiling key", key, value); }
    [[nodiscard]] ge::graphStatus SetBlockDim(uint32_t value) { return Set("block dim", blocks, value); }
    [[nodiscard]] ge::graphStatus SetScheduleMode(uint32_t value) { return Set("schedule mode", mode, value); }

    fe::PlatFormInfos *platform = nullptr;
    std::vector<uint8_t> data;
    std::vector<size_t> workspace;
    uint64_t key = 0;
    uint32_t blocks = 0, mode = 0;
    std::string missing;  // a slot that the context does not have

private:
    template <typename T>
    ge::graphStatus Set(const char *slot, T &place, T value)
    {
        if (slot == missing) return ge::GRAPH_FAILED;
        place = value;
        return ge::GRAPH_SUCCESS;
    }
};

class InferShapeContext : public Context {
public:
    const Shape *GetDynamicInputShape(size_t i, size_t entry) const
    {
        return Has(i, entry) ? &inputs[i].shapes[entry].shape : nullptr;
    }
    Shape *GetOutputShape(size_t i)
    {
        if (i == missing) return nullptr;
        if (outputs.size() <= i) outputs.resize(i + 1);
        return &outputs[i];
    }
    std::vector<Shape> outputs;
    size_t missing = SIZE_MAX;  // an output that the context does not have
};

class InferDataTypeContext : public Context {
public:
    ge::DataType GetDynamicInputDataType(size_t i, size_t entry) const
    {
        return Has(i, entry) ? inputs[i].descriptions[entry].dtype : ge::DT_UNDEFINED;
    }
    [[nodiscard]] ge::graphStatus SetOutputDataType(size_t i, ge::DataType dtype)
    {
        if (i == missing) return ge::GRAPH_FAILED;
        outputs[i] = dtype;
        return ge::GRAPH_SUCCESS;
    }
    std::map<size_t, ge::DataType> outputs;
    size_t missing = SIZE_MAX;  // an output that the context does not have
};
}  // namespace gert

namespace ops {
enum Option { IGNORE = 0, OPTIONAL = 1, REQUIRED = 2, DYNAMIC = 3, VIRTUAL = 4 };

struct OpParamDef {
    OpParamDef &ParamType(Option value) { kind = value; return *this; }
    OpParamDef &ValueDepend(Option value) { depends = value; return *this; }
    OpParamDef &DataType(std::vector<ge::DataType> value) { dtypes = value; return *this; }
    OpParamDef &Format(std::vector<ge::Format> value) { formats = value.size(); return *this; }
    OpParamDef &UnknownShapeFormat(std::vector<ge::Format> value) { unknown = value.size(); return *this; }
    std::string name;
    Option kind = IGNORE, depends = IGNORE;
    std::vector<ge::DataType> dtypes;
    size_t formats = 0, unknown = 0;
};

struct OpAttrDef {
    OpAttrDef &AttrType(Option value) { kind = value; return *this; }
    OpAttrDef &Int() { return *this; }
    OpAttrDef &Int(int64_t value) { integer = value; return *this; }
    OpAttrDef &Float() { return *this; }
    OpAttrDef &Float(float value) { number = value; return *this; }
    OpAttrDef &Bool() { return *this; }
    OpAttrDef &Bool(bool value) { flag = value; return *this; }
    OpAttrDef &String() { return *this; }
    OpAttrDef &String(const char *value) { text = value; return *this; }
    std::string name;
    Option kind = IGNORE;
    int64_t integer = 0;
    float number = 0;
    bool flag = false;
    std::string text;
};

struct OpAICoreDef {
    OpAICoreDef &SetTiling(ge::graphStatus (*value)(gert::TilingContext *)) { tiling = value; return *this; }
    OpAICoreDef &AddConfig(const char *soc) { socs.push_back(soc); return *this; }
    ge::graphStatus (*tiling)(gert::TilingContext *) = nullptr;
    std::vector<std::string> socs;
};

class OpDef {
public:
    explicit OpDef(const char *type) : type(type) {}
    OpParamDef &Input(const char *name) { return Add(inputs, name); }
    OpParamDef &Output(const char *name) { return Add(outputs, name); }
    OpAttrDef &Attr(const char *name)
    {
        attrs.emplace_back();
        attrs.back().name = name;
        return attrs.back();
    }
    OpDef &SetInferShape(ge::graphStatus (*value)(gert::InferShapeContext *)) { shape = value; return *this; }
    OpDef &SetInferDataType(ge::graphStatus (*value)(gert::InferDataTypeContext *)) { dtype = value; return *this; }
    OpAICoreDef &AICore() { return core; }

    std::string type;
    std::vector<OpParamDef> inputs, outputs;
    std::vector<OpAttrDef> attrs;
    OpAICoreDef core;
    ge::graphStatus (*shape)(gert::InferShapeContext *) = nullptr;
    ge::graphStatus (*dtype)(gert::InferDataTypeContext *) = nullptr;

private:
    static OpParamDef &Add(std::vector<OpParamDef> &ports, const char *name)
    {
        ports.emplace_back();
        ports.back().name = name;
        return ports.back();
    }
};

// One a library: several are loaded into one process.
[[maybe_unused]] static OpDef *&Registered()
{
    static OpDef *found = nullptr;
    return found;
}
}  // namespace ops

#define OP_ADD(type) static const bool kAdded = (::ops::Registered() = new type(#type), true)
