"""RED, WRED, PIE and FQ-PIE once more, in plain Python, by their sources or as Linux has them.

They draw random numbers of their own, so that distributions can be compared and not packets. Where
forebay agrees with the sources' rules and the kernel with Linux's, they differ in nothing else.

Linux (net/red.h, sch_pie.c of 6.1) differs so:
- RED: after a drop, R is drawn from 0 to 1, and the n-th packet goes if n p >= R; in figure 2 of
  the paper it goes with probability p / (1 - n p). The first packet above min_th stays. A packet
  that finds the queue empty while the last one is being sent counts as a length of zero; by the
  paper's idle time, which is zero then, it changes nothing.
- PIE: nothing is dropped while the delay of the last departure, not that of the last update, is
  below half the target; two full packets in the queue are no longer too few; a delay above 250 ms
  adds 2 % an update; while there is no delay the probability decays by 1/64, not 2 %; and it may
  rise above 1: 1 is 2^56 in a word of 64 bits, and
  what is looked for is that word's overflow (pie_calculate_probability, MAX_PROB).
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import qdisc

NONE = -1
MTU = 1500


@dataclass(frozen=True)
class Rules:
    """Whose rules."""

    linux: bool
    counts_last: bool
    """RED: whether an arrival during the last transmission counts as a length of zero."""
    capped: bool
    """PIE: whether the probability is 1 at most."""


SOURCE = Rules(linux=False, counts_last=False, capped=True)
"""Those of paper and RFC, as forebay has them."""
LINUX = Rules(linux=True, counts_last=True, capped=False)
"""Those of Linux 6.1."""


class Link:
    """A link and a discipline in front of it; the discipline is the subclass's."""

    def __init__(self, arrivals: Any, queue: Mapping[str, Any], rate: int, seed: int) -> None:
        """`queue` has all its fields; nothing may reach its limit."""
        self.times, self.sizes = arrivals["time"].tolist(), arrivals["size"].tolist()
        self.flows, self.tos = arrivals["flow"].tolist(), arrivals["tos"].tolist()
        self.draw = random.Random(seed)
        self.ecn = bool(queue.get("ecn"))
        self.rate = rate
        self.left: list[float] = [NONE] * len(self.times)
        self.marked = [False] * len(self.times)

    def run(self) -> tuple[list[float], list[bool]]:
        """When each packet's transmission began, and whether it was marked."""
        free: float | None = None
        for packet, time in enumerate(self.times):
            while free is not None and free <= time:
                free = self.serve(free)
            if self.admits(packet, time, idle=free is None):
                self.join(packet)
                if free is None:
                    free = self.serve(time)
        while free is not None:
            free = self.serve(free)
        return self.left, self.marked

    def serve(self, now: float) -> float | None:
        """Begins the next transmission; when it ends."""
        packet = self.next(now)
        if packet is None:
            return None
        self.left[packet] = now
        return now + int(self.sizes[packet]) * 8e9 / self.rate

    def signal(self, packet: int, may_mark: bool) -> bool:
        """Marks a packet if that can be; whether it stays."""
        self.marked[packet] = self.ecn and may_mark and self.tos[packet] & 3 != 0
        return self.marked[packet]

    def admits(self, packet: int, now: float, idle: bool) -> bool:
        """Whether an arrival stays."""
        raise NotImplementedError

    def join(self, packet: int) -> None:
        """It joins its queue."""
        raise NotImplementedError

    def next(self, now: float) -> int | None:
        """The packet to send."""
        raise NotImplementedError


class Red(Link):
    """RED, or WRED with a curve for every drop precedence; all in bytes, not gentle."""

    def __init__(
        self, arrivals: Any, queue: Mapping[str, Any], rate: int, seed: int, rules: Rules
    ) -> None:
        """`rules` choose its gaps, and what an idle queue is."""
        super().__init__(arrivals, queue, rate, seed)
        levels = queue.get("levels") or [queue]
        self.curves = [
            (qdisc.size(each["min_th"]), qdisc.size(each["max_th"]), each["max_p"])
            for each in levels
        ]
        self.counts = [NONE] * len(levels)
        self.drawn = [0.0] * len(levels)
        self.weight, self.typical = queue["weight"], qdisc.size(queue["mean_packet"])
        self.rules = rules
        self.packets: deque[int] = deque()
        self.bytes = 0
        self.average = 0.0
        self.idle_since: float | None = None

    def admits(self, packet: int, now: float, idle: bool) -> bool:
        """Figure 2 of Floyd and Jacobson 1993."""
        if self.idle_since is not None:
            missed = (now - self.idle_since) / (self.typical * 8e9 / self.rate)
            self.average *= (1 - self.weight) ** missed
            self.idle_since = now if idle else None
        elif self.bytes or self.rules.counts_last:
            self.average += self.weight * (self.bytes - self.average)
        level = self.tos[packet] >> 2 if len(self.curves) > 1 else 0
        low, high, most = self.curves[level]
        if self.average < low or self.average >= high:
            above = self.average >= high
            self.counts[level] = 0 if above and not self.rules.linux else NONE
            return not above
        self.counts[level] += 1
        chance = most * (self.average - low) / (high - low)
        if not self.is_due(level, chance):
            return True
        self.counts[level] = 0
        self.drawn[level] = self.draw.random()
        return self.signal(packet, may_mark=True)

    def is_due(self, level: int, chance: float) -> bool:
        """Whether the next signal falls on this packet."""
        count = self.counts[level]
        if self.rules.linux:
            if count == 0:
                self.drawn[level] = self.draw.random()
                return False
            return count * chance >= self.drawn[level]
        return count * chance >= 1 or self.draw.random() < chance / (1 - count * chance)

    def join(self, packet: int) -> None:
        """To the end."""
        self.idle_since = None
        self.packets.append(packet)
        self.bytes += self.sizes[packet]

    def next(self, now: float) -> int | None:
        """The first."""
        if not self.packets:
            self.idle_since = now
            return None
        packet = self.packets.popleft()
        self.bytes -= self.sizes[packet]
        return packet


