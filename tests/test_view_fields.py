"""A field of the view is written in the files that CONTRIBUTING names, and where views are made."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
GUIDE = "How to add a field to the view"
# the youngest field of the whole buffer: no packet carries it
FIELD = "buffer_bytes"
# what makes views of its own, with some fields: repeated calls of other programs, the trial of a
# user's header, a test's queue, a log of what ACKs say; and a socket's buffer
OTHERS = {
    "engine/aqm/src/other_programs.rs",
    "engine/aqm/src/trial/trial.c",
    "engine/slotted/src/oracle.rs",
    "kernel/src/acks.bpf.h",
    "gate/src/backends/nfqueue.rs",
    "gate/src/run.rs",
}


def test_a_field_of_the_whole_buffer_is_in_the_six_files_of_the_guide():
    guide = (ROOT / "CONTRIBUTING.md").read_text().split(f"## {GUIDE}\n")[1].split("\n## ")[0]
    first = guide.split(". Decision logs")[0]
    named = {each for each in re.findall(r"`([^` ]+)`", first) if (ROOT / each).is_file()}
    assert len(named) == 6
    folders = ["sluicegate", *ROOT.glob("engine/*/src"), ROOT / "kernel" / "src", ROOT / "gate/src"]
    files = [ROOT / "aqm" / "aqm.h", ROOT / "aqm" / "aqm.rs"]
    for folder in folders:
        files += [
            path
            for path in (ROOT / folder).rglob("*")
            if path.suffix in {".rs", ".c", ".h", ".py", ".pyi"}
        ]
    word = re.compile(rf"\b{FIELD}\b")
    written = {path.relative_to(ROOT).as_posix() for path in files if word.search(path.read_text())}
    assert written - OTHERS == named
    # each exception is one
    assert written >= OTHERS
