"""The engine in a page beside the native one, in headless Chromium: `make bench-page`.

Sizes; the time to the first frame; slots and packets per second, the best of some turns that
alternate between page and native engine; frames per second with 100 flows at 100 Mb/s.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import devtools  # noqa: E402

from sluicegate import _engine  # noqa: E402
from sluicegate.page import MODULE, page  # noqa: E402
from sluicegate.scenario import load  # noqa: E402
from sluicegate.toml import toml  # noqa: E402

TURNS = 5
SECONDS = 10
FAST = {"topology.rate_bps": 100e6, "flows.0.count": 100, "queue.limit": 400, "duration_s": 600}
IN_PAGE = """(() => {{ engine.begin({toml}, 0); const start = performance.now(); engine.record();
    return performance.now() - start; }})()"""


def native_ms(scenario):
    """Milliseconds of a run in this process, on one thread."""
    handles = scenario.handle, scenario.disciplines[0].handle
    start = time.perf_counter()
    if hasattr(scenario, "topology"):
        (run,) = _engine.simulate_network(*handles, 1, None)
        events = sum(period.ports[0].arrivals for period in run.periods)
    else:
        events = _engine.simulate(*handles, 1, None, None).slots
    return 1e3 * (time.perf_counter() - start), events


def beside(browser, name, what):
    """Print how many events each engine has per second."""
    scenario = load(ROOT / "scenarios" / name).replace(replications=1)
    text = json.dumps(toml(scenario.table()))
    turns = [(browser.js(IN_PAGE.format(toml=text)), *native_ms(scenario)) for _ in range(TURNS)]
    in_page, native, events = (min(column) for column in zip(*turns, strict=True))
    print(
        f"{name}: {events / in_page / 1e3:.3g} million {what} per second in the page, "
        f"{events / native / 1e3:.3g} natively: {in_page / native:.2f} times the time"
    )


def frames(browser, folder):
    """Print the frames per second with 100 flows at 100 Mb/s, and how far time came."""
    path = folder / "fast.toml"
    scenario = load(ROOT / "scenarios" / "network" / "gate.toml").replace(FAST)
    path.write_text(toml(scenario.table()))
    made = folder / "fast.html"
    made.write_text(page(path))
    browser.open(made.as_uri())
    browser.wait("about && reached() > 12")
    before = browser.js("[drawn.frames, performance.now(), reached()]")
    time.sleep(SECONDS)
    after = browser.js("[drawn.frames, performance.now(), reached()]")
    count, passed, simulated = (b - a for a, b in zip(before, after, strict=True))
    print(
        f"100 flows at 100 Mb/s: {1e3 * count / passed:.1f} frames per second, "
        f"{1e3 * simulated / passed:.2f} simulated seconds per second, two disciplines"
    )


def main():
    """Print all figures."""
    with tempfile.TemporaryDirectory() as name, devtools.browser(Path(name)) as browser:
        folder = Path(name)
        made = folder / "queue.html"
        made.write_text(page(ROOT / "scenarios" / "network" / "gate.toml"))
        print(f"page: {made.stat().st_size} bytes; module: {MODULE.stat().st_size} bytes")
        firsts = []
        for _ in range(TURNS):
            browser.open("about:blank")
            browser.open(made.as_uri())
            browser.wait("drawn.first")
            firsts.append(browser.js("drawn.first"))
        print(f"first frame with a strip: {min(firsts):.0f} ms after the start of loading")
        browser.js("play(false)")
        beside(browser, "light.toml", "slots")
        beside(browser, "bursty.toml", "slots")
        beside(browser, "network/gate.toml", "packets")
        beside(browser, "network/dumbbell.toml", "packets")
        frames(browser, folder)


if __name__ == "__main__":
    main()
