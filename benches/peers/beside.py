"""Scenarios that were run in forebay and in a referee, read from `docs/validation/*.json`.

Each comparison writes what it measured in a form of its own; here all become rows of one form, and
are held to one goal.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reasons import BETWEEN

from forebay import stats
from forebay._judge import Bounds, Judgement, Standing, exactly
from forebay.stats import Interval

QUANTITIES = {"queue": "mean queue", "utilization": "utilization", "loss": "loss"}
"""What every referee gives; some give marks, too."""
NAMES = QUANTITIES | {"marks": "marks"}
BOUNDS = {"queue": 0.03, "utilization": 0.005, "loss": 0.05, "marks": 0.05}
"""How far apart the two may be: of the referee's queue, loss and marks, and as a share of the
link."""
WIDE, WIDE_WINDOW = 0.02, 10.0
"""The same of queue, loss and marks where windows have more segments."""
LIVE = 0.05
"""The same of everything that was measured on a machine's own clock."""
SEEN = {"queue": 0.05, "utilization": 0.0, "loss": 1e-5, "marks": 1e-5}
"""What counts as no difference, whatever its share: a twentieth of a packet, a handful of drops."""
SEGMENT = 1500
"""Bytes of a packet in all of them."""
NOT_EXPLAINED = "not yet explained"

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Pair:
    """One quantity in both: packets, or shares."""

    ours: float
    theirs: float
    noise: float = 0.0
    """Both 95 % intervals' half-widths together; 0 if they are not known."""

    @property
    def gap(self) -> float:
        """How far apart the two are."""
        return abs(self.ours - self.theirs)

    @property
    def relative(self) -> float:
        """The difference as a share of the referee's; infinite if that has none and we do."""
        if self.theirs == 0:
            return 0.0 if self.ours == 0 else float("inf")
        return self.ours / self.theirs - 1


@dataclass(frozen=True)
class Row:
    """One scenario in forebay and in a referee."""

    referee: str
    scenario: str
    pairs: Mapping[str, Pair]
    """By the names of `QUANTITIES`, and perhaps `marks`."""
    window: float | None
    """Mean window of a flow in segments, with the referee's queue; none if nothing follows."""
    difference: str
    """The first decision that differs, or why; empty if it is not known."""
    live: bool = False
    is_preset: bool = True
    """Whether forebay claims to have the referee's rules."""

    def allowed(self, quantity: str) -> float:
        """By how much the means may differ."""
        bound = LIVE if self.live and quantity != "utilization" else BOUNDS[quantity]
        if quantity == "utilization":
            return LIVE if self.live else bound
        if not self.live and self.window is not None and self.window > WIDE_WINDOW:
            bound = WIDE
        return max(bound * self.pairs[quantity].theirs, SEEN[quantity])

    def judged(self, quantity: str) -> Judgement:
        """The mean beside the goal."""
        pair = self.pairs[quantity]
        return Judgement(exactly(pair.ours), Bounds.within(pair.theirs, self.allowed(quantity)))

    @property
    def missed(self) -> list[str]:
        """The quantities that are further apart than they may be."""
        return [name for name in self.pairs if self.judged(name).standing is Standing.OUTSIDE]

    @property
    def excess(self) -> float:
        """The largest difference as a multiple of what is allowed: above 1, the goal is missed."""
        return max(pair.gap / self.allowed(name) for name, pair in self.pairs.items())

    @property
    def worst(self) -> str:
        """The quantity of `excess`."""
        return max(self.pairs, key=lambda name: self.pairs[name].gap / self.allowed(name))

    @property
    def is_noise(self) -> bool:
        """Whether the intervals of all that is missed overlap, so that more seeds are needed."""
        return bool(self.missed) and all(
            Judgement(Interval(pair.ours, pair.noise, 0), Bounds(pair.theirs, pair.theirs)).standing
            is Standing.OPEN
            for pair in map(self.pairs.__getitem__, self.missed)
        )

    @property
    def why(self) -> str:
        """Why the goal is missed, as far as that is known."""
        if self.difference:
            return self.difference
        return "intervals overlap: more seeds are needed" if self.is_noise else NOT_EXPLAINED


def rows_of(documents: Mapping[str, Document]) -> list[Row]:
    """All rows; `documents` by the names of their files without `.json`."""
    return [row for name, read in READERS.items() if name in documents for row in read(documents)]


