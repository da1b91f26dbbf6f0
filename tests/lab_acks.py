"""ACK filters in the laboratory: our qdisc with CAKE, and Linux's own `cake`, get the same packets.

`script()` is a part of the boot of `test_lab_log.py`, which also compares the logs of ours with the
engine's queue, and what it reads of each packet with what the engine reads.

Only ours then gets packets with malformed, empty or repeated options, too: Linux removes ACKs with
some of them, and ours does not.
"""

BURSTS, IN_A_BURST = 25, 40
# slow, so that a burst waits as a whole; COBALT drops nothing
RATE_BPS, RTT_S = 64e3, 4
LINK_RATE, LIMIT = "100e6", "1000"
LINUX_WORDS = {"on": "ack-filter", "aggressive": "ack-filter-aggressive"}
# all connections in one lane, and each in its own
CASES = [("flowblind", "on"), ("flows", "aggressive")]
EACH = """
sluiced qdisc install k --aqm '{words}' --rate {link_rate} --limit {limit} --log 8 \\
    --marks-at out0 --object /{object}
tc qdisc add dev out0 root k
/lab/acks out0 {seed} {bursts} >/out/{name}.ours 2>/out/{name}.sent
# with odd options
/lab/acks out0 {odd_seed} {bursts} odd >/tmp/odd 2>>/out/{name}.sent
sluiced qdisc log k >/out/{name}.csv
tc qdisc del dev out0 root
sluiced qdisc remove k
tc qdisc add dev out0 root cake bandwidth {rate}bit besteffort {isolation} rtt {rtt}s {linux} noatm
/lab/acks out0 {seed} {bursts} >/out/{name}.linux 2>/out/{name}.sent_to_linux
tc qdisc del dev out0 root
"""


def name(isolation, mode):
    return f"acks.{isolation}.{mode}"


def script(built, folder):
    """The part of the script, with our qdisc in an object file; and what the logs are of."""
    lines = "modprobe sch_cake\n"
    for seed, (isolation, mode) in enumerate(CASES):
        words = (
            f"cake:rate_bps={RATE_BPS:.0f},diffserv=besteffort,isolation={isolation},rtt={RTT_S},"
            f"target=0.2,ack_filter={mode},victim=front,ecn=true"
        )
        lines += EACH.format(
            words=words,
            link_rate=LINK_RATE,
            limit=LIMIT,
            object=built,
            seed=seed,
            odd_seed=len(CASES) + seed,
            bursts=BURSTS,
            name=name(isolation, mode),
            rate=round(RATE_BPS),
            isolation=isolation,
            rtt=RTT_S,
            linux=LINUX_WORDS[mode],
        )
        link = folder / f"{name(isolation, mode)}.link"
        link.write_text(f"{words}\n{LINK_RATE}\n{LIMIT}\n\n")
    return lines


def check(folder):
    """Both let the same packets go; return how many each case has removed."""
    removed = {}
    for isolation, mode in CASES:
        left = {
            whose: sorted(
                map(int, (folder / f"{name(isolation, mode)}.{whose}").read_text().split())
            )
            for whose in ("ours", "linux")
        }
        assert left["ours"] == left["linux"], (isolation, mode)
        sent, sent_to_linux = (
            (folder / f"{name(isolation, mode)}.{which}").read_text()
            for which in ("sent", "sent_to_linux")
        )
        assert sent.startswith(sent_to_linux)
        assert sent.count("\n") == 2 * BURSTS * IN_A_BURST == 2 * sent_to_linux.count("\n")
        removed[isolation, mode] = BURSTS * IN_A_BURST - len(left["ours"])
        assert removed[isolation, mode] > 100
    return removed
