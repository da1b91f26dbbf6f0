/*
 * Runs a program, and kills it just before its N-th system call that creates or removes something
 * that could be left behind: a file, a BPF program, a link or a pin, a qdisc. Its exit status is
 * then 137, else that of the program. SIGTERM is passed on to the program.
 *
 *     killed_at N PROGRAM ARGUMENT...
 */
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t program;

static void pass_on(int number)
{
	kill(program, number);
}

static int may_stay(const struct __ptrace_syscall_info *call)
{
	switch (call->entry.nr) {
	case SYS_mkdir:
	case SYS_symlink:
	case SYS_unlink:
	case SYS_rmdir:
	case SYS_sendto:
		return 1;
	case SYS_bpf:
		return call->entry.args[0] == BPF_PROG_LOAD ||
		       call->entry.args[0] == BPF_OBJ_PIN ||
		       call->entry.args[0] == BPF_LINK_CREATE;
	default:
		return 0;
	}
}

/* Lets the program run to its next stop; returns 0 when it has ended. */
static int go_on(int *status, int number)
{
	ptrace(PTRACE_SYSCALL, program, 0, number);
	return waitpid(program, status, 0) == program && WIFSTOPPED(*status);
}

int main(int argc, char **argv)
{
	long left = argc > 2 ? atol(argv[1]) : 0;
	struct sigaction action = { .sa_handler = pass_on, .sa_flags = SA_RESTART };
	int status, number = 0;

	if (left < 1) {
		fprintf(stderr, "usage: killed_at N PROGRAM ARGUMENT...\n");
		return 2;
	}
	program = fork();
	if (!program) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	sigaction(SIGTERM, &action, 0);
	waitpid(program, &status, 0);
	ptrace(PTRACE_SETOPTIONS, program, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	while (go_on(&status, number)) {
		struct __ptrace_syscall_info call = { 0 };

		number = WSTOPSIG(status);
		/*
		 * a signal for the program, which is passed on; SIGTRAP comes from execvp and is
		 * not
		 */
		if (number != (SIGTRAP | 0x80)) {
			number = number == SIGTRAP ? 0 : number;
			continue;
		}
		number = 0;
		ptrace(PTRACE_GET_SYSCALL_INFO, program, sizeof(call), &call);
		if (call.op == PTRACE_SYSCALL_INFO_ENTRY && may_stay(&call) && !--left)
			kill(program, SIGKILL);
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
