"""A gate under load whose live page is looked at: run by tests/test_live_page.py.

As tests/gate_lab.py. It prints where the daemon answers, and goes on until stdin ends.
"""

from __future__ import annotations

import json
import os
import select
import sys
import threading
from typing import Any

from gate_lab import FOLDER, Gate, datagram, paced, perform, receiver, sender

TOKEN = "0123456789abcdef"
# best effort, L4S (ECT(1)), and voice (EF)
TOS = (0, 1, 46 << 2)
PER_S = 700


def looked_at() -> dict[str, Any]:
    """RED with a shadow, of which a fifth more is asked than the link carries."""
    token, metrics = FOLDER / "token", FOLDER / "metrics"
    token.touch(mode=0o600)
    token.write_text(TOKEN)
    red = "red:min_th=5,max_th=50,max_p=0.5,w=0.1"
    gate = Gate("closed", "--aqm", red, "--rate", "5e6", "--limit", "100",
                "--shadow", "drop_tail", "--interval", "0.1", "--metrics", f"unix:{metrics}",
                "--token", str(token))  # fmt: skip
    # nobody reads: what comes there is lost, after the gate
    _far, senders = receiver(), [sender(tos=tos) for tos in TOS]
    ended = threading.Event()

    def wait() -> None:
        while sys.stdin.readline():
            pass
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    assert gate.process.stderr is not None
    os.write(1, f"{json.dumps({'metrics': str(metrics)})}\n".encode())

    def send(number: int) -> None:
        senders[number % 3].send(datagram(number, 1000))

    while not ended.is_set():
        paced(send, PER_S // 10, PER_S)
    said = ""
    while select.select([gate.process.stderr], [], [], 0)[0]:
        said += gate.process.stderr.readline()
    return {**gate.end(), "switches": said}


if __name__ == "__main__":
    perform([looked_at])
