# The dumb-bell of "LRED" (section 6) in ns-2: N long-lived TCP flows from 5 clients to 5 servers.
# Besides, on request: as many flows back, with the same queue before the link back; short flows
# that arrive as a Poisson process; Poisson datagrams.
# usage: ns dumbbell.tcl key=value ...
array set opt {
	aqm DropTail flows 100 seed 1 duration 200 limit 200 q_ref 100 access_bps 100e6
	spread 1.0 variant Newreno sample 0.01 window 10000 delays_ms 10,50,100,150,200
	datagrams 0 short 0 short_packets 20 two_way 0 ecn 0
}
foreach word $argv {
	set parts [split $word =]
	set opt([lindex $parts 0]) [join [lrange $parts 1 end] =]
}
set delays [split $opt(delays_ms) ,]
set pairs [llength $delays]

proc cpu_seconds {} {
	set file [open /proc/self/stat]
	set fields [split [read $file]]
	close $file
	expr {([lindex $fields 13] + [lindex $fields 14]) / 100.0}
}

remove-all-packet-headers
add-packet-header IP TCP Flags
if {$opt(datagrams) > 0} { add-packet-header RTP }
ns-random [expr {$opt(seed) * 7919 + 1}]
set ns [new Simulator]
$ns use-scheduler Calendar

Agent/TCP set packetSize_ 460
Agent/TCP set window_ $opt(window)
Agent/TCP set ecn_ $opt(ecn)
Queue/RED set setbit_ $opt(ecn)
# or RED drops what it should mark once p_b exceeds mark_p_ = 0.1
Queue/RED set use_mark_p_ false

set aqm $opt(aqm)
switch $aqm {
	DropTail { set queue DropTail }
	RED { set queue RED }
	PacketRED {
		set queue RED
		Queue/RED set bytes_ false
		Queue/RED set queue_in_bytes_ false
	}
	ARED - LinearARED {
		set queue RED
		Queue/RED set gentle_ [expr {$aqm eq "ARED"}]
		Queue/RED set adaptive_ 1
		Queue/RED set bytes_ false
		Queue/RED set queue_in_bytes_ false
		Queue/RED set thresh_ [expr {$opt(q_ref) / 2.0}]
		Queue/RED set maxthresh_ [expr {1.5 * $opt(q_ref)}]
		Queue/RED set q_weight_ -1
	}
	PI {
		set queue PI
		Queue/PI set qref_ $opt(q_ref)
		Queue/PI set bytes_ false
		Queue/PI set queue_in_bytes_ false
		Queue/PI set a_ 0.00001822
		Queue/PI set b_ 0.00001816
		Queue/PI set w_ 170
		Queue/PI set mean_pktsize_ 500
	}
	REM {
		set queue REM
		Queue/REM set gamma_ 0.001
		Queue/REM set phi_ 1.001
		Queue/REM set pupdtime_ 0.002
		Queue/REM set mean_pktsize_ 500
		Queue/REM set pbo_ $opt(q_ref)
	}
	default { puts stderr "unknown aqm $aqm"; exit 2 }
}
set queue_class $queue

