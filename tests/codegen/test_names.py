"""Names and texts from users: whatever they hold, generated files stay C++, CMake, JSON and Python."""

from __future__ import annotations

import ast
import json
import re
import string as characters

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attndsl.codegen.host.host_files import definition_files, host_files
from attndsl.codegen.host.op_definition import AlikeNames
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.names.arguments import names_of
from attndsl.codegen.names.identifiers import (
    comment,
    escaped,
    identifier,
    identifiers,
    pascal,
    snake,
    strings,
)
from attndsl.codegen.project.project import plan_project
from attndsl.codegen.project.project_files import ReadmeFacts, binding_files, build_files
from attndsl.emulator.toolchain import find_compiler
from attndsl.spec import Operator, attend, errors

from .compiling import check_headers

NASTY = (
    "a \"quote\" and 'another'",
    "a line\nbreak #define X 1\r\n#include <x>",
    "*/ int injected; /*",
    "trailing backslash \\",
    "{{ 7 * 7 }} {% for x in y %}{% endfor %} {# gone #}",
    "%s %n %d ${HOME} $(reboot) `reboot`",
    "??/ ??= trigraphs",
    "../../etc/passwd",
    '"""); import os; os.system("true"); ("""',
    "Ünïcödé \u2028 \u0000 \x1b[31m",
    "%%s %1$n \\x41 \\u0041 \\N{BULLET} \\012 \\",
    "a*/ /*b // c *\\\n/ **//* ??/\n",
    "${CMAKE_COMMAND} @X@ $<1:x> $ENV{HOME} ]] ]=] ; \\;",
    "\u202e\u2066 right to left \ufeff and a \u0430 that is Cyrillic",
    'R"x(raw)x" L\'\\\'\' u8"" _Pragma("once") import x;',
    "long " * 400,
)
# Legal in Python and awkward elsewhere: devices of Windows, confusable letters, very long names.
AWKWARD = ("con", "NUL", "aux", "com1", "раyment", "ｆｕｌｌ", "ℌ", "x" * 300, "_" * 40, "a" + "_b" * 120)
DEVICES = {"con", "prn", "aux", "nul", *(f"{each}{i}" for each in ("com", "lpt") for i in range(1, 10))}
KEYWORDS = (
    "class",
    "half",
    "int",
    "operator",
    "template",
    "workspace",
    "GM_ADDR",
    "tiling",
    "default",
    "main",
)


def nasty_operator(text, names=("class", "int", "template"), name="default"):
    """A decode attention whose texts are nasty and whose arguments are keywords."""
    op = Operator(name, document=text, summary=text)
    op.dims("B N KN T D")
    B, N, KN, T, D = (op.ahead(each)[0] for each in ["B", "N", "KN", "T", "D"])
    op.axes(B=B, N=N, K=KN, Q=1, T=T, D=D, E=D)
    q = op.input(names[0], "B N 1 D", dtype=("float16", "bfloat16"), axes="B N Q D", meaning=text)
    k = op.input(names[1], {text: "B KN T D"}, dtype=q, axes="B K T D", meaning=text)
    v = op.input(names[2], "B KN T D", dtype=q, axes="B K T E")
    scale = op.param("register", float, default=1.0, meaning=text)
    mode = op.param("switch", str, default=text, choices=(text, "other"))
    op.require(mode == text, text, argument="switch", hint=text, error=errors.ChoiceError)
    op.require(N % KN == 0, text)
    out = attend.softmax(attend.scores(q, attend.rows(k)) * scale) @ attend.rows(v)
    op.output("return", out, like=q)
    return op


def written(operator, folder):
    """The project's files, as far as they can be made without a kernel, and with one where it lowers."""
    names = names_of(operator)
    project = plan_project(operator, KernelRequest(dtypes=("float16",), head_sizes=(16,)))
    texts = (comment(operator.name), comment(operator.document), comment(operator.summary))
    named = dict(zip(("name", "document", "summary"), texts, strict=True))
    page = ReadmeFacts(command=texts[0], verify=texts[0], names=names, features=(), not_lowered={}, **named)
    files = project.files() or (
        host_files(names) | definition_files(names, ()) | binding_files(names, page)
        | build_files(names, page, samples=False, tests=False)
    )  # fmt: skip
    for name, text in files.items():
        assert ".." not in name.split("/") and not name.startswith("/"), name
        assert set(name) <= set(characters.ascii_letters + characters.digits + "_./"), name
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return files


NASTY_OPERATORS = {str(number): nasty_operator(text) for number, text in enumerate(NASTY)}
KEYWORD_OPERATORS = {
    name: nasty_operator("plain", (name, "union", "void"), name="namespace") for name in KEYWORDS
}
AWKWARD_OPERATORS = {
    str(number): nasty_operator("plain", (name, f"{name}y", "void"), name=name)
    for number, name in enumerate(AWKWARD)
}
needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")


class Projects:
    """The projects of some operators by label, and what the compiler says of their host checks."""

    def __init__(self, operators, folder, *flags):
        self.files = {label: written(each, folder / label) for label, each in operators.items()}
        placed = {label: (each, folder / label) for label, each in operators.items()}
        self.said = check_headers(placed, flags, folder)


@pytest.fixture(scope="module")
def nasty(tmp_path_factory):
    return Projects(NASTY_OPERATORS, tmp_path_factory.mktemp("nasty"), "-Wall", "-Wextra")


@pytest.fixture(scope="module")
def keywords(tmp_path_factory):
    return Projects(KEYWORD_OPERATORS, tmp_path_factory.mktemp("keywords"))


@pytest.fixture(scope="module")
def awkward(tmp_path_factory):
    return Projects(AWKWARD_OPERATORS, tmp_path_factory.mktemp("awkward"))


