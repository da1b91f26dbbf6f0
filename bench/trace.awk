# Computes the figures of `sluice trace` in a plain way. For each flow: packets sent, received and
# lost, throughput, mean delay, jitter. For each link: arrivals, drops, mean queue.
function hold(link) {
	area[link] += queue[link] * ($2 - changed[link])
	changed[link] = $2
}
NF != 12 { next }
NR == 1 { start = $2 }
{
	end = $2
	link = $3 " " $4
	split($9, source, ".")
	split($10, destination, ".")
	flow = $5 " " $8 " " $9 " " $10
}
!(link in changed) { changed[link] = $2 }
$1 == "+" {
	hold(link)
	queue[link]++
	arrivals[link]++
	if ($3 == source[1]) {
		if (!(flow in sent))
			first[flow] = $2
		sent[flow]++
		left[$12] = $2
	}
}
$1 == "-" { hold(link); queue[link]-- }
$1 == "d" {
	hold(link)
	queue[link]--
	drops[link]++
	lost[flow]++
	delete left[$12]
}
$1 == "r" && $4 == destination[1] {
	received[flow]++
	bytes[flow] += $6
	last[flow] = $2
	if ($12 in left) {
		delay = $2 - left[$12]
		delete left[$12]
		if (delays[flow]++ > 0)
			change[flow] += delay > before[flow] ? delay - before[flow] : before[flow] - delay
		total[flow] += delay
		before[flow] = delay
	}
}
END {
	for (flow in sent)
		if (delays[flow] > 1)
			printf "flow %s %d %d %d %.9g %.9g %.9g\n", flow, sent[flow], received[flow],
				lost[flow], 8 * bytes[flow] / (last[flow] - first[flow]),
				total[flow] / delays[flow], change[flow] / (delays[flow] - 1)
	for (link in changed) {
		area[link] += queue[link] * (end - changed[link])
		printf "link %s %d %d %.9g\n", link, arrivals[link], drops[link],
			area[link] / (end - start)
	}
}
