"""Makes headers of `aqm/` with a few random changes of their text, and finds their outcomes.

Run as a program, it reads paths of headers from standard input and prints the outcome of each.
`outcomes` runs it as a separate process, because a header might end the process.
"""

from __future__ import annotations

import json
import random
import re
import selectors
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import sluicegate as sg

AQM = Path(__file__).parent.parent / "aqm"
# longest time for one header, s: the compiler, a trial of an endless loop, and two short runs
MOST_S = 60

_NUMBERS = ["0", "1", "-1", "2", "77", "31", "64", "1000000", "0x7fffffff", "-0x7fffffffffffffffLL"]
_OPERATORS = [
    "+",
    "-",
    "*",
    "/",
    "%",
    "<",
    ">",
    "<=",
    ">=",
    "==",
    "!=",
    "&&",
    "||",
    "<<",
    ">>",
    "&",
]
_STATEMENTS = [
    "while (1) ;",
    'for (u32 i = 0; i < 4000000000U; i++) __asm__ volatile ("");',
    "*(volatile u32 *)0 = 1;",
    "{ static u32 count; if (++count % 7 == 0) __builtin_trap(); }",
    "{ volatile double d = 1.5; d *= d; }",
    "{ volatile s64 zero = 0; zero = 1 / zero; }",
    "{ extern int rand(void); rand(); }",
    "((volatile u64 *)state)[1000] = 1;",
    "return 77;",
    "return 4;",
]
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")
_OPERATOR = re.compile(r"(?<=\s)(?:[-+*/%<>&]|<=|>=|==|!=|&&|\|\||<<|>>)(?=\s)")
_NUMBER = re.compile(r"\b\d+\b")


def headers() -> list[str]:
    """Return the names of the AQMs that have code of their own."""
    return [name for name in sg.aqms() if f"AQM_CLASS({name}," in text_of(name)]


def text_of(name: str) -> str:
    return (AQM / f"{name}.h").read_text()


def mutated(name: str, draw: random.Random) -> str:
    """Return the text of a header with one to three random changes."""
    text = text_of(name)
    for _ in range(draw.randint(1, 3)):
        text = draw.choice(_MUTATIONS)(text, draw)
    return text


def _code(text: str) -> int:
    """Return the offset of the code, behind the comments at the top."""
    return max(text.find("#include"), 0)


def _swapped(pattern: re.Pattern[str], text: str, draw: random.Random, others: list[str]) -> str:
    places = list(pattern.finditer(text, _code(text)))
    if not places:
        return text
    place = draw.choice(places)
    return text[: place.start()] + draw.choice(others) + text[place.end() :]


def _number(text: str, draw: random.Random) -> str:
    return _swapped(_NUMBER, text, draw, _NUMBERS)


def _operator(text: str, draw: random.Random) -> str:
    return _swapped(_OPERATOR, text, draw, _OPERATORS)


def _word(text: str, draw: random.Random) -> str:
    return _swapped(_WORD, text, draw, _WORD.findall(text, _code(text)))


def _line(text: str, draw: random.Random) -> str:
    """Remove, repeat or move a line."""
    lines = text.split("\n")
    line = lines.pop(place := draw.randrange(len(lines)))
    times = draw.randrange(3)
    if times == 1:
        place = draw.randrange(len(lines))
    return "\n".join([*lines[:place], *[line] * times, *lines[place:]])


def _statement(text: str, draw: random.Random) -> str:
    """Insert a statement that breaks a rule, at a function's start or behind a statement."""
    places = [each.end() for each in re.finditer(r"\n\{\n|;\n(?=\t)", text)]
    place = draw.choice(places)
    return text[:place] + "\t" + draw.choice(_STATEMENTS) + "\n" + text[place:]


_MUTATIONS = [_number, _number, _operator, _operator, _word, _line, _statement]


def write(folder: Path, count: int, seed: int) -> list[Path]:
    """Write `count` headers, each into a separate folder, because a file has the AQM's name."""
    draw = random.Random(seed)
    names, paths = headers(), []
    for number in range(count):
        name = draw.choice(names)
        path = folder / str(number) / f"{name}.h"
        path.parent.mkdir()
        path.write_text(mutated(name, draw))
        paths.append(path)
    return paths


def outcomes(paths: list[Path]) -> Iterator[tuple[Path, str, str]]:
    """Yield path, outcome and message of each header; outcomes can be `ended` and `hung`."""
    process = None
    for path in paths:
        if process is None:
            command = [sys.executable, __file__]
            pipe = subprocess.PIPE
            process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{path}\n")
        with selectors.DefaultSelector() as answers:
            answers.register(process.stdout, selectors.EVENT_READ)
            line = process.stdout.readline() if answers.select(MOST_S) else "hung"
        if line in ("", "hung"):
            process.kill()
            process.communicate()
            yield path, "hung" if line else "ended", f"status {process.returncode}"
            process = None
            continue
        yield path, *json.loads(line)
    if process is not None:
        process.communicate()


def outcome(path: str) -> tuple[str, str]:
    """Compile and run a header; return the outcome and the message."""
    try:
        discipline = sg.Discipline(aqm=path)
    except sg.SluiceError as error:
        return _refused_by(str(error)), str(error)
    try:
        for scenario in (_SLOTTED, _NETWORK):
            sg.compare(scenario.replace(disciplines=[discipline]), threads=1, fresh=True)
    except sg.SluiceError as error:
        return "told after a run", str(error)
    return "ran", ""


def _refused_by(words: str) -> str:
    if "does not compile as an AQM" in words:
        return "refused by the compiler"
    if " can change and is not in struct " in words or ": it uses " in words:
        return "refused by the rules"
    return "refused by the trial" if ".h: " in words else "refused by its parameters"


_SLOTTED = sg.Scenario(
    slots=20_000,
    replications=2,
    arrivals=sg.GeometricArrivals(rate=0.5),
    service=sg.GeometricService(mu=0.5),
    queue=sg.Queue(limit=250),
    disciplines=[sg.Discipline(aqm="drop_tail")],
)
_NETWORK = sg.network.NetworkScenario(
    topology=sg.network.Dumbbell(rate_bps=5e6),
    flows=[sg.network.TcpFlows(count=20, tcp=sg.network.Tcp(ecn=True))],
    queue=sg.Queue(limit=100, ecn=True),
    disciplines=[sg.Discipline(aqm="drop_tail")],
    duration_s=4.0,
    replications=2,
)

if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(outcome(line.rstrip("\n"))), flush=True)
