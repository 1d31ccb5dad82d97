"""self_attention_prefix_encoder on NPUs, by PyTorch.

Without torch_npu the NumPy reference of attndsl computes the result, with a warning.

    from self_attention_prefix_encoder import self_attention_prefix_encoder

Takes tensors of PyTorch on an NPU, or NumPy arrays and CPU tensors for the reference.
Arguments as in ATB SelfAttentionOperation.
Build the extension first: python setup.py build_ext --inplace
The reference is that of the spec "self_attention"; ATTNDSL_SPEC names another spec file.
"""

from __future__ import annotations

import importlib.util
import os
import warnings
from pathlib import Path

_LIBRARY = "self_attention_prefix_encoder_npu"


def available() -> bool:
    """Whether an NPU can be used: torch_npu is installed and the extension is built."""
    return importlib.util.find_spec("torch_npu") is not None and bool(_built())


def self_attention_prefix_encoder(
    query,
    key,
    value,
    blockTables,
    mask=None,
    seqLen=None,
    kvSeqLen=None,
    slopes=None,
    *,
    quantType=0,
    outDataType=-1,
    headNum=0,
    kvHeadNum=0,
    qScale=1.0,
    qkScale=1.0,
    batchRunStatusEnable=False,
    isTriuMask=0,
    calcType=4,
    kernelType=0,
    clampType=0,
    clampMin=0.0,
    clampMax=0.0,
    maskType=0,
    kvcacheCfg=0,
    scaleType=0,
    inputLayout=0,
    mlaVHeadSize=0,
    cacheType=0,
    windowSize=0,
):
    """Attention over a paged cache."""
    values = {
        "query": query,
        "key": key,
        "value": value,
        "blockTables": blockTables,
        "mask": mask,
        "seqLen": seqLen,
        "kvSeqLen": kvSeqLen,
        "slopes": slopes,
        "quantType": quantType,
        "outDataType": outDataType,
        "headNum": headNum,
        "kvHeadNum": kvHeadNum,
        "qScale": qScale,
        "qkScale": qkScale,
        "batchRunStatusEnable": batchRunStatusEnable,
        "isTriuMask": isTriuMask,
        "calcType": calcType,
        "kernelType": kernelType,
        "clampType": clampType,
        "clampMin": clampMin,
        "clampMax": clampMax,
        "maskType": maskType,
        "kvcacheCfg": kvcacheCfg,
        "scaleType": scaleType,
        "inputLayout": inputLayout,
        "mlaVHeadSize": mlaVHeadSize,
        "cacheType": cacheType,
        "windowSize": windowSize,
    }
    if available() and _on_npu(values):
        return load()(**{name: _plain(name, value) for name, value in values.items()})
    missing = "torch_npu or the built extension is missing"
    why = "its arguments are not on an NPU" if available() else missing
    text = f"self_attention_prefix_encoder: {why}, computed by the NumPy reference"
    warnings.warn(text, RuntimeWarning, stacklevel=2)
    return _reference(values)


