"""Command lines: names, options and values that there are not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WrongCommand:
    """A command line in a folder with ``mine.py``, and what it is told."""

    name: str
    line: str
    message: str


COMMANDS = (
    WrongCommand(
        "command with a slip", "generat mine.py", "no such command 'generat'; did you mean 'generate'?"
    ),
    WrongCommand(
        "operator with a slip",
        "show incre_flash_atention",
        (
            "unknown operator 'incre_flash_atention'; did you mean 'incre_flash_attention'? A "
            "spec of your own is given as FILE.py"
        ),
    ),
    WrongCommand("file that is not there", "verify mein.py", "mein.py: no such spec file"),
    WrongCommand(
        "head size that is no number",
        "generate mine.py --set D=wide",
        "--set D: 'wide' is no whole number, in digits 0 to 9",
    ),
    WrongCommand(
        "setting without a value",
        "generate mine.py --set D",
        "--set takes NAME=VALUE, for example D=128; got 'D'",
    ),
    WrongCommand(
        "parameter that there is not",
        "generate mine.py --set windo=3",
        (
            "--set windo: did you mean 'window'? kernels of mine are specialized on D, "
            "dtype(lengths), dtype(query), scale, window; sizes are run time, and optional "
            "tensors are named by --feature"
        ),
    ),
    WrongCommand(
        "feature that there is not", "generate mine.py --feature mask", "feature 'mask': mine has none"
    ),
    WrongCommand(
        "dtype that there is not",
        "generate mine.py --dtype fp16",
        "dtype 'fp16': mine takes float16 or bfloat16",
    ),
    WrongCommand(
        "device that there is not",
        "generate mine.py --device atlas-a5x",
        "unknown device 'atlas-a5x'; did you mean 'atlas-a3'?",
    ),
    WrongCommand(
        "stage that there is not",
        "show mine.py --stage kernel",
        (
            "Invalid value for '--stage': 'kernel' is not one of 'contract', 'graph', "
            "'schedule', 'tile', 'memory', 'cores', 'source', 'tiling'."
        ),
    ),
    WrongCommand(
        "size that there is not",
        "profile mine.py --shape B=1,H=8",
        "unknown size 'H'; there are B, D, K, N, S, T, longest(lengths), window",
    ),
    WrongCommand(
        "shape without a number",
        "profile mine.py --shape B=one",
        "--shape B: 'one' is no whole number, in digits 0 to 9",
    ),
    WrongCommand(
        "backend that there is not",
        "verify mine.py --backend numpy",
        ("Invalid value for '--backend': 'numpy' is not one of 'reference', 'tile', 'emulator'."),
    ),
    WrongCommand(
        "fewer than no cases",
        "verify mine.py --cases 0",
        ("Invalid value for '--cases': '0' is no whole number from 1 to 1000000, in digits 0 to 9"),
    ),
    WrongCommand(
        "number of a case",
        "verify mine.py --case x",
        ("Invalid value for '--case': 'x' is no whole number from 0 to 999999, in digits 0 to 9"),
    ),
)
