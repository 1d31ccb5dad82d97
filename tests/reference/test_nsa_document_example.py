"""The example of the operator's document, word for word; NumPy arrays stand in for its Tensor."""

import doctest
import sys
import types
import warnings

import numpy as np

from attndsl.api import ops

EXAMPLE = """
>>> import numpy as np
>>> from mindspore import Tensor, ops
>>> T, N, D = 256, 8, 128
>>> query = Tensor(np.random.randn(T, N, D).astype(np.float16))
>>> key = Tensor(np.random.randn(T, N, D).astype(np.float16))
>>> value = Tensor(np.random.randn(T, N, D).astype(np.float16))
>>> topk_mask = Tensor(np.ones((T, T), dtype=np.bool_))
>>> atten_mask = Tensor(np.ones((T, T), dtype=np.bool_))
>>> actual_seq_qlen = [T]
>>> actual_cmp_seq_kvlen = [T]
>>> actual_sel_seq_kvlen = [T]
>>> compress_block_size = 32
>>> compress_stride = 16
>>> select_block_size = 64
>>> select_block_count = 16
>>> scale_value = 1.0 / (D ** 0.5)
>>> head_num = N
>>> attention_out, topk_indices_out, softmax_max_out, softmax_sum_out = ops.nsa_compress_attention(
...     query, key, value, scale_value, head_num, compress_block_size, compress_stride, 
...     select_block_size, select_block_count, topk_mask, atten_mask, 
...     actual_seq_qlen, actual_cmp_seq_kvlen, actual_sel_seq_kvlen)
>>> print(attention_out.shape)
(256, 8, 128)
"""  # noqa: W291 - as the document has it


def test_the_example_runs(monkeypatch):
    mindspore = types.ModuleType("mindspore")
    mindspore.ops, mindspore.Tensor = ops, np.asarray
    monkeypatch.setitem(sys.modules, "mindspore", mindspore)
    test = doctest.DocTestParser().get_doctest(EXAMPLE, {}, "example", None, None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = doctest.DocTestRunner().run(test, clear_globs=False)
    assert (result.attempted, result.failed) == (19, 0)
    assert any("actual_sel_seq_kvlen" in str(each.message) for each in caught)
    found = test.globs
    assert (found["topk_indices_out"] == np.arange(16)).all()  # every block is forced
    assert (found["softmax_sum_out"] == 256).all() and found["softmax_max_out"].shape == (256, 8, 8)
    mean = found["value"].astype(float).mean(axis=0)  # every key is hidden
    np.testing.assert_allclose(found["attention_out"], np.broadcast_to(mean, (256, 8, 128)), atol=1e-3)
