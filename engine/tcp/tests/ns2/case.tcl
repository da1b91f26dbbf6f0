# One sender over one slow link with chosen losses, in ns-2.35; prints what the sender did.
#
#   ns case.tcl VARIANT SINK WINDOW PACKETS SECONDS {DATA LOST} {ACKS LOST} {DATA MARKED}
#
# Lost and marked packets are counted as they enter the link, from 0 (the SYN).
lassign $argv variant sink window packets seconds data_lost acks_lost data_marked

# The delay keeps time-outs and ACKs from falling on the same instant, where ns-2's order depends on
# the rounding of its times.
set ns [new Simulator]
set sender_node [$ns node]
set sink_node [$ns node]
$ns duplex-link $sender_node $sink_node 1Mb 47.31ms DropTail
$ns queue-limit $sender_node $sink_node 10000

proc model {ns from to list mark} {
    if {![llength $list]} return
    set errors [new ErrorModel/List]
    $errors droplist $list
    $errors set markecn_ $mark
    $errors drop-target [new Agent/Null]
    $ns lossmodel $errors $from $to
}
# The model that is inserted last comes first on the path: the places of marks include lost packets.
model $ns $sender_node $sink_node $data_lost false
model $ns $sender_node $sink_node $data_marked true
model $ns $sink_node $sender_node $acks_lost false

set tcp [new Agent/TCP$variant]
$tcp set packetSize_ 460
$tcp set window_ $window
if {[llength $data_marked]} { $tcp set ecn_ 1 }
$ns attach-agent $sender_node $tcp
set tcp_sink [new Agent/TCPSink$sink]
$ns attach-agent $sink_node $tcp_sink
$ns connect $tcp $tcp_sink

set raw [open $env(RAW) w]
$ns trace-queue $sender_node $sink_node $raw
set variables [open $env(VARIABLES) w]
$tcp attach $variables
$tcp trace cwnd_
$tcp trace ssthresh_

# The sender's clock gets a random phase when the run begins: draw it beforehand to know it.
$defaultRNG seed 1500
set phase [$defaultRNG uniform 0 [Agent/TCP set tcpTick_]]
$defaultRNG seed 1500

puts "# ns-2.35 variant=TCP$variant sink=TCPSink$sink window=$window packets=$packets seconds=$seconds\
    lost=[join $data_lost ,] acks_lost=[join $acks_lost ,] marked=[join $data_marked ,]\
    phase_ns=[expr {round($phase * 1e9)}]"
$ns at 0.0 "$tcp advanceby $packets"
$ns at $seconds "close $raw; close $variables; exit 0"
$ns run
