# One dumbbell in ns-2.35: n TCP flows over one congested link, a host of its own at each end of
# every flow. Prints one line of JSON. Usage: ns dumbbell.tcl NAME VALUE NAME VALUE ...
#
# Everything is measured from `warmup` to `duration`. The queue's mean leaves out the packet in
# transmission; `buffer` counts waiting packets alone, which for DropTail is limit_ less one.

array set option {
    tcp sack  queue fifo  flows 16  rate 10e6  delay 0.02  buffer 30
    access_rate 1e9  access_delay 0.0001
    duration 120  warmup 20  seed 1  spread 5
    initial_window 10  min_rto 0.2  initial_rto 1.0  delayed_ack 0.04  tick 0.001  limited_transmit 1
    newreno_fix 1  exit_fix 0  cubic_beta 0  cubic_friendly 1
    min_th 5  max_th 15  max_p 0.1  weight 0.002
    monitor 1
}
foreach {name value} $argv {
    if {![info exists option($name)]} {
        puts stderr "dumbbell.tcl: there is no option \"$name\""
        exit 2
    }
    set option($name) $value
}

# CPU seconds of this process so far; its own clock, in hundredths.
proc cpu_seconds {} {
    set file [open /proc/self/stat]
    set fields [split [string range [set line [read $file]] [expr {[string last ")" $line] + 2}] end]]
    close $file
    return [expr {([lindex $fields 11] + [lindex $fields 12]) / 100.0}]
}

# Most bytes that were ever resident.
proc peak_memory {} {
    set file [open /proc/self/status]
    regexp {VmHWM:\s+(\d+)} [read $file] line kilobytes
    close $file
    return [expr {$kilobytes * 1024}]
}

# Without Flags the TCP agents read another header's bytes.
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
Agent/TCP set singledup_ $option(limited_transmit)
Agent/TCP/Newreno set newreno_changes1_ $option(newreno_fix)
Agent/TCP/Newreno set exit_recovery_fix_ $option(exit_fix)
Agent/TCPSink set packetSize_ 40
Agent/TCPSink/DelAck set interval_ $option(delayed_ack)
Agent/TCPSink/Sack1/DelAck set interval_ $option(delayed_ack)

Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set thresh_ $option(min_th)
Queue/RED set maxthresh_ $option(max_th)
Queue/RED set linterm_ [expr {1.0 / $option(max_p)}]
Queue/RED set q_weight_ $option(weight)
Queue/RED set mean_pktsize_ 1500
Queue/RED set idle_pktsize_ 1500
Queue/RED set gentle_ true
Queue/RED set wait_ false
Queue/RED set adaptive_ 0

switch $option(tcp) {
    reno { set sender TCP/Reno; set sink TCPSink }
    newreno { set sender TCP/Newreno; set sink TCPSink }
    sack { set sender TCP/Sack1; set sink TCPSink/Sack1 }
    cubic {
        set sender TCP/Linux
        set sink TCPSink/Sack1
        # The agent asks for both, since Linux's modules expect a round-trip sample an ACK.
        Agent/TCP set timestamps_ true
        Agent/TCP set ts_option_size_ 0
        Agent/TCPSink set ts_echo_rfc1323_ true
    }
    default { puts stderr "dumbbell.tcl: tcp: reno, newreno, sack or cubic"; exit 2 }
}
if {$option(delayed_ack) > 0} { append sink /DelAck }
switch $option(queue) {
    fifo { set discipline DropTail; set limit [expr {$option(buffer) + 1}] }
    red { set discipline RED; set limit $option(buffer) }
    default { puts stderr "dumbbell.tcl: queue: fifo or red"; exit 2 }
}

set left [$ns node]
set right [$ns node]
$ns simplex-link $right $left $option(rate) $option(delay) DropTail
$ns simplex-link $left $right $option(rate) $option(delay) $discipline
$ns queue-limit $left $right $limit
$ns queue-limit $right $left 1000000
for {set flow 0} {$flow < $option(flows)} {incr flow} {
    set source [$ns node]
    set target [$ns node]
    $ns duplex-link $source $left $option(access_rate) $option(access_delay) DropTail
    $ns duplex-link $right $target $option(access_rate) $option(access_delay) DropTail
    foreach {a b} [list $source $left $left $source $right $target $target $right] {
        $ns queue-limit $a $b 1000000
    }
    set tcp($flow) [new Agent/$sender]
    set sink_agent [new Agent/$sink]
    $ns attach-agent $source $tcp($flow)
    $ns attach-agent $target $sink_agent
    $ns connect $tcp($flow) $sink_agent
    if {$option(tcp) eq "cubic"} {
        $ns at 0.0 "$tcp($flow) select_ca cubic"
        # Linux counts beta in 1024ths; 0 leaves the module's own.
        if {$option(cubic_beta) > 0} {
            $ns at 0.0 "$tcp($flow) set_ca_param cubic beta $option(cubic_beta)"
        }
        if {!$option(cubic_friendly)} {
            $ns at 0.0 "$tcp($flow) set_ca_param cubic tcp_friendliness 0"
        }
    }
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($flow)
    $ns at [$starts value] "$ftp start"
}

if {$option(monitor)} {
    set meter [$ns monitor-queue $left $right ""]
    set integrator [$meter get-pkts-integrator]
}

# The counters as they stand: queue's integral, arrivals, drops, bytes and packets sent, segments
# acknowledged, retransmitted.
proc counters {} {
    global ns option tcp meter integrator
    set acknowledged 0
    set retransmitted 0
    for {set flow 0} {$flow < $option(flows)} {incr flow} {
        incr acknowledged [$tcp($flow) set ack_]
        incr retransmitted [$tcp($flow) set nrexmitpack_]
    }
    if {!$option(monitor)} { return [list 0 0 0 0 0 $acknowledged $retransmitted] }
    $integrator newpoint [$ns now] [$meter set pkts_]
    set values [list [$integrator set sum_]]
    foreach counter {parrivals_ pdrops_ bdepartures_ pdepartures_} {
        lappend values [$meter set $counter]
    }
    return [concat $values $acknowledged $retransmitted]
}

proc begin {} {
    global at_warmup
    set at_warmup [counters]
}

proc finish {} {
    global option at_warmup cpu_at_start
    foreach name {integral arrivals drops bytes packets once again} now [counters] then $at_warmup {
        set $name [expr {$now - $then}]
    }
    set span [expr {double($option(duration) - $option(warmup))}]
    if {!$option(monitor)} { set arrivals 1; set packets 1 }
    puts [format {{"queue": %.4f, "utilization": %.5f, "loss": %.6f, "once": %.5f, "segments": %d, "retransmitted": %d, "run_cpu": %.2f, "memory": %d}} \
        [expr {$integral / $span}] [expr {$bytes * 8 / $option(rate) / $span}] \
        [expr {double($drops) / $arrivals}] [expr {double($once) / $packets}] $once $again \
        [expr {[cpu_seconds] - $cpu_at_start}] [peak_memory]]
    exit 0
}

$ns at $option(warmup) begin
$ns at $option(duration) finish
$ns at 0.0 { set cpu_at_start [cpu_seconds] }
$ns run