class Flow:
    """A queue under PIE."""

    def __init__(self, allowance: float) -> None:
        """An empty one."""
        self.packets: deque[int] = deque()
        self.bytes = 0
        self.deficit = 0
        self.listed = False
        self.chance = self.gathered = self.delay = self.old_delay = 0.0
        self.allowance = allowance


class Pie(Link):
    """PIE, or FQ-PIE with a queue for every flow (RFC 8033, appendix A)."""

    def __init__(
        self, arrivals: Any, queue: Mapping[str, Any], rate: int, seed: int, rules: Rules
    ) -> None:
        """`rules` choose what is asked at an update and at an arrival."""
        super().__init__(arrivals, queue, rate, seed)
        self.fair = queue["kind"] == "fq-pie"
        self.quantum = qdisc.size(queue["quantum"]) if self.fair else 1 << 30
        self.target = qdisc.seconds(queue["target"]) * 1e9
        self.period = qdisc.seconds(queue["t_update"]) * 1e9
        self.burst = qdisc.seconds(queue["max_burst"]) * 1e9
        self.alpha, self.beta, self.most = queue["alpha"], queue["beta"], queue["mark_ecnth"]
        self.rules = rules
        self.due = self.period
        self.all: dict[int, Flow] = {}
        self.new: deque[Flow] = deque()
        self.old: deque[Flow] = deque()

    def catch_up(self, now: float) -> None:
        """Makes the updates that are due."""
        while self.due <= now:
            for flow in self.all.values():
                self.update(flow)
            self.due += self.period

    def update(self, flow: Flow) -> None:
        """calculate_drop_prob."""
        delay, old = flow.delay, flow.old_delay
        step = (self.alpha * (delay - self.target) + self.beta * (delay - old)) / 1e9
        for below, share in (
            (1e-6, 2048),
            (1e-5, 512),
            (1e-4, 128),
            (1e-3, 32),
            (1e-2, 8),
            (0.1, 2),
        ):
            if flow.chance < below:
                step /= share
                break
        if flow.chance >= 0.1:
            step = min(step, 0.02)
        if self.rules.linux and delay > 250e6:
            step += 0.02
        flow.chance += step
        if delay == old == 0 and not (self.rules.linux and flow.bytes):
            flow.chance *= 1 - 1 / 64 if self.rules.linux else 0.98
        flow.chance = max(flow.chance, 0.0)
        if self.rules.capped:
            flow.chance = min(flow.chance, 1.0)
        flow.allowance = max(flow.allowance - self.period, 0.0)
        if flow.chance == 0 and max(delay, old) < self.target / 2:
            flow.allowance = self.burst
        flow.old_delay = delay

    def admits(self, packet: int, now: float, idle: bool) -> bool:  # noqa: ARG002
        """drop_early."""
        self.catch_up(now)
        flow = self.flow_of(packet)
        delay = flow.delay if self.rules.linux else flow.old_delay
        calm = delay < self.target / 2 and flow.chance < 0.2
        spared = 2 * MTU - 1 if self.rules.linux else 2 * MTU
        if flow.allowance > 0 or calm or flow.bytes <= spared:
            return True
        flow.gathered = flow.gathered + flow.chance if flow.chance else 0.0
        if flow.gathered < 0.85:
            return True
        if flow.gathered < 8.5 and self.draw.random() >= flow.chance:
            return True
        flow.gathered = 0.0
        within = flow.chance <= self.most if self.rules.linux else flow.chance < self.most
        return self.signal(packet, may_mark=within)

    def flow_of(self, packet: int) -> Flow:
        """The queue of a packet."""
        number = self.flows[packet] if self.fair else 0
        if number not in self.all:
            self.all[number] = Flow(self.burst)
        return self.all[number]

    def join(self, packet: int) -> None:
        """To the end of its queue."""
        flow = self.flow_of(packet)
        flow.packets.append(packet)
        flow.bytes += self.sizes[packet]
        if not flow.listed:
            flow.listed, flow.deficit = True, self.quantum
            self.new.append(flow)

    def next(self, now: float) -> int | None:
        """DRR++ (RFC 8290, section 4.2)."""
        self.catch_up(now)
        while which := self.new or self.old:
            flow = which[0]
            if flow.deficit <= 0:
                flow.deficit += self.quantum
                self.old.append(which.popleft())
            elif flow.packets:
                packet = flow.packets.popleft()
                flow.bytes -= self.sizes[packet]
                flow.deficit -= self.sizes[packet]
                flow.delay = now - self.times[packet] if flow.bytes else 0.0
                return packet
            elif which.popleft() is flow and which is self.new:
                self.old.append(flow)
            else:
                flow.listed = False
        return None


LAWS = {"red": Red, "wred": Red, "pie": Pie, "fq-pie": Pie}
ONE_CHANGED = {
    Red: replace(SOURCE, counts_last=True),
    Pie: replace(LINUX, capped=True),
}
"""The rules of one side, with one of the other's: what that one is worth."""


def run(
    arrivals: Any, queue: Mapping[str, Any], rate: int, seed: int, rules: Rules
) -> tuple[list[float], list[bool]]:
    """What a discipline with all its fields makes of arrivals, by these rules."""
    return LAWS[queue["kind"]](arrivals, queue, rate, seed, rules).run()