# Integers that hosts read are passed as lists.
_INTEGERS = ("seqLen", "kvSeqLen", )
# Words that stand for numbers.
_CHOICES = {
    "quantType": {
        'UNDEFINED': 0,
        'TYPE_UNDEFINED': 0,
        'UNQUANT': 0,
        'TYPE_UNQUANT': 0,
        'QKV_OFFLINE': 2,
        'TYPE_QKV_OFFLINE': 2,
        'QKV_ONLINE': 3,
        'TYPE_QKV_ONLINE': 3,
        'QUANT_UNDEFINED': 0,
        'TYPE_QUANT_UNDEFINED': 0,
        'QUANT_UNQUANT': 0,
        'TYPE_QUANT_UNQUANT': 0,
        'QUANT_QKV_OFFLINE': 2,
        'TYPE_QUANT_QKV_OFFLINE': 2,
        'QUANT_QKV_ONLINE': 3,
        'TYPE_QUANT_QKV_ONLINE': 3,
    },
    "outDataType": {
        'DT_UNDEFINED': -1,
        'ACL_DT_UNDEFINED': -1,
        'FLOAT': 0,
        'ACL_FLOAT': 0,
        'FLOAT16': 1,
        'ACL_FLOAT16': 1,
        'INT8': 2,
        'ACL_INT8': 2,
        'INT32': 3,
        'ACL_INT32': 3,
        'UINT8': 4,
        'ACL_UINT8': 4,
        'INT16': 6,
        'ACL_INT16': 6,
        'UINT16': 7,
        'ACL_UINT16': 7,
        'UINT32': 8,
        'ACL_UINT32': 8,
        'INT64': 9,
        'ACL_INT64': 9,
        'UINT64': 10,
        'ACL_UINT64': 10,
        'DOUBLE': 11,
        'ACL_DOUBLE': 11,
        'BOOL': 12,
        'ACL_BOOL': 12,
        'BF16': 27,
        'ACL_BF16': 27,
    },
    "calcType": {
        'PREFIX_ENCODER': 4,
    },
    "kernelType": {
        'DEFAULT': 0,
        'KERNELTYPE_DEFAULT': 0,
        'HIGH_PRECISION': 1,
        'KERNELTYPE_HIGH_PRECISION': 1,
    },
    "clampType": {
        'UNDEFINED': 0,
        'CLAMP_TYPE_UNDEFINED': 0,
        'MIN_MAX': 1,
        'CLAMP_TYPE_MIN_MAX': 1,
    },
    "maskType": {
        'UNDEFINED': 0,
        'MASK_TYPE_UNDEFINED': 0,
        'NORM': 1,
        'MASK_TYPE_NORM': 1,
        'ALIBI': 2,
        'MASK_TYPE_ALIBI': 2,
        'NORM_COMPRESS': 3,
        'MASK_TYPE_NORM_COMPRESS': 3,
        'ALIBI_COMPRESS': 4,
        'MASK_TYPE_ALIBI_COMPRESS': 4,
        'ALIBI_COMPRESS_SQRT': 5,
        'MASK_TYPE_ALIBI_COMPRESS_SQRT': 5,
        'ALIBI_COMPRESS_LEFT_ALIGN': 6,
        'MASK_TYPE_ALIBI_COMPRESS_LEFT_ALIGN': 6,
        'SLIDING_WINDOW_NORM': 7,
        'MASK_TYPE_SLIDING_WINDOW_NORM': 7,
        'SLIDING_WINDOW_COMPRESS': 8,
        'MASK_TYPE_SLIDING_WINDOW_COMPRESS': 8,
        'CAUSAL_MASK': 9,
        'MASK_TYPE_CAUSAL_MASK': 9,
    },
    "kvcacheCfg": {
        'K_CACHE_V_CACHE': 0,
        'K_BYPASS_V_BYPASS': 1,
    },
    "scaleType": {
        'TOR': 0,
        'SCALE_TYPE_TOR': 0,
        'LOGN': 1,
        'SCALE_TYPE_LOGN': 1,
    },
    "inputLayout": {
        'BSND': 0,
        'TYPE_BSND': 0,
        'BNSD': 1,
        'TYPE_BNSD': 1,
    },
    "cacheType": {
        'NORM': 0,
        'CACHE_TYPE_NORM': 0,
        'SWA': 1,
        'CACHE_TYPE_SWA': 1,
    },
}
_LISTS = ()


def _plain(name, value):
    if name in _INTEGERS and value is not None:
        return [int(each) for each in (value.flatten() if hasattr(value, "flatten") else value)]
    if name in _LISTS and value is not None and not isinstance(value, (list, tuple)):
        return [value]
    return _CHOICES.get(name, {}).get(value, value) if isinstance(value, str) else value


def _built() -> list[Path]:
    return sorted(Path(__file__).resolve().parent.glob(f"{_LIBRARY}*.so"))


def _flat(values):
    found = []
    for value in values.values():
        found += value if isinstance(value, (list, tuple)) else [value]
    return found


def _on_npu(values) -> bool:
    devices = (getattr(each, "device", None) for each in _flat(values))
    return any(getattr(device, "type", "") == "npu" for device in devices)


def load():
    """torch.ops.attndsl.self_attention_prefix_encoder, registered at the first call."""
    import torch
    import torch_npu  # noqa: F401 - registers the device

    if not hasattr(torch.ops.attndsl, "self_attention_prefix_encoder"):
        torch.ops.load_library(str(_built()[0]))
    return torch.ops.attndsl.self_attention_prefix_encoder


def alone_on_device(alone: bool = True) -> None:
    """Promises that no other stream holds cores of the device while a call runs.

    Blocks of some kernels wait for each other, and PyTorch's launches cannot ask the device to
    start them together. Without the promise keys are not split, and calls whose kernels wait in any
    case are refused.
    """
    load()
    import torch

    torch.ops.attndsl.self_attention_prefix_encoder_alone_on_device(alone)


def _reference(values):
    try:
        from attndsl.spec.loader import load
    except ImportError as error:
        text = "neither torch_npu nor attndsl is installed: pip install attndsl"
        raise RuntimeError(text) from error
    chosen = {name: _as_numpy(value) for name, value in values.items() if value is not None}
    operator = load(os.environ.get("ATTNDSL_SPEC", "self_attention"))
    modes = {each.name: each for each in (operator, *operator.modes)}
    results = modes['self_attention_prefix_encoder'](**chosen)
    if not any(hasattr(each, "detach") for each in _flat(values)):
        return results
    return tuple(map(_as_torch, results)) if isinstance(results, tuple) else _as_torch(results)


def _as_numpy(value):
    if isinstance(value, (list, tuple)):
        return type(value)(_as_numpy(each) for each in value)
    if not hasattr(value, "detach"):
        return value
    import torch

    if value.dtype is torch.bfloat16:
        import ml_dtypes

        return value.detach().cpu().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return value.detach().cpu().numpy()


def _as_torch(array):
    import torch

    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view("int16")).view(torch.bfloat16)
    return torch.from_numpy(array)
