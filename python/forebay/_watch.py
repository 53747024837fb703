"""A scenario in motion in the terminal: disciplines side by side, in step, on the same traffic."""

from __future__ import annotations

import os
import select
import sys
import termios
import time
import tty
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl
from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from forebay._comparison import Variant
from forebay._scenario import quantity
from forebay._session import Session

FRAME_S = 0.1
"""Real time between two pictures."""
SLOWEST, FASTEST = 1e-3, 1e3
"""Simulated seconds per real second. A higher speed means as fast as possible."""
_CHUNKS = 8
_MOST_POINTS = 400
_BLOCKS = " ▁▂▃▄▅▆▇█"
_INKS = ("default", "dodger_blue1", "dark_orange", "green3", "magenta", "gold3")
KEYS = "space play/pause   . step   + - speed   , back to the start   q quit"


@dataclass(slots=True)
class Series:
    """The last values of one measure, and how it is shown."""

    unit: str = ""
    digits: int = 1
    values: deque[float | None] = field(default_factory=lambda: deque(maxlen=_MOST_POINTS))

    @property
    def last(self) -> str:
        """The present value with its unit."""
        if not self.values or self.values[-1] is None:
            return "–"
        return f"{self.values[-1]:.{self.digits}f} {self.unit}".rstrip()


class Lane:
    """One discipline, and what was seen of it."""

    def __init__(self, label: str, session: Session, link: str, limit: int | None) -> None:
        """A lane at the beginning."""
        self.label = label
        self.session = session
        self.limit = limit
        self.series: dict[str, Series] = {}
        self.most = 1
        self._link = link
        self._before: tuple[float, int, Mapping[str, int]] | None = None
        self.look()

    def look(self) -> None:
        """Add a point to every series."""
        now = self.session.now_s
        queue = self.session.queues[self._link]
        self.packets, self.dropped, self.marked = queue.packets, queue.dropped, queue.marked
        self.most = max(self.most, queue.packets)
        traffic = self.session.flows.group_by("traffic", maintain_order=True).agg(
            pl.col("delivered_bytes", "cwnd_bytes").sum(),
            pl.col("connections").sum(),
        )
        delivered = dict(zip(traffic["traffic"], traffic["delivered_bytes"], strict=True))
        self._add("queue", queue.packets, "p", 0)
        self._add("wait", 8e3 * queue.bytes / queue.rate_bps if queue.rate_bps else None, "ms")
        then, sent, counted = self._before or (now, 0, {})
        span = now - then

        def rate(counted: int, before: int) -> float | None:
            return 8e-6 * max(0, counted - before) / span if span else None

        self._add("sent", rate(queue.sent_bytes, sent), "Mbit/s", 2)
        for name, number in delivered.items():
            self._add(f"goodput {name}", rate(number, counted.get(name, 0)), "Mbit/s", 2)
        for row in traffic.iter_rows(named=True):
            if row["connections"]:
                self._add(f"cwnd {row['traffic']}", 1e-3 * row["cwnd_bytes"], "kB")
        for name, value in queue.variables.items():
            self._add(name.replace("_", " "), value, "", 3)
        self._before = (now, queue.sent_bytes, delivered)

    def _add(self, name: str, value: float | None, unit: str, digits: int = 1) -> None:
        self.series.setdefault(name, Series(unit, digits)).values.append(value)


