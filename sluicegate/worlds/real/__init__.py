"""What the worlds of real packets have in common: `gate`, `kernel` and `twin`.

Their hosts are those of `sluicegate.testbed`, and only the router differs.

| module | what |
| --- | --- |
| `refusals` | which scenarios no such world can run |
| `hosts` | where the hosts of a scenario are |
| `plan` | from a scenario to what clients and servers have to do |
| `alone` | a scenario with one discipline, as `sluiced` reads it |
| `varying` | a link whose rate varies |
| `applied` | what people feel of applications |
| `counts` | from what the hosts and a router counted to the outcome of a replication |
| `outcome` | that outcome, in the shape of the engine's |
| `record` | records with the looks at each TCP connection |
| `world` | the class that theirs inherit |
"""
