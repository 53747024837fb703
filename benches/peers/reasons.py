"""The words of the comparison with ns-2 and ns-3, and why forebay stands apart where it does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GROUPS = {
    "newreno": "Tail drop, New Reno",
    "sack": "Tail drop, New Reno with SACK",
    "cubic": "Tail drop, CUBIC with SACK",
    "delayed-ack": "Tail drop, delayed acknowledgments",
    "aqm": "Active queue management",
    "experiments": "Experiments: one convention changed at a time",
}
"""Groups of cases in the order of the page, and their headings. Another group, such as WRED with
ns-2's time sliding window meters, is a heading here and a list of cases in `cases`."""

CONVENTIONS = [
    "A dumbbell: a link of 10 Mbit/s with room for 30 waiting packets (200 under active queue "
    "management), the delay given one way, access links of 1 Gbit/s and 0.1 ms for every host, "
    "endless transfers that begin within 5 s, measured from 20 to 80 s. All three are given the "
    "same conventions: packets of 1500 bytes, headers included; the buffer without the packet in "
    "transmission (ns-2's limit counts it, and is one more); an initial window of 10 segments; a "
    "minimum RTO of 200 ms and 1 s before the first measurement; one acknowledgment a segment, or "
    "in the scenarios with delayed acknowledgments one for two segments or after 40 ms.",
    "New Reno has a minimum RTO of 1 s in all three, because ns-3.37 without SACK keeps sending "
    "again what has arrived if it is 200 ms; with one flow it does so even with 1 s. "
    "*Delivered once* is the share of packets over the link that were new to their receiver.",
    "RED has thresholds of 5 and 15 packets, a largest probability of 0.1 and weight 0.002, "
    "gentle; CoDel and FQ-CoDel their defaults; PIE a target and an interval of 15 ms.",
    "Means over the seeds with half the width of their 95 % interval. A lone flow has nothing "
    "random but its start, and so no interval.",
]

REASONS = {
    "friendly": "**CUBIC's Reno-friendly region and beta.** forebay follows RFC 9438: beta 0.7, "
    "and at least the window of a Reno that grows by 9/17 of a segment a round trip. ns-2's Linux "
    "module has beta 0.8 and grows by a third of a segment, ns-3.37 has beta 0.7 and no such "
    "region. On these paths the region decides, and forebay's grows fastest: the buffer is filled "
    "sooner and emptied more often, and 64 flows lose more. With CUBIC of 2008 and a beta of 0.8 "
    '(`congestion = "cubic-2008"`), which is what ns-2 runs, forebay comes to ns-2\'s figures '
    "with one flow and in the queue of four and of 16; 64 lose less than with RFC 9438, and 16 "
    "still less than ns-2's. ns-2 with a beta of 0.7 moves toward forebay.",
    "lockstep": "**Flows in lockstep.** With equal paths and nothing random the 16 flows lose "
    "packets in the same round trips, and the queue empties; Jain's index of their rates is "
    "0.99999. It is a phase effect (Floyd and Jacobson 1992). The experiment adds 1 % of Poisson "
    "traffic, which ends it.",
    "backoff": "**When backoff ends.** Without timestamps forebay follows Karn's algorithm "
    "(RFC 6298, section 3): a timer that has backed off stays so until a segment that was sent "
    "once is acknowledged. In the peers the acknowledgment of a retransmission ends it: ns-2 "
    "times a segment that it sends again from its first transmission (`rtt_seq_` survives a "
    "timeout). They send, and lose, more where the windows are of one to three segments. "
    "Timestamps, which give forebay a sample from every acknowledgment, close the difference but "
    "for a part at 20 ms.",
    "short": "**RED and a short queue.** Both peers drop nothing early while one packet or none "
    "waits, whatever the average says; the paper and Linux know no such exception. At 50 ms the "
    "queue runs empty after the drops long before the average, with its weight of 0.002, has "
    "fallen. With `spare_short`, which is this exception, forebay comes to their figures.",
    "device": "**A packet below the queue.** In ns-3 one packet more waits in the device, where "
    "the discipline does not see it: its packets have waited 1.2 ms longer than it knows. A "
    "target longer by as much gives CoDel and PIE ns-3's queue, and moves loss toward ns-3's; "
    "FQ-CoDel, whose queues are short, it does not move.",
    "growth": "**Growth by bytes or by acknowledgments.** forebay counts bytes (RFC 5681, section "
    "3.1): the window grows by a whole segment when a window of them is acknowledged, so that the "
    "segment too many is the last of its burst, nothing follows it, and its duplicates come a "
    "round trip later. The peers add a part of a segment an acknowledgment, and pass the whole "
    "number amid the burst. New Reno's 16 flows are in lockstep, so that this decides how far the "
    "queue drains; ns-2 besides takes its whole threshold at the end of recovery, where forebay "
    "takes RFC 6582's first option, which avoids a burst. With growth by acknowledgments in "
    "forebay, and that option in ns-2, the two queues are within 10 %; so is FQ-CoDel's.",
    "flight": "**What is halved.** At a loss ns-3 halves what it believes in flight, which leaves "
    "out what was SACKed and what is lost: of a window of six segments it keeps two, where "
    "FlightSize (RFC 5681) keeps three. It shows where windows are short and nothing else bounds "
    "the queue: with half of its window ns-3 has forebay's queue.",
    "ns-3": "**ns-3's recovery.** Where there are 64 flows, or 16 at 50 ms, ns-3.37 loses, or "
    "sends again what has arrived (*delivered once*), more than forebay and ns-2, which agree "
    "with each other under tail drop (tables above). ns-2 has none of these disciplines.",
}
"""Reasons by key, in the order of their numbers; what has none is shown as open."""

SPEED = [
    "A rate is the number of data segments that the receivers got, each once, per CPU second "
    "(user and system), the median of the runs. *Run phase* leaves out what comes before the first "
    "event: for forebay only Python's start, because building the world and the summary count; "
    "for ns-2 nodes and routes; for ns-3 the topology. *Process* is everything. Memory is the peak "
    "resident size of the process; forebay's includes Python with its libraries. The peers measure "
    "nothing on the way, forebay keeps all its statistics. With 1000 hosts a side most of ns-3's "
    "time goes into linear scans over a router's interfaces: it is the cost of the scenario, not "
    "of its event loop.",
]


def reason_of(options: Mapping[str, Any], quantity: str) -> str | None:
    """The reason's key for a quantity that stands apart in the scenario of `options`."""
    flows, delay = options.get("flows", 16), options.get("delay")
    if "queue" in options:
        if options["queue"] == "red":
            return "short"
        if flows == 64 or (flows, delay) == (16, 0.05):
            return "ns-3"
        if options["queue"] == "fq-codel":
            return "flight" if delay == 0.005 else "growth"
        return "device"
    if options.get("tcp") == "newreno":
        return "backoff" if quantity == "loss" else "growth"
    if options.get("tcp") != "cubic":
        return None
    if quantity == "queue" and flows == 16 and delay == 0.02:
        return "lockstep"
    return "friendly"
