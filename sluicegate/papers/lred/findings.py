"""What the reproduction shows in short, and what the paper leaves open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sluicegate.papers.claims import Claim

# losses are shares; names of times end with their unit
UNITS = {"goodput": "packets/s", "queue_mean": "packets", "queue_deviation": "packets"}
REMARK = (
    "All of the whole run, start included; goodput is of TCP and datagrams. A response time is the "
    "first time from which the mean queue over 5 s stays within half and one and a half of q0 for "
    "10 s; where there is none, the time that was left is given, a lower bound. Over- and "
    "undershoots are the times above 1.5 q0 and below 0.5 q0. Full and empty are within 5 % of the "
    "buffer."
)

CHOICES = [
    "We have the paper's text, but not the data of its figures: beside a figure drawn anew is what "
    "the text says of it, and the only numbers to compare with are the three loss ratios that the "
    "text and the captions print.",
    "How many flows figures 2 and 17 have is not printed: 200, since their loss ratio is near the "
    "printed 0.12 of figure 2.",
    "The delay between the routers is not printed: 2.5 ms makes round trips with a queue of 100 "
    "packets 450 ms and 550 ms, as the paper has them.",
    "All links have 10 Mb/s in the text. Then delays are whole numbers of packet times and some "
    "flows lock others out; the main reading has access links of 100 Mb/s, experiments 1, 2 and 4 "
    "are also run with 10 Mb/s.",
    "TCP is NewReno with ns-2.35's defaults (minimum time-out 0.2 s, initial window 2), receiver "
    "window 10,000, no delayed ACKs, starts uniform over the first second. The printed loss ratios "
    "of experiment 2 are below ours; a receiver window of 20 comes near the light one, older "
    "timers (minimum time-out 1 s in ticks of 0.1 s) nearer the heavy one. Both are run.",
    "REM is that of equations 35 to 37: the input's excess is the queue's growth. ns-2's, which "
    "measures the input rate, is run in experiments 1, 2 and 4, too.",
    "The light and heavy cases of experiment 2 print R+ = 550 ms and 100 ms for PI*. With 800 "
    "flows 100 ms leaves a flow less than two packets, against the design rule, and the design is "
    "refused: its a would be 1.3 per packet, a controller that only switches. We take experiment "
    "1's 700 ms.",
    "PI takes longer than the paper's 200 s: its response times in experiment 1, with other "
    "buffers and with other round trips are those of runs of 400 s.",
    "The ON rate of experiment 4 is illegible. The datagrams bring r C in the mean in the main "
    "reading, half of it in another.",
    "Short flows come in a stream of arrivals for each of the five pairs of nodes; Pareto "
    "distributions have the shape 1.5. AVQ is compared at 20, 40, 60, 80 and 100 flows/s; how the "
    "text's rates relate to 60 is illegible; we take them as below and above it.",
    "RED, which the paper names but does not run, is gentle RED with thresholds 0.5 q0 and 1.5 q0 "
    "and max_p = 0.1.",
    "A better average queue means one nearer to q0, which the AQMs should hold, not a shorter one.",
    "The lemmas and theorems of sections 4 and 5.1 are compared with roots of the characteristic "
    "quasi-polynomial in 1000 random networks, not with their proofs. Theorem 2's second bound "
    "is badly legible; lemma 5 gives sqrt(2 eta) (2 N)^2 / (R C)^3, which we derived and tested.",
    "Theorem 2's example: the equations give beta_0 = 0.00105 and 0.00093 for the second bound; "
    "0.001 is the first to one digit, and above the second. The p0 printed for experiment 2 are "
    "not those of equation 6, 0.0051 and 15.4: with 800 flows and 100 ms it has no equilibrium.",
    "Not judged: the cost of computing, and AVQ's own bound for alpha, which is another paper's.",
    "Words like little, similar or long have no numbers in the paper; each claim says what they "
    "mean here.",
]


def findings(claims: Sequence[Claim]) -> list[str]:
    """How many claims of the text came out."""
    counts = Counter(claim.verdict for claim in claims)
    return [
        f"Of {len(claims)} claims of the text {counts['holds']} hold, {counts['fails']} fail and "
        f"{counts['undecided']} are undecided, over ten seeds in the main reading; the evidence "
        "ends with the verdicts in the others."
    ]
