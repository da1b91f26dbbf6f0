"""Writes random cases beside the others: `random_cases.py COUNT SEED`, then run the test."""

import random
import subprocess
import sys
from pathlib import Path

AGENTS = ["", "/Reno", "/Newreno", "/Sack1"]
TRACE = Path(__file__).with_name("trace.sh")


def places(draw: random.Random, packets: int, ratio: float) -> str:
    """Places hit with probability `ratio`, from the third packet on."""
    return " ".join(str(place) for place in range(2, 2 * packets) if draw.random() < ratio)


def main(count: int, seed: int) -> None:
    """Traces `count` cases."""
    draw = random.Random(seed)
    for number in range(count):
        agent = draw.choice(AGENTS)
        sink = ("/Sack1" if agent == "/Sack1" else "") + draw.choice(["", "", "/DelAck"])
        window = draw.choice([6, 10, 20, 40, 1000])
        packets = draw.choice([30, 100, 300])
        lost = places(draw, packets, draw.choice([0.01, 0.05, 0.1, 0.2]))
        acks_lost = places(draw, packets, draw.choice([0.0, 0.0, 0.1]))
        marked = places(draw, packets, draw.choice([0.0, 0.0, 0.05]))
        name = f"random-{seed}-{number}"
        case = [name, agent, sink, str(window), str(packets), "200", lost, acks_lost, marked]
        subprocess.run([TRACE, *case], check=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
