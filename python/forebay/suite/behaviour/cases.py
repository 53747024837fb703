"""The cases of the BBR draft's appendix, "BBR Example Test Cases", in its order."""

from __future__ import annotations

from forebay.suite.behaviour import path, probing, startup
from forebay.suite.behaviour.case import Case

PATHS = ((2.0, 100.0, 8.0), (10.0, 40.0, 8.0), (50.0, 10.0, 8.0))
"""Mbit/s, ms, and room of the queue in bandwidth-delay products: none is lost to it."""

AT_ONCE = (
    "A state that is over with the acknowledgment that begins it is not to be seen in a trace: the "
    "draft checks one after another on each acknowledgment (UpdateModelAndState)."
)

CASES = (
    Case(
        1,
        "Exiting STARTUP on bandwidth plateau",
        (
            "Three rounds that grow by less than 25 % end Startup, with an estimate within 2 % "
            "of the bandwidth."
        ),
        startup.plateau,
        PATHS,
    ),
    Case(
        2,
        "Exiting STARTUP on loss when application-limited",
        "15 % of one round trip is lost while the application writes half of the bandwidth.",
        startup.loss_when_limited,
        ((100.0, 40.0, 8.0), (50.0, 100.0, 8.0)),
        (
            "A sender without new data retransmits holes before they count as lost (RFC 6675, "
            "NextSeg, rule 3), and BBR is not told of a loss that is repaired so. Startup "
            "therefore sees too few losses. With endless data the same losses end it. Loss "
            "detection by time (RFC 8985) would tell of them."
        ),
    ),
    Case(
        3,
        "Exiting DRAIN based on inflight",
        "Drain, at a pacing gain of 0.5, ends when C.inflight is at most Inflight(1.0).",
        startup.drained,
        PATHS,
        AT_ONCE,
    ),
    Case(
        4,
        "Exiting DRAIN based on time",
        "With less bandwidth from its beginning on, Drain ends after three round trips.",
        startup.drained_by_time,
        PATHS,
        (
            "10 % less bandwidth, which the draft suggests, does not hold C.inflight above its "
            "target for three round trips: the pacing gain of 0.5 drains a queue of one "
            "bandwidth-delay product in less. The least of 10, 30 and 50 % that does is taken."
        ),
    ),
    Case(
        5,
        "Exiting PROBE_UP on bandwidth plateau",
        "Three rounds that grow by less than 25 % end PROBE_UP.",
        probing.up_plateau,
        PATHS,
    ),
    Case(
        6,
        "Exiting PROBE_UP on loss when application-limited",
        (
            "From the beginning of PROBE_UP on the application writes half of the bandwidth, "
            "and 10 % is lost."
        ),
        probing.up_loss_when_limited,
        PATHS,
        (
            "The draft's pseudo-code leaves inflight_longterm as it is if the sample is "
            'application-limited (HandleInflightTooHigh); that is taken for "updated '
            'appropriately".'
        ),
    ),
    Case(
        7,
        "Never exiting PROBE_UP (or STARTUP) when application-limited with no loss",
        "The application writes half of the bandwidth, nothing is lost.",
        probing.never_when_limited,
        PATHS,
        (
            "Indefinitely is until PROBE_RTT is due, for which every state makes way "
            "(CheckProbeRTT)."
        ),
    ),
    Case(
        8,
        "Exiting PROBE_DOWN on inflight",
        (
            "PROBE_DOWN, at a pacing gain of 0.90, ends when C.inflight is at most "
            "InflightWithHeadroom() and Inflight(1.0)."
        ),
        probing.down_by_inflight,
        PATHS,
    ),
    Case(
        9,
        "Exiting PROBE_DOWN after max time",
        "With less bandwidth from its beginning on, PROBE_DOWN ends by time, for PROBE_REFILL.",
        probing.down_by_time,
        ((5.0, 40.0, 8.0), (10.0, 40.0, 8.0), (50.0, 10.0, 8.0)),
        (
            "The least of 10, 15 and 20 % less bandwidth that holds the queue is taken. "
            "IsTimeToProbeBW() is true as well after as many round trips as Reno would take "
            "(IsRenoCoexistenceProbeTime)."
        ),
    ),
    Case(
        10,
        "Entering and exiting PROBE_RTT",
        (
            "After 5 s without a lower delay, with half of a bandwidth-delay product in flight,"
            " for 200 ms and a round trip at least."
        ),
        path.probe_rtt,
        PATHS,
    ),
    Case(
        11,
        "Skipping PROBE_RTT due to application-limited sending",
        "The application pauses for 6 s in PROBE_BW.",
        path.idle,
        PATHS,
    ),
    Case(
        12,
        "Achieving expected STARTUP bandwidth on a link with aggregation",
        "Acknowledgments come in batches, each half a round trip.",
        startup.startup_with_aggregation,
        PATHS,
        (
            "A sample from the first acknowledgment of one batch to the last of another holds "
            "more than the path delivers in that time, so that more than the bandwidth is found"
            ' (draft, "Delivery Rate Samples"); in Startup the rate of sending, up to 2.77 '
            "times as high, does not cap it."
        ),
    ),
    Case(
        13,
        "Achieving expected cruise bandwidth on a link with aggregation",
        "From PROBE_CRUISE on, acknowledgments come in batches, each quarter of a round trip.",
        probing.cruise_with_aggregation,
        PATHS,
    ),
    Case(
        14,
        "Correctly managing sub-packet BDPs",
        "A bandwidth-delay product below one packet.",
        path.sub_packet,
        ((0.064, 50.0, 8.0), (0.256, 20.0, 8.0), (1.0, 5.0, 8.0)),
    ),
    Case(
        15,
        "Increasing bandwidth 10x and ensuring full bandwidth is reached",
        "In PROBE_CRUISE the bandwidth becomes ten times as large.",
        path.ten_times_more,
        ((1.0, 100.0, 80.0), (5.0, 40.0, 80.0), (10.0, 40.0, 80.0)),
    ),
    Case(
        16,
        "Decreasing bandwidth 10x and ensuring max bandwidth adapts down",
        (
            "In PROBE_CRUISE the bandwidth becomes a tenth, behind a buffer of one bandwidth-"
            "delay product of before."
        ),
        path.ten_times_less,
        ((10.0, 100.0, 1.0), (50.0, 40.0, 1.0), (50.0, 10.0, 1.0)),
        (
            "On the first path the queue brings the round trip to 0.8 s. PROBE_UP then takes "
            "more than three of them, and PROBE_RTT, due each 5 s, ends every PROBE_UP before "
            "it. What ends PROBE_RTT would let the window of max_bw go on, but its samples "
            "count as application-limited (HandleProbeRTT), which forbids that "
            "(AdaptLongTermModel): max_bw keeps its old value for ever. It follows from the "
            "draft's pseudo-code; with a buffer of 0.5 BDP the queue is shorter and the case "
            "holds."
        ),
    ),
    Case(
        17,
        "Handling token bucket policers",
        "A token bucket of one bandwidth-delay product drops what exceeds it; nothing waits.",
        path.policer,
        ((2.0, 100.0, 8.0), (10.0, 40.0, 8.0), (10.0, 10.0, 8.0)),
        (
            "The draft gives no number for excessive; BBR.LossThresh is taken. While BBR sends "
            "below the token rate the bucket fills, and what is then sent through it at a "
            "higher rate counts as bandwidth: max_bw stays above the token rate for two cycles,"
            " in which BBR sends too much until losses have lowered bw_shortterm."
        ),
    ),
    Case(
        18,
        "Handling spurious fast recovery",
        "One packet in 2000 arrives a quarter of a round trip late, nothing is lost.",
        path.spurious_fast_recovery,
        PATHS,
        (
            "The sender of the standards does not find out that a fast recovery was not needed "
            "(RFC 3708, DSACK), so that HandleSpuriousLossDetection() is not called (D8 of the "
            "control's page)."
        ),
    ),
    Case(
        19,
        "Handling spurious RTO recovery",
        (
            "The delay grows by 1 s at once for 50 ms, nothing is lost; F-RTO (RFC 5682) finds "
            "the timeout spurious."
        ),
        path.spurious_timeout,
        PATHS,
        (
            "Instead of reordering a delay that all packets have: with F-RTO it is the second "
            "acknowledgment of new data that tells."
        ),
    ),
    Case(
        20,
        "Entering and exiting PROBE_RTT during STARTUP",
        (
            "The application writes a tenth of the bandwidth, so that Startup lasts for longer "
            "than 5 s."
        ),
        startup.probe_rtt_in_startup,
        PATHS,
    ),
    Case(
        21,
        "Handling loss during PROBE_UP after inflight_longterm is set",
        (
            "10 % is lost from the beginning of a PROBE_UP on, behind a buffer of one "
            "bandwidth-delay product."
        ),
        probing.loss_with_longterm,
        ((2.0, 100.0, 1.0), (10.0, 40.0, 1.0), (50.0, 10.0, 0.5)),
    ),
    Case(
        22,
        "Handling application-limited sending during PROBE_REFILL",
        "The application pauses for one and a half round trips when PROBE_REFILL begins.",
        probing.limited_in_refill,
        PATHS,
    ),
)
"""All of them. Texts are ours, titles the draft's."""
