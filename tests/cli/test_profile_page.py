"""attndsl profile --html: what the page says, its structure, and that names from specs are text on it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner

from attndsl.cli.cli import cli
from attndsl.cli.profile_page import drawing, page
from attndsl.cli.profile_page.memory_use import closed, memory_uses
from attndsl.cli.profile_page.roofline import roofline_of, ticks
from attndsl.compiler.prepare_launch import prepare
from attndsl.emulator import find_compiler
from attndsl.profile.profile import profile_call
from attndsl.profile.spans import BlockSpans, Operand, Span, middle, read_spans, spans_of
from attndsl.spec.operator.loader import load
from attndsl.verify.cases.shaped_call import call_of_shape

SHAPE = {"B": 2, "num_heads": 8, "num_key_value_heads": 2, "S": 1280, "D": 64}
needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
VOID = {"meta", "link", "br"}


def span(start: float, length: float, **changes: object) -> Span:
    found = Span("AIC", "M", start, length, "Mmad", "k.h:1", "ScoreTile", waiting=False)
    return replace(found, **changes)


class Page(HTMLParser):
    """A page's elements: tags that are open, references, texts by the id of their section."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._section = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        self._section = dict(attrs).get("id") or self._section

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes something else, {self.getpos()}"

    def handle_data(self, data):
        self.texts.setdefault(self._section, []).append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)

    def text(self, section: str) -> str:
        return " ".join(" ".join(self.texts[section]).split())


# ------------------------------------------------------------------------------------------------
# Spans


def test_spans_are_read_from_a_trace():
    events = [
        {"name": "launch of k", "ph": "i", "pid": 0, "tid": 0},
        {"name": "process_name", "ph": "M", "pid": 4, "tid": 0, "args": {"name": "block 1 AIV0"}},
        {"name": "thread_name", "ph": "M", "pid": 4, "tid": 5, "args": {"name": "V"}},
        _event("Exp k.h:7", 4, 5, 1.0, 0.5, "k.h:7", "instruction"),
        _event("wait for flag k.h:9", 4, 5, 1.5, 2.0, "k.h:9", "wait"),
        _event("Add helpers.h:3", 4, 5, 3.5, 0.5, "helpers.h:3", "instruction", before="k.h:7"),
        _event("Muls k.h:7", 4, 5, 4.0, 0.5, "k.h:7", "instruction", operands="w UB 1024,r L0C 0"),
    ]
    found = read_spans(events, 1, {"k.h:7": "SoftmaxTile"})
    assert found.until == 4.5 and found.block == 1
    first, second, helper, last = found.spans
    assert last.operands == (Operand("UB", 1024, written=True), Operand("L0C", 0, written=False))
    assert helper.function == "SoftmaxTile" and helper.line == "helpers.h:3"
    assert first == Span("AIV0", "V", 1.0, 0.5, "Exp", "k.h:7", "SoftmaxTile", waiting=False)
    assert second.what == "wait for flag" and second.waiting and second.function == ""
    assert list(found.rows(("MTE2", "V"))) == [("AIV0", "V")]


def test_a_cut_trace_is_whole_up_to_the_core_that_was_recorded_least():
    events = [
        {"name": "process_name", "ph": "M", "pid": pid, "tid": 0, "args": {"name": f"block 0 {core}"}}
        for pid, core in ((0, "AIC"), (1, "AIV0"))
    ] + [{"name": "thread_name", "ph": "M", "pid": pid, "tid": 5, "args": {"name": "V"}} for pid in (0, 1)]
    events += [_event("A k:1", 0, 5, 0.0, 9.0, "k:1", "instruction")]
    events += [_event("A k:1", 1, 5, 0.0, 4.0, "k:1", "instruction")]
    assert read_spans(events, 0, {}).until == 9.0
    cut = [*events, {"name": "7 further instructions are left out", "ph": "i", "pid": 0, "tid": 0}]
    assert read_spans(cut, 0, {}).until == 4.0


