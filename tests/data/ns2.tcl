# Wrote ns2.tr: ns ns2.tcl 3 1.5
set ns [new Simulator]
set f [open out.tr w]; $ns trace-all $f
set a [$ns node]; set r [$ns node]; set b [$ns node]; set c [$ns node]
$ns duplex-link $a $r 10Mb 5ms DropTail; $ns duplex-link $c $r 10Mb 5ms DropTail
$ns duplex-link $r $b 2Mb 20ms DropTail; $ns queue-limit $r $b 20
set n [lindex $argv 0]
for {set i 0} {$i<$n} {incr i} {
 set t [new Agent/TCP/Newreno]; set s [new Agent/TCPSink]; $t set fid_ $i
 $ns attach-agent [expr {$i%2?$a:$c}] $t; $ns attach-agent $b $s; $ns connect $t $s
 set p [new Application/FTP]; $p attach-agent $t; $ns at [expr 0.1*$i] "$p start" }
set u [new Agent/UDP]; set l [new Agent/Null]; $ns attach-agent $a $u; $ns attach-agent $b $l; $ns connect $u $l; $u set fid_ 99
set e [new Application/Traffic/Exponential]; $e set rate_ 500k; $e attach-agent $u; $ns at 1 "$e start"
$ns at [lindex $argv 1] "close $f; exit 0"; $ns run
