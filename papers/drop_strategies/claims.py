"""The claims DS-1 to DS-11 and the authors' conclusions, in the paper's words."""

from __future__ import annotations

from collections.abc import Callable

from forebay.papers import Claim, Conclusion, Data, Part

from .parts import (
    bursts,
    ds_1,
    ds_2,
    ds_3,
    ds_4,
    ds_5,
    ds_6,
    ds_7,
    ds_8,
    ds_9,
    ds_10,
    ds_11,
    higher_with_arrivals,
    oscillates,
)
from .points import (
    ARRIVALS,
    AT_HALF,
    AVERAGE,
    CHOICES,
    CONDITIONERS,
    GENTLE_RENO,
    GENTLE_SACK,
    LONGER,
    LOSS,
    MAIN,
    RENO,
    SACK,
    TRACES,
    View,
)
from .reasons import why_1, why_2, why_3, why_5, why_6, why_7, why_10, why_11


def of(judge: Callable[[View], list[Part]]) -> Callable[[Data], list[Part]]:
    """The claim as judged by the main study."""
    return lambda data: judge(View(data))


JUDGED: dict[str, Callable[[View], list[Part]]] = {
    "DS-1": ds_1,
    "DS-2": ds_2,
    "DS-3": ds_3,
    "DS-4": oscillates,
    "DS-5": ds_5,
    "DS-6": ds_6,
    "DS-7": ds_7,
    "DS-10": ds_10,
    "DS-11": ds_11,
}
"""What is also judged under every other choice; of DS-4 the part that needs no trace."""

CLAIMS = (
    Claim(
        "DS-1",
        'Reno, standard WRED (figure 4): "Loss-rates for all traffic is higher for all '
        'amounts of in-profile traffic simulated with drop-arrivals than with drop-from-queue"; '
        "at low and at high amounts they are similar.",
        of(ds_1),
        (MAIN, CHOICES),
        why_1,
    ),
    Claim(
        "DS-2",
        "Reno, standard WRED (figure 4): with drop-arrivals, loss-rates of "
        'out-of-profile traffic "increase faster with the amount of in-profile '
        'traffic below 7 Mbps of in-profile traffic than above"; at high amounts '
        'they "can even be higher with drop-from-queue".',
        of(ds_2),
        (MAIN, CHOICES),
        why_2,
    ),
    Claim(
        "DS-3",
        'Reno, standard WRED (figure 5): with drop-arrivals throughput "decreases as '
        'the amount of in-profile traffic increases up to 5.6 Mbps", then '
        '"increases and approaches" that of drop-from-queue.',
        of(ds_3),
        (MAIN, CHOICES, LONGER),
        why_3,
    ),
    Claim(
        "DS-4",
        "Figures 6, 9, 12 and 15: queue oscillation is larger with drop-arrivals in "
        'all four cases; with standard WRED the average "exceeds max_th(1) '
        'frequently"; with SACK it oscillates less than with Reno.',
        of(ds_4),
        (MAIN, TRACES),
    ),
    Claim(
        "DS-5",
        'SACK, standard WRED (figures 7 and 8): "with drop-from-queue, loss-rates '
        'are similar for TCP Reno and TCP Sack"; with drop-arrivals those of '
        'out-of-profile traffic are higher "for most simulated amounts" with SACK; '
        'throughput "gets degraded for most amounts", less severely than with Reno.',
        of(ds_5),
        (MAIN, LONGER, CHOICES),
        why_5,
    ),
    Claim(
        "DS-6",
        "Gentle WRED (figures 10, 13, 15, section 3.6): loss-rates are higher with "
        "drop-from-queue; with half the link in profile the long-term average queue "
        '"is about twice as long with drop-arrivals".',
        of(ds_6),
        (MAIN, CHOICES),
        why_6,
    ),
    Claim(
        "DS-7",
        "Gentle WRED (figures 11, 13, 14): with SACK throughputs are similar; with "
        'Reno that of drop-arrivals "is decreased", "although not as much" as '
        "with standard WRED; at large amounts SACK's loss is \"only a few percent "
        "higher\" than Reno's.",
        of(ds_7),
        (MAIN, LONGER, CHOICES),
        why_7,
    ),
    Claim("DS-8", "In-profile packets are never dropped (section 3.1).", of(ds_8), (MAIN,)),
    Claim(
        "DS-9",
        "Token bucket based conditioners and CAR give similar results (section 4).",
        of(ds_9),
        (MAIN, CONDITIONERS),
    ),
    Claim(
        "DS-10",
        'Abstract: "dropping packets from the queue gives smoother loss patterns '
        'and less jitter", with SACK and Reno, with and without the gentle '
        "modification.",
        of(ds_10),
        (MAIN, CHOICES),
        why_10,
    ),
    Claim(
        "DS-11",
        'TCP "goes into slow-start more often with drop-arrivals" (sections 3.2 to 3.4).',
        of(ds_11),
        (MAIN, CHOICES),
        why_11,
    ),
)


def lower_loss(view: View) -> list[Part]:
    loss = higher_with_arrivals(view, LOSS, "loss", "lower from the queue", "%", (RENO, SACK), 100)
    return [*loss, *bursts(view, (RENO, SACK))]


def alleviated(view: View) -> list[Part]:
    return [
        Part(
            f"loss at 5 Mbit/s with drop-arrivals, standard minus gentle: {name}",
            "alleviated",
            view.less(LOSS, (AT_HALF, standard, ARRIVALS), (AT_HALF, gentle, ARRIVALS), 100),
            0,
            unit="%",
        )
        for name, standard, gentle in (("Reno", RENO, GENTLE_RENO), ("SACK", SACK, GENTLE_SACK))
    ]


def still(view: View) -> list[Part]:
    cases = (GENTLE_RENO, GENTLE_SACK)
    return [*oscillates(view, cases), *bursts(view, cases)]


def longer(view: View) -> list[Part]:
    return [
        Part(
            f"average queue at 5 Mbit/s with drop-arrivals, gentle minus standard: {name}",
            "longer",
            view.less(AVERAGE, (AT_HALF, gentle, ARRIVALS), (AT_HALF, standard, ARRIVALS)),
            0,
            unit="packets",
        )
        for name, standard, gentle in (("Reno", RENO, GENTLE_RENO), ("SACK", SACK, GENTLE_SACK))
    ]


CONCLUSIONS = (
    Conclusion("Dropping from the queue gives less queue oscillation.", of(oscillates), (MAIN,)),
    Conclusion(
        "With standard WRED that means lower loss-rates and less bursty loss patterns.",
        of(lower_loss),
        (MAIN,),
    ),
    Conclusion(
        "Gentle WRED alleviates the high loss-rates of drop-arrivals.", of(alleviated), (MAIN,)
    ),
    Conclusion(
        "Oscillation is still larger and loss burstier with drop-arrivals then.", of(still), (MAIN,)
    ),
    Conclusion("The gentle modification lengthens the average queue.", of(longer), (MAIN,)),
    Conclusion(
        "All this also holds for token bucket based conditioners.", of(ds_9), (MAIN, CONDITIONERS)
    ),
)