def told(difference: Any) -> str:
    """The field `difference` of a row in words: text, or a table that has a `decision`.

    Distances by quantity may stand in the same table, as in `linux-2.6.json`.
    """
    if isinstance(difference, str):
        return difference
    if not isinstance(difference, Mapping) or "decision" not in difference:
        return ""
    rest = "; ".join(
        f"{key.removesuffix('_s')} {value} s" if key.endswith("_s") else f"{key}: {value}"
        for key, value in difference.items()
        if key != "decision" and key not in QUANTITIES
    )
    return f"{difference['decision']} ({rest})" if rest else str(difference["decision"])


def _window(
    rate: float, round_trip_s: float, queue: float, flows: int, segment: int = SEGMENT
) -> float:
    return (rate * round_trip_s / 8 / segment + queue) / flows


def _samples(ours: Sequence[float], theirs: Sequence[float]) -> Pair:
    """From a value a seed."""
    a, b = stats.interval(list(ours)), stats.interval(list(theirs))
    assert a is not None and b is not None, "each side has at least one run"
    return Pair(a.mean, b.mean, (a.half_width or 0.0) + (b.half_width or 0.0))


def _summaries(ours: Mapping[str, Any], theirs: Mapping[str, Any], name: str) -> Pair:
    """From means and half-widths."""
    a, b = ours[name], theirs[name]
    return Pair(a["mean"], b["mean"], (a["half_width"] or 0.0) + (b["half_width"] or 0.0))


RATE = 10e6
"""Of the congested link in all of them, bit/s."""


def linux_row(row: Mapping[str, Any], version: str) -> Row:
    """A row of `linux.json` or `linux-6.12.json`."""
    case = row["case"]
    pairs = {name: _samples(row["forebay"][name], row["linux"][name]) for name in row["linux"]}
    flows, round_trip, mtu = case["flows"], case["round_trip"], case.get("mtu", SEGMENT)
    short = "short beside bulk" if case.get("short") else ""
    packets = f"packets of {mtu} bytes" if "mtu" in case else ""
    host = "offload" if case["offload"] else ""
    words = (case["queue"], case.get("link"), short, packets, case["control"], _flows(flows))
    return Row(
        f"Linux {version} in virtual time",
        ", ".join(filter(None, (*words, f"{round_trip} ms", host))),
        pairs,
        _window(
            _rate(row["scenario"]["dumbbell"]["rate"]),
            round_trip / 1000,
            pairs["queue"].theirs,
            flows,
            mtu,
        ),
        told(row.get("difference", "")),
    )


def _rate(given: Any) -> float:
    """The mean rate of a link, bit/s; of steps, that after the first."""
    if not isinstance(given, Mapping):
        return RATE
    return 1e6 * statistics.mean(float(text.removesuffix("Mbit")) for _, text in given["steps"][1:])


def _linux(documents: Mapping[str, Document], name: str = "linux") -> Iterator[Row]:
    """`linux.json`: the preset beside Linux in virtual time."""
    results = documents[name]["results"]
    return (linux_row(row, results["linux"]) for row in results["rows"])


def _second_linux(documents: Mapping[str, Document]) -> Iterator[Row]:
    """`linux-6.12.json`: the same of another kernel."""
    return _linux(documents, "linux-6.12")


def _old_linux(documents: Mapping[str, Document]) -> Iterator[Row]:
    """`linux-2.6.json`: the presets `linux-2.6.18` and `linux-2.6.26` beside NSC."""
    for row in documents["linux-2.6"]["cases"]:
        pairs = {name: Pair(row["forebay"][name], row["kernel"][name]) for name in QUANTITIES}
        flows, round_trip = row["flows"], row["round_trip_ms"]
        yield Row(
            f"Linux {row['version']} in NSC",
            f"tail drop, {row['congestion']}, {_flows(flows)}, {round_trip} ms",
            pairs,
            _window(RATE, round_trip / 1000, pairs["queue"].theirs, flows),
            told(row.get("difference", "")),
        )


