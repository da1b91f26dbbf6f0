"""Traffic classes in the laboratory: our qdisc reads that of IPv6 as the type of service of IPv4.

A part of two cases of `test_lab_log.py`, whose qdisc is loaded once for both.
"""

BYTES = 562
# the address of IPv6 only now, as Linux sends packets of its own then
SCRIPT = f"""
ip link set out0 addrgenmode none
echo 0 >/proc/sys/net/ipv6/conf/out0/disable_ipv6
ip address replace fd09::1/64 dev out0 nodad
ip neighbour replace fd09::2 lladdr 02:00:00:00:00:02 dev out0
# of {BYTES} bytes
/lab/classes 10.9.0.2 fd09::2
sleep 1
echo 1 >/proc/sys/net/ipv6/conf/out0/disable_ipv6
"""
# with the packets' part by their lane; of cake's lanes eight are a tin
PARTS = {"dualpi2": lambda lane: lane, "cake": lambda lane: lane // 8}


def check(aqm, arrivals):
    """Compare both versions of each traffic class, sent last, in the rows of a log."""
    rows = [row for row in arrivals if row["packet_bytes"] == str(BYTES)][-2 * 256 :]
    found = [
        (int(row["traffic_class"]), PARTS[aqm](int(row["queue"])), row["ecn_capable"])
        for row in rows
    ]
    assert found[::2] == found[1::2]
    assert [traffic_class for traffic_class, *_ in found[::2]] == list(range(256))
    parts = [each for _, each, _ in found]
    assert len(set(parts)) == {"dualpi2": 2, "cake": 8}[aqm]
    if aqm == "dualpi2":
        assert parts[::2] == [traffic_class & 1 for traffic_class in range(256)]
    assert [ecn for *_, ecn in found[::2]] == [str(int(tos & 3 > 0)) for tos in range(256)]
