// SelfAttentionPaEncoderCustom: operator definition, shape and dtype inference, and tiling of
// self_attention_pa_encoder.
// Contract: ATB SelfAttentionOperation
#include "self_attention_pa_encoder_launch.h"
#include "tiling/platform/platform_ascendc.h"
#include "self_attention_pa_encoder_shapes.h"
#include "cann_call.h"

namespace {

using namespace self_attention_pa_encoder_host;

// The arguments of a call, as far as a context has them.
template <typename Context>
Call ReadCall(const Context *context)
{
    Call call;
    call.query = ReadTensor(context, 0);
    call.key = ReadTensor(context, 1);
    call.value = ReadTensor(context, 2);
    call.mask = ReadTensor(context, 3);
    call.seqLen = ReadTensor(context, 4, DataType::kInt32);
    call.slopes = ReadTensor(context, 5);
    call.qkDescale = ReadTensor(context, 6);
    call.qkOffset = ReadTensor(context, 7);
    call.vpvDescale = ReadTensor(context, 8);
    call.vpvOffset = ReadTensor(context, 9);
    call.pScale = ReadTensor(context, 10);
    call.logN = ReadTensor(context, 11);
    const gert::RuntimeAttrs *attrs = context->GetAttrs();
    if (attrs == nullptr) {
        return call;
    }
    if (const auto *value = attrs->GetInt(0); value != nullptr) {
        call.quantType = *value;
    }
    if (const auto *value = attrs->GetInt(1); value != nullptr) {
        call.outDataType = *value;
    }
    if (const auto *value = attrs->GetInt(2); value != nullptr) {
        call.headNum = *value;
    }
    if (const auto *value = attrs->GetInt(3); value != nullptr) {
        call.kvHeadNum = *value;
    }
    if (const auto *value = attrs->GetFloat(4); value != nullptr) {
        call.qScale = *value;
    }
    if (const auto *value = attrs->GetFloat(5); value != nullptr) {
        call.qkScale = *value;
    }
    if (const auto *value = attrs->GetBool(6); value != nullptr) {
        call.batchRunStatusEnable = *value;
    }
    if (const auto *value = attrs->GetInt(7); value != nullptr) {
        call.isTriuMask = *value;
    }
    if (const auto *value = attrs->GetInt(8); value != nullptr) {
        call.calcType = *value;
    }
    if (const auto *value = attrs->GetInt(9); value != nullptr) {
        call.kernelType = *value;
    }
    if (const auto *value = attrs->GetInt(10); value != nullptr) {
        call.clampType = *value;
    }
    if (const auto *value = attrs->GetFloat(11); value != nullptr) {
        call.clampMin = *value;
    }
    if (const auto *value = attrs->GetFloat(12); value != nullptr) {
        call.clampMax = *value;
    }
    if (const auto *value = attrs->GetInt(13); value != nullptr) {
        call.maskType = *value;
    }
    if (const auto *value = attrs->GetInt(14); value != nullptr) {
        call.kvcacheCfg = *value;
    }
    if (const auto *value = attrs->GetInt(15); value != nullptr) {
        call.scaleType = *value;
    }
    if (const auto *value = attrs->GetInt(16); value != nullptr) {
        call.inputLayout = *value;
    }
    if (const auto *value = attrs->GetInt(17); value != nullptr) {
        call.mlaVHeadSize = *value;
    }
    if (const auto *value = attrs->GetInt(18); value != nullptr) {
        call.cacheType = *value;
    }
    if (const auto *value = attrs->GetInt(19); value != nullptr) {
        call.windowSize = *value;
    }
    return call;
}

// Dtypes of the results.
[[maybe_unused]] ge::DataType ResultDtype(size_t index, [[maybe_unused]] const Call &call)
{
    DataType dtype = DataType::kNone;
    if (index == 0) {
        dtype =
            (call.quantType > 0
                ? (call.outDataType == 27 ? DataType::kBfloat16 : DataType::kFloat16)
                : call.query.dtype);
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
    auto *tiling = context->GetTilingData<SelfAttentionPaEncoderTiling>();
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

class SelfAttentionPaEncoderCustom : public OpDef {
public:
    explicit SelfAttentionPaEncoderCustom(const char *name) : OpDef(name)
    {
        // One column per combination of dtypes.
        const std::vector<ge::Format> formats(8, ge::FORMAT_ND);
        this->Input("query")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_BF16, ge::DT_BF16, ge::DT_INT8,
                ge::DT_INT8, ge::DT_INT8, ge::DT_INT8})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("key")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_BF16, ge::DT_BF16, ge::DT_INT8,
                ge::DT_INT8, ge::DT_INT8, ge::DT_INT8})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("value")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_BF16, ge::DT_BF16, ge::DT_INT8,
                ge::DT_INT8, ge::DT_INT8, ge::DT_INT8})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("mask")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_FLOAT16, ge::DT_BF16, ge::DT_FLOAT16, ge::DT_BF16, ge::DT_FLOAT16,
                ge::DT_FLOAT16, ge::DT_BF16, ge::DT_BF16})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("seqLen")
            .ParamType(REQUIRED)
            .ValueDepend(REQUIRED)
            .DataType({ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64,
                ge::DT_INT64, ge::DT_INT64, ge::DT_INT64})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("slopes")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT,
                ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("qkDescale")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT,
                ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("qkOffset")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_INT32, ge::DT_INT32, ge::DT_INT32, ge::DT_INT32, ge::DT_INT32,
                ge::DT_INT32, ge::DT_INT32, ge::DT_INT32})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("vpvDescale")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT,
                ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("vpvOffset")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_INT32, ge::DT_INT32, ge::DT_INT32, ge::DT_INT32, ge::DT_INT32,
                ge::DT_INT32, ge::DT_INT32, ge::DT_INT32})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("pScale")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT,
                ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("logN")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT,
                ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Output("output")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_BF16, ge::DT_BF16, ge::DT_BF16,
                ge::DT_FLOAT16, ge::DT_BF16, ge::DT_FLOAT16})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Attr("quantType").AttrType(OPTIONAL).Int(0);
        this->Attr("outDataType").AttrType(OPTIONAL).Int(-1);
        this->Attr("headNum").AttrType(REQUIRED).Int();
        this->Attr("kvHeadNum").AttrType(OPTIONAL).Int(0);
        this->Attr("qScale").AttrType(OPTIONAL).Float(1.0F);
        this->Attr("qkScale").AttrType(OPTIONAL).Float(1.0F);
        this->Attr("batchRunStatusEnable").AttrType(OPTIONAL).Bool(false);
        this->Attr("isTriuMask").AttrType(OPTIONAL).Int(0);
        this->Attr("calcType").AttrType(OPTIONAL).Int(3);
        this->Attr("kernelType").AttrType(OPTIONAL).Int(0);
        this->Attr("clampType").AttrType(OPTIONAL).Int(0);
        this->Attr("clampMin").AttrType(OPTIONAL).Float(0.0F);
        this->Attr("clampMax").AttrType(OPTIONAL).Float(0.0F);
        this->Attr("maskType").AttrType(OPTIONAL).Int(0);
        this->Attr("kvcacheCfg").AttrType(OPTIONAL).Int(0);
        this->Attr("scaleType").AttrType(OPTIONAL).Int(0);
        this->Attr("inputLayout").AttrType(OPTIONAL).Int(0);
        this->Attr("mlaVHeadSize").AttrType(OPTIONAL).Int(0);
        this->Attr("cacheType").AttrType(OPTIONAL).Int(0);
        this->Attr("windowSize").AttrType(OPTIONAL).Int(0);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
        this->AICore().AddConfig("ascend910_93");
    }
};

OP_ADD(SelfAttentionPaEncoderCustom);

}  // namespace ops
