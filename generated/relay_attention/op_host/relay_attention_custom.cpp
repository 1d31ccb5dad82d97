// RelayAttentionCustom: operator definition, shape and dtype inference, and tiling of
// relay_attention.
// Contract: ATB RelayAttentionOperation
#include "relay_attention_launch.h"
#include "tiling/platform/platform_ascendc.h"
#include "relay_attention_shapes.h"
#include "cann_call.h"

namespace {

using namespace relay_attention_host;

// The arguments of a call, as far as a context has them.
template <typename Context>
Call ReadCall(const Context *context)
{
    Call call;
    call.query = ReadTensor(context, 0);
    call.key = ReadList(context, 1, true, true);
    call.value = ReadList(context, 2, true, true);
    call.keyShare = ReadList(context, 3, true, true);
    call.valueShare = ReadList(context, 4, true, true);
    call.attentionMask = ReadTensor(context, 5);
    call.seqLen = ReadTensor(context, 6, DataType::kInt32);
    call.kvSeqLen = ReadTensor(context, 7, DataType::kInt32);
    call.kvShareMap = ReadTensor(context, 8, DataType::kInt32);
    call.kvShareLen = ReadTensor(context, 9, DataType::kInt32);
    const gert::RuntimeAttrs *attrs = context->GetAttrs();
    if (attrs == nullptr) {
        return call;
    }
    if (const auto *value = attrs->GetInt(0); value != nullptr) {
        call.headNum = *value;
    }
    if (const auto *value = attrs->GetFloat(1); value != nullptr) {
        call.qkScale = *value;
    }
    if (const auto *value = attrs->GetInt(2); value != nullptr) {
        call.kvHeadNum = *value;
    }
    if (const auto *value = attrs->GetInt(3); value != nullptr) {
        call.maskType = *value;
    }
    return call;
}

// Dtypes of the results.
[[maybe_unused]] ge::DataType ResultDtype(size_t index, [[maybe_unused]] const Call &call)
{
    DataType dtype = DataType::kNone;
    if (index == 0) {
        dtype = call.query.dtype;
    }
    return ToGe(dtype);
}

}  // namespace

namespace ge {

static graphStatus InferShape(gert::InferShapeContext *context)
{
    Call call = ReadCall(context);
    std::vector<std::vector<int64_t>> shapes;
    const attndsl::Status status = InferShapes(call, shapes);
    if (!status.Ok()) {
        return Refuse(context, status);
    }
    if (SetShape(context->GetOutputShape(0), shapes[0]) != GRAPH_SUCCESS) {
        Log(context, LogLevel::kError, "the context has no output 0");
        return GRAPH_FAILED;
    }
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext *context)
{
    Call call = ReadCall(context);
    const attndsl::Status status = ResolveLists(call);
    if (!status.Ok()) {
        return Refuse(context, status);
    }
    if (context->SetOutputDataType(0, ResultDtype(0, call)) != GRAPH_SUCCESS) {
        Log(context, LogLevel::kError, "the context has no output 0");
        return GRAPH_FAILED;
    }
    return GRAPH_SUCCESS;
}

}  // namespace ge

