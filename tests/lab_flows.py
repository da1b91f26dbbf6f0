"""CAKE's hash of eight ways in the laboratory: our qdisc and Linux's own `cake` get the same flows.

Each flow has one packet that waits, so a flow takes a lane that is free, or shares one: Linux
counts these as misses and collisions. `test_lab_log.py` boots it.
"""

import csv
import json

from lab_acks import LINK_RATE

# fewer than there are lanes; about 48 of them share one
FLOWS = (800,)
# only the first packet leaves meanwhile
RATE_BPS = 8000
LIMIT = 2000
EACH = """
sluiced qdisc install k --aqm '{words}' --rate {link_rate} --limit {limit} --log 4 \\
    --marks-at out0 --object /{object}
tc qdisc add dev out0 root k
/lab/flows out0 {flows}
sluiced qdisc log k >/out/{name}.csv
tc qdisc del dev out0 root
sluiced qdisc remove k
tc qdisc add dev out0 root cake bandwidth {rate}bit besteffort flows rtt 4s noatm
/lab/flows out0 {flows}
tc -s -j qdisc show dev out0 >/out/{name}.json
tc qdisc del dev out0 root
"""


def name(flows):
    return f"flows.{flows}"


def script(built, folder):
    """The part of the script, with our qdisc in an object file; and what the logs are of."""
    words = (
        f"cake:rate_bps={RATE_BPS},diffserv=besteffort,isolation=flows,rtt=4,target=0.2,"
        "victim=front,ecn=true"
    )
    lines = ""
    for flows in FLOWS:
        lines += EACH.format(
            words=words,
            link_rate=LINK_RATE,
            object=built,
            limit=LIMIT,
            flows=flows,
            name=name(flows),
            rate=RATE_BPS,
        )
        (folder / f"{name(flows)}.link").write_text(f"{words}\n{LINK_RATE}\n{LIMIT}\n\n")
    return lines


def check(folder):
    """Both find as many free lanes; return the flows that share one, by the number of flows."""
    shared = {}
    for flows in FLOWS:
        with (folder / f"{name(flows)}.csv").open() as file:
            arrivals = [row for row in csv.DictReader(file) if row["event"] == "arrive"]
        assert len(arrivals) == flows
        own = len({row["queue"] for row in arrivals})
        (qdisc,) = json.loads((folder / f"{name(flows)}.json").read_text())
        (tin,) = qdisc["tins"]
        assert (own, flows - own) == (tin["way_misses"], tin["way_collisions"]), flows
        shared[flows] = flows - own
    return shared
