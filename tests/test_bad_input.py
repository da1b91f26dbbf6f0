"""Bad input: each case gives the exact message that a user sees."""

import re
import textwrap

import pytest

import sluicegate as sg
from sluicegate.cli import main

ARRIVALS = 'arrivals = { kind = "geometric", rate = 0.5 }\n'
SERVICE = 'service = { kind = "geometric", mu = 0.5 }\n'
RED = 'disciplines = [{ aqm = "red" }]\n'
AQMS = ", ".join(sg.aqms())


def with_arrivals(table):
    return f"slots = 1e5\narrivals = {{ {table} }}\n{SERVICE}{RED}"


def with_service(table):
    return f"slots = 1e5\nservice = {{ {table} }}\n{ARRIVALS}{RED}"


def with_queue(table):
    return f"slots = 1e5\nqueue = {{ {table} }}\n{ARRIVALS}{SERVICE}{RED}"


def with_discipline(table):
    return f"slots = 1e5\n{ARRIVALS}{SERVICE}disciplines = [{{ {table} }}]\n"


def with_field(line):
    return f"slots = 1e5\n{line}\n{ARRIVALS}{SERVICE}{RED}"


def with_slots(value):
    return f"slots = {value}\n{ARRIVALS}{SERVICE}{RED}"


SCENARIOS = [
    (
        "slots = = 1",
        "not valid TOML: extra `=`, expected nothing (at line 1, column 9)",
    ),
    (f"slots = 1e5\n{SERVICE}{RED}", "arrivals is missing"),
    (f"slots = 1e5\n{ARRIVALS}{RED}", "service is missing"),
    (f"slots = 1e5\n{ARRIVALS}{SERVICE}", "disciplines is missing"),
    (ARRIVALS + SERVICE + RED, "slots is missing: say how long a replication lasts"),
    (with_slots("999"), "slots = 999 must be at least 1000 (slots)"),
    (with_slots("1000.5"), "slots = 1000.5 must be a whole number (slots)"),
    (with_slots("1e16"), "slots = 1e+16 must be at most 1e+15 (slots)"),
    (with_slots('"many"'), "slots = 'many' must be a whole number (slots)"),
    (with_slots("inf"), "slots = inf must be a whole number (slots)"),
    (with_field("seed = -1"), "seed = -1 must be at least 0"),
    (with_field("replications = 0"), "replications = 0 must be at least 1"),
    (with_field("replications = 1001"), "replications = 1001 must be at most 1000"),
    (
        with_slots("1e15"),
        "slots = 1000000000000000 must be at most 9223372036854: "
        "with 1000000 ns a slot an AQM's clock counts no further",
    ),
    (
        with_slots("1e8\nslot_s = 1e3"),
        "slots = 100000000 must be at most 9223372: "
        "with 1000000000000 ns a slot an AQM's clock counts no further",
    ),
    (with_field("slot_s = 0"), "slot_s = 0 must be at least 1e-09 (s)"),
    (with_field("slot_s = nan"), "slot_s = nan must be a number (s)"),
    (with_field("packet_bytes = 70_000"), "packet_bytes = 70000 must be at most 65535 (bytes)"),
    (
        with_field("slotz = 5"),
        "slotz is not a field (did you mean slots?); there are title, arrivals, "
        "service, queue, disciplines, slots, replications, seed, slot_s, "
        "packet_bytes",
    ),
    (with_field("title = 5"), "title = 5 must be text"),
    (with_arrivals("rate = 0.5"), "arrivals.kind is missing"),
    (
        with_arrivals('kind = "poisson", rate = 0.5'),
        "arrivals.kind = 'poisson' must be one of 'geometric', 'self-similar', 'fgn' or 'replay'",
    ),
    (with_arrivals('kind = "geometric"'), "arrivals.rate is missing"),
    (with_arrivals('kind = "geometric", rate = 1.5'), "arrivals.rate = 1.5 must be at most 1"),
    (with_arrivals('kind = "geometric", rate = "½"'), "arrivals.rate = '½' must be a number"),
    (
        with_arrivals('kind = "geometric", rate = 0.5, mu = 1'),
        "arrivals.mu is not a field; there are kind, rate",
    ),
    (
        with_arrivals('kind = "self-similar", rate = 1e-300, a = 31'),
        "arrivals.rate = 1e-300 must be at least 1e-09",
    ),
    (
        with_arrivals('kind = "self-similar", rate = 0.5, a = 1'),
        "arrivals.a = 1 must be above 1",
    ),
    (
        with_arrivals('kind = "self-similar", rate = 0.5, a = 31, states = 1'),
        "arrivals.states = 1 must be at least 2",
    ),
    (
        with_arrivals('kind = "fgn", rate = 0.5, deviation = 0.1, hurst = 1'),
        "arrivals.hurst = 1 must be below 1",
    ),
    (
        with_arrivals('kind = "replay", capture = "x.pcap"'),
        "slot_s is missing: a capture or a link's rate needs a slot's length",
    ),
    (with_service('kind = "geometric", mu = 0'), "service.mu = 0 must be above 0"),
    (with_service('kind = "geometric", mu = true'), "service.mu = true must be a number"),
    (
        with_service('kind = "deterministic", slots = 0'),
        "service.slots = 0 must be at least 1 (slots)",
    ),
    (
        with_service('kind = "packet-size", rate_bps = 1e6'),
        "slot_s is missing: a capture or a link's rate needs a slot's length",
    ),
    (with_queue("limit = 0"), "queue.limit = 0 must be at least 1 (packets)"),
    (with_queue("limit = 1_000_000"), "queue.limit = 1000000 must be at most 100000 (packets)"),
    (
        with_queue('victim = "head"'),
        "queue.victim = 'head' must be one of 'tail', 'front' or 'random'",
    ),
    (with_queue('ecn = "yes"'), "queue.ecn = 'yes' must be true or false"),
    (
        with_queue("limits = 5"),
        "queue.limits is not a field (did you mean limit?); there are limit, "
        "limit_bytes, victim, ecn",
    ),
    (with_discipline('label = "x"'), "disciplines.0.aqm is missing"),
    (
        with_discipline("aqm = 3"),
        "disciplines.0.aqm = 3 must be an AQM's name, or the path of its C header or Python file",
    ),
    (
        with_discipline('aqm = "indigo"'),
        f"disciplines.0: indigo is not an AQM; there are {AQMS}, or give the path of a C header, "
        "or of a Python file",
    ),
    (
        with_discipline('aqm = "Pie"'),
        f"disciplines.0: Pie is not an AQM (did you mean pie?); there are {AQMS}, or give the path "
        "of a C header, or of a Python file",
    ),
    (
        with_discipline('aqm = "red", label = "x", params = { w = 2 }'),
        "disciplines.0: red.w = 2 must lie between 0 and 1",
    ),
    (
        with_discipline('aqm = "red", params = { w = nan }'),
        "disciplines.0: red.w = NaN must lie between 0 and 1",
    ),
    (
        with_discipline('aqm = "red", params = { w = [1] }'),
        "disciplines.0: red.w = [1] must be a number, a word, true or false",
    ),
    (
        with_discipline('aqm = "red", params = { min_th = 100, max_th = 50 }'),
        "disciplines.0: red.max_th = 50 must exceed red.min_th = 100 (packets)",
    ),
    (
        with_discipline('aqm = "red", params = { average = "mean" }'),
        'disciplines.0: red.average = "mean" must be one of ewma, difference, lpf_oda',
    ),
    (
        with_discipline('aqm = "drop_tail", params = { name = 5 }'),
        "disciplines.0: drop_tail.name: drop_tail has no parameters",
    ),
    (
        with_discipline('aqm = "red", params = 3'),
        "disciplines.0.params = 3 must be a table",
    ),
    (
        with_discipline('aqm = "red", param = { w = 0.1 }'),
        "disciplines.0.param is not a field (did you mean params?); there are "
        "aqm, params, label, scheduler, classes, victim, ecn",
    ),
    (
        with_discipline('aqm = "my-idea.h"'),
        "disciplines.0: {folder}/my-idea.h: the file's name must be the AQM's, a C identifier",
    ),
    (
        with_discipline('aqm = "idea.h"'),
        "disciplines.0: {folder}/idea.h: No such file or directory",
    ),
    (
        with_discipline('aqm = "red" }, { aqm = "red"'),
        "disciplines: two are called 'red'; give each a label",
    ),
]


