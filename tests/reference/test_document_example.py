"""The example of the operator's document, word for word; NumPy arrays stand in for its Tensor."""

import doctest
import sys
import types

import numpy as np

from attndsl.api import ops

EXAMPLE = """
>>> from mindspore import ops
>>> from mindspore.common import Tensor
>>> from mindspore.common import dtype as mstype
>>> import numpy as np
>>> B, N, S, D, kvN = 1, 4, 10, 128, 1
>>> query = Tensor(np.random.randn(B, 1, N * D), mstype.float16)
>>> key = [Tensor(np.random.randn(B, S, kvN * D), mstype.float16)]
>>> value = [Tensor(np.random.randn(B, S, kvN * D), mstype.float16)]
>>> ifa_ms = ops.incre_flash_attention
>>> attn_out = ifa_ms(query, key, value, num_heads=N, num_key_value_heads=kvN)
"""


def test_the_example_runs(monkeypatch):
    mindspore = types.ModuleType("mindspore")
    common = types.ModuleType("mindspore.common")
    common.Tensor = lambda data, dtype: np.asarray(data).astype(dtype)
    common.dtype = types.SimpleNamespace(float16=np.float16)
    mindspore.ops, mindspore.common = ops, common
    monkeypatch.setitem(sys.modules, "mindspore", mindspore)
    monkeypatch.setitem(sys.modules, "mindspore.common", common)
    names: dict = {}
    test = doctest.DocTestParser().get_doctest(EXAMPLE, names, "example", None, None)
    result = doctest.DocTestRunner().run(test, clear_globs=False)
    assert (result.attempted, result.failed) == (10, 0)
    out = test.globs["attn_out"]
    assert out.shape == (1, 1, 512) and out.dtype == np.float16 and np.isfinite(out).all()
