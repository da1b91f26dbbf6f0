"""The testbed: a client, a router and a server on this machine, with real TCP and UDP.

Each is a network namespace; a pair of virtual Ethernet links joins the router with the other two.
The router is the daemon `sluiced`, or the kernel with qdiscs, or, to test the testbed itself, plain
forwarding.

All of it lives in namespaces without a name, which only processes hold: those of the `bed`, which
is process 1 of a process namespace. When the bed ends, however it ends, the kernel ends every
process in there and takes links, addresses, rules and files back. Nothing has to be removed, and
`kill -9` leaves nothing behind, but for a kind of qdisc, which belongs to no namespace.

| module | what |
| --- | --- |
| `job` | what there is to do: what the processes are told |
| `outcome` | what came of it: what they tell at the end |
| `addresses` | ports, addresses and headers of the packets |
| `run` | in the caller's process: starts the bed, waits, and ends it |
| `bed` | process 1: builds the links, starts router and hosts, and collects |
| `links` | the links, addresses and settings of the namespaces |
| `host` | client or server: one loop for all its connections |
| `loop` | the loop: what happens at a time, or when a socket is ready |
| `streams` | TCP senders and receivers |
| `datagrams` | UDP senders and receivers |
| `tcp_info` | the kernel's figures of a TCP connection |
| `router` | the daemon, and what it counts |
| `qdiscs` | qdiscs as the router: how much waits before them, and what leaves |
| `packets` | the packets that came and left |
| `here` | the testbed on this machine's own kernel, with qdiscs |
| `check` | what is missing on this machine, and how to mend it |
"""
