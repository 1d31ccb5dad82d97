"""relay_attention on NPUs, by PyTorch.

Without torch_npu the NumPy reference of attndsl computes the result, with a warning.

    from relay_attention import relay_attention

Takes tensors of PyTorch on an NPU, or NumPy arrays and CPU tensors for the reference.
Arguments as in ATB RelayAttentionOperation.
Build the extension first: python setup.py build_ext --inplace
The reference is that of the spec "relay_attention"; ATTNDSL_SPEC names another spec file.
"""

from __future__ import annotations

import importlib.util
import os
import warnings
from pathlib import Path

_LIBRARY = "relay_attention_npu"


def available() -> bool:
    """Whether an NPU can be used: torch_npu is installed and the extension is built."""
    return importlib.util.find_spec("torch_npu") is not None and bool(_built())


def relay_attention(
    query,
    key,
    value,
    keyShare,
    valueShare,
    attentionMask,
    seqLen,
    kvSeqLen,
    kvShareMap,
    kvShareLen,
    *,
    headNum=0,
    qkScale=1.0,
    kvHeadNum=0,
    maskType=0,
):
    """Attention of one new query token a batch row over its own keys and those of its share
    group."""
    values = {
        "query": query,
        "key": key,
        "value": value,
        "keyShare": keyShare,
        "valueShare": valueShare,
        "attentionMask": attentionMask,
        "seqLen": seqLen,
        "kvSeqLen": kvSeqLen,
        "kvShareMap": kvShareMap,
        "kvShareLen": kvShareLen,
        "headNum": headNum,
        "qkScale": qkScale,
        "kvHeadNum": kvHeadNum,
        "maskType": maskType,
    }
    if available() and _on_npu(values):
        return load()(**{name: _plain(name, value) for name, value in values.items()})
    missing = "torch_npu or the built extension is missing"
    why = "its arguments are not on an NPU" if available() else missing
    text = f"relay_attention: {why}, computed by the NumPy reference"
    warnings.warn(text, RuntimeWarning, stacklevel=2)
    return _reference(values)


# Integers that hosts read are passed as lists.
_INTEGERS = ("seqLen", "kvSeqLen", "kvShareMap", "kvShareLen", )
# Words that stand for numbers.
_CHOICES = {
    "maskType": {
        'UNDEFINED': 0,
        'MASK_TYPE_UNDEFINED': 0,
        'NORM': 1,
        'MASK_TYPE_NORM': 1,
    },
}
_LISTS = ("key", "value", "keyShare", "valueShare", )


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
    """torch.ops.attndsl.relay_attention, registered at the first call."""
    import torch
    import torch_npu  # noqa: F401 - registers the device

    if not hasattr(torch.ops.attndsl, "relay_attention"):
        torch.ops.load_library(str(_built()[0]))
    return torch.ops.attndsl.relay_attention


def alone_on_device(alone: bool = True) -> None:
    """Promises that no other stream holds cores of the device while a call runs.

    Blocks of some kernels wait for each other, and PyTorch's launches cannot ask the device to
    start them together. Without the promise keys are not split, and calls whose kernels wait in any
    case are refused.
    """
    load()
    import torch

    torch.ops.attndsl.relay_attention_alone_on_device(alone)


def _reference(values):
    try:
        from attndsl.spec.loader import load
    except ImportError as error:
        text = "neither torch_npu nor attndsl is installed: pip install attndsl"
        raise RuntimeError(text) from error
    chosen = {name: _as_numpy(value) for name, value in values.items() if value is not None}
    operator = load(os.environ.get("ATTNDSL_SPEC", "relay_attention"))
    modes = {each.name: each for each in (operator, *operator.modes)}
    results = modes['relay_attention'](**chosen)
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
