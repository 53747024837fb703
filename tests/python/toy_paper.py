"""A paper whose studies take milliseconds, written to a folder as papers are."""

from __future__ import annotations

from pathlib import Path

from small_study import BASE

STUDY = """\
title = "Two rates"
scenario = "base.toml"
disciplines = ["fifo", "codel"]
until = { key = "queues.up.mean_packets", half_width = "5%", at_least = 3, at_most = 6 }

[[axis]]
name = "rate"
path = "link.up.rate"
values = ["2Mbit", "5Mbit"]
"""
SERIES = """\
title = "Over time"
scenario = "base.toml"
disciplines = ["fifo"]
replications = 2

[[axis]]
name = "mean_packets" # as a column of the table
path = "traffic.bulk.flows"
values = [1]
"""
WORDS = """\
# citation

Nobody, *Nothing*.

# found

Codel's queue is {codel:.1f} packets.

# setup

Two flows.

# statistics

As many as it takes.

# More

Words.
"""
PAPER = """\
title = "A toy"

[[study]]
name = "rates"
quick = { replications = 3 }

[[study]]
name = "time"
quick = { replications = 1 }
tables = ["queue", "flows"]

[measure]
queue = "queues.up.mean_packets"

[said]
codel = { study = "rates", of = "queue", at = { rate = "5Mbit", discipline = "codel" } }

[[figure]]
number = "1"
caption = "Over rates"
study = "rates"

[[figure.panel]]
title = "Queue"
x = "rate, Mbit/s"
along = "rate"
y = "packets"
curve = [
    { label = "codel", of = "queue", at = { discipline = "codel" }, x_scale = 1e-6 },
    { label = "stated", x = [2], y = [3], stated = true },
]

[[figure.panel]]
call = "trade_off"

[[figure]]
number = "2"
caption = "Over time"
note = "A note."
studies = ["time"]
panel = [{ call = "over_time" }]

[[figure]]
number = "3"
caption = "Calculated"

[[figure.panel]]
x = "x"
y = "y"
curve = [
    { label = "line", x = [1, 2, 3], y = [1, 4, 9] },
    { label = "bars", x = ["a"], y = [2], style = "bars" },
]

[[section]]
heading = "More"

[[section.table]]
study = "rates"
rows = [{ a = "1" }]
head = { a = "{a}" }
column = [{ head = "b", of = "queue", at = { rate = "5Mbit", discipline = "fifo" } }]

[[section.statement]]
words = "Codel's queue is shorter."
claims = { T-1 = [] }

[[section.statement]]
words = "Two and two are {four:.0f}."
said = { four = { value = "2 + 2" } }
number = [{ what = "2 + 2", value = SUM, exactly = 4 }]
"""
CLAIMS = """\
[[claim]]
id = "T-1"
words = "shorter"
study = "rates"

[[claim.number]]
what = "codel - fifo"
paper = "shorter"
of = "queue"
at = { rate = "5Mbit", discipline = "codel" }
less = { discipline = "fifo" }
at_most = 0
unit = "packets"

[[claim]]
id = "T-2"
words = "longer"
study = "rates"
reason = "REASON"

[[claim.number]]
what = "codel - fifo"
paper = "longer"
of = "queue"
at = { rate = "5Mbit", discipline = "codel" }
less = { discipline = "fifo" }
at_least = 0

[[claim]]
id = "T-3"
words = "a sum"
number = [
    { what = "2 + 2", paper = "4", value = 4, within = [3, 5], stated = 5, referee = 4.5 },
    { what = "3 + 3", paper = "6", value = 6, exactly = 6 },
]

[[claim]]
id = "T-4"
words = "a kernel"
not_testable = "needs a kernel"

[[conclusion]]
words = "Codel shortens queues."
claims = { T-1 = [] }

[[conclusion]]
words = "Codel lengthens queues."
claims = { T-2 = [] }

[[hypothesis]]
id = "H-1"
words = "our own"
study = "rates"

[[hypothesis.number]]
of = "queue"
at = { rate = "5Mbit", discipline = "codel" }
less = { discipline = "fifo" }
at_most = 0
"""
MEASURES = """\
from forebay.papers import Panel, Region, Series


def trade_off(sources):
    found = sources.data.study("rates").regions("queues.up.mean_packets", "links.up.utilization")
    regions = [Region(f"{row['discipline']} {row['rate']}",
                      *(row[name] for name in ("x", "y", "xx", "xy", "yy")))
               for row in found.iter_rows(named=True)]
    return [Panel("Trade-off", "packets", "utilization", regions=regions)]


def over_time(sources):
    one = sources.data.table("time", "queue").filter(replication=1)
    return [Panel("One run", "s", "packets", [
        Series("fifo", one["time_s"].to_list(), one["queue.mean_packets"].to_list(),
               style="steps")])]
"""


def write(
    library: Path, reason: str = "as codel drops", quick: bool = False, total: int = 4
) -> Path:
    """Write the paper "toy" to a library of papers."""
    home = library / "toy"
    (home / "studies").mkdir(parents=True, exist_ok=True)
    shorter = '{ replications = 2, set = { duration = "2s" }, axes = { rate = ["5Mbit"] } }'
    paper = PAPER.replace("SUM", str(total))
    for name, text in {
        "studies/base.toml": BASE,
        "studies/rates.toml": STUDY,
        "studies/time.toml": SERIES,
        "paper.toml": paper.replace("{ replications = 3 }", shorter) if quick else paper,
        "claims.toml": CLAIMS.replace("REASON", reason),
        "measures.py": MEASURES,
        "words.md": WORDS,
    }.items():
        (home / name).write_text(text)
    return home