def _event(name, pid, tid, at, taken, source, category, **more):
    return {
        "name": name, "ph": "X", "cat": category, "pid": pid, "tid": tid, "ts": at, "dur": taken,
        "args": {"source": source, **more},
    }  # fmt: skip


def test_a_stretch_lies_around_the_middle():
    block = BlockSpans(0, tuple(span(float(at), 1.0) for at in range(100)), 100.0)
    begin, end = middle(block, 11)
    assert (begin, end) == (45.0, 55.0)
    assert middle(block, 100) == (0.0, 100.0)
    early = BlockSpans(0, (*(span(at / 100, 0.01) for at in range(100)), span(90.0, 10.0)), 100.0)
    assert middle(early, 11)[1] == 90.0  # few spans lie behind the middle: those before it fill up


def test_intervals_are_closed():
    found = closed([(5.0, 6.0), (0.0, 1.0), (1.05, 2.0), (1.5, 1.7)], 0.1)
    assert list(found) == [(0.0, 2.0), (5.0, 6.0)]
    assert list(closed([], 1.0)) == []


# ------------------------------------------------------------------------------------------------
# Drawing


def test_an_overview_is_as_high_as_a_pipe_is_busy():
    """Half busy in each of the bins, then not at all: steps at half of a row, then on its ground."""
    step = 100.0 / 500
    spans = (*(span(at * step, step / 2) for at in range(250)), span(90.0, 5.0, waiting=True))
    plot = drawing.overview(BlockSpans(0, spans, 100.0), ("M",), 100.0)
    (row,) = plot.rows
    assert row.share == "25%" and row.area == "M0 18H0V9H500V18H1000V18Z"
    assert plot.marks == ("0", "20", "40", "60", "80", "100")


def test_a_stretch_has_each_instruction_in_the_colour_of_its_function():
    spans = (
        span(10.0, 2.0),
        span(12.0, 4.0, function="WeightedTile"),
        span(16.0, 1.0, waiting=True, what="wait for flag"),
        span(18.0, 2.0, pipe="FIX"),
        span(30.0, 1.0),
    )
    plot = drawing.stretch(BlockSpans(0, spans, 40.0), ("M", "FIX"), 10.0, 20.0)
    products, writes = plot.rows
    assert [(bar.x, bar.width, bar.colour) for bar in products.bars] == [("0", "200", 0), ("200", "400", 1)]
    assert products.waits == "M600 15h100v3H600z" and products.share == "60%"
    assert [bar.x for bar in writes.bars] == ["800"] and writes.bars[0].title.endswith("2000 ns\nk.h:1")
    assert plot.legend == ((0, "ScoreTile"), (1, "WeightedTile"))


def test_more_functions_than_colours_share_the_last():
    spans = tuple(span(float(at), 1.0 - at / 100, function=f"F{at}") for at in range(12))
    plot = drawing.stretch(BlockSpans(0, spans, 12.0), ("M",), 0.0, 12.0)
    assert {bar.colour for bar in plot.rows[0].bars} == set(range(drawing.PALETTE))
    assert plot.legend[-1] == (drawing.PALETTE - 1, "others") and len(plot.legend) == drawing.PALETTE


# ------------------------------------------------------------------------------------------------
# The page of a call


@pytest.fixture(scope="module")
def profiled():
    if find_compiler() is None:
        pytest.skip("no C++ compiler")
    call = call_of_shape(load("incre_flash_attention"), SHAPE)
    launch = prepare(call)
    profile = profile_call(call)
    return profile, spans_of(launch, 0), launch.compiled.program


def test_a_block_is_recorded_alone(profiled):
    profile, block, _ = profiled
    assert {each.core for each in block.spans} == {"AIC", "AIV0", "AIV1"}
    assert max(profile.block_ends) == pytest.approx(profile.time, abs=0.01)
    assert len(profile.block_ends) == profile.cores[0]
    assert max(each.end for each in block.spans) <= profile.block_ends[0] + 0.01
    named = {each.function for each in block.spans if each.pipe in ("M", "V", "FIX") and not each.waiting}
    assert {"ScoreTile", "SoftmaxTile"} <= named and "" not in named  # those of helpers, too
    assert any(not each.line.startswith("incre_flash_attention_d64.h") for each in block.spans)


