"""The AQM that aqm.ipynb has learnt, as a discipline. Its network is in learnt.json."""

import json
import math
from pathlib import Path

import forebay

STEP = 20_000_000
"""Time from one decision to the next, in ns."""


class Learnt(forebay.Discipline):
    """Drops arrivals with a probability that a network chooses every 20 ms."""

    limit: forebay.Packets = "1000p"
    """Packets that may wait."""

    def setup(self):
        self.queue = forebay.Queue()
        network = json.loads(Path(__file__).with_name("learnt.json").read_text())
        self.layers, self.scale = network["layers"], network["scale"]
        self.low, self.high = network["range"]
        self.probability, self.sojourn = self.low, 0.0
        self.begun = None
        self.forget()

    def forget(self):
        self.waited = self.left = self.bits = self.came = self.lost = 0

    def catch_up(self, now):
        """Decide, if it is time. There are no timers, so this may be late."""
        if self.begun is None:
            self.begun = now
        span = now - self.begun
        if span < STEP:
            return
        if self.left:
            self.sojourn = self.waited / self.left * 1e-6
        seen = [
            self.sojourn,
            self.queue.bytes * 8e3 / self.rate,
            self.bits / (span * 1e-9) / self.rate,
            self.lost / self.came if self.came else 0.0,
        ]
        self.probability = self.decide(seen)
        self.begun = now
        self.forget()

    def decide(self, seen):
        values = [
            max(-5.0, min(5.0, (value - mean) / deviation))
            for value, (mean, deviation) in zip(seen, self.scale, strict=True)
        ]
        for number, (weights, bias) in enumerate(self.layers):
            sums = [
                sum(value * row[place] for value, row in zip(values, weights, strict=True)) + offset
                for place, offset in enumerate(bias)
            ]
            last = number == len(self.layers) - 1
            values = sums if last else [math.tanh(each) for each in sums]
        share = (max(-1.0, min(1.0, values[0])) + 1) / 2
        return self.low * (self.high / self.low) ** share

    def enqueue(self, packet, now):
        self.catch_up(now)
        self.came += 1
        if len(self.queue) >= self.limit:
            self.lost += 1
            self.drop(packet, "overflow")
        elif self.random() < self.probability:
            self.lost += 1
            self.drop(packet)
        else:
            self.queue.append(packet)

    def dequeue(self, now):
        self.catch_up(now)
        if not self.queue:
            return None
        packet = self.queue.popleft()
        self.waited += now - packet.queued
        self.left += 1
        self.bits += packet.len * 8
        return packet
