// NsaCompressAttentionCustom: operator definition, shape and dtype inference, and tiling of
// nsa_compress_attention.
// Contract: mindspore.ops.nsa_compress_attention
#include "nsa_compress_attention_launch.h"
#include "tiling/platform/platform_ascendc.h"
#include "nsa_compress_attention_shapes.h"
#include "cann_call.h"

namespace {

using namespace nsa_compress_attention_host;

// The arguments of a call, as far as a context has them.
template <typename Context>
Call ReadCall(const Context *context)
{
    Call call;
    call.query = ReadTensor(context, 0);
    call.key = ReadTensor(context, 1);
    call.value = ReadTensor(context, 2);
    call.topk_mask = ReadTensor(context, 3);
    call.atten_mask = ReadTensor(context, 4);
    call.actual_seq_qlen = ReadTensor(context, 5, DataType::kInt64);
    call.actual_cmp_seq_kvlen = ReadTensor(context, 6, DataType::kInt64);
    call.actual_sel_seq_kvlen = ReadTensor(context, 7, DataType::kInt64);
    const gert::RuntimeAttrs *attrs = context->GetAttrs();
    if (attrs == nullptr) {
        return call;
    }
    if (const auto *value = attrs->GetFloat(0); value != nullptr) {
        call.scale_value = *value;
    }
    if (const auto *value = attrs->GetInt(1); value != nullptr) {
        call.head_num = *value;
    }
    if (const auto *value = attrs->GetInt(2); value != nullptr) {
        call.compress_block_size = *value;
    }
    if (const auto *value = attrs->GetInt(3); value != nullptr) {
        call.compress_stride = *value;
    }
    if (const auto *value = attrs->GetInt(4); value != nullptr) {
        call.select_block_size = *value;
    }
    if (const auto *value = attrs->GetInt(5); value != nullptr) {
        call.select_block_count = *value;
    }
    if (const auto *value = attrs->GetStr(6); value != nullptr) {
        call.index_reading = value;
    }
    if (const auto *value = attrs->GetBool(7); value != nullptr) {
        call.relaxed = *value;
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
    if (index == 1) {
        dtype = DataType::kInt32;
    }
    if (index == 2) {
        dtype = DataType::kFloat32;
    }
    if (index == 3) {
        dtype = DataType::kFloat32;
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
    if (SetShape(context->GetOutputShape(1), shapes[1]) != GRAPH_SUCCESS) {
        Log(context, LogLevel::kError, "the context has no output 1");
        return GRAPH_FAILED;
    }
    if (SetShape(context->GetOutputShape(2), shapes[2]) != GRAPH_SUCCESS) {
        Log(context, LogLevel::kError, "the context has no output 2");
        return GRAPH_FAILED;
    }
    if (SetShape(context->GetOutputShape(3), shapes[3]) != GRAPH_SUCCESS) {
        Log(context, LogLevel::kError, "the context has no output 3");
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
    if (context->SetOutputDataType(1, ResultDtype(1, call)) != GRAPH_SUCCESS) {
        Log(context, LogLevel::kError, "the context has no output 1");
        return GRAPH_FAILED;
    }
    if (context->SetOutputDataType(2, ResultDtype(2, call)) != GRAPH_SUCCESS) {
        Log(context, LogLevel::kError, "the context has no output 2");
        return GRAPH_FAILED;
    }
    if (context->SetOutputDataType(3, ResultDtype(3, call)) != GRAPH_SUCCESS) {
        Log(context, LogLevel::kError, "the context has no output 3");
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
    auto *tiling = context->GetTilingData<NsaCompressAttentionTiling>();
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

class NsaCompressAttentionCustom : public OpDef {
public:
    explicit NsaCompressAttentionCustom(const char *name) : OpDef(name)
    {
        // One column per combination of dtypes.
        const std::vector<ge::Format> formats(8, ge::FORMAT_ND);
        this->Input("query")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16,
                ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_BF16})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("key")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16,
                ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_BF16})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("value")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16,
                ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_BF16})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("topk_mask")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_BOOL, ge::DT_BOOL, ge::DT_UINT8, ge::DT_UINT8, ge::DT_BOOL,
                ge::DT_BOOL, ge::DT_UINT8, ge::DT_UINT8})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("atten_mask")
            .ParamType(OPTIONAL)
            .DataType({ge::DT_BOOL, ge::DT_UINT8, ge::DT_BOOL, ge::DT_UINT8, ge::DT_BOOL,
                ge::DT_UINT8, ge::DT_BOOL, ge::DT_UINT8})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("actual_seq_qlen")
            .ParamType(REQUIRED)
            .ValueDepend(REQUIRED)
            .DataType({ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64,
                ge::DT_INT64, ge::DT_INT64, ge::DT_INT64})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("actual_cmp_seq_kvlen")
            .ParamType(REQUIRED)
            .ValueDepend(REQUIRED)
            .DataType({ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64,
                ge::DT_INT64, ge::DT_INT64, ge::DT_INT64})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Input("actual_sel_seq_kvlen")
            .ParamType(REQUIRED)
            .ValueDepend(REQUIRED)
            .DataType({ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64, ge::DT_INT64,
                ge::DT_INT64, ge::DT_INT64, ge::DT_INT64})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Output("attention_out")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT16,
                ge::DT_BF16, ge::DT_BF16, ge::DT_BF16, ge::DT_BF16})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Output("topk_indices_out")
            .ParamType(REQUIRED)
            .DataType({ge::DT_INT32, ge::DT_INT32, ge::DT_INT32, ge::DT_INT32, ge::DT_INT32,
                ge::DT_INT32, ge::DT_INT32, ge::DT_INT32})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Output("softmax_max_out")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT,
                ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Output("softmax_sum_out")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT,
                ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT})
            .Format(formats)
            .UnknownShapeFormat(formats);
        this->Attr("scale_value").AttrType(REQUIRED).Float();
        this->Attr("head_num").AttrType(REQUIRED).Int();
        this->Attr("compress_block_size").AttrType(REQUIRED).Int();
        this->Attr("compress_stride").AttrType(REQUIRED).Int();
        this->Attr("select_block_size").AttrType(REQUIRED).Int();
        this->Attr("select_block_count").AttrType(REQUIRED).Int();
        this->Attr("index_reading").AttrType(OPTIONAL).String("op");
        this->Attr("relaxed").AttrType(OPTIONAL).Bool(false);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
        this->AICore().AddConfig("ascend910_93");
    }
};

OP_ADD(NsaCompressAttentionCustom);

}  // namespace ops
