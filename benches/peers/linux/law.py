"""CoDel and FQ-CoDel once more, in plain Python, with the arithmetic of the RFCs or of Linux.

It stands between forebay's disciplines and the kernel's: if both agree with it packet by packet,
each with its own arithmetic, what they differ in is that arithmetic and nothing else.

Linux (net/codel_impl.h, sch_fq_codel.c of 6.1) differs from RFC 8289 and RFC 8290 so:
- its clock counts 1024 ns;
- 1/sqrt(count) has 16 bits, and one step of Newton's iteration is made at every change of count,
  so that the third drop comes interval / 2 after the second, not interval / sqrt(2);
- dropping may begin after, not at, the end of the interval;
- FQ-CoDel compares the backlog of all queues, not the queue's own, with the largest packet, as
  `backlog = "all"` does;
- its new queue that has run empty is forgotten at once if there is no old one;
- a packet that finds nothing waiting goes to the device past the discipline, and is not counted
  against its queue; if the device is busy it waits there.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any

import qdisc

NONE = -1


class Arithmetic:
    """How the RFCs count: ns and exact roots."""

    tick = 1
    strict = False
    shares_backlog = False
    forgets_new = False
    bypasses = False
    asks_idle = True

    def instant(self, ns: int) -> int:
        """A time by the law's clock."""
        return ns // self.tick

    def gap(self, interval: int, state: State) -> int:
        """Time to the next drop: interval / sqrt(count)."""
        return int(interval / math.sqrt(state.count))

    def counted(self, state: State, anew: bool) -> None:
        """`count` has changed; `anew` if it begins again with 1."""


class Linux(Arithmetic):
    """How Linux counts."""

    tick = 1024
    strict = True
    shares_backlog = True
    forgets_new = True
    bypasses = True

    def __init__(self, epoch: int) -> None:
        """`epoch` is time 0 by the kernel's clock, ns, whose ticks do not begin with it."""
        self.epoch = epoch

    def instant(self, ns: int) -> int:
        """A time by the law's clock."""
        return (self.epoch + ns) // self.tick

    def gap(self, interval: int, state: State) -> int:
        """The same, by the root's 16 bits."""
        return interval * (state.root << 16) >> 32

    def counted(self, state: State, anew: bool) -> None:
        """One step of x (3 - count x^2) / 2, in fixed point."""
        if anew:
            state.root = 0xFFFF
            return
        x = state.root << 16
        rest = (3 << 32) - state.count * (x * x >> 32)
        state.root = ((rest >> 2) * x >> 31) >> 16 & 0xFFFF


class Forebay(Arithmetic):
    """How forebay counts: as the RFCs, but an idle link does not ask the empty queues.

    So a flow queue that has run empty stays on its list until the next packet of any flow.
    """

    asks_idle = False


class State:
    """A queue under CoDel."""

    def __init__(self) -> None:
        """An empty one."""
        self.packets: deque[int] = deque()
        self.bytes = 0
        self.first_above: int | None = None
        self.drop_next = 0
        self.count = 0
        self.last_count = 0
        self.root = 0
        self.dropping = False
        self.deficit = 0
        self.listed = False


