"""Advice for both directions of a line: one page, one file, and lines that Linux takes."""

import json
import re

import jsonschema
import pytest
from kernel_needs import needs_lab

from sluicegate.advice import Question
from sluicegate.advice.lines import lines
from sluicegate.advice.settings import settings
from sluicegate.cli import main
from sluicegate.lab import image, kernel, machine

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("undrawn")]

ASKED = ["--rtt", "40ms", "--flows", "5", "--control", "reno", "--limit", "200"]
SMALL = ["--aqm", "fq_codel", "--packets", "1e6", "--workers", "1"]
# AQMs whose lines are tried, too, on a line of 20 Mbit/s
LINE = Question(rate_bps=20e6, rtts_s=(0.04, 0.04), flows=(5, 5), direction="upload", ecn=True)
OTHERS = ("red", "pie", "codel", "choke", "sfb", "sfq", "fq_pie", "cake")
MODULES = [
    *("veth", "ifb", "sch_tbf", "sch_fq_codel", "sch_ingress", "act_mirred", "cls_matchall"),
    *(f"sch_{name}" for name in OTHERS),
]
# the interface DEV and a host behind it; a packet there and back, and what each qdisc sent
SCRIPT = """set -ex
modprobe -a {modules}
ip netns add far
ip link add DEV type veth peer name eth netns far
ip address add 10.0.0.1/24 dev DEV
ip link set DEV up
ip netns exec far ip address add 10.0.0.2/24 dev eth
ip netns exec far ip link set eth up
{lines}
ping -c 5 10.0.0.2
tc -s qdisc show dev DEV >/out/upload
tc -s qdisc show dev ifb-in >/out/download
{undo}
tc qdisc show dev DEV >/out/undone
{lines}
"""
# the lines of one more AQM
OTHER = """
{lines}
ping -c 5 10.0.0.2
tc -s qdisc show dev DEV >/out/{name}
{undo}"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """Ask for both directions; return the folder, what was printed, and what was written."""
    folder = tmp_path_factory.mktemp("both")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLUICE_RUNS", str(folder / "runs"))
        words = ["advise", "--upload", "2M", "--download", "20M", *ASKED, *SMALL]
        files = ["--json", str(folder / "home.json"), "--figure", str(folder / "home.svg")]
        assert main([*words, "--out", str(folder), *files]) == 0
    return folder, json.loads((folder / "home.json").read_text())


def rows(asked):
    """Return the row of the chosen setting of each direction."""
    return [
        next(row for row in each["settings"] if row["setting"] == each["choice"])
        for each in asked[1]["directions"]
    ]


def test_both_directions_are_answered(asked, root):
    _, written = asked
    upload, download = (each["question"] for each in written["directions"])
    assert (upload["direction"], upload["rate_bps"], upload["limit"]) == ("upload", 2e6, 200)
    assert (download["direction"], download["rate_bps"]) == ("download", 20e6)
    assert all(row["family"] == "fq_codel" for row in rows(asked))
    schema = root / "docs" / "reference" / "outputs" / "advices.schema.json"
    jsonschema.validate(written, json.loads(schema.read_text()))


def test_the_picture_of_before_and_after_is_a_file(asked, capsys):
    picture = (asked[0] / "home.svg").read_text()
    # text stays text
    assert all(f">{each}<" in picture for each in ("before", "after", "p99 sojourn (ms)"))
    for each in asked[1]["directions"]:
        direction = each["question"]["direction"]
        assert picture.count(f">{direction}: ") == len(each["scenarios"]) > 1
    words = ["advise", "--rate", "2M", *ASKED, "--figure", "home.gif"]
    assert main(words) == 1
    assert "home.gif must end in .pdf, .svg, .png" in capsys.readouterr().err


def test_the_buffer_of_today_was_simulated(asked):
    # 200 packets are 1.2 s of the upload, and 0.12 s of the download
    for each, full_s in zip(asked[1]["directions"], (1.2, 0.12), strict=True):
        (today,) = (row for row in each["settings"] if row["is_today"])
        chosen = each["settings"][0]
        assert 0.7 * full_s < today["sojourn_p99"] < 1.05 * full_s
        assert chosen["completion_mean"] < 0.7 * today["completion_mean"]


def test_one_page_has_both_with_one_picture(asked):
    page = (asked[0] / "advice.html").read_text()
    assert len(re.findall("<h3[^>]*>Before and after</h3>", page)) == 1
    for text in ("Upload, 2 Mbit/s", "Download, 20 Mbit/s", "for what arrives through DEV"):
        assert text in page
    # the ACKs of 20 Mbit/s: 833 a second, 52 bytes each
    assert "those of a full download take 17 % of the upload" in page.replace("&#39;", "'")
    for row in rows(asked):
        assert all(line in page for line in row["tc"].splitlines())


@needs_lab
def test_linux_takes_the_lines_of_both_directions(asked):
    undo = ["tc qdisc del dev DEV root", "tc qdisc del dev DEV ingress", "ip link del ifb-in"]
    page = (asked[0] / "advice.html").read_text()
    assert all(line in page for line in undo)
    script = SCRIPT.format(
        modules=" ".join(MODULES),
        lines="\n".join(row["tc"] for row in rows(asked)),
        undo="\n".join(undo),
    )
    script += "\n".join(undo)
    for name in OTHERS:
        found = [lines(each, LINE) for each in settings(LINE, [name])]
        its = next(each for each in found if each.tc)
        script += OTHER.format(lines="\n".join(its.tc), name=name, undo="\n".join(its.undo))
    found = kernel.find()
    made = image.build(found, script, programs=["ip", "tc"], modules=MODULES)
    result = machine.run(found, made)
    assert result.status == 0, result.stderr
    # five packets and one of ARP each way, all through the AQM
    for direction, row in zip(("upload", "download"), rows(asked), strict=True):
        told = result.files[direction].decode()
        assert "qdisc tbf 1: root" in told
        limit = re.search(r"limit (\d+) ", row["tc"].splitlines()[-1])[1]
        below = told[told.index("qdisc fq_codel 10: parent 1:") :]
        assert f"limit {limit}p" in below
        assert int(re.search(r"Sent \d+ bytes (\d+) pkt", below)[1]) >= 5
    for name in OTHERS:
        told = result.files[name].decode()
        its = told[told.index(f"qdisc {name} 10: ") :]
        assert int(re.search(r"Sent \d+ bytes (\d+) pkt", its)[1]) >= 5, name
    assert "tbf" not in result.files["undone"].decode()
    assert "ingress" not in result.files["undone"].decode()
