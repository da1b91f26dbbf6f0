"""What the router sections of two papers share: RED in a Linux router, fed by TCP and UDP.

Domanska, Domanski & Czachorski 2008 (`drop_from_front`), section V, and Domanska et al. 2014
(`redwm`), section 6, by nearly the same authors, put their algorithms in a program between the
kernel's packet queue and a slow link. Each is repeated in the network world and, where the machine
can, in the gate.

| module | what |
| --- | --- |
| `setting` | the link, its buffer and the traffic, as a scenario |
| `found` | what the runs of a case give, a value for each seed |
| `runs` | runs cases in both worlds |
| `measured` | runs cases in the gate, several testbeds at a time |
| `tables` | published figures beside those of both worlds |
| `figures` | distributions and courses in time, a panel for each case |
"""