@pytest.mark.parametrize(("text", "message"), SCENARIOS)
def test_a_bad_scenario_is_refused_with_its_reason(text, message, tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(sg.SluiceError) as refusal:
        sg.Scenario.load(path)
    assert str(refusal.value) == f"{path}: {message.replace('{folder}', str(tmp_path))}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = " + "[" * 5000 + "]" * 5000, "not valid TOML: cannot recurse further"),
        ("slots = " + "9" * 5000, "slots = a far too large number must be at most 1e+15 (slots)"),
        ("a." * 900 + "a = 1", "not valid TOML: recursion limit"),
        ("#" * 2**24 + "\n", "a scenario must have at most 16777216 bytes"),
    ],
    ids=["nested", "digits", "dotted", "long"],
)
def test_absurd_files_are_refused(text, message, tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(f"{text}\n{ARRIVALS}{SERVICE}{RED}")
    with pytest.raises(sg.SluiceError) as refusal:
        sg.Scenario.load(path)
    assert message in str(refusal.value)


def test_a_file_without_end_does_not_fill_the_memory():
    with pytest.raises(sg.SluiceError) as refusal:
        sg.Scenario.load("/dev/zero")
    assert str(refusal.value) == "/dev/zero: a scenario must have at most 16777216 bytes"


def test_all_problems_are_reported_together(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(with_field("seed = -1\nreplications = 0"))
    with pytest.raises(sg.SluiceError) as refusal:
        sg.Scenario.load(path)
    assert str(refusal.value).splitlines() == [
        f"{path}: replications = 0 must be at least 1",
        f"{path}: seed = -1 must be at least 0",
    ]


REPLAY = """
    slot_s = 1e-3
    arrivals = { kind = "replay", capture = "gateway.pcap" }
    disciplines = [{ aqm = "red" }]
""" + textwrap.indent(SERVICE, "    ")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "cannot read {folder}/gateway.pcap: No such file or directory (os error 2)"),
        ("slots = 1e6", "slots = 1000000 must be at most 72891, where the capture ends"),
        (
            "replications = 8",
            "replications = 8 must be 1: a capture brings the same packets each time",
        ),
    ],
)
def test_a_bad_replay_is_refused_with_its_reason(line, message, tmp_path, gateway):
    if line:
        (tmp_path / "gateway.pcap").symlink_to(gateway)
    path = tmp_path / "bad.toml"
    path.write_text(line + textwrap.dedent(REPLAY))
    with pytest.raises(sg.SluiceError) as refusal:
        sg.Scenario.load(path)
    assert str(refusal.value) == f"{path}: {message.replace('{folder}', str(tmp_path))}"


