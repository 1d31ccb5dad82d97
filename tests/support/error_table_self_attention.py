"""The error table of self_attention: legal calls, wrong calls, and what is said of them."""

import ml_dtypes
import numpy as np

F16, F32, I8, I32, BF16 = np.float16, np.float32, np.int8, np.int32, ml_dtypes.bfloat16
EITHER = (ValueError, RuntimeError)
COUNT = (TypeError, ValueError, RuntimeError)
TYPE = (TypeError,)


def full(*shape, dtype=F16, value=0):
    return np.full(shape, value, dtype)


def triangle(size=128, fill=-10000.0, dtype=F16):
    return (np.triu(np.ones((size, size)), 1) * fill).astype(dtype)


def band(size, window, fill=-10000.0):
    d = np.subtract.outer(np.arange(size), np.arange(size))
    return np.where((d < 0) | (d >= window), fill, 0).astype(F16)


def both_signs(largest):
    return triangle(9, largest) + triangle(9).T


def alibi(size=256):
    d = np.subtract.outer(np.arange(size), np.arange(size))
    return (d + 60000.0 * (d < 0)).astype(F16)


def fa(**changes):
    """A legal call with a cache: B 2, H 2, D 16, 3 + 4 tokens, 2 layers of 9 rows."""
    call = {"query": full(7, 32), "key": full(7, 32), "value": full(7, 32)}
    call |= {
        "cacheK": full(2, 2, 9, 32),
        "cacheV": full(2, 2, 9, 32),
        "tokenOffset": [5, 4],
        "seqLen": [3, 4],
    }
    return call | {"layerId": [1], "headNum": 2} | changes


def bypass(**changes):
    call = fa(**({"kvcacheCfg": 1} | changes))
    return {name: value for name, value in call.items() if name not in ("key", "value") or name in changes}


def decode(**changes):
    tokens = {name: full(2, 32) for name in ("query", "key", "value")}
    return fa(**({**tokens, "seqLen": [1, 1], "calcType": "DECODER"} | changes))


def bnsd(**changes):
    caches = {name: full(2, 2, 2, 9, 16) for name in ("cacheK", "cacheV")}
    call = {"query": full(2, 2, 4, 16), **caches, "inputLayout": "TYPE_BNSD", "maskType": 1}
    return bypass(**({**call, "attentionMask": full(9, 9)} | changes))


def dynamic(**changes):
    caches = {name: full(2, 9, 32) for name in ("cacheK", "cacheV")}
    return fa(**({**caches, "batchRunStatusEnable": True, "batchStatus": [0, 1]} | changes))


def window(**changes):
    return fa(**({"maskType": 7, "windowSize": 3, "attentionMask": band(9, 3)} | changes))


def pa(**changes):
    """A legal PA_ENCODER call: B 2, H 2, D 16, 3 + 4 tokens."""
    call = {"query": full(7, 2, 16), "key": full(7, 2, 16), "value": full(7, 2, 16), "seqLen": [3, 4]}
    return call | {"headNum": 2, "calcType": "PA_ENCODER"} | changes


def pa_mask(kind=1, mask=None, **changes):
    return pa(**({"maskType": kind, "mask": full(5, 5) if mask is None else mask} | changes))


def pa_alibi(**changes):
    call = {"mask": alibi(), "maskType": 4}
    call |= {"slopes": full(2, dtype=F32, value=-0.5), "kernelType": 1, "isTriuMask": 1}
    return pa(**(call | changes))


def mla(**changes):
    call = pa(**({"mlaVHeadSize": 8} | changes))
    return {name: value for name, value in call.items() if name != "value" or "value" in changes}


def int8(**changes):
    tokens = {name: full(7, 2, 32, dtype=I8) for name in ("query", "key", "value")}
    scales = {name: full(2, dtype=F32, value=1) for name in ("qkDescale", "vpvDescale", "pScale")}
    offsets = {name: full(2, dtype=I32) for name in ("qkOffset", "vpvOffset")}
    return pa(**({**tokens, **scales, **offsets, "quantType": 2, "outDataType": "FLOAT16"} | changes))


