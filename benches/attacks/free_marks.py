"""CP-AQM as it was in forebay until marks were owed: a mark costs no tokens.

What the policer would drop is marked instead, if its transport understands that, as often as it
likes. So traffic that says that it understands marks, and ignores them, is never held back.
`benches/attack.py` looks whether a search finds that out.
"""

import forebay


class FreeMarks(forebay.Discipline):
    """A token bucket that polices congestion, whose marks are free."""

    limit: forebay.Size = "45KB"
    """Room for packets."""

    def setup(self):
        """Empty, with a full bucket."""
        self.queue = forebay.Queue()
        self.full = self.tokens = 1.5 * self.limit
        self.last = 0

    def enqueue(self, packet, now):
        """Admit, mark for free, or drop."""
        gained = (now - self.last) * self.rate / 8e9
        self.tokens, self.last = min(self.full, self.tokens + gained), now
        held = self.queue.bytes
        if held + packet.len > self.limit:
            self.drop(packet, "overflow")
            return
        threshold = 7_500
        cost = 0.0
        if held >= threshold:
            cost = packet.len * (1 + 0.2 * (held - threshold) / (self.limit - threshold))
        if cost > self.tokens:
            if packet.is_ect:
                self.mark(packet)
                self.queue.append(packet)
            else:
                self.drop(packet)
            return
        self.tokens -= cost
        self.queue.append(packet)

    def dequeue(self, now):  # noqa: ARG002 - of use to others
        """The packet that has waited longest."""
        return self.queue.popleft() if self.queue else None
