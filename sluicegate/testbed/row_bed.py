"""Process 1 of a testbed with two routers in a row, in the second one's namespaces; see `row`."""

from __future__ import annotations

import contextlib
import os
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from sluicegate.errors import SluiceError
from sluicegate.testbed.addresses import address, gateway
from sluicegate.testbed.bed import run_between, serve
from sluicegate.testbed.command import NEAR, command
from sluicegate.testbed.host import READY, enter_namespace
from sluicegate.testbed.host_process import HostProcess
from sluicegate.testbed.job import FOLDER, HostJob, QdiscJob
from sluicegate.testbed.links import add_link, forward, name_namespace
from sluicegate.testbed.outcome import HostOutcome, Outcome
from sluicegate.testbed.qdiscs import Qdiscs
from sluicegate.testbed.router import Router, firewall, rule
from sluicegate.testbed.row import FIRST, SECOND, Behind, First, RowJob

# a link beside that between the routers: packets that take it come in as if over that one
_BESIDE, _ASIDE = "beside", "aside"
# hardware address of the nearer ends of a router's links
_ROUTER = "02:00:00:00:00:01"


def run(job: RowJob, on_progress: Callable[[float], None]) -> Outcome:
    """Do a job in the namespaces of this process, which are the second router's; see `bed.run`.

    The first of the hosts' outcomes is `Behind`.
    """
    return run_between(job, lambda: [_FirstRouter(job), HostProcess(job.hosts[1])], on_progress)


class _FirstRouter(HostProcess):
    """The process of the first router, with the clients behind it."""

    def __init__(self, job: RowJob) -> None:
        super().__init__(job.hosts[0], _route, job.first)
        self._first = job.first

    def join(self) -> None:
        """Add the links between both routers, and tell the first one what the clients do."""
        self.hear()
        add_link(self.job, self.pid)
        if self._first.marks_behind:
            name_namespace(SECOND, os.getpid())
        if isinstance(self._first.router, QdiscJob) and self._first.around:
            _add_beside(self.pid)
        self.say(self.job)

    def name(self) -> None:
        """Give the first router's namespace its name; that of the clients has one."""
        name_namespace(FIRST, self.pid)


def _route(bed: Connection, first: First) -> None:
    """The first router: what `host.main` is for a side."""
    enter_namespace()
    bed.send(READY)
    job: HostJob = bed.recv()
    try:
        _do(job, first, bed)
    except SluiceError as error:
        bed.send(error)
    except Exception as error:
        # its end alone would not be heard: the clients' process has this pipe, too
        traceback.print_exc()
        bed.send(SluiceError(f"the first router: {error!r}"))


def _do(job: HostJob, first: First, bed: Connection) -> None:
    clients = HostProcess(job)
    clients.join()
    clients.hear()
    _take_link(job)
    forward(job.ipv6)
    router = _set_up(first, job.ipv6)
    bed.send(READY)
    start_ns: int = bed.recv()
    if isinstance(router, Qdiscs):
        router.begin(start_ns)
    clients.say(start_ns)
    found: HostOutcome = clients.hear()
    if isinstance(router, Qdiscs):
        router.end()
        told = Behind(**vars(found), router=router.after(), seen=router.seen())
    else:
        told = Behind(**vars(found), router=router.stop())
    bed.send(told)
    # the clients stay until the servers have ended, too
    with contextlib.suppress(EOFError):
        bed.recv()


def _take_link(job: HostJob) -> None:
    """Give the link to the second router its name, and everybody who is no client that way."""
    next_one = gateway("servers", job.ipv6)
    if not job.ipv6:
        _no_ipv6(NEAR)
    command("ip", "link", "set", NEAR, "name", "servers")
    command("ip", "link", "set", "servers", "up")
    command(*f"ip neigh add {next_one} lladdr {_ROUTER} dev servers nud permanent".split())
    command(*f"ip route add default via {next_one} dev servers onlink".split())


def _set_up(first: First, ipv6: bool) -> Router | Qdiscs:
    """What the first router does with packets of the clients."""
    around = [address("clients", place, ipv6) for place in first.around]
    if isinstance(first.router, QdiscJob):
        if around:
            _send_around(around)
        return Qdiscs(first.router)
    for each in around:
        command(firewall(ipv6), *f"-A FORWARD -i clients -s {each} -j ACCEPT".split())
    command(*rule(ipv6, 0, "-i", "clients"))
    folder = Path(FOLDER, FIRST)
    folder.mkdir()
    return Router(first.router, folder)


def _add_beside(process: int) -> None:
    """Add the link beside that between the routers, from the second one to the first."""
    command(
        *f"ip link add {_ASIDE} address {_ROUTER} type veth peer name {_BESIDE} "
        f"netns {process}".split()
    )
    _no_ipv6(_ASIDE)
    command("ip", "link", "set", _ASIDE, "up")
    command(*f"tc qdisc add dev {_ASIDE} clsact".split())
    redirect = "action mirred ingress redirect dev clients"
    command(*f"tc filter add dev {_ASIDE} ingress protocol all matchall {redirect}".split())


def _send_around(addresses: Sequence[str]) -> None:
    """Send packets of some clients, as they come, over the link beside that with the queue."""
    _no_ipv6(_BESIDE)
    command("ip", "link", "set", _BESIDE, "up")
    command(*["tc", "qdisc", "add", "dev", "clients", "clsact"])
    redirect = f"action mirred egress redirect dev {_BESIDE}"
    for each in addresses:
        match = f"u32 match ip src {each}/32"
        command(*f"tc filter add dev clients ingress protocol ip {match} {redirect}".split())


def _no_ipv6(link: str) -> None:
    """Keep a link from packets of its own."""
    own = Path(f"/proc/sys/net/ipv6/conf/{link}/disable_ipv6")
    if own.exists():
        own.write_text("1")


if __name__ == "__main__":
    serve(run)
