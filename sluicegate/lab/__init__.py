"""The laboratory: a Linux of a known version, in virtual time, in which a run repeats to the byte.

A distribution's kernel boots in QEMU, whose clock counts instructions: one instruction takes 1 ns,
and when nothing is left to do, time jumps to the next timer. The load of this machine therefore
has no effect on what happens there, and one seed gives one result.

Nothing is installed and nothing needs root: the kernel's packages are in a folder of the user's
cache, and everything else that runs there is copied from this machine.

| module | what |
| --- | --- |
| `kernel` | fetches the kernel's packages and finds them again |
| `archive` | writes and reads the file format of an initramfs |
| `image` | what the machine boots: busybox, programs with their libraries, kernel modules |
| `machine` | boots it, has it run a script, and returns its results |
| `check` | what is missing on this machine, and how to install it |
"""
