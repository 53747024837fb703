"""Points of the studies, and what a freeze changes for each traffic."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebay.papers import Data
from forebay.papers.data import Where
from forebay.papers.points import texts
from forebay.scenario import quantity
from forebay.stats import Interval

TEXT = texts(Path(__file__).parent)
TRAFFICS, OPTIONS = "traffics", "options"
SPQ, ASPQ, FREEZE, SHARE = "SPQ", "ASPQ", "ASPQ, idle timeout 100 ms", "DRR, a tenth for low"
VARIANTS = (SPQ, ASPQ, FREEZE, SHARE)
LOW, HIGH = "classes.low.goodput_bps", "classes.high.goodput_bps"
P99 = "classes.high.p99_delay_ms"
HOME = "10Mbit"
"""Rate of most links."""


def base(written: Any) -> float:
    """A quantity of a study in base units."""
    found = quantity(written)
    assert found is not None, written
    return found[0]


@dataclass(frozen=True)
class Traffic:
    """High-priority traffic, on a link, beside so many low-priority flows."""

    data: Data
    flows: int
    rate: str
    written: str

    @property
    def high(self) -> Mapping[str, Any]:
        """Its table of the scenario."""
        found: Mapping[str, Any] = json.loads(self.written)
        return found

    @property
    def words(self) -> str:
        """What it is."""
        high = self.high
        if high["kind"] == "files":
            return f"TCP, {high['size']} each, pauses of {high['interval']}"
        return f"UDP, {high['rate']}/s, {high['on']} on and off"

    @property
    def on(self) -> float:
        """Seconds that it lasts; of a transfer about as long as the pause after it."""
        return base(self.high.get("on") or self.high["interval"])

    @property
    def fills(self) -> bool:
        """Whether it fills the link while it lasts."""
        return self.high["kind"] == "files" or base(self.high["rate"]) > 0.97 * base(self.rate)

    def at(self, variant: str) -> Where:
        """A point of the study."""
        return {"traffic.low.flows": self.flows, "dumbbell.rate": self.rate,
                "traffic.high": self.written, "title": variant}  # fmt: skip

    def interval(self, key: str, variant: str, scale: float = 1.0) -> Interval:
        """A measure."""
        return self.data.interval(TRAFFICS, key, self.at(variant), scale=scale)

    def less(self, key: str, variant: str, scale: float = 1.0) -> Interval:
        """A measure less that under strict priority, paired."""
        one, other = self.at(variant), self.at(SPQ)
        return self.data.difference(TRAFFICS, key, one, other, scale=scale)

    def change(self, variant: str) -> Interval:
        """Change of the low flows' goodput against strict priority, in % of its mean there."""
        return self.less(LOW, variant, 100 / self.interval(LOW, SPQ).mean)

    @property
    def effect(self) -> str:
        """What freezing does: more than 1 %, with the whole interval."""
        found = self.change(FREEZE)
        if found.low is not None and found.low > 1:
            return "helps"
        return "hurts" if found.high is not None and found.high < -1 else "neither"


def traffics(data: Data) -> list[Traffic]:
    """All of them, in the study's order."""
    columns = ("traffic.low.flows", "dumbbell.rate", "traffic.high")
    runs = data.study(TRAFFICS).runs.select(columns).unique(maintain_order=True)
    return [Traffic(data, *row) for row in runs.iter_rows()]


def option(written: str) -> str:
    """A box of the study of options, in words."""
    block = json.loads(written)
    if block["kind"] == "none":
        return SPQ
    options = [f"{name.replace('_', ' ')} {value}" for name, value in block.items()
               if name != "kind"]  # fmt: skip
    return ", ".join(options) if options else PLAIN


PLAIN = "ASPQ, plain"
