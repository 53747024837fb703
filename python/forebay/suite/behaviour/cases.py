"""The cases of the BBR draft's appendix, "BBR Example Test Cases", in its order."""

from __future__ import annotations

from forebay.suite.behaviour import path, probing, startup
from forebay.suite.behaviour.case import Case

PATHS = ((2.0, 100.0, 8.0), (10.0, 40.0, 8.0), (50.0, 10.0, 8.0))
"""Mbit/s, ms, and room of the queue in bandwidth-delay products: none is lost to it."""

AT_ONCE = (
    "If a state ends with the acknowledgment that begins it, a trace does not show it: the draft "
    "checks one state after another on each acknowledgment (UpdateModelAndState)."
)

CASES = (
    Case(
        1,
        "Exiting STARTUP on bandwidth plateau",
        (
            "Startup ends after three rounds with a growth of less than 25 %, with an estimate "
            "within 2 % of the bandwidth."
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
            "NextSeg, rule 3), and BBR does not learn of a loss that is repaired in this way. So "
            "Startup sees too few losses. With endless data, the same losses end it. Loss "
            "detection by time (RFC 8985) would report them."
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
        "The bandwidth is lower from the beginning of Drain on. Drain ends after three round "
        "trips.",
        startup.drained_by_time,
        PATHS,
        (
            "With 10 % less bandwidth, as the draft suggests, C.inflight is not above its target "
            "for three round trips: with a pacing gain of 0.5, a queue of one bandwidth-delay "
            "product drains faster. So the test uses the smallest of 10, 30 and 50 % with which "
            "it is."
        ),
    ),
    Case(
        5,
        "Exiting PROBE_UP on bandwidth plateau",
        "PROBE_UP ends after three rounds with a growth of less than 25 %.",
        probing.up_plateau,
        PATHS,
    ),
    Case(
        6,
        "Exiting PROBE_UP on loss when application-limited",
        (
            "From the beginning of PROBE_UP on, the application writes half of the bandwidth, "
            "and 10 % is lost."
        ),
        probing.up_loss_when_limited,
        PATHS,
        (
            "The draft's pseudo-code does not change inflight_longterm if the sample is "
            'application-limited (HandleInflightTooHigh). The test takes this for "updated '
            'appropriately".'
        ),
    ),
    Case(
        7,
        "Never exiting PROBE_UP (or STARTUP) when application-limited with no loss",
        "The application writes half of the bandwidth, and nothing is lost.",
        probing.never_when_limited,
        PATHS,
        ('"Never" means until PROBE_RTT is due, which ends every other state (CheckProbeRTT).'),
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
        "The bandwidth is lower from the beginning of PROBE_DOWN on. PROBE_DOWN ends by time, "
        "and PROBE_REFILL follows.",
        probing.down_by_time,
        ((5.0, 40.0, 8.0), (10.0, 40.0, 8.0), (50.0, 10.0, 8.0)),
        (
            "The test uses the smallest of 10, 15 and 20 % less bandwidth with which the queue "
            "lasts. IsTimeToProbeBW() is also true after as many round trips as Reno would take "
            "(IsRenoCoexistenceProbeTime)."
        ),
    ),
    Case(
        10,
        "Entering and exiting PROBE_RTT",
        (
            "After 5 s without a lower delay, BBR sends with half of a bandwidth-delay product "
            "in flight, for at least 200 ms and a round trip."
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
        "Acknowledgments come in batches, one each half round trip.",
        startup.startup_with_aggregation,
        PATHS,
        (
            "A sample from the first acknowledgment of one batch to the last of another contains "
            "more than the path delivers in that time, so the estimate is above the bandwidth "
            '(draft, "Delivery Rate Samples"). In Startup, the sending rate does not limit the '
            "sample, because it is up to 2.77 times as high."
        ),
    ),
    Case(
        13,
        "Achieving expected cruise bandwidth on a link with aggregation",
        "From PROBE_CRUISE on, acknowledgments come in batches, one each quarter of a round trip.",
        probing.cruise_with_aggregation,
        PATHS,
    ),
    Case(
        14,
        "Correctly managing sub-packet BDPs",
        "The bandwidth-delay product is less than one packet.",
        path.sub_packet,
        ((0.064, 50.0, 8.0), (0.256, 20.0, 8.0), (1.0, 5.0, 8.0)),
    ),
    Case(
        15,
        "Increasing bandwidth 10x and ensuring full bandwidth is reached",
        "In PROBE_CRUISE, the bandwidth becomes ten times as large.",
        path.ten_times_more,
        ((1.0, 100.0, 80.0), (5.0, 40.0, 80.0), (10.0, 40.0, 80.0)),
    ),
    Case(
        16,
        "Decreasing bandwidth 10x and ensuring max bandwidth adapts down",
        (
            "In PROBE_CRUISE, the bandwidth becomes a tenth. The buffer is one bandwidth-delay "
            "product of before."
        ),
        path.ten_times_less,
        ((10.0, 100.0, 1.0), (50.0, 40.0, 1.0), (50.0, 10.0, 1.0)),
        (
            "On the first path, the queue extends the round trip to 0.8 s. PROBE_UP then needs "
            "more than three round trips, and PROBE_RTT, due every 5 s, always ends it before. "
            "The end of PROBE_RTT could move the window of max_bw on, but its samples count as "
            "application-limited (HandleProbeRTT), which prevents that (AdaptLongTermModel). So "
            "max_bw keeps its old value forever. This follows from the draft's pseudo-code. With "
            "a buffer of 0.5 BDP, the queue is shorter and the case holds."
        ),
    ),
    Case(
        17,
        "Handling token bucket policers",
        "A token bucket of one bandwidth-delay product drops what exceeds it. No packet waits.",
        path.policer,
        ((2.0, 100.0, 8.0), (10.0, 40.0, 8.0), (10.0, 10.0, 8.0)),
        (
            'The draft gives no number for "excessive", so the test uses BBR.LossThresh. While '
            "BBR sends below the token rate, the bucket fills. What is then sent through it at a "
            "higher rate counts as bandwidth. So max_bw stays above the token rate for two "
            "cycles, in which BBR sends too much until losses have lowered bw_shortterm."
        ),
    ),
    Case(
        18,
        "Handling spurious fast recovery",
        "One packet in 2000 arrives a quarter of a round trip late, and nothing is lost.",
        path.spurious_fast_recovery,
        PATHS,
        (
            "The sender of the standards does not detect that a fast recovery was not needed "
            "(RFC 3708, DSACK), so HandleSpuriousLossDetection() is not called (D8 of the "
            "control's page)."
        ),
    ),
    Case(
        19,
        "Handling spurious RTO recovery",
        (
            "For 50 ms, the delay is 1 s longer, and nothing is lost. F-RTO (RFC 5682) finds "
            "that the timeout was spurious."
        ),
        path.spurious_timeout,
        PATHS,
        (
            "The test uses a delay of all packets instead of reordering: with F-RTO, the second "
            "acknowledgment of new data decides."
        ),
    ),
    Case(
        20,
        "Entering and exiting PROBE_RTT during STARTUP",
        ("The application writes a tenth of the bandwidth, so Startup lasts longer than 5 s."),
        startup.probe_rtt_in_startup,
        PATHS,
    ),
    Case(
        21,
        "Handling loss during PROBE_UP after inflight_longterm is set",
        (
            "From the beginning of a PROBE_UP on, 10 % is lost. The buffer is one "
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
