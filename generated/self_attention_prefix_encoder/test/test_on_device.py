"""Runs self_attention_prefix_encoder on an NPU over saved cases, compares, and writes report.json.

    python test_on_device.py [--cases cases.json] [--report report.json] [--reference]

Exit code 0: all cases agree; 1: one does not; 2: there is no NPU to run on.
Please send report.json back. --reference runs the NumPy reference instead, to try the test
itself on a machine without an NPU.
"""

from __future__ import annotations

import argparse
import base64
import json
import platform
import sys
import time
import traceback
import zlib
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "torch"))

# Units of the largest expected number: what a kernel that rounds as its contract says stays below.
UNITS = {"float16": 2.0**-8, "bfloat16": 2.0**-5, "float32": 2.0**-12}


def random_tensor(dtype: str, shape: list[int], seed: int) -> np.ndarray:
    """Multiples of 1/64 from -2 on; for bytes and truth values one in three is 1."""
    with np.errstate(over="ignore"):
        x = np.arange(1, int(np.prod(shape)) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        x += np.uint64(seed) * np.uint64(0xD1B54A32D192ED03)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits = (x >> np.uint64(40)).astype(np.int64)
    if dtype in ("bool", "int8", "uint8"):
        return (bits % 3 == 0).astype(dtype).reshape(shape)
    return ((bits % 256 - 128) / 64).astype(np.float32).reshape(shape)


def tensor(recipe):
    """The tensor of a recipe; numbers are float32, which holds them exactly."""
    if "values" in recipe:
        return np.array(recipe["values"], recipe["dtype"]).reshape(recipe["shape"])
    if "bytes" in recipe:
        return numbers(zlib.decompress(base64.b64decode(recipe["bytes"])), recipe)
    return random_tensor(recipe["dtype"], recipe["shape"], recipe["seed"])


def expected(row) -> np.ndarray:
    return numbers(base64.b64decode(row["bytes"]), row)


def numbers(raw: bytes, row) -> np.ndarray:
    if row["dtype"] == "bfloat16":
        bits = np.frombuffer(raw, "<u2").astype(np.uint32) << 16
        return bits.view(np.float32).reshape(row["shape"])
    return np.frombuffer(raw, row["dtype"]).reshape(row["shape"])


class Npu:
    """Calls the operator on the first NPU."""

    def __init__(self) -> None:
        import torch
        import torch_npu

        import self_attention_prefix_encoder as wrapper

        if not wrapper.available():
            raise RuntimeError("the extension is not built: see README.md")
        torch.npu.set_device(0)
        wrapper.alone_on_device()  # one stream, in one process
        self.torch, self.call = torch, wrapper.self_attention_prefix_encoder
        self.name = torch.npu.get_device_name(0)
        self.versions = {"torch": torch.__version__, "torch_npu": torch_npu.__version__}

    def given(self, recipe):
        made = self.torch.from_numpy(np.ascontiguousarray(tensor(recipe)))
        return made.to(getattr(self.torch, recipe["dtype"])).npu()

    def results(self, found):
        self.torch.npu.synchronize()
        plain = (each.float() if each.is_floating_point() else each for each in found)
        return [each.cpu().numpy() for each in plain]


class Reference:
    """Calls the NumPy reference."""

    def __init__(self) -> None:
        import ml_dtypes

        import self_attention_prefix_encoder as wrapper

        self.call, self.name, self.versions = wrapper.self_attention_prefix_encoder, "reference", {}
        self.bfloat16 = ml_dtypes.bfloat16

    def given(self, recipe):
        dtype = recipe["dtype"]
        return tensor(recipe).astype(self.bfloat16 if dtype == "bfloat16" else dtype)

    def results(self, found):
        return [each.astype(np.float32) if each.dtype.kind not in "biu" else each for each in found]


def arguments(device, case):
    """The arguments of a case: tensors, lists of tensors, integers as lists, scalars."""
    found = {}
    for name, value in case["arguments"].items():
        if isinstance(value, list):
            found[name] = [device.given(each) for each in value]
        elif isinstance(value, dict):
            if name in INTEGERS:
                found[name] = [int(each) for each in value["values"]]
            else:
                found[name] = device.given(value)
        else:
            found[name] = value
    return found


INTEGERS = ("seqLen", "kvSeqLen", )


def compare(got, golden, dtype):
    """How far a result is from what is expected, and where; NaNs are farthest."""
    if got.shape != golden.shape:
        return {"ok": False, "shape": list(got.shape), "expected_shape": list(golden.shape)}
    error = np.abs(got.astype(np.float64) - golden)
    error[np.isnan(error)] = np.inf
    index = tuple(int(i) for i in np.unravel_index(np.argmax(error), error.shape))
    allowed = UNITS.get(dtype, 0.0) * max(float(np.max(np.abs(golden))), 2.0**-6)
    wrong = int(np.count_nonzero(error > allowed))
    if dtype == "int8":  # rounded sums: one beside a half may fall to the other side
        allowed = 1.0
        wrong = 0 if error.max() <= 1 and wrong <= max(1, error.size // 50) else wrong
    return {
        "ok": wrong == 0,
        "largest_difference": float(error[index]),
        "allowed": allowed,
        "at": list(index),
        "got": float(got[index]),
        "expected": float(golden[index]),
        "wrong_elements": wrong,
        "shape": list(got.shape),
    }


def words(name, found):
    """One line on a result that is wrong."""
    if "at" not in found:
        return f"{name}: shape {found['shape']}, expected {found['expected_shape']}"
    return (
        f"{name}{found['at']} is {found['got']:.6g}, expected {found['expected']:.6g}, "
        f"allowed difference {found['allowed']:.3g}; {found['wrong_elements']} elements are wrong"
    )


def run(device, case):
    """One row of the report."""
    row = {"name": case["name"], "ok": False, "outputs": {}}
    started = time.perf_counter()
    try:
        found = device.call(**arguments(device, case))
        found = device.results(found if isinstance(found, (list, tuple)) else [found])
        for (name, want), got in zip(case["expected"].items(), found):
            precision = want.get("precision", want["dtype"])
            row["outputs"][name] = compare(got, expected(want), precision)
        row["ok"] = all(found["ok"] for found in row["outputs"].values())
    except Exception:  # the report carries whatever happened
        row["error"] = traceback.format_exc()
    row["seconds"] = round(time.perf_counter() - started, 6)
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=Path, default=HERE / "cases.json")
    parser.add_argument("--report", type=Path, default=HERE / "report.json")
    about = "run the NumPy reference, not an NPU"
    parser.add_argument("--reference", action="store_true", help=about)
    options = parser.parse_args()
    saved = json.loads(options.cases.read_text())
    try:
        device = Reference() if options.reference else Npu()
    except (ImportError, RuntimeError) as error:
        print(f"no NPU can be used: {error}", file=sys.stderr)
        return 2
    rows = [run(device, case) for case in saved["cases"]]
    verdict = bool(rows) and all(row["ok"] for row in rows)
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    report = {
        "operator": saved["operator"],
        "device": device.name,
        "versions": {**versions, **device.versions},
        "ok": verdict,
        "cases": rows,
    }
    options.report.write_text(json.dumps(report, indent=1) + "\n")
    for row in rows:
        differences = (each.get("largest_difference", np.inf) for each in row["outputs"].values())
        worst, ok = max(differences, default=float("nan")), "ok   " if row["ok"] else "WRONG"
        print(f"{ok} {row['name']}  largest difference {worst:.3g}")
        for name, found in row["outputs"].items():
            if not found["ok"]:
                print(f"      {words(name, found)}")
        if "error" in row:
            print("      " + row["error"].strip().splitlines()[-1])
    agree = sum(row["ok"] for row in rows)
    print(f"{agree} of {len(rows)} cases agree; report in {options.report}")
    return 0 if verdict else 1


if __name__ == "__main__":
    sys.exit(main())
