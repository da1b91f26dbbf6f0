"""What the paper prints: tables 1 to 3."""

PAPER = "RED, SFQ and REM in ns-2, International Journal of Computer Science Issues 8(5), 2011"
ALGORITHMS = ("RED", "SFQ", "REM")

# table 1. The sum of its "RTT" is the least delay from end to end: they are one-way delays
ACCESS_RATE_BPS, ACCESS_DELAY_S, BOTTLENECK_DELAY_S = 100e6, 0.010, 0.040
PAIRS = 5
# section 3.1
PAYLOAD_BYTES = 2000
DURATION_S = 100.0

# table 2, in the order of ALGORITHMS: throughput in Mb/s, delay in ms, shares instead of per cent
TABLE_2 = {
    "queue_max": (2, 2, 2),
    "queue_min": (0, 0, 0),
    "throughput_max": (5.53, 6.64, 7.51),
    "throughput_min": (0, 0, 0),
    "delay_max": (67.25, 90.01, 92.96),
    "delay_min": (60.03, 60.03, 60.03),
    "sent": (37157, 42554, 49117),
    "lost": (151, 56, 66),
    "loss_ratio": (0.004064, 0.001316, 0.001344),
    "utilization": (0.5945, 0.6808, 0.7858),
}
# table 3, from best to worst
TABLE_3 = {
    "delay": ("RED", "SFQ", "REM"),
    "utilization": ("RED", "SFQ", "REM"),
    "throughput": ("REM", "SFQ", "RED"),
    "loss rate": ("SFQ", "REM", "RED"),
}
