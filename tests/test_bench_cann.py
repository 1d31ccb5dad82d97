"""The peers of bench/ that CANN ships as source: which kernel, with which plan, on which numbers."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
import cann_build
import peer_decodings
import peer_inputs
import peer_runs
import peers_atb
import peers_atb_caches
import peers_cann

from attndsl.emulator.vendor_headers import VendorHeaders

SOURCE = """
  if (TILING_KEY_IS(11000000000000001UL)) {
    INVOKE_VECTOR(OnVectors, half, half,
                  Layout::ROWS);
  } else if (TILING_KEY_IS(12000000000000001)) {
    KERNEL_TASK_TYPE(12000000000000001, KERNEL_TYPE_MIX_AIC_1_1);
    INVOKE_BOTH(OnBoth, half, half, true, Layout::ROWS);
  } else if (TILING_KEY_IS(13000000000000001)) {
  }
"""


def test_a_key_names_a_kernel_and_its_arguments():
    instance = cann_build.instance_for
    assert instance(11000000000000001, SOURCE) == cann_build.Instance(
        "OnVectors", "half,half,Layout::ROWS", 2
    )
    assert instance(12000000000000001, SOURCE).ratio == 1
    assert instance(12000000000000001, SOURCE).kernel == "OnBoth"
    for key in (13000000000000001, 1100000000000000):
        with pytest.raises(ValueError, match=f"no kernel for tiling key {key}"):
            instance(key, SOURCE)


@pytest.mark.parametrize(
    ("heads", "kv_heads", "dtype", "lengths", "layout", "wanted"),
    [
        (8, 8, "half", [200] * 3, "BSH", (True, 0, 2, 11000000000000001)),  # 24 of 48 cores: not cut
        (8, 8, "half", [600, 2000], "BNSD", (True, 3, 2, 11000000000100000)),
        (8, 8, "half", [600, 200], "BNSD", (True, 1, 2, 11000000000100000)),
        (8, 8, "bf16", [600, 600], "BSH", (False, 1, 2, 10000000000122221)),
        (8, 8, "bf16", [600] * 3, "BSH", (False, 0, 1, 12000000000022221)),
        (8, 2, "half", [2047, 1], "BSH", (False, 0, 1, 12000000000000001)),
        (8, 2, "half", [2048, 1], "BSH", (False, 4, 2, 10000000000100001)),
        (8, 2, "half", [2048] * 13, "BSH", (False, 0, 2, 10000000000000001)),
    ],
)
def test_the_kernel_follows_from_heads_keys_and_cores(heads, kv_heads, dtype, lengths, layout, wanted):
    made = peer_decodings.decoding("", heads, kv_heads, dtype, lengths=lengths, layout=layout)
    assert peers_cann.choice(made, 48) == peers_cann.Choice(*wanted)


def test_pages_are_never_cut():
    made = peer_decodings.paged_decoding("", [3000, 40], 2, 2, "half", 64)
    assert peers_cann.choice(made, 48) == peers_cann.Choice(False, 0, 1, 12000000000200001)


@pytest.fixture(scope="module")
def cann():
    return cann_build.Cann(VendorHeaders(Path(), (), False))


@pytest.mark.parametrize(
    ("file", "argument"), [("q", "query"), ("k", "key"), ("mask", "attn_mask"), ("pse", "pse_shift")]
)
def test_kernels_read_the_numbers_of_the_call(cann, file, argument):
    made = peer_decodings.decoding(
        "", 4, 2, "half", lengths=[5, 3], capacity=7, layout="BNSD", features=("mask", "pse")
    )
    problem = peers_cann._problem(cann, made)
    given = made.call.arrays[argument]
    files, words = problem.public["CANN"].files, problem.public["CANN"].arguments
    assert np.array_equal(files[file].ravel(), np.asarray(given).ravel())
    assert files["lengths"].tolist() == [5, 3] and files["lengths"].dtype == np.int64
    assert words[0] == "half" and words[2:8] == ("BNSD", "2", "4", "2", "128", "7")
    assert words[9:] == ("0", "0", "1")


def test_pages_are_one_problem_for_both_peers(cann):
    made = peer_decodings.paged_decoding("20, 3 keys", [20, 3], 2, 1, "half", 16)
    atb = peers_atb.Atb(Path(), VendorHeaders(Path(), (), False))
    both = peer_runs.joined([peers_cann._problem(cann, made), peers_atb_caches._paged(atb, made)])
    assert [list(each.public) for each in both] == [["CANN", "ATB"]]
    files = both[0].public["CANN"].files
    assert np.array_equal(files["table"], made.call.arrays["block_table"])
    assert both[0].public["CANN"].arguments[7:] == ("32", str(peer_decodings.SCALE), "0", "16", "1")


@pytest.mark.parametrize("causal", [True, False])
def test_prompts_of_one_length_are_read_as_rows(cann, causal):
    problem = peers_cann._prompt(cann, 2, 7, 4, 2, "bf16", causal=causal)
    run = problem.public["CANN"]
    assert problem.name == peer_inputs.prompt_name([7, 7], 4, 2, "bf16", causal=causal)
    assert np.array_equal(run.files["k"], problem.call.arrays["key"])
    assert run.arguments[:7] == ("bf16", "48", "2", "4", "2", "128", "7")
    assert ("mask" in run.files) == causal
    if causal:
        assert run.files["mask"][3, 4] == 1 and run.files["mask"][4, 4] == 0


def test_every_kind_of_kernel_is_run(cann):
    """On vector cores or all; one or two of these for a cube core; keys cut or not, or in pages."""
    chosen = {
        (each.vector, each.parts > 0, each.ratio, each.key // 10**5 % 10 >= 2)
        for each in (peers_cann.choice(made, 48) for made in peers_cann._decodings())
    }
    assert {(True, False, 2, False), (True, True, 2, False), (False, True, 2, False)} <= chosen
    assert {(False, False, 1, False), (False, False, 2, False)} <= chosen
    assert {(False, False, 1, True), (False, False, 2, True)} <= chosen
