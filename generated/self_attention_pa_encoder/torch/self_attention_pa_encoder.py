"""self_attention_pa_encoder on NPUs, by PyTorch; without torch_npu the NumPy reference of attndsl computes it, and says so.

    from self_attention_pa_encoder import self_attention_pa_encoder

Takes tensors of PyTorch on an NPU, or NumPy arrays and CPU tensors for the reference. Arguments as in
ATB SelfAttentionOperation. Build the extension first: python setup.py build_ext --inplace
The reference is that of the spec "self_attention"; ATTNDSL_SPEC names another spec file.
"""

from __future__ import annotations

import importlib.util
import os
import warnings
from pathlib import Path

_LIBRARY = "self_attention_pa_encoder_npu"


def available() -> bool:
    """Whether an NPU can be used: torch_npu is installed and the extension is built."""
    return importlib.util.find_spec("torch_npu") is not None and bool(_built())


def self_attention_pa_encoder(
    query,
    key,
    value=None,
    mask=None,
    seqLen,
    slopes=None,
    qkDescale=None,
    qkOffset=None,
    vpvDescale=None,
    vpvOffset=None,
    pScale=None,
    logN=None,
    *,
    quantType=0,
    outDataType=-1,
    headNum=0,
    kvHeadNum=0,
    qScale=1.0,
    qkScale=1.0,
    batchRunStatusEnable=False,
    isTriuMask=0,
    calcType=3,
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
    """Attention of prompts over their own keys."""
    values = {
        "query": query,
        "key": key,
        "value": value,
        "mask": mask,
        "seqLen": seqLen,
        "slopes": slopes,
        "qkDescale": qkDescale,
        "qkOffset": qkOffset,
        "vpvDescale": vpvDescale,
        "vpvOffset": vpvOffset,
        "pScale": pScale,
        "logN": logN,
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
        return _operator()(**{name: _plain(name, value) for name, value in values.items()})
    why = "its arguments are not on an NPU" if available() else "torch_npu or the built extension is missing"
    warnings.warn(f"self_attention_pa_encoder: {why}, computed by the NumPy reference", RuntimeWarning, stacklevel=2)
    return _reference(values)


# Integers that hosts read are passed as lists.
_INTEGERS = ("seqLen", )
_LISTS = ()


def _plain(name, value):
    if name in _INTEGERS and value is not None:
        return [int(each) for each in (value.flatten() if hasattr(value, "flatten") else value)]
    if name in _LISTS and value is not None and not isinstance(value, (list, tuple)):
        return [value]
    return value


def _built() -> list[Path]:
    return sorted(Path(__file__).resolve().parent.glob(f"{_LIBRARY}*.so"))


def _on_npu(values) -> bool:
    flat = [each for value in values.values() for each in (value if isinstance(value, (list, tuple)) else [value])]
    return any(getattr(getattr(each, "device", None), "type", "") == "npu" for each in flat)


def _operator():
    import torch
    import torch_npu  # noqa: F401 - registers the device

    if not hasattr(torch.ops.attndsl, "self_attention_pa_encoder"):
        torch.ops.load_library(str(_built()[0]))
    return torch.ops.attndsl.self_attention_pa_encoder


def _reference(values):
    try:
        from attndsl.spec.loader import load
    except ImportError as error:
        raise RuntimeError("neither torch_npu nor attndsl is installed: pip install attndsl") from error
    chosen = {name: _as_numpy(value) for name, value in values.items() if value is not None}
    operator = load(os.environ.get("ATTNDSL_SPEC", "self_attention"))
    return next(each for each in (operator, *operator.modes) if each.name == 'self_attention_pa_encoder')(**chosen)


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
