"""The laboratory: a Linux of a known version, in virtual time, in which a run repeats to the byte.

A distribution's kernel boots in QEMU, whose clock counts instructions: one instruction takes 1 ns,
and when nothing is left to do, time jumps to the next timer. So the load of this machine has no
part in what happens in there, and one seed gives one result.

Nothing is installed and nothing needs root: the kernel's packages lie in a folder of the user's
cache, and everything else that runs in there is copied from this machine.

| module | what |
| --- | --- |
| `kernel` | fetches the kernel's packages and finds them again |
| `archive` | writes and reads the file format of an initramfs |
| `image` | what the machine boots: busybox, programs with their libraries, kernel modules |
| `machine` | boots it, has it run a script, and brings back what that left |
| `check` | what is missing on this machine, and how to mend it |
"""