@pytest.mark.sweep(fast=8)
@needs_compiler
@pytest.mark.parametrize("label", NASTY_OPERATORS)
def test_nasty_texts_do_not_leave_their_place(label, nasty):
    """Host code compiles, Python and JSON parse, and no file has a line of the user's own."""
    assert nasty.said[label][0] == 0, nasty.said[label][1]
    for name, body in nasty.files[label].items():
        if name.endswith(".py"):
            tree = ast.parse(body)
            calls = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
            assert "system" not in {call.attr for call in calls}
        elif name.endswith(".json"):
            json.loads(body)
        for line in body.split("\n"):
            assert not re.match(r"\s*(#define X|#include <x>|int injected|import os; os)", line), (name, line)
        assert "\x00" not in body and "\x1b" not in body and "\u2028" not in body, name


@pytest.mark.sweep(fast=5)
@needs_compiler
@pytest.mark.parametrize("name", KEYWORD_OPERATORS)
def test_keywords_become_identifiers(name, keywords):
    assert keywords.said[name] == (0, "")


@pytest.mark.sweep(fast=5)
@needs_compiler
@pytest.mark.parametrize("label", AWKWARD_OPERATORS)
def test_awkward_names_become_files_that_any_system_has(label, awkward):
    """As operator and as argument: no device's name, no name that a file system refuses, and all compiles."""
    for path in awkward.files[label]:
        for part in path.split("/"):
            assert len(part) <= 255 and part.split(".")[0].lower() not in DEVICES, path
    assert awkward.said[label] == (0, "")


@needs_compiler
def test_one_header_that_does_not_compile_is_told_from_the_others(tmp_path):
    """Headers are read together: a wrong one must not hide, and no right one be blamed."""
    operators = {each: KEYWORD_OPERATORS[each] for each in KEYWORDS[:2]}
    for label, operator in operators.items():
        files = host_files(names_of(operator))
        for name, text in files.items():
            (tmp_path / label / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / label / name).write_text(text)
    placed = {label: (each, tmp_path / label) for label, each in operators.items()}
    wrong = tmp_path / KEYWORDS[1] / "op_host" / f"{names_of(operators[KEYWORDS[1]]).op}_check.h"
    wrong.write_text(wrong.read_text().replace("struct Call {", "struct Call { nothing what;"))
    said = check_headers(placed, (), tmp_path)
    assert [code for code, _ in said.values()] == [0, 1] and "nothing" in said[KEYWORDS[1]][1]


@pytest.mark.parametrize(("one", "other"), [("keyShare", "key_share"), ("mask", "Mask"), ("x", "x__")])
def test_names_that_cann_does_not_tell_apart_are_refused(one, other):
    """Both are named; what differs in more than case and underscores is taken."""
    for second, error in ((other, AlikeNames), (f"{other}2", None)):
        operator = nasty_operator("plain", (one, second, "void"))
        selection = KernelRequest(dtypes=("float16",), head_sizes=(16,))
        if error is None:
            assert plan_project(operator, selection).files()
        else:
            with pytest.raises(error, match=f"'{one}' and '{other}' differ in case and underscores alone"):
                plan_project(operator, selection).files()


@pytest.mark.parametrize("name", ["b", "n", "i", "j", "g"])
def test_sizes_and_parameters_are_no_indices(name):
    """In an expression they would be the index; tensors and other names are free."""
    for declare in (
        Operator("fine").dims,
        Operator("fine").dim,
        lambda each: Operator("fine").param(each, int),
    ):
        with pytest.raises(errors.SpecError, match=f"'{name}' is what expressions call the .*attend"):
            declare(name)
        declare(f"{name}_")
    Operator("fine").lengths(name, "1")


@pytest.mark.parametrize("name", ["a b", "../x", "x;y", "", "1x", "a-b", "a\nb", "{{x}}", 'x"'])
def test_what_is_no_identifier_is_refused(name):
    with pytest.raises(errors.SpecError):
        Operator(name)
    with pytest.raises(errors.SpecError):
        Operator("fine").dims("B") and Operator("fine").param(name, int)


@given(st.text(min_size=1))
def test_every_name_becomes_a_c_identifier(name):
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", identifier(name))
    assert "__" not in identifier(name).rstrip("_")


@given(st.lists(st.text(min_size=1), unique=True, max_size=8))
def test_identifiers_of_different_names_differ(names):
    assert len(set(identifiers(names).values())) == len(names)


@given(st.text())
def test_comments_stay_on_their_line(text):
    line = comment(text)
    assert "\n" not in line and "*/" not in line and "/*" not in line and not line.endswith("\\")
    assert all(c.isprintable() for c in line)


@given(st.text(), st.integers(10, 60))
def test_literals_say_what_was_meant(text, width):
    """Read back as a C++ compiler would: escapes are those that Python has too, but for that of ``?``."""
    pieces = strings(text, width)
    assert all(re.fullmatch(r'"[ -~]*"', piece) for piece in pieces)
    plain = [re.sub(r"\\(.)", lambda found: "?" if found[1] == "?" else found[0], each) for each in pieces]
    raw = b"".join(ast.literal_eval("b" + piece) for piece in plain)
    assert raw.decode() == text and "?" not in re.sub(r"\\\?", "", escaped(text))


@pytest.mark.parametrize(
    ("op_type", "name"),
    [
        ("AddCustom", "add_custom"),
        ("Conv2D", "conv2_d"),
        ("IncreFlashAttentionCustom", "incre_flash_attention_custom"),
    ],
)
def test_kernels_are_named_as_cann_names_them(op_type, name):
    assert snake(op_type) == name
    assert pascal("incre_flash_attention") == "IncreFlashAttention"