class Watch:
    """Lanes in step, and what keys do to them."""

    def __init__(self, variants: Sequence[Variant], link: str, seed: int | None = None) -> None:
        """Begin every variant; nothing plays yet."""
        self._variants = variants
        self._link = link
        self._seed = seed
        self.playing = True
        self.speed: float | None = 1.0
        self.ended = False
        self.lanes: list[Lane] = []
        self._restart()

    @property
    def now_s(self) -> float:
        """The instant that all lanes have reached."""
        return self.lanes[0].session.now_s

    @property
    def complete(self) -> bool:
        """Whether the scenario's end is reached."""
        return all(lane.session.complete for lane in self.lanes)

    def tick(self, real_s: float) -> None:
        """Go on for so long a real time, as far as the engine can."""
        if not self.playing or self.complete:
            return
        # An engine that cannot follow is shown as far as it has come, and keys are still heard.
        deadline = time.monotonic() + 1.5 * real_s
        span = self._duration / 100 if self.speed is None else self.speed * real_s
        for _ in range(_CHUNKS):
            self._advance(span / _CHUNKS)
            if time.monotonic() > deadline:
                break
        self._look()

    def press(self, key: str) -> None:
        """Do what a key says."""
        match key:
            case " ":
                self.playing = not self.playing
            case "+" | "=":
                self._change_speed(10**0.5)
            case "-":
                self._change_speed(10**-0.5)
            case ".":
                self.playing = False
                self._advance((self.speed or 1.0) * FRAME_S)
                self._look()
            case ",":
                self._restart()
            case "q" | "\x1b" | "\x03":
                self.ended = True

    def _restart(self) -> None:
        self.lanes = []
        for variant in self._variants:
            scenario = variant.scenario
            if self._seed is not None:
                scenario = scenario.with_("seed", self._seed)
            limit = _limit(variant.queue)
            self.lanes.append(Lane(variant.label, Session(scenario), self._link, limit))
        found = quantity(self._variants[0].scenario.document["duration"])
        self._duration = 0.0 if found is None else found.value

    def _advance(self, span_s: float) -> None:
        until = min(self.now_s + span_s, self._duration)
        for lane in self.lanes:
            lane.session.advance_to(f"{round(until * 1e9)}ns")

    def _look(self) -> None:
        for lane in self.lanes:
            lane.look()

    def _change_speed(self, by: float) -> None:
        if self.speed is None:
            self.speed = FASTEST if by < 1 else None
        else:
            faster = self.speed * by
            self.speed = None if faster > FASTEST * 1.01 else max(SLOWEST, faster)

    def draw(self, width: int, height: int) -> RenderableType:
        """The picture for a terminal of this size; series that do not fit are left out."""
        across = max(1, min(len(self.lanes), width // 38))
        down = -(-len(self.lanes) // across)
        rows = max(2, (height - 3) // down - 6)
        table = Table.grid(expand=True)
        for _ in range(across):
            table.add_column(ratio=1)
        inner = width // across - 4
        panels = [self._panel(place, inner, rows) for place in range(len(self.lanes))]
        for begin in range(0, len(panels), across):
            table.add_row(*panels[begin : begin + across])
        return Group(self._head(), table, Text(KEYS, style="dim", overflow="ellipsis"))

    def _head(self) -> Text:
        state = "end" if self.complete else "playing" if self.playing else "paused"
        title = self._variants[0].scenario.document.get("title") or "forebay watch"
        speed = "as fast as it goes" if self.speed is None else f"{self.speed:.3g} x real time"
        head = Text(no_wrap=True, overflow="ellipsis")
        head.append(title, style="bold")
        head.append(f"   {self._link}   {self.now_s:.4f} of {self._duration:g} s   ")
        head.append(f"{state}, {speed}", style="cyan")
        return head

    def _panel(self, place: int, width: int, rows: int) -> Panel:
        lane = self.lanes[place]
        ink = _INKS[place % len(_INKS)]
        # One scale for all: what has waited at most.
        full = max(each.most for each in self.lanes)
        filled = min(width, round(width * lane.packets / full))
        bar = Text("█" * filled, style=ink).append("░" * (width - filled), style="dim")
        room = f" of {lane.limit}" if lane.limit else ""
        marked = f"   marked {lane.marked}" if lane.marked else ""
        state = f"{lane.packets}{room} p wait   dropped {lane.dropped}{marked}"
        if len(state) > width:
            state = state.replace(" wait", "").replace("   ", "  ")
        lines = Table.grid(padding=(0, 1, 0, 0))
        lines.add_column(width=17, no_wrap=True, overflow="ellipsis")
        lines.add_column(no_wrap=True)
        lines.add_column(justify="right", no_wrap=True)
        for name, series in list(lane.series.items())[:rows]:
            long = max(4, width - 31)
            top = max(self._top(other, name, long) for other in self.lanes)
            spark = Text(sparks(series.values, long, top), style=ink)
            lines.add_row(name, spark, series.last)
        shown = Group(bar, Text(state, no_wrap=True), lines)
        return Panel(shown, title=lane.label, box=box.ROUNDED, border_style=ink)

    @staticmethod
    def _top(lane: Lane, name: str, last: int) -> float:
        series = lane.series.get(name)
        values = [] if series is None else list(series.values)[-last:]
        return max((value for value in values if value is not None), default=0.0)


def sparks(values: Sequence[float | None] | deque[float | None], width: int, top: float) -> str:
    """The last `width` values as a line of blocks, of which a full one is `top`."""
    last = list(values)[-width:]
    steps = len(_BLOCKS) - 1
    marks = [
        " "
        if value is None or top <= 0
        else _BLOCKS[max(0, min(steps, round(steps * value / top)))]
        for value in last
    ]
    return "".join(marks).rjust(width)


def show(watch: Watch, console: Console) -> None:
    """Draw until `q` is pressed."""
    with Keys() as keys, Live(console=console, screen=True, auto_refresh=False) as live:
        before = time.monotonic()
        while not watch.ended:
            live.update(watch.draw(console.width, console.height), refresh=True)
            for key in keys.read(FRAME_S):
                watch.press(key)
            now = time.monotonic()
            watch.tick(min(now - before, 2 * FRAME_S))
            before = now


class Keys:
    """Keys of a terminal, one by one, without Enter; the terminal is as before afterwards."""

    def __enter__(self) -> Keys:
        """Let keys come at once."""
        self._source = sys.stdin.fileno()
        self._before = termios.tcgetattr(self._source)
        tty.setcbreak(self._source)
        return self

    def __exit__(self, *_: object) -> None:
        """Set the terminal back."""
        termios.tcsetattr(self._source, termios.TCSADRAIN, self._before)

    def read(self, wait_s: float) -> str:
        """The keys pressed; waits for the first one at most so long."""
        if not select.select([self._source], [], [], wait_s)[0]:
            return ""
        return os.read(self._source, 64).decode(errors="ignore")


def _limit(queue: Mapping[str, object]) -> int | None:
    found = quantity(queue.get("limit"))
    return int(found.value) if found is not None and found.base_unit == "p" else None
