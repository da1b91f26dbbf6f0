"""`sluice page`: the page in a real browser, and what it refuses."""

import json
import re
import subprocess
import tomllib

import browser
import devtools
import pytest
from test_page_engine import DUMBBELL, NO_MODULE, NODE, SLOTTED, in_browser, in_node, native

from sluicegate.cli import main
from sluicegate.page import page
from sluicegate.scenario import load
from sluicegate.toml import toml

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(NO_MODULE), reason=NO_MODULE)]
MOST_BYTES = 1_000_000
PAIR = [{"aqm": "red", "label": "RED"}, {"aqm": "codel", "ecn": True}]


def written(tmp_path, table, name="queue"):
    path = tmp_path / f"{name}.toml"
    path.write_text(toml({"disciplines": PAIR, **table}))
    return path


@pytest.fixture
def shown(tmp_path):
    """Return a function that opens the page of a table in a browser."""
    with devtools.browser(tmp_path) as running:

        def show(table, link=""):
            made = tmp_path / "queue.html"
            assert main(["page", str(written(tmp_path, table)), "--out", str(made)]) == 0
            running.open(made.as_uri() + link)
            running.wait("about && sides.every(side => side.rows.rows.length > 10)")
            return running

        yield show


def kept(running):
    """The scenario that the page runs, as its TOML says."""
    return tomllib.loads(running.js("$('toml').textContent"))


@in_browser
@pytest.mark.parametrize("table", [DUMBBELL, SLOTTED], ids=["network", "slotted"])
def test_it_runs_from_a_file_and_loads_nothing(shown, tmp_path, table):
    running = shown(table)
    assert (tmp_path / "queue.html").stat().st_size < MOST_BYTES
    assert {url.partition(":")[0] for url in running.requests} == {"file", "blob"}
    assert len([url for url in running.requests if url.startswith("file:")]) == 1
    assert running.js("[...document.querySelectorAll('.name-left')].map(n => n.textContent)") == [
        "RED",
        "RED",
    ]
    running.wait("$('queue-left').textContent.endsWith('packets')")
    drawn = """(() => { const {canvas, context} = sides[0].strips[0];
        return context.getImageData(0, 0, canvas.width, canvas.height).data.some(Boolean); })()"""
    assert running.js(drawn)
    assert running.errors == []


@in_browser
def test_the_same_packets_come_to_both(shown):
    running = shown({**SLOTTED, "disciplines": [{"aqm": "drop_tail"}, {"aqm": "red"}]})
    running.js("play(false)")
    arrivals = "sides.map(side => side.rows.rows.slice(0, 10).map(row => row[5]))"
    left, right = running.js(arrivals)
    assert left == right
    assert left[-1] > 0


@in_browser
def test_its_toml_is_what_it_runs_and_sluice_takes_it(shown, tmp_path):
    running = shown({**DUMBBELL, "title": "A “title” of </script> & more"})
    path = tmp_path / "copied.toml"
    path.write_text(running.js("$('toml').textContent"))
    first = load(path).replace(disciplines=[PAIR[0]])
    assert first == load(written(tmp_path, {**DUMBBELL, "title": first.title})).replace(
        disciplines=[PAIR[0]]
    )
    record = json.loads(running.js("engine.begin($('toml').textContent, 0), engine.record()"))
    meant = native({**DUMBBELL, "disciplines": [PAIR[0]]})
    assert record["periods"][1]["ports"][0]["arrivals"] == meant.periods[1].ports[0].arrivals


@in_browser
def test_by_keyboard_alone(shown):
    running = shown(DUMBBELL)
    running.js("document.activeElement.blur()")
    # the first three are the buttons of the run
    running.press("Tab")
    assert running.js("document.activeElement.id") == "play"
    running.press("Enter", "\r")
    running.wait("!playing")
    before = running.js("reached()")
    running.press("Tab")
    running.press("Enter", "\r")
    running.wait(f"reached() > {before}")
    for _ in range(100):
        running.press("Tab")
        if running.js("document.activeElement.ariaLabel") == "Rate, slider":
            break
    rate = kept(running)["topology"]["rate_bps"]
    running.press("ArrowRight")
    running.wait(f"scenario.topology.rate_bps > {rate}")
    running.wait("about && $('toml').textContent.includes(scenario.topology.rate_bps)")
    # every control can be reached, and says what it is
    names = running.js(
        "[...document.querySelectorAll('button, input, select')].map(each =>"
        " each.ariaLabel || each.labels?.[0]?.textContent || each.textContent)"
    )
    assert all(names)
    assert running.js("[...document.querySelectorAll('[tabindex]')].every(e => e.tabIndex == 0)")


