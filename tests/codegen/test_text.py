"""The generated text: reproducible, within its width, spelled as the contract spells, free of warnings."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

import attndsl
from attndsl.api import ops
from attndsl.base.package_files import generated_dir
from attndsl.codegen.kernel.device_header import DEVICE_HEADER
from attndsl.codegen.kernel.kernel import kernel_text
from attndsl.codegen.kernel_set.kernel_names import kernel_name
from attndsl.codegen.samples.device_files import device_files, kernel_path, schedule_path
from attndsl.codegen.text.line_breaks import WIDTH, in_columns, wrap, wrap_lines
from attndsl.codegen.text.render import render
from attndsl.compiler.compile import Compiled, compile_operator
from attndsl.emulator.toolchain import INCLUDE, find_compiler
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec import Operator
from attndsl.spec.authoring import attend
from attndsl.tile.printer import print_program
from tests.support.compile_once import compile_once

SPECIALS = (
    (16, "bfloat16"),
    (64, "float16", "attn_mask"),
    (128, "float16", "attn_mask", "pse_shift"),
    (512, "bfloat16", "pse_shift"),
)


def fresh(padded_size: int, dtype: str, *features: str) -> Compiled:
    special = Specialization(dtype=dtype, padded_head_size=padded_size, features=frozenset(features))
    return compile_operator(ops.incre_flash_attention, special)


@lru_cache(maxsize=8)
def made(*special) -> tuple[Compiled, dict[str, str]]:
    compiled = fresh(*special)
    return compiled, device_files([compiled])


def kernel_of(special) -> str:
    compiled, files = made(*special)
    return files[kernel_path(compiled)]


_DIGEST = """
import hashlib
from attndsl.api import ops
from attndsl.codegen.samples.device_files import device_files
from attndsl.compiler.compile import Specialization, compile_operator
from attndsl.tile.printer import print_program
features = frozenset({"pse_shift", "attn_mask"})
special = Specialization(dtype="float16", padded_head_size=128, features=features)
compiled = compile_operator(ops.incre_flash_attention, special)
text = "".join(f"{name}{body}" for name, body in device_files([compiled]).items())
text += print_program(compiled.program)
print(hashlib.sha256(text.encode()).hexdigest())
"""


def _digest_in(seed: str, locale: str, folder: Path) -> str:
    package = str(Path(attndsl.__file__).parent.parent)
    plain = {"LC_ALL": locale, "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    env = {**os.environ, **plain, "PYTHONHASHSEED": seed, "PYTHONPATH": package}
    command = [sys.executable, "-P", "-c", _DIGEST]
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_hash_seed_locale_and_folder_do_not_show(tmp_path):
    """An ASCII locale, a Turkish one where it is installed, and folders of other projects."""
    places = (Path.cwd(), tmp_path, tmp_path)
    with ThreadPoolExecutor(2) as pool:
        digests = set(pool.map(_digest_in, ("0", "1", "271828"), ("C", "C.UTF-8", "tr_TR.UTF-8"), places))
    compiled, files = made(128, "float16", "attn_mask", "pse_shift")
    text = "".join(f"{name}{body}" for name, body in files.items()) + print_program(compiled.program)
    assert digests == {hashlib.sha256(text.encode()).hexdigest()}


def test_compiling_again_gives_the_same_text():
    assert device_files([fresh(*SPECIALS[1])]) == made(*SPECIALS[1])[1]


def test_golden_tiling(golden):
    """The struct and the host's function that fills it."""
    _, files = made(*SPECIALS[1])
    names = ("op_kernel/incre_flash_attention_tiling.h", "op_host/incre_flash_attention_plan.h")
    for name in names:
        golden(name.partition("/")[2], files[name])


def test_golden_joint_program(golden):
    """The joint tile program: what ``attndsl show`` prints before the core split."""
    compiled, _ = made(*SPECIALS[1])
    golden(f"{kernel_name(compiled)}.joint.txt", print_program(compiled.joint) + "\n")


@pytest.mark.parametrize("special", SPECIALS, ids=str)
def test_no_line_is_over_100_columns(special):
    for name, text in made(*special)[1].items():
        for number, line in enumerate(text.split("\n"), 1):
            assert len(line) <= 100, f"{name}:{number} has {len(line)} columns"


@pytest.mark.parametrize("special", SPECIALS, ids=str)
def test_white_space(special):
    for name, text in made(*special)[1].items():
        for number, line in enumerate(text.split("\n"), 1):
            assert line == line.rstrip(), f"{name}:{number} ends in blanks"
            assert "\t" not in line
        assert text.endswith("\n") and not text.endswith("\n\n")