def _stacks(documents: Mapping[str, Document]) -> Iterator[Row]:
    """`stacks.json`: presets of ns-2's, ns-3.18's and ns-3.37's senders beside them."""
    results = documents["stacks"]["results"]
    for row in results["rows"]:
        [referee] = set(row["found"]) - {"forebay"}
        ours, theirs = row["found"]["forebay"], row["found"][referee]
        pairs = {name: _summaries(ours, theirs, name) for name in QUANTITIES}
        queue = "tail drop" if row["queue"] == "fifo" else str(row["queue"]).upper()
        stack = str(row["stack"]).removeprefix(referee).strip()
        # The delay is one way; the access links have 0.2 ms more.
        yield Row(
            _versioned(referee, results["versions"]),
            f"{stack}, {queue}, {_flows(row['flows'])}, {1000 * row['delay']:g} ms one way",
            pairs,
            _window(RATE, 2 * (row["delay"] + 2e-4), pairs["queue"].theirs, row["flows"]),
            told(row.get("difference", "")),
        )


def _peers(documents: Mapping[str, Document]) -> Iterator[Row]:
    """`peers.json`: ns-2 and ns-3.37 with forebay's conventions and rules of their own."""
    for name, group in documents["peers"]["results"].items():
        for row in group["rows"]:
            options, found = row["options"], row["found"]
            if "change" in row or "forebay" not in found:
                continue
            difference = told(row.get("difference", ""))
            flows, delay = options.get("flows", 16), options.get("delay", 0.02)
            what = options.get("queue") or f"tail drop, {options.get('tcp', 'sack')}"
            late = ", delayed acknowledgments" if name == "delayed-ack" else ""
            for referee in sorted(set(found) - {"forebay"}):
                pairs = {
                    each: _summaries(found["forebay"], found[referee], each) for each in QUANTITIES
                }
                yield Row(
                    f"{_versioned(referee, group['versions'])}, own rules",
                    f"{what}{late}, {_flows(flows)}, {1000 * delay:g} ms one way",
                    pairs,
                    _window(RATE, 2 * (delay + 2e-4), pairs["queue"].theirs, flows),
                    # Between the peers, nobody has looked for a reason.
                    "" if difference == BETWEEN else difference,
                    is_preset=False,
                )


def _lab(documents: Mapping[str, Document]) -> Iterator[Row]:
    """`lab.json`: `preset = "linux"` beside live Linux.

    Its cells are `mean ± half-width`, the last one a reason or nothing.
    """
    document = documents["lab"]
    kernel = re.search(r"kernel ([\d.]+)", " ".join(document["text"]))
    for table in document["tables"]:
        for line in table["rows"]:
            control, flows, delay, *cells, nearby = line
            values = [_cell(each) for each in cells]
            scales = {"queue": 1.0, "utilization": 0.01, "loss": 0.01}
            pairs = {
                name: Pair(*(at * scale for at in (ours[0], live[0], ours[1] + live[1])))
                for (name, scale), live, ours in zip(
                    scales.items(), values[::2], values[1::2], strict=True
                )
            }
            yield Row(
                f"Linux {kernel[1] if kernel else ''} live, over the gate",
                f"CP-AQM, {control}, {_flows(flows)}, {delay} one way",
                pairs,
                None,
                nearby,
                live=True,
            )


def _cell(text: str) -> tuple[float, float]:
    mean, _, half = str(text).partition("±")
    return float(mean), float(half or 0)


def _flows(count: int) -> str:
    return "1 flow" if count == 1 else f"{count} flows"


def _versioned(referee: str, versions: Mapping[str, str]) -> str:
    """`ns-2 2.35+dfsg-5`, but `ns-3.18` and `ns-3.37-2`, whose names have it."""
    version = versions[referee]
    if referee.endswith(version):
        return referee
    return (
        referee[:-1] + version if version.startswith(referee[-1] + ".") else f"{referee} {version}"
    )


READERS: Mapping[str, Callable[[Mapping[str, Document]], Iterator[Row]]] = {
    "linux": _linux,
    "linux-6.12": _second_linux,
    "linux-2.6": _old_linux,
    "stacks": _stacks,
    "lab": _lab,
    "peers": _peers,
}
"""By file; in the order of the page."""


def by_referee(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each referee, in the order in which they first appear."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.referee, []).append(row)
    return found


def spread(rows: Sequence[Row], quantity: str) -> tuple[float, float]:
    """Median and largest distance: shares of the referee's, of utilization in points.

    Where the referee has none of it, there is no share, and the row is left out.
    """
    pairs = [row.pairs[quantity] for row in rows]
    apart = [
        100 * (pair.gap if quantity == "utilization" else abs(pair.relative))
        for pair in pairs
        if pair.theirs > 0
    ] or [0.0]
    return statistics.median(apart), max(apart)
