"""How much room p = 1 needs above T_local: two laws, without simulation.

While the low queue stands above T_local only p = 1 joins it. Its bursty flows send `ON` packets/s
in the bursty state and `OFF` in the quiet one, and the line takes `drain` packets/s away.
"""

from __future__ import annotations

import math

import numpy as np

ON, OFF = 1 / 460e-6, 1 / 46e-3
END, BEGIN = 0.011 * ON, 0.091 * OFF
"""Rates at which a flow leaves the bursty and the quiet state, 1/s."""
MEAN = (BEGIN * ON + END * OFF) / (BEGIN + END)
"""Of a flow, packets/s."""


def brownian(flows: int, drain: float) -> float:
    """Packets over which the tail falls by e if p = 1 is a Brownian motion (heavy traffic).

    The variance of the count over a long time is that of the chain and of its Poisson arrivals.
    """
    share = BEGIN / (BEGIN + END)
    swing = 2 * share * (1 - share) * (ON - OFF) ** 2 / (BEGIN + END)
    return (swing + MEAN) / (2 * (drain / flows - MEAN))


def fluid(flows: int, drain: float) -> float:
    """Packets over which the tail falls by e if each state is a fluid of its rate.

    Anick, Mitra and Sondhi (1982): the slowest of the modes that decay.
    """
    rates = np.array([n * ON + (flows - n) * OFF - drain for n in range(flows + 1)])
    moves = np.zeros((flows + 1, flows + 1))
    for n in range(flows + 1):
        if n < flows:
            moves[n, n + 1] = (flows - n) * BEGIN
        if n > 0:
            moves[n, n - 1] = n * END
        moves[n, n] = -moves[n].sum()
    modes = np.linalg.eigvals(moves.T @ np.diag(1 / rates)).real
    return float(-1 / max(mode for mode in modes if mode < -1e-9))


def reserve(scale: float, share: float, target: float) -> float:
    """Room above T_local at which `target` of p = 1 is lost, if `share` of it finds T_local."""
    return scale * math.log(share / target)