def test_arguments_are_the_contracts_in_its_order():
    """Names and order of the document; a specialization takes what it uses, the kernel function all."""
    document = ["query", "key", "value", "attn_mask", "actual_seq_lengths", "pse_shift"]
    every = [spec.name for spec in ops.incre_flash_attention.tensors]
    for special in SPECIALS:
        run = re.search(r"inline void Run\(([^)]*)\)", kernel_of(special))
        left_out = {"attn_mask", "pse_shift"} - set(special[2:])
        taken = [*(n for n in document if n not in left_out), "attention_out", "workspace"]
        assert re.findall(r"GM_ADDR (\w+)", run[1]) == taken
        source = made(*special)[1]["op_kernel/incre_flash_attention_custom.cpp"]
        entry = re.search(r'extern "C" __global__ __aicore__ void (\w+)\(([^)]*)\)', source)
        assert entry[1] == "incre_flash_attention_custom"
        assert re.findall(r"GM_ADDR (\w+)", entry[2]) == [*every, "attention_out", "workspace", "tiling"]


def test_the_kernel_names_the_arguments_that_it_does_not_read():
    relay = compile_operator(ops.relay_attention, Specialization(dtype="float16", padded_head_size=128))
    text = device_files([relay])[kernel_path(relay)]
    comment = " ".join(text[: text.index("void Run(")].replace("//", " ").split())
    assert "Not read: attentionMask (reserved, its content is ignored), seqLen. __aicore__" in comment


def test_the_specialization_is_in_the_name():
    names = [kernel_name(made(*special)[0]) for special in SPECIALS]
    assert names == [
        "incre_flash_attention_bfloat16_d16",
        "incre_flash_attention_float16_d64_attn_mask",
        "incre_flash_attention_float16_d128_attn_mask_pse_shift",
        "incre_flash_attention_bfloat16_d512_pse_shift",
    ]


@pytest.mark.parametrize("special", SPECIALS, ids=str)
def test_the_buffer_map_is_the_memory_plan(special, tmp_path):
    """Every address and slot size in the schedule header is that of the planned program."""
    compiled, files = made(*special)
    program, expected = compiled.program, dict[str, int]()
    for buffer, address in program.addresses.items():
        name = f"k{buffer.name[0].upper()}{buffer.name[1:]}"
        expected |= {f"{name}At": address, f"{name}SlotBytes": program.slot_stride(buffer)}
    for memory in program.device.architecture.memories:
        expected[f"k{memory.space.value.capitalize()}End"] = program.used_bytes(memory.space)
    asserts = (f'static_assert({name} == {value}, "{name}");' for name, value in expected.items())
    (tmp_path / "schedule.h").write_text(files[schedule_path(compiled)])
    (tmp_path / DEVICE_HEADER).write_text(files[f"op_kernel/{DEVICE_HEADER}"])
    source = tmp_path / "map.cpp"
    using = f"using namespace {Path(schedule_path(compiled)).stem.removesuffix('_schedule')};"
    source.write_text("\n".join(['#include "schedule.h"', using, *asserts]))
    assert compile_once(["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", source]) == (0, "")


def windowed() -> Operator:
    """A number decides the computation: whether it is above 0."""
    op = Operator("windowed", summary="A window above 0 doubles the scores.")
    B, N, K, T, D = op.dims("B N K T D")
    op.axes(B=B, N=N, K=K, T=T, D=D, E=D)
    query = op.input("query", "B N D", dtype="float16", axes="B N D")
    key = op.input("key", "B K T D", dtype=query, axes="B K T D")
    value = op.input("value", "B K T D", dtype=query, axes="B K T E")
    window = op.param("window", int, default=0, ge=0)
    s = attend.scores(query, attend.rows(key))
    s = attend.when(window > 0, s * 2.0, s)
    op.output("out", attend.softmax(s) @ attend.rows(value), like=query)
    return op


@pytest.mark.parametrize(("value", "line"), [(1, "window > 0"), (5, "window > 0"), (None, "")])
def test_the_header_says_what_is_asked_of_a_number(value, line):
    """A kernel for a window of 1 takes any above 0."""
    settings = (("window", value),) if value else ()
    special = Specialization(dtype="float16", padded_head_size=16, settings=settings)
    lines = kernel_text(compile_operator(windowed(), special)).specialization
    assert [each for each in lines if "window" in each] == ([line] if line else [])


