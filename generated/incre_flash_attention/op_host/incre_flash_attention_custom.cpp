// IncreFlashAttentionCustom: operator definition, shape and dtype inference, and tiling of
// incre_flash_attention.
// Contract: mindspore.ops.incre_flash_attention
#include "incre_flash_attention_launch.h"
#include "tiling/platform/platform_ascendc.h"
#include "incre_flash_attention_shapes.h"
#include "cann_call.h"

namespace {

using namespace incre_flash_attention_host;

// The arguments of a call, as far as a context has them.
template <typename Context>
Call ReadCall(const Context *context)
{
    Call call;
    call.query = ReadTensor(context, 0);
    call.key_list = ReadList(context, 1, false, false);
    call.value_list = ReadList(context, 2, false, false);
    call.attn_mask = ReadTensor(context, 3);
    call.actual_seq_lengths = ReadTensor(context, 4, DataType::kInt64);
    call.pse_shift = ReadTensor(context, 5);
    call.dequant_scale1 = ReadTensor(context, 6);
    call.quant_scale1 = ReadTensor(context, 7);
    call.dequant_scale2 = ReadTensor(context, 8);
    call.quant_scale2 = ReadTensor(context, 9);
    call.quant_offset2 = ReadTensor(context, 10);
    call.antiquant_scale = ReadTensor(context, 11);
    call.antiquant_offset = ReadTensor(context, 12);
    call.block_table = ReadTensor(context, 13);
    call.kv_padding_size = ReadTensor(context, 14);
    const gert::RuntimeAttrs *attrs = context->GetAttrs();
    if (attrs == nullptr) {
        return call;
    }
    if (const auto *value = attrs->GetInt(0); value != nullptr) {
        call.num_heads = *value;
    }
    if (const auto *value = attrs->GetStr(1); value != nullptr) {
        call.input_layout = value;
    }
    if (const auto *value = attrs->GetFloat(2); value != nullptr) {
        call.scale_value = *value;
    }
    if (const auto *value = attrs->GetInt(3); value != nullptr) {
        call.num_key_value_heads = *value;
    }
    if (const auto *value = attrs->GetInt(4); value != nullptr) {
        call.block_size = *value;
    }
    if (const auto *value = attrs->GetInt(5); value != nullptr) {
        call.inner_precise = *value;
    }
    return call;
}

// Dtypes of the results.
[[maybe_unused]] ge::DataType ResultDtype(size_t index, [[maybe_unused]] const Call &call)
{
    DataType dtype = DataType::kNone;
    if (index == 0) {
        dtype = (call.quant_scale2.given ? DataType::kInt8 : call.query.dtype);
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
    auto *tiling = context->GetTilingData<IncreFlashAttentionTiling>();
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

class IncreFlashAttentionCustom : public OpDef {
public:
    explicit IncreFlashAttentionCustom(const char *name) : OpDef(name)
    {
        // One column per combination of dtypes.
        const std::vector<ge::Format> formats(18, ge::FORMAT_ND);
        this->Input("query")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16,
                ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16,
                ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_BF16,
                ge::DT_BF16, ge::DT_BF16, ge::DT_BF16})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("key")
            .ParamType(DYNAMIC)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16,
                ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_INT8, ge::DT_INT8, ge::DT_INT8, ge::DT_BF16,
                ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_INT8,
                ge::DT_INT8, ge::DT_INT8})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("value")
            .ParamType(DYNAMIC)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16,
                ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_INT8, ge::DT_INT8, ge::DT_INT8, ge::DT_BF16,
                ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_INT8,
                ge::DT_INT8, ge::DT_INT8})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("attn_mask")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_BOOL, ge::DT_BOOL, ge::DT_INT8, ge::DT_INT8, ge::DT_UINT8,
                ge::DT_UINT8, ge::DT_BOOL, ge::DT_INT8, ge::DT_UINT8, ge::DT_BOOL, ge::DT_BOOL,
                ge::DT_INT8, ge::DT_INT8, ge::DT_UINT8, ge::DT_UINT8, ge::DT_BOOL, ge::DT_INT8,
                ge::DT_UINT8})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("actual_seq_lengths")
            .ParamType(OPTIONAL)
            .ValueDepend(OPTIONAL)
            .DataType({ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64,
                ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64,
                ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64,
                ge::DT_INT64})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("pse_shift")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16,
                ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16,
                ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_BF16,
                ge::DT_BF16, ge::DT_BF16, ge::DT_BF16})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("dequant_scale1")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_UINT64, ge::DT_UINT64, ge::DT_UINT64, ge::DT_UINT64,
                ge::DT_UINT64, ge::DT_UINT64, ge::DT_UINT64, ge::DT_UINT64, ge::DT_UINT64,
                ge::DT_UINT64, ge::DT_UINT64, ge::DT_UINT64, ge::DT_UINT64, ge::DT_UINT64,
                ge::DT_UINT64, ge::DT_UINT64, ge::DT_UINT64, ge::DT_UINT64})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("quant_scale1")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT,
                ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT,
                ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT,
                ge::DT_FLOAT})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("dequant_scale2")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_UINT64, ge::DT_UINT64, ge::DT_UINT64, ge::DT_UINT64,
                ge::DT_UINT64, ge::DT_UINT64, ge::DT_UINT64, ge::DT_UINT64, ge::DT_UINT64,
                ge::DT_UINT64, ge::DT_UINT64, ge::DT_UINT64, ge::DT_UINT64, ge::DT_UINT64,
                ge::DT_UINT64, ge::DT_UINT64, ge::DT_UINT64, ge::DT_UINT64})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("quant_scale2")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT,
                ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT,
                ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT,
                ge::DT_FLOAT})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("quant_offset2")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT,
                ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT,
                ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT,
                ge::DT_FLOAT})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("antiquant_scale")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16,
                ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16,
                ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_BF16,
                ge::DT_BF16, ge::DT_BF16, ge::DT_BF16})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("antiquant_offset")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16,
                ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16,
                ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_BF16,
                ge::DT_BF16, ge::DT_BF16, ge::DT_BF16})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("block_table")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_INT32, ge::DT_INT32, ge::DT_INT32, ge::DT_INT32, ge::DT_INT32,
                ge::DT_INT32, ge::DT_INT32, ge::DT_INT32, ge::DT_INT32, ge::DT_INT32, ge::DT_INT32,
                ge::DT_INT32, ge::DT_INT32, ge::DT_INT32, ge::DT_INT32, ge::DT_INT32, ge::DT_INT32,
                ge::DT_INT32})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("kv_padding_size")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64,
                ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64,
                ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64,
                ge::DT_INT64})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Output("attention_out")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_INT8, ge::DT_FLOAT16, ge::DT_INT8, ge::DT_FLOAT16,
                ge::DT_INT8, ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_BF16,
                ge::DT_INT8, ge::DT_BF16, ge::DT_INT8, ge::DT_BF16, ge::DT_INT8, ge::DT_BF16,
                ge::DT_BF16, ge::DT_BF16})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Attr("num_heads").AttrType(OPTIONAL).Int(1);
        this->Attr("input_layout").AttrType(OPTIONAL).String("BSH");
        this->Attr("scale_value").AttrType(OPTIONAL).Float(1.0F);
        this->Attr("num_key_value_heads").AttrType(OPTIONAL).Int(0);
        this->Attr("block_size").AttrType(OPTIONAL).Int(0);
        this->Attr("inner_precise").AttrType(OPTIONAL).Int(1);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
        this->AICore().AddConfig("ascend910_93");
    }
};

OP_ADD(IncreFlashAttentionCustom);

}  // namespace ops