COMMANDS = [
    ("aqms red", "Got unexpected extra argument(s) (red)"),
    ("nonsense", "No such command 'nonsense'."),
    (
        "compare",
        "Missing argument 'SCENARIO.toml'.\nfor example: sluice compare scenarios/gateway.toml\n"
        "sluice compare --help tells more",
    ),
    ("compare god.toml", "god.toml: No such file or directory; did you mean good.toml?"),
    ("compare .", ".: Is a directory"),
    (
        "compare good.toml --slot 5",
        "No such option: --slot (Possible options: --json, --out, --slots)",
    ),
    ("compare good.toml --slots few", "--slots = 'few' must be a whole number (slots)"),
    (
        f"compare good.toml --seed {'9' * 5000}",
        f"--seed = '{'9' * 37}...{'9' * 38}' must be a whole number",
    ),
    (
        "compare good.toml --aqm red:label=\udcff",
        "--aqm: label = '\\udcff' must be printable text",
    ),
    (
        "compare good.toml --aqm \udcff",
        "--aqm: aqm = '\\udcff' must be printable text",
    ),
    ("compare good.toml --seed -1", "--seed = -1 must be at least 0"),
    (
        "compare good.toml --threads 0",
        "Invalid value for '--threads': 0 is not in the range x>=1.",
    ),
    ("compare good.toml --aqm :w=1", "--aqm: ':w=1' must be kind:key=value,..."),
    ("compare good.toml --aqm red:w", "--aqm: 'w' must be key=value"),
    ("compare good.toml --aqm red:w=1,w=1", "--aqm: w is given twice in 'red:w=1,w=1'"),
    (
        "compare good.toml --aqm red:w=2",
        "--aqm: red.w = 2 must lie between 0 and 1",
    ),
    (
        "compare good.toml --aqm drop_tail --aqm red,w=0.1",
        "--aqm: 'red,w=0.1' must be kind:key=value,...; did you mean red:w=0.1?",
    ),
    ("compare good.toml --aqm red --aqm red", "--aqm: two are called 'red'; give each a label"),
    (
        "compare good.toml --aqm red:victim=back",
        "--aqm: victim = 'back' must be one of 'tail', 'front' or 'random'",
    ),
    ("compare good.toml --out good.toml", "good.toml: File exists"),
    (
        "simulate good.toml",
        "good.toml: there are 2 disciplines; choose with --aqm, or use sluice compare",
    ),
    (
        "simulate --slots 1e5 --aqm red",
        "without a scenario file --arrivals, --service must be given",
    ),
    (
        "simulate --slots 1e5 --aqm red --arrivals geometric:rate=2 --service geometric:mu=1",
        "--arrivals: rate = 2 must be at most 1",
    ),
    (
        "aqm indigo",
        f"indigo is not an AQM; there are {AQMS}, or give the path of a C header, "
        "or of a Python file",
    ),
    ("aqm red --set w", "--set: 'w' must be key=value"),
    ("aqm red --set w=x", 'red.w = "x" must be a number'),
    ("aqm red --plot red.txt", "--plot: red.txt must end in .svg, .png, .pdf"),
    ("aqm good.h", "good.h: not a text file"),
    (
        "fit good.toml",
        "good.toml is not a capture: it starts with 73 6c 6f 74, "
        "not with the mark of pcap or pcapng",
    ),
    ("fit none.pcap", "cannot read none.pcap: No such file or directory (os error 2)"),
]