@pytest.mark.parametrize("special", SPECIALS, ids=str)
def test_every_synchronization_of_the_program_is_in_the_text(special):
    """As many statements as the trees have; none is lost or repeated by the printing. A merge is a call that
    has those of the runtime header."""
    (compiled, files), source = made(*special), kernel_of(special)
    program, header = compiled.program, files["op_kernel/attndsl_kernel.h"]
    merge = "".join(re.findall(r"void MergePartial\(.*?\n    \}", header, re.S))
    kinds = [type(item).__name__ for item in program.statements()]
    spellings = {
        "SetEvent": r"\bSetFlag<HardEvent",
        "WaitEvent": r"\bWaitFlag<HardEvent",
        "Barrier": r"\bPipeBarrier<",
        "SetCrossFlag": r"\bCrossCoreSetFlag<",
        "WaitCrossFlag": r"\bCrossCoreWaitFlag\(",
    }
    body, count = re.subn(r"PipeBarrier<PIPE_ALL>\(\);  // as TPipe's destructor", "", source)
    assert count == 1  # the one that no tree has
    both = r"SetFlag<HardEvent::\1>(\2); WaitFlag<HardEvent::\1>(\2);"
    body = re.sub(r"SetAndWaitFlag<HardEvent::(\w+)>\((.*)\);", both, body)
    barriers = " ".join(re.findall(r"\bPipeBarrier<", merge))
    body, count = re.subn(r"\bMergePartial\(", barriers, body)
    assert bool(barriers) == (count == 1) == (special[0] % 64 == 0)  # rows of whole repeats
    loops = r"( *)for \(int32_t slot = 0; slot < kDoubleBuffer; \+\+slot\) \{\n((?:.*\n)*?)\1\}"
    body = re.sub(loops, lambda loop: loop[2] * 2, body)
    for kind, spelling in spellings.items():
        assert len(re.findall(spelling, body)) == kinds.count(kind), kind


@pytest.mark.parametrize(
    "special",
    SPECIALS[1:3],
    ids=str,
)
def test_no_warnings(special, tmp_path):
    compiler = find_compiler()
    if compiler is None:
        pytest.skip("no C++ compiler")
    _, files = made(*special)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "host.cpp").write_text('#include "op_host/incre_flash_attention_plan.h"\n')
    strict = ["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unknown-pragmas"]
    # headers of the emulator are system headers here: only the generated text is under test
    for source in ("op_kernel/incre_flash_attention_custom.cpp", "host.cpp"):
        assert compile_once([*strict, "-isystem", INCLUDE, tmp_path / source]) == (0, "")