set r1 [$ns node]
set r2 [$ns node]
$ns simplex-link $r1 $r2 10Mb 2.5ms $queue_class
$ns simplex-link $r2 $r1 10Mb 2.5ms [expr {$opt(two_way) ? $queue_class : "DropTail"}]
$ns queue-limit $r1 $r2 $opt(limit)
$ns queue-limit $r2 $r1 [expr {$opt(two_way) ? $opt(limit) : 100000}]
for {set i 0} {$i < $pairs} {incr i} {
	set client($i) [$ns node]
	set server($i) [$ns node]
	$ns duplex-link $client($i) $r1 $opt(access_bps) [lindex $delays $i]ms DropTail
	$ns duplex-link $r2 $server($i) $opt(access_bps) 2.5ms DropTail
	foreach {a b} [list $client($i) $r1 $r1 $client($i) $r2 $server($i) $server($i) $r2] {
		$ns queue-limit $a $b 1000000
	}
}
set uniform [new RandomVariable/Uniform]
$uniform set min_ 0
$uniform set max_ $opt(spread)
# a new connection from one node to another; gives its number
proc connection {from to} {
	global ns opt tcp
	set i [array size tcp]
	# ns-2's plain Agent/TCP is Tahoe
	set agents {Tahoe "" Cubic /Linux}
	set agent [expr {[dict exists $agents $opt(variant)] ? [dict get $agents $opt(variant)] : "/$opt(variant)"}]
	set tcp($i) [new Agent/TCP$agent]
	set sink [new Agent/TCPSink[expr {$agent in "/Sack1 /Linux" ? "/Sack1" : ""}]]
	if {$opt(variant) eq "Cubic"} {
		# CUBIC as in Linux 2.6.22, but for RFC 9438's decrease (717 / 1024) and without its limit
		# to growth (of 16 packets in 100 ms). Time stamps make a packet 10 B longer.
		$tcp($i) set timestamps_ true
		$tcp($i) set packetSize_ 450
		$sink set ts_echo_rfc1323_ true
		$ns at 0 "$tcp($i) select_ca cubic"
		$ns at 0 "$tcp($i) set_ca_param cubic beta 717"
		$ns at 0 "$tcp($i) set_ca_param cubic max_increment 10000"
	}
	$ns attach-agent $from $tcp($i)
	$ns attach-agent $to $sink
	$ns connect $tcp($i) $sink
	return $i
}
proc long_lived {from to} {
	global ns tcp uniform
	set ftp [new Application/FTP]
	$ftp attach-agent $tcp([connection $from $to])
	$ns at [$uniform value] "$ftp start"
}
for {set i 0} {$i < $opt(flows)} {incr i} {
	set pair [expr {$i % $pairs}]
	long_lived $client($pair) $server($pair)
}
if {$opt(two_way)} {
	for {set i 0} {$i < $opt(flows)} {incr i} {
		set pair [expr {$i % $pairs}]
		long_lived $server($pair) $client($pair)
	}
}

# each short flow is a connection of its own, at any of the clients
if {$opt(short) > 0} {
	set gap [new RandomVariable/Exponential]
	$gap set avg_ [expr {1.0 / $opt(short)}]
	set choice [new RandomVariable/Uniform]
	$choice set min_ 0
	$choice set max_ $pairs
	for {set start [$gap value]} {$start < $opt(duration)} {set start [expr {$start + [$gap value]}]} {
		set pair [expr {int([$choice value])}]
		set i [connection $client($pair) $server($pair)]
		$ns at $start "$tcp($i) advanceby $opt(short_packets)"
	}
}

# Poisson datagrams of 130 B, so that what arrives and leaves is not on a grid of packet times
if {$opt(datagrams) > 0} {
	set udp [new Agent/UDP]
	set null [new Agent/Null]
	$ns attach-agent $client(0) $udp
	$ns attach-agent $server(0) $null
	$ns connect $udp $null
	set poisson [new Application/Traffic/Exponential]
	$poisson set packetSize_ 130
	$poisson set burst_time_ 0
	$poisson set rate_ 1e12
	$poisson set idle_time_ [expr {1.0 / $opt(datagrams)}]
	$poisson attach-agent $udp
	$ns at 0 "$poisson start"
}

set monitor [$ns monitor-queue $r1 $r2 ""]
set samples {}
proc sample {} {
	global ns monitor samples opt
	lappend samples [$monitor set pkts_]
	$ns at [expr {[$ns now] + $opt(sample)}] sample
}
# arrived, departed, dropped at the bottleneck; packets acknowledged in sequence but for the SYN
proc counts {} {
	global monitor tcp
	set acked 0
	foreach i [array names tcp] { incr acked [expr {max(0, [$tcp($i) set ack_])}] }
	list [$monitor set parrivals_] [$monitor set pdepartures_] [$monitor set pdrops_] $acked
}
if {$opt(sample) > 0} { $ns at 0 sample }
$ns at [expr {$opt(duration) / 2.0}] { set half [counts] }
proc finish {} {
	global half samples started
	set end [counts]
	set all [cpu_seconds]
	puts "{\"half\": \[[join $half ,]\], \"end\": \[[join $end ,]\],"
	puts "\"cpu_s\": $all, \"loop_cpu_s\": [expr {$all - $started}],"
	puts "\"queue\": \[[join $samples ,]\]}"
	exit 0
}
$ns at $opt(duration) finish
set started [cpu_seconds]
$ns run