class Law:
    """A link behind CoDel, or behind FQ-CoDel with a queue for every flow."""

    def __init__(
        self, arrivals: Any, queue: Mapping[str, Any], rate: int, mtu: int, how: Arithmetic
    ) -> None:
        """`queue` has all its fields; nothing may reach its limit."""
        self.times, self.sizes = arrivals["time"].tolist(), arrivals["size"].tolist()
        self.flows, self.tos = arrivals["flow"].tolist(), arrivals["tos"].tolist()
        self.target = int(qdisc.seconds(queue["target"]) * 1e9 + 0.5) // how.tick
        self.interval = int(qdisc.seconds(queue["interval"]) * 1e9 + 0.5) // how.tick
        self.ecn = queue["ecn"]
        self.fair = queue["kind"] == "fq-codel"
        self.quantum = qdisc.size(queue["quantum"]) if self.fair else 0
        self.rate, self.mtu, self.how = rate, mtu, how
        self.shares_backlog = how.shares_backlog or queue["backlog"] == "all"
        self.states: dict[int, State] = {}
        self.new: deque[State] = deque()
        self.old: deque[State] = deque()
        self.backlog = 0
        self.waiting = 0
        self.ahead: int | None = None
        self.busy_until = self.rest = 0
        self.left = [NONE] * len(self.times)
        self.marked = [False] * len(self.times)

    def run(self) -> tuple[list[int], list[bool]]:
        """When each packet's transmission began, and whether it was marked."""
        free: int | None = None
        for packet, time in enumerate(self.times):
            while free is not None and free <= time:
                free = self.serve(free)
            if self.how.bypasses and self.waiting == 0 and self.ahead is None:
                self.ahead = packet
            else:
                self.join(packet)
            if free is None:
                free = self.serve(time)
        while free is not None:
            free = self.serve(free)
        return self.left, self.marked

    def join(self, packet: int) -> None:
        """A packet joins its queue."""
        state = self.states.setdefault(self.flows[packet] if self.fair else 0, State())
        state.packets.append(packet)
        self.waiting += 1
        state.bytes += self.sizes[packet]
        self.backlog += self.sizes[packet]
        if not state.listed:
            state.listed, state.deficit = True, self.quantum
            self.new.append(state)

    def serve(self, now: int) -> int | None:
        """Begins the next transmission; when it ends."""
        packet: int | None
        if self.ahead is not None:
            packet, self.ahead = self.ahead, None
        elif self.waiting == 0 and not self.how.asks_idle:
            return None
        elif self.fair:
            packet = self.next_fair(now)
        else:
            packet = self.dequeue(self.states.setdefault(0, State()), now)
        if packet is None:
            return None
        self.left[packet] = now
        # Below a ns, what is left over is carried on while the link is busy.
        carried = self.rest if now == self.busy_until else 0
        span, self.rest = divmod(self.sizes[packet] * 8 * 1_000_000_000 + carried, self.rate)
        self.busy_until = now + span
        return self.busy_until

    def next_fair(self, now: int) -> int | None:
        """DRR++ (RFC 8290, section 4.2)."""
        while True:
            which = self.new or self.old
            if not which:
                return None
            state = which[0]
            if state.deficit <= 0:
                state.deficit += self.quantum
                self.old.append(which.popleft())
                continue
            packet = self.dequeue(state, now)
            if packet is not None:
                state.deficit -= self.sizes[packet]
                return packet
            which.popleft()
            if which is self.new and (self.old or not self.how.forgets_new):
                self.old.append(state)
            else:
                state.listed = False

    def pop(self, state: State) -> int | None:
        """The next packet, without a question."""
        if not state.packets:
            return None
        packet = state.packets.popleft()
        self.waiting -= 1
        state.bytes -= self.sizes[packet]
        self.backlog -= self.sizes[packet]
        return packet

    def may_drop(self, state: State, packet: int | None, now: int) -> bool:
        """Whether the delay has been above the target for an interval (RFC 8289, section 5.5)."""
        waiting = self.backlog if self.shares_backlog else state.bytes
        if (
            packet is None
            or now - self.how.instant(self.times[packet]) < self.target
            or waiting <= self.mtu
        ):
            state.first_above = None
            return False
        if state.first_above is None:
            state.first_above = now + self.interval
            return False
        return now > state.first_above if self.how.strict else now >= state.first_above

    def mark(self, packet: int) -> bool:
        """Marks a packet in place of a drop, if that can be."""
        if not self.ecn or self.tos[packet] & 3 == 0:
            return False
        self.marked[packet] = True
        return True

    def schedule(self, state: State, since: int) -> None:
        """When the next drop is due."""
        state.drop_next = since + self.how.gap(self.interval, state)

    def dequeue(self, state: State, time: int) -> int | None:
        """RFC 8289, section 5.6."""
        now = self.how.instant(time)
        packet = self.pop(state)
        above = self.may_drop(state, packet, now)
        if packet is None:
            state.dropping = state.dropping and not self.how.strict
            return None
        if state.dropping:
            state.dropping = above
            while state.dropping and packet is not None and now >= state.drop_next:
                state.count += 1
                self.how.counted(state, anew=False)
                if self.mark(packet):
                    self.schedule(state, state.drop_next)
                    return packet
                packet = self.pop(state)
                state.dropping = self.may_drop(state, packet, now)
                if state.dropping:
                    self.schedule(state, state.drop_next)
        elif above:
            if not self.mark(packet):
                packet = self.pop(state)
                self.may_drop(state, packet, now)
            state.dropping = True
            since = state.count - state.last_count
            anew = not (since > 1 and now - state.drop_next < 16 * self.interval)
            state.count = 1 if anew else since
            self.how.counted(state, anew)
            state.last_count = state.count
            self.schedule(state, now)
        return packet
