"""A real browser that a test drives: Chromium's own protocol over two pipes, without a driver."""

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

_CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
# reason why there is no browser; empty if there is one
MISSING = "" if _CHROMIUM else "needs Chromium"
# greatest time that anything may take, s: far more than it needs, also on a busy machine
_PATIENCE_S = 120


class Browser:
    """One page in a browser; what it asked for and what went wrong in it are kept."""

    def __init__(self, asks: BinaryIO, answers: BinaryIO) -> None:
        self._asks, self._answers = asks, answers
        self._numbers, self._rest, self._session = count(1), b"", None
        self.requests: list[str] = []
        self.errors: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        asked = {"id": number, "method": method, "params": params}
        if self._session:
            asked["sessionId"] = self._session
        self._asks.write(json.dumps(asked).encode() + b"\0")
        while (told := self._next()).get("id") != number:
            self._note(told)
        assert "error" not in told, told["error"]
        return told["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = os.read(self._answers.fileno(), 1 << 20)
            assert part, "the browser has ended"
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\0")
        return json.loads(line)

    def _note(self, told: dict[str, Any]) -> None:
        params = told.get("params", {})
        match told.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.exceptionThrown":
                self.errors.append(json.dumps(params["exceptionDetails"]))
            case "Log.entryAdded" if params["entry"]["level"] == "error":
                self.errors.append(params["entry"]["text"])

    def open(self, url: str) -> None:
        """Go to an address, or load it again if it is the same."""
        self._call("Page.navigate", url=url)
        self.wait("document.readyState == 'complete'")

    def reload(self) -> None:
        """Load the page again."""
        self.js("globalThis.old = true")
        self._call("Page.reload")
        self.wait("!globalThis.old && document.readyState == 'complete'")

    def js(self, expression: str) -> Any:
        """The value of an expression in the page, awaited if it is a promise."""
        told = self._call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until an expression is true in the page."""
        end = time.monotonic() + _PATIENCE_S
        while not self.js(f"Boolean({condition})"):
            assert time.monotonic() < end, f"never: {condition}; {self.errors}"
            time.sleep(0.02)

    def press(self, key: str, text: str = "") -> None:
        """Press a key, such as Tab, or one that writes a letter."""
        codes = {"Tab": 9, "Enter": 13, " ": 32, "ArrowRight": 39, "ArrowLeft": 37}
        of = {"key": key, "windowsVirtualKeyCode": codes.get(key, 0), "text": text}
        self._call("Input.dispatchKeyEvent", type="keyDown", **of)
        self._call("Input.dispatchKeyEvent", type="keyUp", **of)

    def resize(self, width: int, height: int) -> None:
        """Give the page a window of this size, pixels."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def prefer(self, **features: str) -> None:
        """Set what the user prefers, such as `prefers_color_scheme="dark"`."""
        rows = [{"name": name.replace("_", "-"), "value": each} for name, each in features.items()]
        self._call("Emulation.setEmulatedMedia", features=rows)

    def picture(self) -> bytes:
        """The page as a PNG."""
        return base64.b64decode(self._call("Page.captureScreenshot")["data"])


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser whose files are in this folder."""
    theirs, to = os.pipe()
    of, their_answers = os.pipe()
    command = [
        *("bash", "-c", f'exec "$@" 3<&{theirs} 4>&{their_answers}', "bash", str(_CHROMIUM)),
        *("--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"),
        *(f"--user-data-dir={folder / 'profile'}", "--no-first-run", "about:blank"),
    ]
    with subprocess.Popen(
        command, pass_fds=(theirs, their_answers), stderr=subprocess.DEVNULL
    ) as running:
        os.close(theirs)
        os.close(their_answers)
        try:
            with os.fdopen(to, "wb", 0) as asks, os.fdopen(of, "rb", 0) as answers:
                yield Browser(asks, answers)
        finally:
            running.terminate()