# messages about the command line itself
USAGE = re.compile(r"Got |No such (command|option)|Missing |Invalid value|--|without ")


@pytest.mark.parametrize(("command", "message"), COMMANDS, ids=range(len(COMMANDS)))
def test_a_bad_command_is_refused_with_its_reason(command, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    disciplines = 'disciplines = [{ aqm = "red" }, { aqm = "drop_tail" }]\n'
    (tmp_path / "good.toml").write_text(f"slots = 1e5\n{ARRIVALS}{SERVICE}{disciplines}")
    (tmp_path / "good.h").write_bytes(b"\xff\xfe")
    assert main(command.split()) == (2 if USAGE.match(message) else 1)
    assert capsys.readouterr() == ("", f"error: {message}\n")


CHAIN_RED = "red:spacing=independent,idle_decay=false"


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (
            'arrivals = { kind = "geometric", rate = 1 }',
            "",
            "arrivals.rate = 1 must lie between 0 and 1, both excluded: "
            "else states of the chain never follow each other",
        ),
        (
            'arrivals = { kind = "geometric", rate = 0 }',
            "",
            "arrivals.rate = 0 must lie between 0 and 1, both excluded: "
            "else states of the chain never follow each other",
        ),
        (
            'arrivals = { kind = "geometric", rate = -0.1 }',
            "",
            "exact.toml: arrivals.rate = -0.1 must be at least 0",
        ),
        (
            'service = { kind = "geometric", mu = 1.1 }',
            "",
            "exact.toml: service.mu = 1.1 must be at most 1",
        ),
        (
            'arrivals = { kind = "fgn", rate = 0.5, deviation = 0.1, hurst = 0.8 }',
            "",
            "arrivals.kind = fgn has no exact chain: it must be geometric or self-similar",
        ),
        (
            'slot_s = 1e-3\narrivals = { kind = "replay", capture = "gateway.pcap" }',
            "",
            "arrivals.kind = replay has no exact chain: a capture is no Markov chain",
        ),
        (
            'service = { kind = "deterministic", slots = 2 }',
            "",
            "service.kind = deterministic has no exact chain: it must be geometric",
        ),
        (
            "",
            "--aqm red",
            'red.spacing must be "independent": the chain does not count packets',
        ),
        (
            "",
            "--aqm red:spacing=independent",
            "red.idle_decay must be false: the chain does not time idle periods",
        ),
        (
            "",
            f"--aqm {CHAIN_RED},average=difference,a1=0.5,a2=0.2",
            "red.a2 = 0.2 must be 0: the chain remembers one average and no queue",
        ),
        (
            "",
            f"--aqm {CHAIN_RED},sampling=clock,sampling_interval=0.5",
            "red.sampling_interval = 0.5 must be 0.001, the length of a slot (s): "
            "the chain samples once in each",
        ),
        (
            "",
            "--aqm shorter.h",
            "shorter has no exact chain: it has a state of 4 bytes beside the queue. There is one "
            "for drop_tail, the RED family and headers without a state that are asked at arrivals "
            "only",
        ),
        (
            "",
            f"--aqm {CHAIN_RED} --grid 0",
            "grid = 0 must be above 0 and at most the limit of 250 packets",
        ),
        (
            "",
            f"--aqm {CHAIN_RED} --grid nan",
            "grid = NaN must be above 0 and at most the limit of 250 packets",
        ),
        (
            "",
            f"--aqm {CHAIN_RED} --grid 251",
            "grid = 251 must be above 0 and at most the limit of 250 packets",
        ),
        (
            "",
            f"--aqm {CHAIN_RED} --method iterativ",
            "Invalid value for '--method': 'iterativ' is not one of 'auto', 'direct', 'iterative'.",
        ),
        (
            "",
            "--method iterative",
            "the iterative method needs an average that moves: take the direct method",
        ),
        (
            "",
            "--grid fine",
            "Invalid value for '--grid': 'fine' is not a number.",
        ),
        ("", "--slots 1e6", "No such option: --slots (Possible options: --json, --out)"),
    ],
)
def test_scenarios_without_a_chain_are_refused(
    change, options, message, root, gateway, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shorter.h").write_text((root / "tests" / "shorter.h").read_text())
    (tmp_path / "gateway.pcap").symlink_to(gateway)
    lines = {line.partition(" = ")[0]: line for line in (ARRIVALS.strip(), SERVICE.strip())}
    lines |= {"slots": "slots = 1e4"}
    for line in filter(None, change.split("\n")):
        lines[line.partition(" = ")[0]] = line
    disciplines = 'disciplines = [{ aqm = "drop_tail" }]'
    (tmp_path / "exact.toml").write_text("\n".join([*lines.values(), disciplines]))
    assert main(["chain", "exact.toml", *options.split()]) == (2 if USAGE.match(message) else 1)
    assert capsys.readouterr() == ("", f"error: {message}\n")


def test_a_report_that_cannot_be_written_says_where(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.toml").write_text(f"slots = 1e4\n{ARRIVALS}{SERVICE}{RED}")
    (tmp_path / "out" / "measures.parquet").mkdir(parents=True)
    assert main(["compare", "good.toml", "--out", "out"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("error: ")
    assert "out/measures.parquet" in shown


def test_the_compilers_errors_about_a_header_are_shown(tmp_path, capsys):
    path = tmp_path / "broken.h"
    path.write_text("int broken(void) { return no_such_thing; }\n")
    assert main(["aqm", str(path)]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("error: broken.h does not compile as an AQM:\n")
    assert re.search(r"broken\.h:1:\d+: error: .no_such_thing. undeclared", shown)