def test_each_slot_that_works_is_written_before_it_is_read(profiled):
    _, block, program = profiled
    spans = [each for each in block.spans if each.core in ("AIC", "AIV0")]
    uses = {
        (use.buffer.name, use.slot): use
        for memory in memory_uses(program, spans, 0.0)
        for use in memory.slots
    }
    planned = {buffer.name: address for buffer, address in program.addresses.items()}
    assert {name: use.address for (name, slot), use in uses.items() if slot == 0} == planned
    assert len(uses) == sum(buffer.slots for buffer in program.addresses)
    for name in ("queryL1", "keyL1", "leftL0", "rightL0", "score", "prob"):
        first = uses[name, 0]
        assert first.written and first.read and first.written[0][0] <= first.read[0][0]
    # a product begins to be written when its operands are read; what is loaded to L0A is not loaded to L0B
    assert uses["productL0", 0].written[0][0] == uses["rightL0", 0].read[0][0]
    assert uses["leftL0", 0].written != uses["rightL0", 0].written
    assert uses["score", 0].written[0][0] >= uses["productL0", 0].written[0][0]


def test_the_roofline_has_the_kernel_below_its_roofs(profiled):
    profile, *_ = profiled
    found = roofline_of(profile)
    assert found.peak == pytest.approx(353.9e12, rel=1e-3)
    assert {each.against for each in found.points} == {"memory", "L2"}
    for point in found.points:
        assert 0 < point.speed <= min(found.peak, point.roof.rate * point.intensity) * 1.001
        assert point.speed / found.peak == pytest.approx(profile.cube, rel=1e-6)
    low, high = found.span()
    assert all(low < each.intensity < high for each in found.points)
    assert list(ticks(2, 70, 4)) == [4.0, 16.0, 64.0]


def test_one_sentence_says_what_bounds(profiled):
    profile, *_ = profiled
    made = replace(profile, time=100.0, bounds={"L2": 95.0, "AIV V": 40.0}, block_ends=(100.0, 99.0))
    assert page.sentence(made) == "L2 bounds it: its work alone takes 95.0 of the 100.0 us (95%)."
    made = replace(made, bounds={"L2": 50.0}, critical_path={"AIC M": 20.0, "memory": 50.0, "flags": 5.0})
    assert page.sentence(made) == (
        "Nothing is at its limit: L2 is nearest with 50.0 of the 100.0 us (50%), and most of the chain of "
        "events that ends last is memory (50%) and AIC M (20%)."
    )
    assert "the mean one is done after 70% of the time" in page.sentence(
        replace(made, block_ends=(100.0, 40.0))
    )


def test_tensors_of_a_list_are_told_together():
    read = {"query": 5, "key[0]": 7, "key[1]": 8, "table": 1}
    assert list(page.tensors(read)) == [("query", "5"), ("key, 2 tensors", "15"), ("table", "1")]


def test_the_page_has_all_its_parts_and_needs_nothing_else(profiled):
    profile, block, program = profiled
    text = page.page_text(profile, block, program)
    found = Page(text)
    assert found.open == [] and found.count("html") == found.count("script") == 1
    assert found.text("sentence").startswith(page.sentence(profile))
    for section in (
        "timeline",
        "stretch",
        "memories",
        "roofline",
        "bounds",
        "path",
        "ends",
        "schedule",
        "bytes",
    ):
        assert found.text(section), section
    assert "off by" in found.text("calibration") and "unknown: " in found.text("calibration")
    for name, value in profile.schedule.items():
        assert f"{name} {value}" in found.text("schedule")
    memories = [attrs["data-memory"] for _, attrs in found.tags if "data-memory" in attrs]
    assert memories == ["UB", "L1", "L0A", "L0B", "L0C"]
    references = {
        value
        for _, attrs in found.tags
        for name, value in attrs.items()
        if name in ("src", "href", "xlink:href")
    }
    assert references == {"data:,"} and "url(" not in text and "@import" not in text
    assert "fetch(" not in text and "http" not in text.replace("http://www.w3.org/2000/svg", "")
    begin, end = middle(block, 3000)
    shown = sum(
        not each.waiting and begin <= each.start <= end and each.pipe in page.PIPES for each in block.spans
    )
    bars = [
        attrs for tag, attrs in found.tags if tag == "rect" and (attrs.get("class") or "").startswith("f")
    ]
    assert len(bars) == shown > 100
    assert page.page_text(profile, block, program) == text


