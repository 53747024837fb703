"""Reno as a class. A test checks that it sets every window like the built-in one."""

import forebay


class Reno(forebay.CongestionControl):
    """One segment more per round trip, half the window at a loss."""

    name = "reno-in-python"
    source = "RFC 5681, section 3; RFC 3465"

    share: float = 0.5
    """Share of the outstanding data that is allowed after congestion."""

    def setup(self) -> None:
        self.acked = 0

    def on_ack(self, window: forebay.Window, ack: forebay.Ack) -> None:
        if not ack.limited:
            return
        if window.in_slow_start:
            segments = 1 if ack.after_timeout else 2
            window.cwnd += min(ack.acked, segments * window.mss)
            return
        self.acked += ack.acked
        if self.acked >= window.cwnd:
            self.acked -= window.cwnd
            window.cwnd += window.mss

    def on_congestion(self, window: forebay.Window, event: forebay.Congestion) -> None:
        window.ssthresh = max(int(event.flight * self.share), 2 * window.mss)
        self.acked = 0
