"""CoDel as a class. A test checks that it treats every packet like the built-in one."""

from __future__ import annotations

from math import sqrt

import forebay


class Codel(forebay.Discipline):
    """Controlled delay: drops while packets stay too long."""

    name = "codel-in-python"
    source = "RFC 8289, section 5"

    limit: forebay.Packets = "1000p"
    """Packets that may wait."""
    target: forebay.Time = "5ms"
    """Acceptable standing delay (TARGET)."""
    interval: forebay.Time = "100ms"
    """Time for which the delay stays above the target before the first drop (INTERVAL)."""

    def setup(self) -> None:
        self.queue = forebay.Queue()
        self.first_above: int | None = None
        self.drop_next = 0
        self.count = 0
        self.last_count = 0
        self.dropping = False

    def enqueue(self, packet: forebay.Packet, now: int) -> None:
        if len(self.queue) < self.limit:
            self.queue.append(packet)
        else:
            self.drop(packet, "overflow")

    def dequeue(self, now: int) -> forebay.Packet | None:
        packet, may_drop = self.look(now)
        if packet is None:
            self.dropping = False
        elif self.dropping:
            self.dropping = may_drop
            while self.dropping and now >= self.drop_next:
                self.drop(packet)
                self.count += 1
                packet, self.dropping = self.look(now)
                if self.dropping:
                    self.drop_next = self.next(self.drop_next)
        elif may_drop:
            self.drop(packet)
            packet, _ = self.look(now)
            self.dropping = True
            # If the last dropping state is recent, its rate is a good start.
            delta = self.count - self.last_count
            recent = now - self.drop_next < 16 * self.interval
            self.count = delta if delta > 1 and recent else 1
            self.drop_next = self.next(now)
            self.last_count = self.count
        return packet

    def look(self, now: int) -> tuple[forebay.Packet | None, bool]:
        """The next packet, and whether it may be dropped (dodequeue)."""
        if not self.queue:
            self.first_above = None
            return None, False
        packet = self.queue.popleft()
        if now - packet.queued < self.target or self.queue.bytes <= self.mtu:
            self.first_above = None
            return packet, False
        if self.first_above is None:
            self.first_above = now + self.interval
            return packet, False
        return packet, now >= self.first_above

    def next(self, time: int) -> int:
        """The drop after the `count`-th one at `time` (control_law)."""
        return time + int(self.interval / sqrt(self.count))

    def probe(self, now: int) -> dict[str, float]:
        return {"count": self.count, "dropping": self.dropping}