def int8_mla(size):
    """The first ``size`` of 64 channels are values."""
    tokens = {name: full(7, 2, 64, dtype=I8) for name in ("query", "key")}
    return without(int8(**tokens, mlaVHeadSize=size), "value")


def prefix(**changes):
    """A legal PREFIX_ENCODER call: B 2, 3 + 4 tokens behind prefixes of 128 and 0."""
    pages = {name: full(3, 128, 32) for name in ("key", "value")}
    call = {"query": full(7, 32), **pages, "blockTables": np.array([[0, 2], [1, 9]], I32)}
    call |= {"seqLen": [3, 4], "kvSeqLen": [131, 4], "headNum": 2, "calcType": "PREFIX_ENCODER"}
    return call | {"maskType": "CAUSAL_MASK", "isTriuMask": 1, "kernelType": "HIGH_PRECISION"} | changes


def without(call, *names):
    return {name: value for name, value in call.items() if name not in names}


LEGAL = {
    "cache": fa(),
    "numbers for names": fa(calcType="ENCODER", kvcacheCfg="K_CACHE_V_CACHE", maskType="MASK_TYPE_UNDEFINED"),
    "int scales": fa(qScale=1, qkScale=2),
    "arrays": fa(seqLen=np.array([3, 4], np.uint32), tokenOffset=np.array([5, 4], I32)),
    "reserved": fa(rsv=bytes(64)),
    "ignored result dtype": fa(outDataType=1),
    "bypass": bypass(),
    "decoder": decode(),
    "bnsd": bnsd(),
    "batch status": dynamic(),
    "skipped row without keys": dynamic(tokenOffset=[0, 4]),
    "window": window(),
    "window of a decoder": decode(maskType=7, windowSize=3),
    "compressed window": window(maskType=8, windowSize=4, attentionMask=band(512, 4)),
    "wide window": window(maskType=8, windowSize=400, attentionMask=triangle(512)),
    "ring": decode(maskType=7, windowSize=3, cacheType=1, cacheK=full(2, 2, 3, 32), cacheV=full(2, 2, 3, 32)),
    "logN": fa(scaleType=1, logN=full(9, dtype=F32)),
    "other value size": fa(value=full(7, 48), cacheV=full(2, 2, 9, 48)),
    "clamp": fa(clampType=1, clampMin=-1.0, clampMax=1.0),
    "additive mask": fa(maskType=1, attentionMask=triangle(9)),
    "ones in bfloat16": pa_mask(
        mask=triangle(5, 1.0, BF16),
        **{name: full(7, 2, 16, dtype=BF16) for name in ("query", "key", "value")},
    ),
    "ones of HIGH_PRECISION": pa_mask(mask=triangle(5, 1.0), kernelType=1),
    "added per head": pa_mask(mask=full(2, 2, 5, 5, value=-3), kernelType=1),
    "bias of 1 beside others": pa_mask(mask=np.array([[1, -1]] * 5, F16).repeat(4, 1)),
    "prompt": pa(),
    "prompt with both lengths": pa(seqLen=np.array([[3, 4], [3, 4]], I32)),
    "nested lists": pa(seqLen=[[3, 4], [3, 4]]),
    "2-D prompt": pa(query=full(7, 32), key=full(7, 32), value=full(7, 32)),
    "triangle": pa_mask(3, triangle(), isTriuMask=1),
    "small triangle": pa_mask(3, triangle()),
    "alibi": pa_alibi(),
    "latent": mla(),
    "int8": int8(),
    "int8 mask of ones": int8(maskType=1, mask=triangle(9, 1)),
    "int8 mask that is added": int8(maskType=1, mask=triangle(9), outDataType="BF16"),
    "int8 mask of any entries": int8(maskType="ALIBI", mask=both_signs(1)),
    "int8 mask of each head": int8(maskType=1, mask=np.broadcast_to(both_signs(3), (2, 2, 9, 9)).copy()),
    "online int8": without(int8(quantType="TYPE_QUANT_QKV_ONLINE"), "pScale"),
    "prefix": prefix(),
    "prefix with a mask": prefix(maskType=3, mask=triangle()),
}


