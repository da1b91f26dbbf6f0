"""Checks pages in a real browser: their accessibility by axe-core, and whether all has room.

Only axe-core itself is used of axe-playwright-python: one host page with a frame for each page
needs a single start of Chromium, and no driver.
"""

import importlib.util
import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from html import unescape
from pathlib import Path

_PACKAGE = importlib.util.find_spec("axe_playwright_python")
_CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
# reason why pages cannot be opened, or be checked by axe; empty if they can
NO_BROWSER = "" if _CHROMIUM else "needs Chromium"
MISSING = "" if _PACKAGE and _CHROMIUM else "needs axe-playwright-python and Chromium"
_WIDTH = 800

# axe checks each page in a frame: all rules on white, then only colours on black. The results are
# written into one element.
_HOST = """<!doctype html><html lang="en"><title>frames</title><body><script>
const pages = PAGES, axe = AXE, found = {};
async function judge(frame, options) {
  const shown = frame.contentWindow.axe;
  const told = await shown.run(frame.contentDocument, {iframes: false, ...options});
  return {
    rules: told.passes.length,
    violations: told.violations.flatMap(rule => rule.nodes.map(
      node => [rule.id, node.html.slice(0, 200), node.failureSummary])),
  };
}
async function judge_all() {
  for (const [name, html] of Object.entries(pages)) {
    const frame = document.createElement("iframe");
    frame.style.cssText = "width: WIDTHpx; height: 2000px";
    frame.srcdoc = html;
    document.body.append(frame);
    await new Promise(done => { frame.onload = done; });
    frame.contentWindow.eval(axe);
    found[`${name}, on white`] = await judge(frame, {});
    const style = frame.contentDocument.querySelector("style");
    style.textContent = style.textContent.replace("(prefers-color-scheme: dark)", "all");
    found[`${name}, on black`] = await judge(frame, {runOnly: ["color-contrast"]});
    frame.remove();
  }
}
judge_all().catch(error => { found.error = String(error); }).then(() => {
  const told = document.createElement("pre");
  told.id = "found";
  told.textContent = JSON.stringify(found);
  document.body.append(told);
});
</script></body></html>"""


def axe() -> str:
    """Return axe-core, the script."""
    assert _PACKAGE is not None
    return (Path(str(_PACKAGE.origin)).parent / "axe.min.js").read_text()


def violations(pages: Mapping[str, str], folder: Path) -> dict[str, list[list[str]]]:
    """Return axe's findings in each page, on white and on black: rule, element, what is wrong.

    axe sees each figure as one picture with a label. Its lines and letters would take most of the
    time, and axe could not decide about them (`test_report_figures` compares their colours).

    Args:
        pages: Names and HTML of the pages.
        folder: Folder for the browser's files.
    """
    without = {name: re.sub("<svg.*?</svg>", "", html, flags=re.S) for name, html in pages.items()}
    texts = {"WIDTH": str(_WIDTH), "PAGES": _as_script(without), "AXE": _as_script(axe())}
    found = _told_by(_HOST, texts, folder)
    assert len(found) == 2 * len(pages)
    # rules that were applied; a page that was not shown would have none
    for name, each in found.items():
        assert each["rules"] >= (1 if name.endswith("black") else 10), (name, each)
    return {name: each["violations"] for name, each in found.items() if each["violations"]}


# what is wider than its room, by page: the element's class or name, and how much wider it is
_MEASURING = """<!doctype html><html lang="en"><title>frames</title><body><script>
const pages = PAGES, found = {};
async function measure_all() {
  for (const [name, html] of Object.entries(pages)) {
    const frame = document.createElement("iframe");
    frame.style.cssText = "border: 0; width: WIDTHpx; height: 2000px";
    frame.srcdoc = html;
    document.body.append(frame);
    await new Promise(done => { frame.onload = done; });
    const all = frame.contentDocument.querySelectorAll("html, .wide, pre, figure, td, th, p");
    found[name] = [...all].filter(each => each.scrollWidth > each.clientWidth + 1).map(
      each => [each.className || each.localName, each.scrollWidth - each.clientWidth]);
    frame.remove();
  }
}
measure_all().catch(error => { found.error = String(error); }).then(() => {
  const told = document.createElement("pre");
  told.id = "found";
  told.textContent = JSON.stringify(found);
  document.body.append(told);
});
</script></body></html>"""


def cut(pages: Mapping[str, str], width: int, folder: Path) -> dict[str, list[list[str | int]]]:
    """Return what is wider than its room in each page: its class or name, and by how many pixels.

    Args:
        pages: Names and HTML of the pages.
        width: Width of the window, pixels.
        folder: Folder for the browser's files.
    """
    found = _told_by(_MEASURING, {"WIDTH": str(width), "PAGES": _as_script(pages)}, folder)
    assert len(found) == len(pages)
    return found


def _told_by(host: str, texts: Mapping[str, str], folder: Path) -> dict:
    """Open a page with these texts in place of words; return what its script found."""
    path = folder / "host.html"
    path.write_text(re.sub("|".join(texts), lambda match: texts[match[0]], host))
    shown = subprocess.run(
        [
            str(_CHROMIUM),
            *("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile"),
            *("--virtual-time-budget=600000", "--dump-dom", path.resolve().as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    ).stdout
    match = re.search(r'<pre id="found">(.*?)</pre>', shown, re.DOTALL)
    assert match, shown[-1000:]
    found = json.loads(unescape(match[1]))
    assert "error" not in found, found["error"]
    return found


def _as_script(value: object) -> str:
    return json.dumps(value).replace("</", r"<\/").replace("<!--", r"<\!--")
