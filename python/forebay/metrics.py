"""What users make of delay, loss and energy, from measured numbers.

Arguments are numbers or numpy arrays, which broadcast. The engine computes the same for every run
(docs/summary.md); these functions take other weights and other numbers.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from forebay.theory import Numbers, Values

Codec = Literal["g711", "g729a"]

_IMPAIRMENT: dict[str, tuple[float, float, float]] = {
    "g711": (0.0, 30.0, 15.0),
    "g729a": (11.0, 40.0, 10.0),
}


def r_factor(delay_ms: Numbers, loss: Numbers, codec: Codec = "g711") -> Values:
    """Transmission rating of a call, 94.2 at best (NCQ paper, equation 22).

    R = 94.2 - 0.024 d - 0.11 (d - 177.3) H(d - 177.3) - g1 - g2 ln(1 + g3 e): the E-model of ITU-T
    G.107 reduced to delay and loss by R. Cole and J. Rosenbluth, *Voice over IP performance
    monitoring*, ACM CCR 31(2), 2001, from which the coefficients of the codecs are.

    Args:
        delay_ms: d, mouth to ear, milliseconds.
        loss: e, share of packets lost, 0 to 1.
        codec: g1 to g3 are 0, 30, 15 for G.711 and 11, 40, 10 for G.729A.
    """
    delay, lost = np.asarray(delay_ms, float), np.asarray(loss, float)
    g1, g2, g3 = _IMPAIRMENT[codec]
    late = np.maximum(delay - 177.3, 0.0)
    return np.asarray(94.2 - 0.024 * delay - 0.11 * late - g1 - g2 * np.log1p(g3 * lost))


def mos(rating: Numbers) -> Values:
    """Mean opinion score, 1 to 4.5, of a transmission rating R (ITU-T G.107, annex B).

    1 + 0.035 R + 7e-6 R (R - 60) (100 - R) for R in 0 to 100. The NCQ paper prints it without
    R (R - 60), which is a misprint: see `mos_as_printed`.
    """
    r = np.asarray(rating, float)
    inside = 1 + 0.035 * r + 7e-6 * r * (r - 60) * (100 - r)
    return np.asarray(np.where(r <= 0, 1.0, np.where(r >= 100, 4.5, inside)))


def mos_as_printed(rating: Numbers) -> Values:
    """The NCQ paper's expression, 1 + 0.035 R + 7e-6 (100 - R); it misses its own table II."""
    r = np.asarray(rating, float)
    return np.asarray(1 + 0.035 * r + 7e-6 * (100 - r))


def satisfaction(
    delays: npt.ArrayLike, data: npt.ArrayLike, longest: float, *, by_flow: bool = False
) -> float:
    """Application satisfaction index, 0 to 1 (NCQ paper, section 5.2.2).

    1 - |sum of (delay_i - data_i / total * longest)| / (n longest). As printed the bars enclose the
    whole sum, and since the shares add up to one the index is 1 - |mean delay / longest - 1 / n|,
    whichever flow it is that waits.

    Args:
        delays: mean time in queues of each flow (or class), in any unit.
        data: what each brought to its receiver, in any unit.
        longest: longest time in queues of any packet, in the unit of `delays`.
        by_flow: sum the absolute values flow by flow instead.

    Raises:
        ValueError: nobody waited, or nothing arrived.
    """
    waits, brought = np.asarray(delays, float), np.asarray(data, float)
    if longest <= 0 or brought.sum() <= 0:
        raise ValueError("satisfaction is not defined if no flow waits or no data arrives")
    excess = waits - brought / brought.sum() * longest
    whole = np.abs(excess).sum() if by_flow else abs(excess.sum())
    return float(1 - whole / (len(waits) * longest))


def energy_potential(
    throughput: Numbers, goodput: Numbers, most: Numbers, a: float = 0.5, b: float = 0.5
) -> Values:
    """Energy potential, 0 to 1 (NCQ paper, section 5.2.2).

    1 - (a (throughput - goodput) + b (most - throughput)) / most. With a = b the throughput
    cancels: 1 - a (1 - goodput / most).

    Args:
        throughput: what is sent, repetitions and headers included, bit/s.
        goodput: what reaches the application, bit/s.
        most: largest possible throughput, bit/s.
        a: weight of energy spent on what brings nothing.
        b: weight of energy spent on waiting.
    """
    sent, useful, top = (np.asarray(value, float) for value in (throughput, goodput, most))
    return np.asarray(1 - (a * (sent - useful) + b * (top - sent)) / top)


def jain(shares: npt.ArrayLike) -> float:
    """Jain's fairness index: 1 when all are equal, 1/n when one has all (DEC-TR-301, 1984).

    Raises:
        ValueError: nobody has anything.
    """
    values = np.asarray(shares, float)
    squares = float((values * values).sum())
    if squares <= 0:
        raise ValueError("fairness is not defined if all values are zero")
    return float(values.sum()) ** 2 / (len(values) * squares)
