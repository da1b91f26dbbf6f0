"""A user's header in the laboratory, which has no C compiler: this machine's compiler compiles the
header, and in the laboratory a script in the compiler's place copies the results."""

import hashlib
import os
import shutil
import subprocess

from sluicegate.daemon import sluiced

# the script in the compiler's place: a path that a daemon may execute even under Landlock
STAND_IN = """#!/bin/sh
for header in *.h; do
    made=/usr/share/cc/$(sha256sum <$header | cut -d' ' -f1)
    if [ -d $made ]; then exec cp $made/* .; fi
done
echo 'this text was not compiled before the laboratory booted' >&2
exit 1
"""
RECORDER = """#!/bin/sh
"{compiler}" "$@" || exit
for made in user.o user.so trial; do
    if [ -e $made ]; then cp $made "{kept}"; fi
done
"""


def with_header(path, folder, *words):
    """Return the laboratory's files for a header: script, compiled results, and qdisc's object.

    `words` are further arguments of `sluiced qdisc compile`.
    """
    kept, recorder, made = folder / "kept", folder / "bin" / "cc", folder / "made.o"
    kept.mkdir(parents=True)
    recorder.parent.mkdir()
    recorder.write_text(RECORDER.format(compiler=shutil.which("cc"), kept=kept))
    recorder.chmod(0o755)
    done = subprocess.run(
        [sluiced(), "qdisc", "compile", path, made, *words],
        env=os.environ | {"PATH": f"{recorder.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    text = hashlib.sha256(path.read_bytes()).hexdigest()
    files = {f"usr/share/cc/{text}/{each.name}": each.read_bytes() for each in kept.iterdir()}
    return {"bin/cc": STAND_IN.encode(), **files}, made.read_bytes()
