"""The simplest discipline: like `fifo`, it drops packets that find a full queue."""

import forebay


class Short(forebay.Discipline):
    """Drops packets that find a full queue."""

    limit: forebay.Packets = "20p"
    """Packets that may wait."""

    def setup(self) -> None:
        self.queue = forebay.Queue()

    def enqueue(self, packet: forebay.Packet, now: int) -> None:
        if len(self.queue) < self.limit:
            self.queue.append(packet)
        else:
            self.drop(packet, "overflow")

    def dequeue(self, now: int) -> forebay.Packet | None:
        return self.queue.popleft() if self.queue else None