def test_a_warning_would_be_noticed(tmp_path):
    """The twin of the test above: the same flags do complain."""
    compiler = find_compiler()
    if compiler is None:
        pytest.skip("no C++ compiler")
    source = tmp_path / "unused.cpp"
    source.write_text("int main()\n{\n    int unused = 1;\n}\n")
    command = [*compiler.command, "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "unused" in done.stderr


def test_templates_do_not_swallow_missing_values():
    with pytest.raises(jinja2.UndefinedError):
        render("op_kernel/tiling.h.j2")


WORDS = st.text("abcdefgh_0123456789+ ", min_size=1, max_size=30).map(str.strip).filter(bool)


@given(arguments=st.lists(WORDS, min_size=1, max_size=12), indent=st.integers(0, 6))
def test_wrapping_changes_nothing_but_white_space(arguments, indent):
    line = " " * 4 * indent + f"DataCopyPad({', '.join(arguments)});"
    pieces = wrap(line)
    assert re.sub(r"\s", "", "".join(pieces)) == re.sub(r"\s", "", line)
    assert all(len(piece) <= WIDTH for piece in pieces)
    assert wrap(line, 1000) == [line]


@pytest.mark.parametrize("words", ["a, b(c, d), ", "a + b - c ", "a ? b : c ", "a && (b + c) "])
def test_literals_are_not_broken(words):
    text = '"' + words * 8 + '"'
    pieces = wrap(f"return Fail({text}, first, second);", 60)
    assert len(pieces) > 1 and sum(text in piece for piece in pieces) == 1


def test_long_expressions_are_broken_at_operators():
    value = "first - MaxOf(second, 0) + (count == 0 ? capacity : lengths.GetValue(MinOf(batch, count - 1)))"
    assert wrap(f"const int64_t end = {value};", 60) == [
        "const int64_t end =",
        "    first - MaxOf(second, 0)",
        "        + (count == 0",
        "            ? capacity",
        "            : lengths.GetValue(MinOf(batch, count - 1)));",
    ]


def test_loops_are_broken_at_their_clauses():
    head = "for (int64_t turn = 0; turn < CeilDiv(firstRow + cachedRows, windowSize); ++turn) {"
    assert wrap(head, 60) == [
        "for (int64_t turn = 0;",
        "     turn < CeilDiv(firstRow + cachedRows, windowSize);",
        "     ++turn) {",
    ]
    assert wrap(head, 100) == [head]


def test_long_arguments_are_broken_inside_or_begin_a_line():
    load = "LoadTranspose(right[group * columns * (kFractal * kFractal)], value[group * kFractal], 0);"
    assert wrap(load, 51) == [
        "LoadTranspose(",
        "    right[group * columns * (kFractal * kFractal)],",
        "    value[group * kFractal], 0);",
    ]
    assert wrap("Copy(maskGm_[batch * pitch0_ + head * pitch1_ + query * pitch2_], 0);", 40) == [
        "Copy(maskGm_[batch * pitch0_",
        "    + head * pitch1_ + query * pitch2_],",
        "    0);",
    ]


def test_what_a_comment_leaves_over_goes_on_in_its_next_line():
    """In the middle of a sentence only; not into a list, another comment, or code."""
    assert list(wrap_lines(["  // one two three four", "  // five six", "int a;"], 20)) == [
        "  // one two three",
        "  // four five six",
        "int a;",
    ]
    for after in ("//   five", "    // five", "int five;", "//"):
        found = list(wrap_lines(["// one two three four", after], 17))
        assert found == ["// one two three", "// four", after]
    assert list(wrap_lines(["// one two three four.", "// Five."], 17)) == [
        "// one two three",
        "// four.",
        "// Five.",
    ]
    assert list(wrap_lines(["// one two three four"], 17)) == ["// one two three", "// four"]


def test_what_is_not_wrapped():
    for line in ("Muls(a, b, c);", "// " + "word" * 30, f"Call({'argument' * 20});", "x" * 120 + ";"):
        assert "".join(wrap(line)).replace(" ", "") == line.replace(" ", "")
        assert max(map(len, wrap(line))) >= len(line.removeprefix("// ")) - len("Call(")


def test_comments_are_broken_between_words_and_stand_before_code_that_has_no_room_for_them():
    assert wrap("    // one two three four", 20) == ["    // one two three", "    // four"]
    assert wrap(" *   one two three four", 20) == [" *   one two three", " *   four"]
    assert wrap("int64_t first = 1;  // the first of all", 30) == [
        "// the first of all",
        "int64_t first = 1;",
    ]


def test_sums_comparisons_and_products_are_broken_where_nothing_else_can_be():
    assert wrap("int64_t sum = first + second + third + fourth;", 30) == [
        "int64_t sum =",
        "    first + second + third",
        "        + fourth;",
    ]
    assert wrap("if (first * second * third < fourth * fifth) {", 40) == [
        "if (first * second * third",
        "    < fourth * fifth) {",
    ]
    assert wrap("target[group * columns * (depth * depth)]", 30) == [
        "target[group * columns",
        "    * (depth * depth)]",
    ]


def test_arguments_go_under_a_call_whose_first_argument_fits_there_alone():
    call = "Fixpipe<float, float, ROWS>(ring[slot * rows * keys + n0], score, Params(cols, rows));"
    assert wrap(call, 60) == [
        "Fixpipe<float, float, ROWS>(ring[slot * rows * keys + n0],",
        "    score, Params(cols, rows));",
    ]
    assert wrap(call, 50) == [
        "Fixpipe<float, float, ROWS>(",
        "    ring[slot * rows * keys + n0], score,",
        "    Params(cols, rows));",
    ]


def test_functions_take_the_same_scalars_in_the_same_order():
    """Of two neighbouring functions with the same numbers in another order, calls would be easily wrong."""
    count = 0
    for path in generated_dir().glob("*/op_kernel/*.h"):
        order: set[tuple[str, str]] = set()
        for parameters in re.findall(
            r"__aicore__ inline void \w+\(((?:const Item &work, )?int64_t[^)]*)\)\n    \{", path.read_text()
        ):
            names = re.findall(r"int64_t (\w+)", parameters)
            pairs = set(itertools.combinations(names, 2))
            assert not {(later, earlier) for earlier, later in pairs} & order, path.name
            order |= pairs
            count += len(pairs)
    assert count > 1000


def test_no_branch_is_left_that_constants_decide():
    """What cannot be taken is no code; conditions of tiling values and of lengths stay."""
    conditions = [
        (path.name, condition)
        for path in generated_dir().glob("*/op_kernel/*.h")
        for condition in re.findall(r"\bif \(([^\n]*)\) \{$", path.read_text(), re.MULTILINE)
    ]
    assert len(conditions) > 1000
    constant = re.compile(r"(?:k[A-Z]\w*|\d+)\b")
    decided = [each for each in conditions if all(map(constant.fullmatch, re.findall(r"[\w.]+", each[1])))]
    assert not decided


@pytest.mark.parametrize(
    ("notes", "found"),
    [
        ([], ["AIV  Tile"]),
        (["sets a"], ["AIV  Tile  sets a"]),
        (["waits b", "sets a"], ["AIV  Tile  waits b,", "           sets a"]),
        (["w b", "s a"], ["AIV  Tile  w b, s a"]),
        (["longer than the line"], ["AIV  Tile  longer than the line"]),
    ],
)
def test_notes_of_a_table_stay_in_their_column(notes: list[str], found: list[str]) -> None:
    assert list(in_columns("AIV  Tile  ", notes, 20)) == found