TABLE = {
    # parameters
    "rsv": (fa(rsv=bytes(63) + b"\1"), EITHER, "rsv[63]"),
    "headNum 0": (fa(headNum=0), EITHER, "headNum"),
    "headNum missing": (without(fa(), "headNum"), EITHER, "headNum"),
    "kvHeadNum negative": (fa(kvHeadNum=-1), EITHER, "kvHeadNum"),
    "headNum % kvHeadNum": (fa(headNum=8, kvHeadNum=3), EITHER, "6 and 9"),
    "more key heads": (fa(headNum=2, kvHeadNum=4), EITHER, "headNum"),
    "kvcacheCfg 2": (fa(kvcacheCfg=2), EITHER, "kvcacheCfg"),
    "quantType 1": (fa(quantType=1), EITHER, "quantType"),
    "scaleType 2": (fa(scaleType=2), EITHER, "scaleType"),
    "kernelType 2": (fa(kernelType=2), EITHER, "kernelType"),
    "inputLayout": (fa(inputLayout="TYPE_SBH"), EITHER, "inputLayout"),
    "calcType 5": (fa(calcType=5), EITHER, "PREFIX_ENCODER"),
    "calcType misspelt": (fa(calcType="DECODR"), EITHER, "did you mean 'DECODER'"),
    "maskType 10": (fa(maskType=10), EITHER, "maskType"),
    "isTriuMask 2": (fa(isTriuMask=2), EITHER, "isTriuMask"),
    "triangle without a mask": (fa(isTriuMask=1), EITHER, "isTriuMask"),
    "headNum float": (fa(headNum=2.0), TYPE, "headNum"),
    "qkScale text": (fa(qkScale="1"), TYPE, "qkScale"),
    "quantized with a cache": (fa(quantType=2), EITHER, "quantType"),
    "quantized into nothing": (int8(outDataType=-1), EITHER, "outDataType"),
    "quantized into float32": (int8(outDataType=0), EITHER, "outDataType"),
    "quantized with logN": (int8(scaleType=1, kernelType=1), EITHER, "scaleType"),
    "quantized, a mask of both signs": (int8(maskType=1, mask=both_signs(1)), EITHER, "ALIBI"),
    "quantized, a mask of twos": (int8(maskType=1, mask=triangle(9, 2)), EITHER, "at most 1"),
    "quantized triangle": (int8(maskType=3, isTriuMask=1, mask=triangle()), EITHER, "maskType"),
    "bypass in PA_ENCODER": (pa(kvcacheCfg=1), EITHER, "kvcacheCfg"),
    "alibi compress with a cache": (fa(maskType=4, attentionMask=alibi()), EITHER, "maskType"),
    "causal mask with a cache": (fa(maskType=9), EITHER, "maskType"),
    "causal mask in PA_ENCODER": (pa(maskType=9), EITHER, "maskType"),
    "mla with a cache": (fa(mlaVHeadSize=8), EITHER, "mlaVHeadSize"),
    "batch status in PA_ENCODER": (pa(batchRunStatusEnable=True), EITHER, "batchRunStatusEnable"),
    # TYPE_BNSD
    "bnsd logN": (bnsd(scaleType=1, logN=full(9, dtype=F32)), EITHER, "logN"),
    "bnsd without bypass": (bnsd(kvcacheCfg=0), EITHER, "K_BYPASS_V_BYPASS"),
    "bnsd without a mask": (without(bnsd(maskType=0), "attentionMask"), EITHER, "maskType"),
    "bnsd prefix": (prefix(inputLayout=1), EITHER, "inputLayout"),
    "bnsd mla": (mla(inputLayout=1), EITHER, "mlaVHeadSize"),
    "bnsd precise": (pa(inputLayout=1, kernelType=1), EITHER, "kernelType"),
    "bnsd prompt mask": (pa_mask(inputLayout=1), EITHER, "maskType"),
    "bnsd heads": (bnsd(query=full(2, 3, 4, 16)), EITHER, "query"),
    "bnsd batch": (bnsd(query=full(3, 2, 4, 16)), EITHER, "cacheK"),
    "bnsd unequal sizes": (bnsd(cacheV=full(2, 2, 2, 9, 32)), EITHER, "cacheV"),
    # latent attention
    "mla mask": (mla(maskType=2, mask=full(2, 5, 5)), EITHER, "maskType"),
    "mla compressed": (mla(maskType=3, isTriuMask=1, mask=triangle()), EITHER, "maskType"),
    "mla logN": (mla(scaleType=1, kernelType=1, logN=full(9, dtype=F32)), EITHER, "scaleType"),
    "mla clamp": (mla(clampType=1), EITHER, "clampType"),
    "mla too large": (mla(mlaVHeadSize=577), EITHER, "576"),
    "mla beyond the key": (mla(mlaVHeadSize=17), EITHER, "nearest legal value is 16"),
    "mla with values": (mla(value=full(7, 2, 16)), COUNT, "leave value out"),
    # windows
    "no window size": (window(windowSize=0), EITHER, "windowSize"),
    "window size without a window": (fa(windowSize=3), EITHER, "windowSize"),
    "ring without a window": (fa(cacheType=1), EITHER, "cacheType"),
    "compressed window of a decoder": (decode(maskType=8, windowSize=3), EITHER, "maskType"),
    "window and batch status": (
        dynamic(maskType=7, windowSize=3, attentionMask=band(9, 3)),
        EITHER,
        "batchRun",
    ),
    "precise window": (window(kernelType=1), EITHER, "kernelType"),
    "clamped window": (window(clampType=1), EITHER, "clampType"),
    "window and logN": (window(scaleType=1, logN=full(9, dtype=F32)), EITHER, "scaleType"),
    "int8 window": (int8(maskType=7, windowSize=3, mask=band(9, 3)), EITHER, "quantType"),
    "bnsd window": (bnsd(maskType=7, windowSize=3, attentionMask=band(9, 3)), EITHER, "inputLayout"),
    # PREFIX_ENCODER
    "prefix quantized": (prefix(quantType=2), EITHER, "quantType"),
    "prefix result dtype": (prefix(outDataType=1), EITHER, "outDataType"),
    "prefix fewer heads": (prefix(headNum=1, kvHeadNum=2), EITHER, "headNum"),
    "prefix qScale": (prefix(qScale=0.5), EITHER, "PREFIX_ENCODER takes no qScale"),
    "prefix batch status": (prefix(batchRunStatusEnable=True), EITHER, "batchRunStatusEnable"),
    "prefix not causal": (prefix(isTriuMask=0), EITHER, "isTriuMask"),
    "prefix kernel": (prefix(kernelType=0), EITHER, "kernelType"),
    "prefix clamp": (prefix(clampType=1), EITHER, "clampType"),
    "prefix clamp values": (prefix(clampMax=1.0), EITHER, "clampMax"),
    "prefix dense mask": (prefix(maskType=1, mask=full(200, 200)), EITHER, "maskType"),
    "prefix left align": (prefix(maskType=6, mask=alibi()), EITHER, "maskType"),
    "prefix bypass": (prefix(kvcacheCfg=1), EITHER, "PREFIX_ENCODER needs K_CACHE_V_CACHE"),
    "prefix logN": (prefix(scaleType=1), EITHER, "PREFIX_ENCODER takes no logN"),
    "prefix ring": (prefix(cacheType=1), EITHER, "cacheType"),
    "prefix mla": (prefix(mlaVHeadSize=8), EITHER, "PREFIX_ENCODER takes no latent attention"),
    "prefix window": (prefix(windowSize=3), EITHER, "windowSize"),
    # number of inputs
    "no key": (without(fa(), "key"), COUNT, "pass key"),
    "no value": (without(pa(), "value"), COUNT, "pass value"),
    "key with bypass": (bypass(key=full(7, 32), value=full(7, 32)), COUNT, "leave key out"),
    "no mask": (pa(maskType=1), COUNT, "pass mask"),
    "mask for nothing": (pa(mask=full(5, 5)), COUNT, "leave mask out"),
    "mask of a decoder's window": (
        decode(maskType=7, windowSize=3, attentionMask=band(9, 3)),
        COUNT,
        "leave",
    ),
    "no slopes": (without(pa_alibi(), "slopes"), COUNT, "pass slopes"),
    "slopes for nothing": (pa(slopes=full(2, dtype=F32)), COUNT, "leave slopes out"),
    "no batchStatus": (without(dynamic(), "batchStatus"), COUNT, "pass batchStatus"),
    "batchStatus for nothing": (fa(batchStatus=[1, 1]), COUNT, "leave batchStatus out"),
    "no logN": (fa(scaleType=1), COUNT, "pass logN"),
    "no scale": (without(int8(), "qkDescale"), COUNT, "pass qkDescale"),
    "no offset": (without(int8(), "vpvOffset"), COUNT, "pass vpvOffset"),
    "no pScale": (without(int8(), "pScale"), COUNT, "pass pScale"),
    "pScale online": (int8(quantType=3), COUNT, "leave pScale out"),
    "no seqLen": (without(fa(), "seqLen"), TYPE, "seqLen"),
    "no blockTables": (without(prefix(), "blockTables"), TYPE, "blockTables"),
    "an input of another mode": (pa(tokenOffset=[3, 4]), TYPE, "tokenOffset"),
    "causal mask passed": (prefix(mask=triangle()), COUNT, "leave mask out"),
    # dtypes
    "query float32": (fa(query=full(7, 32, dtype=F32)), TYPE, "query"),
    "key bfloat16": (fa(key=full(7, 32, dtype=BF16)), TYPE, "key"),
    "cache dtype": (fa(cacheV=full(2, 2, 9, 32, dtype=BF16)), TYPE, "cacheV"),
    "mask dtype": (pa_mask(mask=full(5, 5, dtype=BF16)), TYPE, "mask"),
    "mask bool": (pa_mask(mask=full(5, 5, dtype=bool)), TYPE, "mask"),
    "cache mask dtype": (fa(maskType=1, attentionMask=full(9, 9, dtype=BF16)), TYPE, "attentionMask"),
    "seqLen int64": (fa(seqLen=np.array([3, 4])), TYPE, "seqLen"),
    "seqLen floats": (fa(seqLen=[3.0, 4]), TYPE, "seqLen[0]"),
    "logN float16": (fa(scaleType=1, logN=full(9)), TYPE, "logN"),
    "slopes float16": (pa_alibi(slopes=full(2)), TYPE, "slopes"),
    "blockTables int64": (prefix(blockTables=np.zeros((2, 2), np.int64)), TYPE, "blockTables"),
    "int8 unquantized": (
        pa(**{n: full(7, 2, 16, dtype=I8) for n in ("query", "key", "value")}),
        TYPE,
        "int8",
    ),
    "float16 quantized": (int8(**{n: full(7, 2, 32) for n in ("query", "key", "value")}), TYPE, "int8"),
    "pScale float16": (int8(pScale=full(2)), TYPE, "pScale"),
    "layerId float": (fa(layerId=[0.5]), TYPE, "layerId"),
    # shapes with a cache
    "query rank": (fa(query=full(7, 2, 16)), EITHER, "query"),
    "cache rank": (fa(cacheK=full(2, 9, 32)), EITHER, "cacheK"),
    "cache rank with status": (dynamic(cacheK=full(2, 2, 9, 32)), EITHER, "cacheK"),
    "hidden of key": (fa(key=full(7, 16)), EITHER, "key"),
    "hidden of cacheK": (fa(cacheK=full(2, 2, 9, 64)), EITHER, "cacheK"),
    "hidden of cacheV": (fa(cacheV=full(2, 2, 9, 64)), EITHER, "cacheV"),
    "layers differ": (fa(cacheV=full(3, 2, 9, 32)), EITHER, "cacheV"),
    "capacities differ": (fa(cacheV=full(2, 2, 8, 32)), EITHER, "cacheV"),
    "batch of tokenOffset": (fa(tokenOffset=[5]), EITHER, "tokenOffset"),
    "batch of seqLen": (fa(seqLen=[3, 3, 1]), EITHER, "seqLen"),
    "batch of status": (dynamic(batchStatus=[1]), EITHER, "batchStatus"),
    "two layers": (fa(layerId=[0, 1]), EITHER, "layerId"),
    "hidden % headNum": (fa(headNum=3), EITHER, "query"),
    "hidden % 16": (
        fa(query=full(7, 24), key=full(7, 24), cacheK=full(2, 2, 9, 24), headNum=1),
        EITHER,
        "16 and 32",
    ),
    "head size": (bypass(query=full(7, 1025), cacheK=full(2, 2, 9, 1025), headNum=1), EITHER, "1024"),
    "window head size": (window(value=full(7, 64), cacheV=full(2, 2, 9, 64)), EITHER, "cacheV"),
    # shapes of PA_ENCODER
    "ranks differ": (pa(key=full(7, 32), value=full(7, 32)), EITHER, "key"),
    "value rank": (pa(value=full(7, 32)), EITHER, "value"),
    "4-D query": (pa(query=full(1, 7, 2, 16)), EITHER, "query"),
    "key heads": (pa(key=full(7, 3, 16), value=full(7, 3, 16)), EITHER, "key"),
    "key head size": (pa(key=full(7, 2, 8)), EITHER, "key"),
    "tokens of value": (pa(value=full(6, 2, 16)), EITHER, "value"),
    "seqLen rank": (pa(seqLen=np.zeros((3, 2), I32)), EITHER, "seqLen"),
    "slopes length": (pa_alibi(slopes=full(3, dtype=F32)), EITHER, "slopes"),
    "scale length": (int8(qkDescale=full(3, dtype=F32)), EITHER, "qkDescale"),
    "int8 head size": (
        int8(**{n: full(7, 2, 48, dtype=I8) for n in ("query", "key", "value")}),
        EITHER,
        "32 and 64",
    ),
    "int8 size of latent values": (int8_mla(48), EITHER, "mlaVHeadSize"),
    "int8 sizes differ": (int8(value=full(7, 2, 64, dtype=I8)), EITHER, "value"),
    "alibi head size": (pa_alibi(**{n: full(7, 2, 144) for n in ("query", "key", "value")}), EITHER, "128"),
    "logN too short": (pa(scaleType=1, kernelType=1, logN=full(3, dtype=F32)), EITHER, "logN"),
    "logN rank": (pa(scaleType=1, kernelType=1, logN=full(9, 1, dtype=F32)), EITHER, "logN"),
    "logN with the DEFAULT kernel": (pa(scaleType=1, logN=full(9, dtype=F32)), EITHER, "kernelType"),
    # masks
    "mask rank": (pa_mask(mask=full(5)), EITHER, "mask"),
    "too few rows": (pa_mask(mask=full(3, 5)), EITHER, "mask"),
    "too few columns": (pa_mask(mask=full(5, 3)), EITHER, "mask"),
    "mask batch": (fa(maskType=1, attentionMask=full(3, 9, 9)), EITHER, "attentionMask"),
    "mask heads": (pa_mask(2, full(3, 5, 5)), EITHER, ""),
    "triangle size": (pa_mask(3, triangle(64), isTriuMask=1), EITHER, "mask"),
    "triangle of long calls": (
        pa_mask(3, triangle(), **{n: full(200, 2, 16) for n in ("query", "key", "value")}, seqLen=[70, 130]),
        EITHER,
        "isTriuMask",
    ),
    "alibi size": (pa_alibi(mask=alibi(128)), EITHER, "mask"),
    "alibi columns": (pa_alibi(mask=full(2, 3, 128)), EITHER, "mask"),
    "left align columns": (pa_alibi(maskType=6, mask=full(2, 9, 128)), EITHER, "mask"),
    "alibi with the DEFAULT kernel": (pa_alibi(kernelType=0), EITHER, "kernelType"),
    "window mask rank": (window(attentionMask=full(2, 9, 9)), EITHER, "attentionMask"),
    "compressed window size": (window(maskType=8, attentionMask=band(256, 3)), EITHER, "attentionMask"),
    "negative ones": (pa_mask(mask=triangle(5), kernelType=1), EITHER, "mask"),
    "ones that are added": (pa_mask(mask=triangle(5, 1.0)), EITHER, "-10000"),
    "no triangle": (pa_mask(3, full(128, 128), isTriuMask=1), EITHER, "mask"),
    "no band": (window(attentionMask=triangle(9)), EITHER, "attentionMask"),
    "no compressed band": (window(maskType=8, attentionMask=triangle(512)), EITHER, "attentionMask"),
    "no alibi": (pa_alibi(mask=full(256, 256)), EITHER, "mask"),
    # shapes of PREFIX_ENCODER
    "prefix query rank": (prefix(query=full(1, 7, 2, 16)), EITHER, "query"),
    "pages differ": (prefix(value=full(3, 64, 32)), EITHER, "value"),
    "page ranks differ": (prefix(value=full(3, 128, 2, 16)), EITHER, "value"),
    "table rank": (prefix(blockTables=full(2, dtype=I32)), EITHER, "blockTables"),
    "table batch": (prefix(seqLen=[7], kvSeqLen=[7]), EITHER, "seqLen"),
    "prefix head size": (
        prefix(query=full(7, 288), key=full(3, 16, 288), value=full(3, 16, 288), kvSeqLen=[3, 4]),
        EITHER,
        "128",
    ),
    "prefix head size % 16": (
        prefix(query=full(7, 48), key=full(3, 128, 48), value=full(3, 128, 48)),
        EITHER,
        "16 and 32",
    ),
    "block too large": (
        prefix(query=full(7, 256), key=full(3, 256, 256), value=full(3, 256, 256)),
        EITHER,
        "blockSize",
    ),
    # values
    "offset below seqLen": (fa(tokenOffset=[2, 4]), EITHER, "tokenOffset[0] is 2"),
    "offset beyond the cache": (fa(tokenOffset=[5, 10]), EITHER, "nearest legal value is 9"),
    "no query token": (fa(seqLen=[7, 0]), EITHER, "seqLen[1] is 0"),
    "negative length": (pa(seqLen=[-1, 8]), EITHER, "seqLen[0] is -1"),
    "two tokens in DECODER": (
        decode(query=full(3, 32), key=full(3, 32), value=full(3, 32), seqLen=[2, 1]),
        EITHER,
        "seqLen",
    ),
    "sum of seqLen": (fa(seqLen=[3, 3]), EITHER, "sum(seqLen[b] for b < batch) is 7"),
    "sum of prompt lengths": (pa(seqLen=[3, 5]), EITHER, "seqLen"),
    "sum of key lengths": (pa(seqLen=[[3, 4], [3, 5]]), EITHER, "seqLen"),
    "longer keys": (
        pa(key=full(9, 2, 16), value=full(9, 2, 16), seqLen=[[3, 4], [3, 6]]),
        EITHER,
        "PREFIX_ENCODER",
    ),
    "layer": (fa(layerId=[2]), EITHER, "layerId[0] is 2"),
    "negative layer": (fa(layerId=[-1]), EITHER, "layerId[0] is -1"),
    "ring too small": (
        decode(maskType=7, windowSize=4, cacheType=1, cacheK=full(2, 2, 3, 32), cacheV=full(2, 2, 3, 32)),
        EITHER,
        "tokenOffset",
    ),
    "block id": (prefix(blockTables=np.array([[0, 3], [1, 9]], I32)), EITHER, "[0, 1] is 3"),
    "block id -1": (prefix(blockTables=np.array([[-1, 0], [1, 9]], I32)), EITHER, "[0, 0] is -1"),
    "prefix length": (prefix(kvSeqLen=[130, 4]), EITHER, "kvSeqLen[0] is 130"),
    "fewer keys than tokens": (prefix(kvSeqLen=[131, 3]), EITHER, "kvSeqLen[1] is 3"),
    "table too narrow": (prefix(kvSeqLen=[259, 4]), EITHER, "blockTables"),
    "prefix sum": (prefix(seqLen=[2, 4], kvSeqLen=[130, 4]), EITHER, "seqLen"),
    # split caches
    "split with append": (fa(cacheK=[full(9, 32)] * 2, cacheV=[full(9, 32)] * 2), EITHER, "cacheK"),
    "null entry": (
        without(decode(kvcacheCfg=1, cacheK=[full(9, 32), None]), "key", "value"),
        (ValueError,),
        "cacheK[1]",
    ),
    "entry dtype": (
        without(decode(kvcacheCfg=1, cacheK=[full(9, 32), full(9, 32, dtype=F32)]), "key", "value"),
        TYPE,
        "cacheK[1]",
    ),
    "entry count": (
        without(decode(kvcacheCfg=1, cacheK=[full(9, 32)] * 3, cacheV=[full(9, 32)] * 3), "key", "value"),
        EITHER,
        "",
    ),
    # rules that others would stand in for
    "bnsd quantized": (bnsd(quantType=2), (ValueError,), "TYPE_BNSD takes no quantisation"),
    "bnsd batch status": (
        bnsd(batchRunStatusEnable=True, batchStatus=[1, 1]),
        (ValueError,),
        "TYPE_BNSD takes no batch status",
    ),
    "wide head of a window": (
        window(
            query=full(7, 2 * 272),
            key=full(7, 2 * 272),
            value=full(7, 2 * 272),
            cacheK=full(2, 2, 9, 2 * 272),
            cacheV=full(2, 2, 9, 2 * 272),
        ),
        (ValueError,),
        "at most 256 with windows",
    ),
    "logN of too few rows": (
        decode(scaleType=1, logN=full(1, dtype=F32)),
        (ValueError,),
        "must have an entry for each batch row",
    ),
    "padded lengths": (
        fa(
            query=full(2, 4, 2, 16),
            key=full(2, 4, 2, 16),
            value=full(2, 4, 2, 16),
            seqLen=[3, 5],
            tokenOffset=[5, 5],
        ),
        (ValueError,),
        "must be at most the rows of query",
    ),
    "padded keys": (
        fa(
            query=full(2, 5, 2, 16),
            key=full(2, 4, 2, 16),
            value=full(2, 4, 2, 16),
            seqLen=[3, 5],
            tokenOffset=[5, 5],
        ),
        (ValueError,),
        "must be at most the rows of key",
    ),
    "more key tokens": (
        fa(key=full(8, 32), value=full(8, 32)),
        (ValueError,),
        "must add up to the tokens of key",
    ),
    "mla head": (
        mla(query=full(7, 2, 592), key=full(7, 2, 592)),
        (ValueError,),
        "at most 576 with mlaVHeadSize",
    ),
    "pa wide window": (
        pa(
            maskType=7,
            windowSize=3,
            mask=band(9, 3),
            query=full(7, 2, 272),
            key=full(7, 2, 272),
            value=full(7, 2, 272),
        ),
        (ValueError,),
        "at most 256 with these features",
    ),
    "pa descale for nothing": (pa(qkDescale=full(2, dtype=F32)), COUNT, "only for quantType"),
    "prefix mask": (prefix(maskType=3), COUNT, "needed by a maskType other than CAUSAL_MASK"),
    "prefix empty blocks": (
        prefix(key=full(3, 0, 32), value=full(3, 0, 32)),
        (ValueError,),
        "must have blocks of at least one row",
    ),
    "no rows": (
        fa(
            seqLen=[],
            tokenOffset=[],
            query=full(0, 32),
            key=full(0, 32),
            value=full(0, 32),
            cacheK=full(2, 0, 9, 32),
            cacheV=full(2, 0, 9, 32),
        ),
        (ValueError,),
        "at least one batch row",
    ),
    "no channels": (
        pa(query=full(7, 2, 0), key=full(7, 2, 0), value=full(7, 2, 0)),
        (ValueError,),
        "head size of at least 1",
    ),
}
