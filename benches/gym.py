"""Steps a second of the environments, on a link of 10 Mbit/s with steps of 10 ms.

`python benches/gym.py [TURNS]` measures processor time in TURNS turns, 5 unless given, and prints
medians: vector environments of 64 and 8 episodes in one thread, with actions that change or stay,
and the environment for one agent.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import forebay
import forebay.gym

STEPS = 500


def scenario(flows: int) -> forebay.Scenario:
    """Downloads over a link of 10 Mbit/s, at most 40 s."""
    return forebay.Scenario.of(
        {
            "duration": "40s",
            "dumbbell": {"rate": "10Mbit", "delay": "20ms", "queue": {"kind": "codel"}},
            "tcp": {"congestion": "cubic"},
            "traffic": [
                {"name": "downloads", "kind": "bulk", "flows": flows, "start": ["0s", "1s"]}
            ],
            "agent": {"step": "10ms"},
        }
    )


def vector(flows: int, count: int, *, still: bool = False, **agent: Any) -> float:
    """Steps of a vector environment a second of processor time."""
    envs = forebay.gym.VectorEnv(scenario(flows), count, copy=False, **agent)
    envs.reset(seed=1)
    random = np.random.default_rng(1)
    actions = random.uniform(-0.5, 0.1, (16, count, 1)).astype(np.float32)
    begun = time.process_time()
    for step in range(STEPS):
        envs.step(actions[0 if still else step % 16])
    return STEPS * count / (time.process_time() - begun)


def single(flows: int) -> float:
    """The same of the environment for one agent."""
    env = forebay.gym.Env(scenario(flows))
    env.reset(seed=1)
    action = np.full(1, -0.2, np.float32)
    begun = time.process_time()
    for _ in range(STEPS):
        env.step(action)
    return STEPS / (time.process_time() - begun)


def main() -> None:
    """Measure in turns, so that what else runs meets all alike."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    cases: dict[str, Callable[[], float]] = {
        "64 episodes, 1 flow, a probability": lambda: vector(1, 64),
        "64 episodes, 4 flows, a probability": lambda: vector(4, 64),
        "64 episodes, 4 flows, actions that stay": lambda: vector(4, 64, still=True),
        "64 episodes, 4 flows, CoDel's target": lambda: vector(
            4, 64, actions={"target": "1ms..50ms"}
        ),
        "8 episodes, 4 flows, a probability": lambda: vector(4, 8),
        "1 episode, 4 flows, forebay.gym.Env": lambda: single(4),
    }
    found: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(turns):
        for name, case in cases.items():
            found[name].append(case())
    load = os.getloadavg()[0]
    print(f"{turns} turns; load {load:.1f}")
    for name, rates in found.items():
        middle = statistics.median(rates)
        print(f"{name}: {middle:,.0f} steps/s ({min(rates):,.0f} to {max(rates):,.0f})")


if __name__ == "__main__":
    main()
