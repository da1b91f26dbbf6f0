"""The twin: the qdisc of Linux that does the same as a discipline of ours, where there is one."""
