// Tiling data of self_attention_pa_encoder: computed on the host, read by every core. Each kernel
// reads what it needs.
#ifndef ATTNDSL_SELF_ATTENTION_PA_ENCODER_TILING_H
#define ATTNDSL_SELF_ATTENTION_PA_ENCODER_TILING_H

#include <cstdint>

// The kernels by their tiling keys.
enum class SelfAttentionPaEncoderTilingKey : uint64_t {
    kFloat16D128E128Value = 92895136800001080,
    kFloat16D128E128ValueMaskMaskTypeNORM = 374921317600003080,
    kFloat16D128E128ValueSlopesMaskTypeALIBICOMPRESS = 76750906500005080,
    kFloat16D128E128ValueLogN = 92895136800065080,
    kFloat16D128E128ValueClampTypeMINMAX = 107961468600001080,
    kFloat16D128E128ValueKeyBNSDQueryBNSDValueBNSD = 150904969800001080,
    kFloat16D128E128 = 347207478800000080,
    kFloat16D128E128KeyPadded = 330270759200000080,
    kFloat16D128E128ValueMaskMaskPerHead116087f5MaskTypeALIBI = 376575791400003080,
    kFloat16D128E128ValueMaskMaskPerBatchCcd31859MaskTypeNORM = 128628576600003080,
    kFloat16D128E128ValueMaskMaskFullMaskTypeNORM = 8824546500003080,
    kFloat16D128E128ValueMaskTypeNORMCOMPRESS = 56260770500001080,
    kFloat16D128E128ValueMaskMaskColumnsMaskTypeALIBICOMPRESS = 157349419800003080,
    kFloat16D128E128ValueMaskTypeSLIDINGWINDOWCOMPRESS = 12004278000001080,
    kFloat16D128E128QueryPadded = 184114535200000080,
    kFloat16D128E128ValueMaskMaskTypeALIBI = 284565779700003080,
    kFloat16D128E128ValueSlopesMaskTypeALIBICOMPRESSSQRT = 138352073000005080,
    kFloat16D128E128ValueSlopesMaskTypeALIBICOMPRESSLEFTALIGN = 352612900700005080,
    kBfloat16D128E128Value = 92895136800001081,
    kBfloat16D128E128ValueMaskMaskTypeNORM = 411568015400003081,
    kBfloat16D128E128ValueSlopesMaskTypeALIBICOMPRESS = 76750906500005081,
    kBfloat16D128E128ValueLogN = 92895136800065081,
    kBfloat16D128E128ValueClampTypeMINMAX = 107961468600001081,
    kBfloat16D128E128ValueKeyBNSDQueryBNSDValueBNSD = 150904969800001081,
    kBfloat16D128E128 = 347207478800000081,
    kBfloat16D128E128KeyPadded = 330270759200000081,
    kBfloat16D128E128ValueMaskMaskPerHead116087f5MaskTypeALIBI = 339508421600003081,
    kBfloat16D128E128ValueMaskMaskPerBatchCcd31859MaskTypeNORM = 171986576400003081,
    kBfloat16D128E128ValueMaskMaskFullMaskTypeNORM = 79552428300003081,
    kBfloat16D128E128ValueMaskTypeNORMCOMPRESS = 56260770500001081,
    kBfloat16D128E128ValueMaskMaskColumnsMaskTypeALIBICOMPRESS = 219460824400003081,
    kBfloat16D128E128ValueMaskTypeSLIDINGWINDOWCOMPRESS = 12004278000001081,
    kBfloat16D128E128QueryPadded = 184114535200000081,
    kBfloat16D128E128ValueMaskMaskTypeALIBI = 220970666300003081,
    kBfloat16D128E128ValueSlopesMaskTypeALIBICOMPRESSSQRT = 138352073000005081,
    kBfloat16D128E128ValueSlopesMaskTypeALIBICOMPRESSLEFTALIGN = 352612900700005081,
    kInt8D128E128ValueQkDescaleVpvDescaleQuantTypeQKVONLINE = 130279157100025082,
    kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeNORMQuantTypeQKVONLINE = 41868342200027082,
    kInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeALIBICOMPRESSQuantTypeQKVONLINE =
        293002024100029082,
    kInt8D128E128ValueQkDescaleVpvDescalePScaleQuantTypeQKVOFFLINE = 130279157100057082,
    kInt8D128E128ValueQkDescaleVpvDescaleClampTypeMINMAXQuantTypeQKVONLINE = 98357786100025082,
    kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskBfloat16MaskTypeNORMQuantTypeQKVONLINE =
        363527821200027082,
    kInt8D128E128QkDescaleVpvDescaleQuantTypeQKVONLINE = 202042731000024082,
    kInt8D128E128QkDescaleVpvDescaleKeyPaddedQuantTypeQKVONLINE = 422816758100024082,
    kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskPerHead116087f5MaskTypeALIBIQuantTypeQKVONLINE =
        362849643000027082,
    kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskPerBatchCcd31859MaskTypeNORMQuantTypeQKVONLINE =
        293877920500027082,
    kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskFullMaskTypeNORMQuantTypeQKVONLINE =
        42768058400027082,
    kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskBfloat16MaskColumnsMaskTypeALIBICOMPRESSQuantTypeQKVONLINE =
        419672092600027082,
    kInt8D128E128QkDescaleVpvDescaleQueryPaddedQuantTypeQKVONLINE = 153779648300024082,
    kInt8D128E128ValueMaskQkDescaleVpvDescaleMaskTypeALIBIQuantTypeQKVONLINE = 184664963500027082,
    kInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeALIBICOMPRESSSQRTQuantTypeQKVONLINE =
        351358669000029082,
    kInt8D128E128ValueSlopesQkDescaleVpvDescaleMaskTypeALIBICOMPRESSLEFTALIGNQuantTypeQKVONLINE =
        136260626300029082,
    kInt8D128E128ValueQkDescaleVpvDescaleOutDataTypeBF16QuantTypeQKVONLINE = 295384346500025082,
};