@in_browser
def test_reload_and_link_keep_the_state(shown, tmp_path):
    running = shown(DUMBBELL)
    running.js("""
        const choose = (label, value) => {
          const of = [...document.querySelectorAll('label')].find(l => l.textContent == label);
          const input = document.getElementById(of.htmlFor);
          input.value = value;
          input.onchange();
        };
        choose('AQM', 'pie'); choose('target (ms)', 5); choose('Flows', 3);
        choose('Rate (Mb/s)', 7); choose('Round trip (ms)', 100);
    """)
    running.wait("about && $('toml').textContent.includes('pie')")
    state = kept(running)
    assert state["disciplines"][0] == {"aqm": "pie", "params": {"target": 0.005}}
    assert (state["flows"][0]["count"], state["topology"]["rate_bps"]) == (3, 7e6)
    assert state["topology"]["delay_s"] == pytest.approx(0.05 - 0.0035)
    running.reload()
    running.wait("about")
    assert kept(running) == state
    link = running.js("location.href")
    running.open("about:blank")
    running.open(link)
    running.wait("about")
    assert kept(running) == state
    path = tmp_path / "copied.toml"
    path.write_text(running.js("$('toml').textContent"))
    assert load(path).disciplines[0].params == {"target": 0.005}


@in_browser
def test_every_congestion_control_can_be_chosen(shown):
    running = shown({**DUMBBELL, "flows": [{"kind": "tcp", "count": 2}]})
    words = "described(engine.offered.schema, scenario, 'flows.0.tcp.congestion_control').enum"
    for word in running.js(words):
        running.js(f"""
            [...document.querySelectorAll('select')].filter(
              each => [...each.options].some(option => option.value == 'dctcp')).forEach(each => {{
                each.value = '{word}'; each.onchange(); }})""")
        running.wait(f"$('toml').textContent.includes('{word}')")
        running.wait("about || $('error').textContent")
        assert not running.js("$('error').textContent"), word


@in_browser
def test_a_call_counts_in_the_goodput_and_is_given_marks_by_one_click(shown):
    calls = [{"kind": "call", "label": "call", "max_rate_bps": 2e6}]
    running = shown({**DUMBBELL, "flows": calls})
    labels = running.js("[...document.querySelectorAll('#shared label')].map(n => n.textContent)")
    names = ["Greatest rate (Mb/s)", "Packets may be marked (ECN)", "Marks are those of L4S"]
    assert [each for each in labels if each in names] == names
    running.wait("parseFloat($('goodput-left').textContent) > 0")
    click = (
        "[...document.querySelectorAll('#shared label')].find(n => n.textContent === {}).click()"
    )
    running.js(click.format(json.dumps(names[2])))
    running.wait("$('toml').textContent.includes('ect1 = true')")
    (call,) = kept(running)["flows"]
    assert (call["ecn"], call["ect1"]) == (True, True)
    running.js(click.format(json.dumps(names[1])))
    running.wait("$('toml').textContent.includes('ect1 = false')")
    (call,) = kept(running)["flows"]
    assert (call["ecn"], call["ect1"]) == (False, False)
    assert running.errors == []


@in_browser
def test_a_link_from_elsewhere_does_no_harm(shown):
    link = "#__proto__.seen=1&left.__proto__.seen=1&title=<img src=x onerror=fail('seen')>&seed=9"
    running = shown(SLOTTED, link.replace(" ", "%20"))
    assert running.js("[({}).seen, document.images.length, scenario.seed]") == [None, 0, 9]
    assert running.errors == []


@in_browser
def test_what_is_wrong_is_told_and_mended(shown):
    running = shown({**SLOTTED, "disciplines": [{"aqm": "red"}, {"aqm": "pie"}]})
    running.js("scenario.disciplines[0].params = { min_th: 50, max_th: 20 }; changed()")
    running.wait("$('error').textContent")
    told = running.js("$('error').textContent")
    assert "red.max_th = 20 must exceed red.min_th = 50 (packets)" in told
    assert not running.js("playing")
    running.js("scenario.disciplines[0].params.max_th = 60; changed()")
    running.wait("about && !$('error').textContent")


@in_browser
@pytest.mark.parametrize("width", [390, 1300])
def test_it_has_room(shown, width):
    running = shown(DUMBBELL)
    running.resize(width, 900)
    assert running.js("document.documentElement.scrollWidth") <= width
    wide = "[...document.querySelectorAll('button, input, select, label, canvas, pre')].filter("
    wide += "each => each.getBoundingClientRect().right > innerWidth).map(each => each.outerHTML)"
    assert running.js(wide) == []


@in_browser
def test_it_waits_where_motion_is_not_wanted(shown, tmp_path):
    with devtools.browser(tmp_path / "other") as running:
        running.prefer(prefers_reduced_motion="reduce")
        made = tmp_path / "still.html"
        made.write_text(page(written(tmp_path, DUMBBELL)))
        running.open(made.as_uri())
        running.wait("about && drawn.frames > 3")
        assert not running.js("playing")
        assert running.js("reached()") == 0


@pytest.mark.skipif(bool(browser.MISSING), reason=browser.MISSING)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(shown, scheme):
    running = shown(DUMBBELL)
    running.prefer(prefers_color_scheme=scheme)
    running.js("play(false)")
    running.js(browser.axe())
    found = running.js(
        "axe.run().then(told => [told.passes.length, told.violations.flatMap("
        "rule => rule.nodes.map(node => [rule.id, node.html.slice(0, 200)]))])"
    )
    rules, violations = found
    assert violations == []
    assert rules > 20


