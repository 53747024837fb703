# In- and out-of-profile TCP over one congested link in ns-2.35's diffserv module: a time sliding
# window marker (TSW2CM) at the senders' edge, dsRED at the congested link. Prints one line of JSON.
# Usage: ns dsred.tcl NAME VALUE NAME VALUE ...
#
# All flows run between the same two hosts, so that one policy entry meters them as one aggregate.
# Level 0 (code point 10) is never dropped, level 1 (code point 11) has thresholds of 15 and 45
# packets. RIO-C is asked for: the average of level 1 is that of all packets, as in WRED, whose own
# mode in ns-2 never clears its idle flag.

array set option {
    tcp sack  flows 16  rate 10e6  delay 0.02  in_profile 4e6  window 1.0
    access_rate 1e9  access_delay 0.0001
    duration 120  warmup 20  seed 1  spread 5
    initial_window 10  min_rto 0.2  initial_rto 1.0  tick 0.001  bugfix 1
    min_th 15  max_th 45  max_p 0.1  mode RIO-C
}
foreach {name value} $argv {
    if {![info exists option($name)]} {
        puts stderr "dsred.tcl: there is no option \"$name\""
        exit 2
    }
    set option($name) $value
}

remove-all-packet-headers
add-packet-header IP TCP Flags

set ns [new Simulator]
$ns use-scheduler Splay
$defaultRNG seed $option(seed)
set starts [new RandomVariable/Uniform]
$starts set min_ 0.0
$starts set max_ $option(spread)

Agent/TCP set packetSize_ 1460
Agent/TCP set window_ 100000
Agent/TCP set windowInit_ $option(initial_window)
Agent/TCP set minrto_ $option(min_rto)
Agent/TCP set rtxcur_init_ $option(initial_rto)
Agent/TCP set tcpTick_ $option(tick)
Agent/TCP set singledup_ 1
Agent/TCP set bugFix_ $option(bugfix)
Agent/TCPSink set packetSize_ 40

switch $option(tcp) {
    reno { set sender TCP/Reno; set sink TCPSink }
    sack { set sender TCP/Sack1; set sink TCPSink/Sack1 }
    default { puts stderr "dsred.tcl: tcp: reno or sack"; exit 2 }
}

foreach node {source left right target} { set $node [$ns node] }
$ns simplex-link $source $left $option(access_rate) $option(access_delay) dsRED/edge
$ns simplex-link $left $source $option(access_rate) $option(access_delay) DropTail
$ns simplex-link $left $right $option(rate) $option(delay) dsRED/core
$ns simplex-link $right $left $option(rate) $option(delay) DropTail
$ns duplex-link $right $target $option(access_rate) $option(access_delay) DropTail
foreach {a b} [list $source $left $left $source $left $right $right $left $right $target $target $right] {
    $ns queue-limit $a $b 1000000
}

set edge [[$ns link $source $left] queue]
set core [[$ns link $left $right] queue]
foreach queue [list $edge $core] {
    $queue meanPktSize 1500
    $queue set numQueues_ 1
    $queue setNumPrec 2
    $queue setMREDMode $option(mode) 0
    $queue addPHBEntry 10 0 0
    $queue addPHBEntry 11 0 1
    $queue configQ 0 0 500000 900000 0.1
}
$edge configQ 0 1 500000 900000 0.1
$core configQ 0 1 $option(min_th) $option(max_th) $option(max_p)
$edge addPolicyEntry [$source id] [$target id] TSW2CM 10 $option(in_profile) $option(window)
$edge addPolicerEntry TSW2CM 10 11

for {set flow 0} {$flow < $option(flows)} {incr flow} {
    set tcp($flow) [new Agent/$sender]
    set sink_agent [new Agent/$sink]
    $ns attach-agent $source $tcp($flow)
    $ns attach-agent $target $sink_agent
    $ns connect $tcp($flow) $sink_agent
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($flow)
    $ns at [$starts value] "$ftp start"
}

set meter [$ns monitor-queue $left $right ""]
set integrator [$meter get-pkts-integrator]

# As they stand: queue's integral, bytes sent, segments acknowledged, timeouts and reductions of the
# window, and packets that came and that were dropped early and late, of each code point.
proc counters {} {
    global ns option tcp meter integrator core
    foreach sum {ack_ nrexmit_ ncwndcuts_} {
        set $sum 0
        for {set flow 0} {$flow < $option(flows)} {incr flow} { incr $sum [$tcp($flow) set $sum] }
    }
    $integrator newpoint [$ns now] [$meter set pkts_]
    set values [list [$integrator set sum_] [$meter set bdepartures_] $ack_ $nrexmit_ $ncwndcuts_]
    foreach point {10 11} {
        foreach counter {pkts drops edrops} { lappend values [$core getStat $counter $point] }
    }
    return $values
}

proc begin {} {
    global at_warmup
    set at_warmup [counters]
}

proc finish {} {
    global option at_warmup
    set names {integral bytes once timeouts cuts in in_late in_early out out_late out_early}
    foreach name $names now [counters] then $at_warmup { set $name [expr {$now - $then}] }
    set span [expr {double($option(duration) - $option(warmup))}]
    set dropped [expr {$out_late + $out_early}]
    puts [format {{"queue": %.4f, "utilization": %.5f, "loss": %.6f, "loss_out": %.6f, "loss_in": %.6f, "share_in": %.5f, "goodput": %.0f, "timeouts": %d, "cuts": %d}} \
        [expr {$integral / $span}] [expr {$bytes * 8 / $option(rate) / $span}] \
        [expr {double($dropped + $in_late + $in_early) / ($in + $out)}] \
        [expr {$out > 0 ? double($dropped) / $out : 0.0}] \
        [expr {$in > 0 ? double($in_late + $in_early) / $in : 0.0}] \
        [expr {double($in) / ($in + $out)}] [expr {$once * 1460.0 * 8 / $span}] $timeouts $cuts]
    exit 0
}

$ns at $option(warmup) begin
$ns at $option(duration) finish
$ns run
