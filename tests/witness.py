"""Tells, once its input ends, by how much a thread that sleeps was late on this machine, s.

There is one on each processor, as a busy processor holds up only what runs there.
"""

import os
import sys
import threading
import time

STEP_S = 0.005


def watch(processor, late_s, ended):
    """Sleep again and again; keep the greatest lateness."""
    os.sched_setaffinity(0, {processor})
    while not ended.is_set():
        due_s = time.monotonic() + STEP_S
        time.sleep(STEP_S)
        late_s[processor] = max(late_s[processor], time.monotonic() - due_s)


def main():
    late_s = dict.fromkeys(os.sched_getaffinity(0), 0.0)
    ended = threading.Event()
    threads = [threading.Thread(target=watch, args=(each, late_s, ended)) for each in late_s]
    for thread in threads:
        thread.start()
    print(flush=True)
    sys.stdin.read()
    ended.set()
    for thread in threads:
        thread.join()
    print(max(late_s.values()))


if __name__ == "__main__":
    main()