struct SelfAttentionPaEncoderTiling {
    uint64_t key;  // the tiling key, for launches that have no other way to tell it
    int64_t qRows;  // query positions of the longest batch row
    int64_t seqLenLayoutIs1;  // seqLenLayout == 1
    int64_t batchScalar;  // batch
    int64_t kvHeads;  // key/value heads
    int64_t group;  // query heads of a key/value head
    int64_t headsPerTask;  // query heads of a task, at most
    int64_t headTiles;  // tasks that share the query heads of a key/value head
    int64_t queriesPerTask;  // query positions of a task, at most
    int64_t queryTiles;  // tasks that share the query positions of a batch row
    int64_t rowsPerTask;  // query rows of a task, at most
    int64_t tasks;  // units of work before keys are split
    int64_t splits;  // parts the keys of a row are split into
    int64_t items;  // units of work: a task and a split
    int64_t rowTotal;  // rows of the result
    int64_t blocks;  // blocks that are launched
    float qkScale;  // qkScale
    int64_t valueDim;  // true head size of values
    int64_t outputStrideS;  // elements between neighbours of output along S
    int64_t outputStrideN;  // elements between neighbours of output along N
    int64_t queryHeads;  // query heads
    int64_t headDim;  // true head size
    int64_t keyStrideU;  // elements between neighbours of key along U
    int64_t keyStrideK;  // elements between neighbours of key along K
    int64_t valueStrideU;  // elements between neighbours of value along U
    int64_t valueStrideK;  // elements between neighbours of value along K
    int64_t keyCapacity;  // keys of a row when no lengths are given
    int64_t queryStrideS;  // elements between neighbours of query along S
    int64_t queryStrideN;  // elements between neighbours of query along N
    int64_t partialMaxOffset;  // bytes from the workspace to the row maxima of key splits
    int64_t partialSumOffset;  // bytes from the workspace to the row sums of key splits
    int64_t partialOutOffset;  // bytes from the workspace to the weighted sums of key splits
    int64_t scoreRingOffset;  // bytes from the workspace to the ring of score tiles, cube to vector
    int64_t scoreRingPart;  // bytes of one block's scoreRing
    // bytes from the workspace to the ring of probability tiles, vector to cube
    int64_t probRingOffset;
    int64_t probRingPart;  // bytes of one block's probRing
    int64_t outRingOffset;  // bytes from the workspace to the ring of weighted sums, cube to vector
    int64_t outRingPart;  // bytes of one block's outRing
    int64_t workspaceBytes;  // bytes of the user workspace
    int64_t maskPitch0;  // elements of mask behind dimension 0
    // -3e+38 if kernelType == 1 and (calcType == 0 or calcType == 1 or calcType == 3) and (maskType
    // == 1 or maskType == 3 or maskType == 7 or maskType == 8) else 1.0
    float factorMultiply;
    int64_t slopesStrideN;  // elements between neighbours of slopes along N
    float clampMin;  // clampMin
    float clampMax;  // clampMax
    int64_t outputStrideB;  // elements between neighbours of output along B
    int64_t outputStrideQ;  // elements between neighbours of output along Q
    int64_t keyStrideB;  // elements between neighbours of key along B
    int64_t valueStrideB;  // elements between neighbours of value along B
    int64_t queryStrideQ;  // elements between neighbours of query along Q
    int64_t queryStrideB;  // elements between neighbours of query along B
    int64_t maskPitch1;  // elements of mask behind dimension 1
    int64_t maskPitch2;  // elements of mask behind dimension 2
    int64_t windowSize;  // windowSize
    int64_t vpvDescaleStrideN;  // elements between neighbours of vpvDescale along N
    int64_t qkDescaleStrideN;  // elements between neighbours of qkDescale along N
    int64_t pScaleStrideN;  // elements between neighbours of pScale along N
};

#endif  // ATTNDSL_SELF_ATTENTION_PA_ENCODER_TILING_H