@in_browser
def test_it_comes_to_the_end_and_begins_again(shown):
    running = shown({**DUMBBELL, "duration_s": 3.3, "warm_up_s": 1}, "#speed=50")
    running.wait("reached() == 3.3 && !playing")
    running.js("$('restart').click()")
    running.wait("about && reached() == 0")
    assert running.errors == []


@in_browser
def test_two_equal_disciplines_have_names(shown):
    running = shown({**SLOTTED, "disciplines": [{"aqm": "red"}, {"aqm": "pie"}]})
    running.js("scenario.disciplines[1].aqm = 'red'; changed()")
    running.wait("$('toml').textContent.includes('right')")
    running.wait("about && !$('error').textContent")
    assert [each["label"] for each in kept(running)["disciplines"]] == ["left", "right"]


@in_browser
def test_the_whole_run_can_be_saved(shown):
    running = shown({**DUMBBELL, "duration_s": 3, "warm_up_s": 1})
    told = running.js("Promise.all(sides.map(side => side.ask('record')))")
    left = json.loads(told[0]["record"])
    meant = native({**DUMBBELL, "duration_s": 3, "warm_up_s": 1, "disciplines": [PAIR[0]]})
    assert left["periods"][1]["ports"][0]["queue"] == meant.periods[1].ports[0].queue.tolist()


REFUSED = {
    "a capture": (
        {"arrivals": {"kind": "replay", "capture": "GATEWAY"}, "slots": None, "slot_s": 1e-3},
        "arrivals replay a capture: a page reads no files",
    ),
    "a seed": ({"seed": 2**60}, f"seed = {2**60} must be at most {2**53 - 1}"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_page_cannot_run_is_refused(name, tmp_path, gateway, capsys):
    change, told = REFUSED[name]
    table = {key: value for key, value in {**SLOTTED, **change}.items() if value is not None}
    text = toml({"disciplines": PAIR, **table}).replace("GATEWAY", str(gateway))
    path = tmp_path / "scenario.toml"
    path.write_text(text)
    assert main(["page", str(path), "--out", str(tmp_path / "no.html")]) == 1
    assert told in capsys.readouterr().err
    assert not (tmp_path / "no.html").exists()


def test_headers_and_rate_files_are_refused(tmp_path, root, capsys):
    header = root / "tests" / "shorter.h"
    table = {**DUMBBELL, "links": {"left -> right": {"rate": {"kind": "file", "path": "RATES"}}}}
    rates = tmp_path / "rates.csv"
    rates.write_text("0,1e6\n1,2e6\n")
    path = written(tmp_path, {**table, "disciplines": [{"aqm": str(header)}]})
    path.write_text(path.read_text().replace("RATES", str(rates)))
    assert main(["page", str(path), "--out", str(tmp_path / "no.html")]) == 1
    told = capsys.readouterr().err
    assert "a page has the AQMs of aqm/ only" in told
    assert 'links."left -> right".rate is in a file' in told


def test_disciplines_of_the_command_line(tmp_path, capsys):
    made = tmp_path / "queue.html"
    command = ["page", str(written(tmp_path, DUMBBELL)), "--out", str(made)]
    aqms = ["--aqm", "codel:target=5ms,scheduler=fq", "--aqm", "pie"]
    assert main([*command, *aqms]) == 0
    html = made.read_text()
    (scenario,) = re.findall(r'id="scenario">(.*?)</script>', html)
    disciplines = json.loads(scenario)["disciplines"]
    assert disciplines[0]["params"] == {"target": 0.005}
    assert disciplines[0]["scheduler"]["kind"] == "fq"
    assert disciplines[1]["aqm"] == "pie"
    assert main([*command, "--aqm", "codel:target=-1"]) == 2
    assert "--aqm" in capsys.readouterr().err


def test_the_build_says_what_is_missing(root, tmp_path):
    for lacking, told in (("WASM", "rustup target add"), ("WASM_CC", "apt install clang")):
        command = ["make", "--no-print-directory", "page", f"PAGE={tmp_path}/engine.wasm"]
        done = subprocess.run(
            [*command, f"{lacking}="], cwd=root, capture_output=True, text=True, check=True
        )
        assert "build: no web page" in done.stdout
        assert told in done.stdout
    assert not (tmp_path / "engine.wasm").exists()


@in_node
def test_toml_keeps_every_value(tmp_path, root):
    table = {
        "a": 1,
        "b": 2.5e-7,
        "c": 'a "quote", a \\ and\na line',
        "d": [True, 1e21],
        "e f": {"g": {}},
        "h": [{"i": {"j": "k"}}, {}],
    }
    code = (root / "sluicegate" / "page" / "scenario.js").read_text()
    code += f"; console.log(toml({json.dumps(table)}))"
    told = subprocess.run([str(NODE), "-e", code], capture_output=True, text=True, check=True)
    assert tomllib.loads(told.stdout) == table