namespace optiling {

static ge::graphStatus TilingFunc(gert::TilingContext *context)
{
    Call call = ReadCall(context);
    Sizes sizes;
    std::vector<std::string> warnings;
    auto *device = context->GetPlatformInfo();
    if (device == nullptr) {
        Log(context, LogLevel::kError, "the context has no platform information");
        return ge::GRAPH_FAILED;
    }
    auto platform = platform_ascendc::PlatformAscendC(device);
    DeviceShare share;
    share.cores = platform.GetCoreNumAic();
    uint64_t l2Bytes = 0;
    platform.GetCoreMemSize(platform_ascendc::CoreMemType::L2, l2Bytes);
    share.l2Bytes = static_cast<int64_t>(l2Bytes);
    share.blocksStartTogether = true;  // plans that need it ask for batch mode
    Plan plan;
    const attndsl::Status status = PlanCall(call, sizes, share, plan, warnings);
    for (const std::string &warning : warnings) {
        Log(context, LogLevel::kWarning, warning);
    }
    if (!status.Ok()) {
        return Refuse(context, status);
    }
    auto *tiling = context->GetTilingData<RelayAttentionTiling>();
    size_t *workspace = context->GetWorkspaceSizes(1);
    if (tiling == nullptr) {
        Log(context, LogLevel::kError,
            "the tiling buffer is smaller than " + std::to_string(sizeof(*tiling)) + " bytes");
        return ge::GRAPH_FAILED;
    }
    if (workspace == nullptr) {
        Log(context, LogLevel::kError, "the context has no slot for the size of the workspace");
        return ge::GRAPH_FAILED;
    }
    *tiling = plan.tiling;
    workspace[0] =
        platform.GetLibApiWorkSpaceSize() + static_cast<size_t>(plan.tiling.workspaceBytes);
    if (context->SetTilingKey(plan.key) != ge::GRAPH_SUCCESS) {
        Log(context, LogLevel::kError, "the context has no slot for the tiling key");
        return ge::GRAPH_FAILED;
    }
    if (context->SetBlockDim(static_cast<uint32_t>(plan.tiling.blocks)) != ge::GRAPH_SUCCESS) {
        Log(context, LogLevel::kError, "the context has no slot for the number of blocks");
        return ge::GRAPH_FAILED;
    }
    // Blocks that wait for each other deadlock unless all of them are started together.
    if (context->SetScheduleMode(plan.scheduleMode) != ge::GRAPH_SUCCESS) {
        Log(context, LogLevel::kError, "the context has no slot for the schedule mode");
        return ge::GRAPH_FAILED;
    }
    return ge::GRAPH_SUCCESS;
}

}  // namespace optiling

namespace ops {

class RelayAttentionCustom : public OpDef {
public:
    explicit RelayAttentionCustom(const char *name) : OpDef(name)
    {
        // One column per combination of dtypes.
        const std::vector<ge::Format> formats(2, ge::FORMAT_ND);
        this->Input("query")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_BF16})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("key")
            .ParamType(DYNAMIC)
            .DataType({ge::DT_FLOAT16, ge::DT_BF16})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("value")
            .ParamType(DYNAMIC)
            .DataType({ge::DT_FLOAT16, ge::DT_BF16})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("keyShare")
            .ParamType(DYNAMIC)
            .DataType({ge::DT_FLOAT16, ge::DT_BF16})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("valueShare")
            .ParamType(DYNAMIC)
            .DataType({ge::DT_FLOAT16, ge::DT_BF16})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("attentionMask")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_BF16})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("seqLen")
            .ParamType(REQUIRED)
            .ValueDepend(REQUIRED)
            .DataType({ge::DT_INT64, ge::DT_INT64})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("kvSeqLen")
            .ParamType(REQUIRED)
            .ValueDepend(REQUIRED)
            .DataType({ge::DT_INT64, ge::DT_INT64})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("kvShareMap")
            .ParamType(REQUIRED)
            .ValueDepend(REQUIRED)
            .DataType({ge::DT_INT64, ge::DT_INT64})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("kvShareLen")
            .ParamType(REQUIRED)
            .ValueDepend(REQUIRED)
            .DataType({ge::DT_INT64, ge::DT_INT64})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Output("out")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_BF16})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Attr("headNum").AttrType(REQUIRED).Int();
        this->Attr("qkScale").AttrType(OPTIONAL).Float(1.0F);
        this->Attr("kvHeadNum").AttrType(OPTIONAL).Int(0);
        this->Attr("maskType").AttrType(OPTIONAL).Int(0);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
        this->AICore().AddConfig("ascend910_93");
    }
};

OP_ADD(RelayAttentionCustom);

}  // namespace ops