def test_names_from_specs_are_text(profiled):
    profile, block, program = profiled
    evil = '"></title></script><script>alert(1)</script><img src=x onerror=alert(1)>'
    spans = tuple(replace(each, what=evil, function=evil, line=evil) for each in block.spans[:50])
    made = replace(
        profile,
        operator=evil,
        kernel=evil,
        sizes={evil: 3},
        schedule={evil: evil},
        read_by_tensor={evil: 1},
        bank_conflicts={evil: 2.0},
        critical_path={evil: 9.0},
    )
    found = Page(page.page_text(made, BlockSpans(0, spans, block.until), program))
    assert found.open == [] and found.count("script") == 1 and found.count("img") == 0
    assert evil in "".join(found.texts["schedule"]) and evil in "".join(found.texts["bytes"])
    assert not any(name.startswith("on") for _, attrs in found.tags for name in attrs)


@needs_compiler
def test_the_command_writes_it(tmp_path):
    shape = ",".join(f"{name}={value}" for name, value in SHAPE.items())
    arguments = ["profile", "incre_flash_attention", "--shape", shape]
    done = CliRunner().invoke(cli, [*arguments, "--html", str(tmp_path / "page.html")])
    assert done.exit_code == 0, done.output
    found = Page((tmp_path / "page.html").read_text())
    assert "incre_flash_attention_float16_d64" in (tmp_path / "page.html").read_text() and found.open == []
    done = CliRunner().invoke(cli, [*arguments, "--html", str(tmp_path / "no" / "page.html")])
    assert isinstance(done.exception, page.PageNotWritten)
    assert "cannot write the page to" in str(done.exception)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    with playwright.sync_playwright() as started:
        try:
            opened = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"no browser: {str(error).splitlines()[0]}")
        yield opened
        opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_it(browser, profiled, tmp_path, scheme):
    path = tmp_path / "page.html"
    path.write_text(page.page_text(*profiled))
    tab = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    said, asked = list[str](), list[str]()
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(path.as_uri())
    colour = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == {"light": "rgb(251, 251, 250)", "dark": "rgb(21, 24, 28)"}[scheme]
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    plot = tab.locator("#stretch svg.zoom")
    marks = tab.locator("#memories .axis text:not(.unit)")
    whole, before = plot.get_attribute("viewBox"), marks.all_text_contents()
    plot.scroll_into_view_if_needed()
    place = plot.bounding_box()
    tab.mouse.move(place["x"] + place["width"] * 0.25, place["y"] + 20)
    tab.mouse.down()
    tab.mouse.move(place["x"] + place["width"] * 0.5, place["y"] + 25, steps=4)
    tab.mouse.up()
    _, _, width, _ = map(float, plot.get_attribute("viewBox").split())
    assert width == pytest.approx(250, abs=5)
    assert {
        one.split()[2]
        for one in tab.locator("svg.zoom").evaluate_all("all => all.map(e => e.getAttribute('viewBox'))")
    } == {plot.get_attribute("viewBox").split()[2]}
    now = [float(text) for text in marks.all_text_contents()]
    assert now[-1] - now[0] == pytest.approx((float(before[-1]) - float(before[0])) / 4, rel=0.1)
    tab.get_by_role("button", name="show all").click()
    assert (
        plot.get_attribute("viewBox").split()[2] == whole.split()[2] and marks.all_text_contents() == before
    )
    assert said == [] and [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
    tab.close()
