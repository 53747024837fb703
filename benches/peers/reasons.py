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
    "The scenario is a dumbbell: a link of 10 Mbit/s with room for 30 waiting packets (200 under "
    "active queue management), access links of 1 Gbit/s and 0.1 ms for every host, and endless "
    "transfers that start within 5 s, measured from 20 to 80 s. The delay in the tables is "
    "one-way. All three have the same conventions: packets of 1500 bytes, headers included; the "
    "buffer without the packet in transmission (ns-2's limit counts it, and is one more); an "
    "initial window of 10 segments; a minimum RTO of 200 ms, and 1 s before the first "
    "measurement; one acknowledgment for each segment, or in the scenarios with delayed "
    "acknowledgments one for two segments or after 40 ms.",
    "New Reno has a minimum RTO of 1 s in all three. With 200 ms, ns-3.37 without SACK "
    "repeatedly retransmits data that have arrived. With one flow, it does so even with 1 s. "
    "*Delivered once* is the share of packets over the link that were new to their receiver.",
    "RED has thresholds of 5 and 15 packets, a maximum probability of 0.1, a weight of 0.002, "
    "and is gentle. CoDel and FQ-CoDel have their defaults. PIE has a target and an interval of "
    "15 ms.",
    "The tables have means over the seeds with half the width of their 95 % interval. For a "
    "single flow, only the start is random, so there is no interval.",
]

TOLERANCE = 0.1
"""How far outside the peers' means forebay may be before a reason is looked for."""
BETWEEN = f"between the peers, or {100 * TOLERANCE:g} % outside"
"""What is said of a scenario in which no reason was looked for."""

REASONS = {
    "friendly": "**CUBIC's Reno-friendly region and beta.** forebay follows RFC 9438: beta is "
    "0.7, and the window is at least that of a Reno that grows by 9/17 of a segment "
    "a round trip. ns-2's Linux module has a beta of 0.8 and grows by a third of a "
    "segment. ns-3.37 has a beta of 0.7 and no such region. On these paths the "
    "region decides, and forebay's grows fastest: the buffer is filled earlier and "
    "emptied more often, and 64 flows lose more. ns-2 runs the CUBIC of 2008 with a "
    'beta of 0.8. With it (`congestion = "cubic-2008"`), forebay\'s figures are those '
    "of ns-2 for one flow, and for the queue of four and of 16 flows. 64 flows lose "
    "less than with RFC 9438, and 16 still less than in ns-2. ns-2 with a beta of "
    "0.7 is closer to forebay.",
    "lockstep": "**Flows in lockstep.** With equal paths and nothing random, the 16 flows lose "
    "packets in the same round trips, and the queue becomes empty. Jain's index of "
    "their rates is 0.99999. This is a phase effect (Floyd and Jacobson 1992). In "
    "the experiment, 1 % of Poisson traffic ends it.",
    "backoff": "**When backoff ends.** Without timestamps, forebay follows Karn's algorithm (RFC "
    "6298, section 3): the backoff of a timer lasts until a segment is acknowledged "
    "that was sent once. In the peers, the acknowledgment of a retransmission ends "
    "it: ns-2 measures a retransmitted segment from its first transmission "
    "(`rtt_seq_` survives a timeout). So they send and lose more if windows are one "
    "to three segments. With timestamps, forebay gets a sample from every "
    "acknowledgment. Then the difference disappears, except for a part at 20 ms.",
    "short": "**RED and a short queue.** Both peers drop nothing early while at most one packet "
    "waits, whatever the average is. The paper and Linux have no such exception. At 50 "
    "ms, the queue becomes empty after the drops long before the average falls, because "
    "its weight is 0.002. With this exception (`spare_short`), forebay has the peers' "
    "figures.",
    "device": "**A packet below the queue.** In ns-3, one more packet waits in the device, where "
    "the discipline does not see it, so packets wait 1.2 ms longer than the discipline "
    "knows. With a target that is longer by 1.2 ms, CoDel and PIE have the queue of "
    "ns-3, and their loss is closer to that of ns-3. FQ-CoDel, whose queues are short, "
    "does not change.",
    "growth": "**Growth by bytes or by acknowledgments.** forebay counts bytes (RFC 5681, "
    "section 3.1): the window grows by a whole segment when a window of segments is "
    "acknowledged. So the one segment too many is the last of its burst, nothing "
    "follows it, and its duplicate acknowledgments come a round trip later. The peers "
    "add a part of a segment for each acknowledgment, and reach the next whole number "
    "in the middle of the burst. The 16 flows of New Reno are in lockstep, so this "
    "decides how far the queue drains. In addition, ns-2 uses its whole threshold at "
    "the end of recovery. forebay uses the first option of RFC 6582, which avoids a "
    "burst. With growth by acknowledgments in forebay, and that option in ns-2, the "
    "two queues are within 10 % of each other, and so are those of FQ-CoDel.",
    "flight": "**What is halved.** At a loss, ns-3 halves what it assumes to be in flight, "
    "without SACKed and lost segments: of a window of six segments it keeps two, where "
    "FlightSize (RFC 5681) keeps three. This matters if windows are short and nothing "
    "else limits the queue. With half of its window, ns-3 has the queue of forebay.",
    "ns-3": "**ns-3's recovery.** With 64 flows, or 16 at 50 ms, ns-3.37 loses more packets than "
    "forebay and ns-2, or retransmits more data that have arrived (*delivered once*). "
    "forebay and ns-2 agree with each other under tail drop (tables above). ns-2 has "
    "none of these disciplines.",
}
"""Reasons by key, in the order of their numbers; what has none is shown as open."""

SPEED = [
    "A rate is the number of data segments that the receivers got, each counted once, for each "
    "CPU second (user and system), as the median of the runs. *Run phase* leaves out what comes "
    "before the first event: for forebay only the start of Python, because building the world "
    "and the summary count; for ns-2 nodes and routes; for ns-3 the topology. *Process* is "
    "everything. Memory is the peak resident size of the process. For forebay it includes Python "
    "with its libraries. The peers measure nothing during the run, while forebay keeps all its "
    "statistics. With 1000 hosts a side, most of ns-3's time goes into linear scans over the "
    "interfaces of a router: this is the cost of the scenario, not of its event loop.",
    "htsim (`HTSIM=FOLDER`, a checkout of github.com/Broadcom/csg-htsim) has a New Reno without "
    "SACK, an acknowledgment for each segment, and no access links unless a program makes them.",
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
