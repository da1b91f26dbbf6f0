/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Loops whose body the verifier follows once: numbers by kernel functions (kernel/bpf/bpf_iter.c).
 */
#ifndef SLUICEGATE_LOOP_BPF_H
#define SLUICEGATE_LOOP_BPF_H

#define KERNEL_FUNCTION extern __attribute__((section(".ksyms")))

struct bpf_iter_num {
	unsigned long long __opaque[1];
} __attribute__((aligned(8)));

KERNEL_FUNCTION int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end);
KERNEL_FUNCTION int *bpf_iter_num_next(struct bpf_iter_num *it);
KERNEL_FUNCTION void bpf_iter_num_destroy(struct bpf_iter_num *it);

/*
 * A loop of at most `count` turns, numbered by `turn`, whose body the verifier follows once. It
 * must be left by `break`, not by `return`.
 */
#define FOR_UP_TO(count)                                                              \
	for (struct bpf_iter_num it __attribute__((cleanup(bpf_iter_num_destroy))),   \
	     *once_ = (bpf_iter_num_new(&it, 0, (int)(count)), &it); once_; once_ = 0)    \
		for (u32 *place_, turn; (place_ = (u32 *)bpf_iter_num_next(&it)) &&          \
				(turn = *place_, 1);)

/* aqm.h: the loops of AQMs and schedulers. More than 2^23 turns the kernel would refuse. */
#define AQM_UP_TO(count) FOR_UP_TO((u32)(count) < AQM_MOST_STEPS ? (count) : AQM_MOST_STEPS)

#endif
