/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Repeats the calls of a vector file and compares the answers:
 * cc -DAQM=codel -I aqm aqm/vectors/replay.c, then ./a.out FILE.txt
 */
#define AQM_HOSTED
#define FILE_OF(name) <name.h>
#include FILE_OF(AQM)
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

enum { PARAMS = 64 };

static const struct aqm_class *class = &JOIN(AQM, _class);
static void *config, *state;
static struct aqm_view always;	/* the fields that are the same in all calls */
static unsigned long line = 1, calls;
static u32 is_whole;

static void fail(const char *what)
{
	fprintf(stderr, "line %lu: %s\n", line, what);
	exit(1);
}

static void expect(const char *what, u64 found, u64 expected)
{
	if (found == expected)
		return;
	fprintf(stderr, "line %lu: %s: %llu, in the file %llu\n", line, what, found, expected);
	exit(1);
}

/* FNV-1a, 64 bits */
static u64 digest(const unsigned char *bytes, u64 count)
{
	u64 hash = 0xcbf29ce484222325;

	while (count--)
		hash = (hash ^ *bytes++) * 0x100000001b3;
	return hash;
}

static void read_state(FILE *file)
{
	u64 hash, average, probability;

	if (fscanf(file, "%llx %llu %llu", &hash, &average, &probability) != 3)
		fail("no state");
	expect("average", class->average ? (u64)class->average(state) : 0, average);
	expect("probability",
	       class->probability ? (u64)class->probability(state, config) : 0, probability);
	expect("digest", digest(state, class->state_size), hash);
}

/* Crashes if the AQM does not have the function. */
static u32 call(const char *name, const struct aqm_view *view)
{
	if (!strcmp(name, "arrive"))
		return class->arrive(state, config, view);
	if (!strcmp(name, "depart"))
		return class->depart(state, config, view);
	if (!strcmp(name, "tick"))
		class->tick(state, config, view);
	else if (!strcmp(name, "join"))
		class->occupancy(state, config, view, 1);
	else if (!strcmp(name, "leave"))
		class->occupancy(state, config, view, -1);
	else
		fail("no such call");
	return AQM_ADMIT;
}

static void read_call(FILE *file, const char *name)
{
	struct aqm_view v = always;
	u32 verdict;

	if (fscanf(file, "%u %llu %llu %llu %llx %llu %u %u %u %u %hhu %hhu %hhu", &verdict,
		   &v.now_ns, &v.idle_since_ns, &v.sojourn_ns, &v.random, &v.queue_bytes,
		   &v.queue_packets, &v.packet_bytes, &v.flow_hash, &v.candidate_flow_hash,
		   &v.idle, &v.ecn_capable, &v.full) != 13)
		fail("no call");
	v.buffer_bytes = v.queue_bytes;
	v.traffic_class = v.ecn_capable ? AQM_ECT0 : AQM_NOT_ECT;
	calls++;
	expect(name, call(name, &v), verdict);
}

static void read_line(FILE *file, const char *word)
{
	static s64 params[PARAMS];
	static u32 given;
	u64 count;

	if (!strcmp(word, "param") && given < PARAMS) {
		if (fscanf(file, "%*s %lld %*s", &params[given++]) != 1)
			fail("no number");
	} else if (!strcmp(word, "link")) {
		expect("count of parameters", given, class->params_count);
		if (fscanf(file, "%llu %u", &always.rate_bps, &always.limit_packets) != 2)
			fail("no link");
		expect("broken rule", class->configure(params, config), 0);
	} else if (!strcmp(word, "state")) {
		read_state(file);
	} else if (!strcmp(word, "end")) {
		if (fscanf(file, "%llu", &count) != 1)
			fail("no count");
		expect("count of calls", calls, count);
		is_whole = 1;
	} else {
		read_call(file, word);
	}
}

int main(int count, char **words)
{
	FILE *file = count == 2 ? fopen(words[1], "r") : NULL;
	char word[32];

	if (!file || fscanf(file, "aqm %31s", word) != 1 || strcmp(word, class->name))
		fail("give a file of vectors of this AQM");
	class = class->base ? class->base : class;
	config = calloc(1, class->config_size + 1);
	state = calloc(1, class->state_size + 1);
	for (line = 2; fscanf(file, "%31s", word) == 1; line++)
		read_line(file, word);
	if (!is_whole)
		fail("the end is missing");
	printf("%lu calls answered alike\n", calls);
	return 0;
}
