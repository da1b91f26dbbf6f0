# The window of one CUBIC flow in ns-2.35's Agent/TCP/Linux, each second; losses at known packets.
#
#   ns cubic.tcl SECONDS {DATA LOST}
#
# That CUBIC is Linux 2.6.22's. Its decrease is set to RFC 9438's (717 / 1024), and its limit of
# growth (16 packets in 100 ms) is removed.
lassign $argv seconds data_lost

set ns [new Simulator]
set sender_node [$ns node]
set sink_node [$ns node]
$ns duplex-link $sender_node $sink_node 100Mb 50ms DropTail
$ns queue-limit $sender_node $sink_node 1000000
$ns queue-limit $sink_node $sender_node 1000000
set errors [new ErrorModel/List]
$errors droplist $data_lost
$errors drop-target [new Agent/Null]
$ns lossmodel $errors $sender_node $sink_node

set tcp [new Agent/TCP/Linux]
$tcp set timestamps_ true
$tcp set window_ 100000
# 450 and 50 B of headers, of which the time stamps take 10
$tcp set packetSize_ 450
$ns attach-agent $sender_node $tcp
set sink [new Agent/TCPSink/Sack1]
$sink set ts_echo_rfc1323_ true
$ns attach-agent $sink_node $sink
$ns connect $tcp $sink
$ns at 0 "$tcp select_ca cubic"
$ns at 0 "$tcp set_ca_param cubic beta 717"
$ns at 0 "$tcp set_ca_param cubic max_increment 10000"
[new Application/FTP] attach-agent $tcp
$ns at 0 "$tcp send -1"

puts "# ns-2.35 TCP/Linux cubic beta=717 max_increment=10000 lost=[join $data_lost ,]: s, cwnd"
for {set time 1.05} {$time < $seconds} {set time [expr {$time + 1}]} {
    $ns at $time "puts \"[format %.2f $time] \[$tcp set cwnd_\]\""
}
$ns at $seconds "flush stdout; exit 0"
$ns run
