"""What the validation page says of the kernel's disciplines beside forebay's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from replay import OUTCOMES

import forebay


def section(document: Mapping[str, Any]) -> dict[str, Any]:
    """The section of the validation page."""
    lawful = [row for row in document["rows"] if "differ" in row]
    drawing = [row for row in document["rows"] if "source" in row]
    sourced = [row for row in document["rows"] if "other_times" in row]
    explained = sum(row["kernel_apart"] == row["forebay_apart"] == 0 for row in lawful)
    said = ". ".join(f"*{name}*: {about}" for name, about in document["traces"].items())
    return {
        "section": "Queue disciplines beside the kernel's own",
        "order": 3,
        "version": forebay.__version__,
        "command": "python benches/peers/linux/disciplines.py",
        "text": [
            f"forebay's disciplines and those of Linux {document['linux']} in virtual time got "
            "the same arrivals, with the same link behind them. Nothing responds to a drop. The "
            f"arrivals last {document['seconds']} s. {said}.",
        ],
        "tables": [
            {
                "heading": "Laws without random numbers",
                "text": LAW_TEXT.format(explained=explained, rows=len(lawful)),
                "columns": [
                    *("arrivals", "discipline", "packets", "dropped: forebay / Linux"),
                    *("marked: forebay / Linux", "other verdict, forebay and Linux"),
                    *("apart, law and Linux", "apart, law and forebay"),
                    *("other verdict if an idle link asked", "dropped / marked then"),
                ],
                "rows": [lawful_line(row) for row in lawful],
            },
            {
                "heading": "Verdict by verdict",
                "text": VERDICTS_TEXT,
                "columns": ["arrivals", "discipline", *(f"{a} / {b}" for a, b in PAIRS)],
                "rows": [
                    [
                        *(row["trace"], described(row["queue"])),
                        *(row["verdicts"][a][b] for a, b in PAIRS),
                    ]
                    for row in lawful
                ],
            },
            {
                "heading": "Laws that draw",
                "text": DRAW_TEXT.format(
                    seeds=document["seeds"],
                    rows=len(drawing),
                    explained=sum(not row["open"] for row in drawing),
                    idle=most(drawing, ("red", "wred"), "source"),
                    capped=most(drawing, ("pie", "fq-pie"), "linux"),
                ),
                "columns": [
                    *("arrivals", "discipline", "dropped, %: forebay / Linux"),
                    *("marked, %: forebay / Linux", "mean wait, ms: forebay / Linux"),
                    *("the same by source / by Linux's rules", "with one rule changed"),
                    *("distance of gaps", "open"),
                ],
                "rows": [drawing_line(row) for row in drawing],
            },
            {
                "heading": "Laws whose source is Linux",
                "text": SOURCED_TEXT.format(seeds=document["seeds"]),
                "columns": [
                    *("arrivals", "discipline", "packets", "other time or verdict, first seed"),
                    *("dropped, %: forebay / Linux", "marked, %: forebay / Linux"),
                    *("mean wait, ms: forebay / Linux", "open"),
                ],
                "rows": [sourced_line(row) for row in sourced],
            },
        ],
        "results": dict(document),
    }


LAW_TEXT = (
    "Both are also compared with a third program, the same law written in plain Python "
    "(`benches/peers/linux/law.py`), once with the arithmetic of the RFCs and once with that of "
    "Linux. The columns *apart* count packets that left at another nanosecond or with another "
    "verdict than in that program. In {explained} of {rows} rows there are none. So the "
    "difference between forebay and Linux is that arithmetic, and nothing else:\n\n"
    "- Linux's clock has steps of 1024 ns.\n"
    "- Linux's square root has 16 bits, and makes one step of Newton's iteration at a time. So "
    "the third drop comes half an interval after the second, where RFC 8289 has interval / "
    "sqrt(2).\n"
    "- In FQ-CoDel, Linux uses the backlog of all queues where RFC 8289 uses that of the queue, "
    "and forgets an emptied new queue at once if there is no old one. The rows *all queues* have "
    'the first of these two rules also in forebay (`backlog = "all"`).\n'
    "- In Linux, a packet that finds nothing waiting skips the discipline.\n\n"
    "forebay differs from the RFC in one rule. An idle link does not ask the empty queues of "
    "FQ-CoDel, so a queue that became empty stays on its list until the next packet (D1 of "
    "`schedule/fair.rs`), and CoDel's state does not change until then. The reason is that a "
    "discipline has no timers, and is asked when there is something to send. The last two "
    "columns have the packets that would have another verdict if it were asked, and what would "
    "be dropped and marked then."
)


VERDICTS_TEXT = (
    "The columns count packets by forebay's verdict / Linux's verdict. If one has dropped a "
    "packet and the other has not, the delays of all later packets differ, so later drops "
    "differ, too."
)


PAIRS = [(a, b) for a in OUTCOMES for b in OUTCOMES]


DRAW_TEXT = (
    "{seeds} seeds; mean and 95 % interval. The table also has the mean wait of the same law in "
    "plain Python (`benches/peers/linux/draws.py`), by its source and by the rules of Linux. The "
    "difference of these two is what the rules explain. *Open* means that forebay and the rules "
    "of its source, or Linux and its rules, differ by more than both intervals. {explained} of "
    "{rows} rows have nothing open.\n\n"
    "RED and GRED: in Linux, gaps between drops are 1 to 1/p arrivals. In figure 2 of the paper, "
    "they are 1 to 1/p - 1. If nothing waits while the last packet is being sent, Linux counts "
    "an arrival as a queue length of zero. The paper uses the idle time of an empty queue. In "
    "forebay, this time begins when the link becomes idle, so such an arrival changes nothing "
    "(D1 of `admit/average.rs`). *With one rule changed* has the rules of the source with this "
    "one of Linux: {idle:.2f} ms more at most.\n\n"
    "PIE: Linux uses the delay of the last departure where RFC 8033 uses that of the last "
    "update, lets the probability decay by 1/64 instead of 2 %, and adds 2 % for delays above "
    "250 ms, which the queues of FQ-PIE reach. In Linux, the probability may rise above 1, "
    "because the check is for the overflow of a word in which 1 is 2^56. Then a queue drops all "
    "packets until the probability is below 1 again, and the wait is shorter. RFC 8033 limits "
    "the probability (appendix A). *With one rule changed* has the rules of Linux with a "
    "probability of at most 1: {capped:.2f} ms more at most. Linux's updates come a tick of 4 ms "
    "late, which the comparison takes into account: with RFC 8033's 15 ms, Linux updates every "
    "20 ms.\n\n"
    "FQ-PIE: Linux finds a flow's queue by a hash with a random key. With seeds 0 and 5 of "
    "*recorded* and seed 0 of *mixed*, two flows share a queue there. They get most of the drops, "
    "and all flows wait less: 38 instead of 51 ms, and 13 instead of 25 ms. This widens Linux's "
    "intervals. In forebay and in plain Python, no two flows share a queue.\n\n"
    "*Distance of gaps* is the Kolmogorov-Smirnov distance between forebay's and Linux's "
    "distributions of the gaps from one drop or mark to the next, in arrivals."
)


SOURCED_TEXT = (
    "{seeds} seeds; mean and 95 % interval. *Open* means that values differ by more than both "
    "intervals.\n\n"
    "CAKE: both versions round the bytes of a flow's round at random, so single packets leave "
    "earlier or later. If the rounding does not matter, as in the second row, no packet leaves "
    "at another nanosecond. All flows are between one pair of hosts. "
    "The ACK filter drops the same acknowledgments.\n\n"
    "HTB uses no random numbers, and only differs by the laws of its leaves. Over FIFOs, every "
    "packet leaves at the kernel's nanosecond. Most of the difference is FQ-CoDel's. Its "
    "arrivals of *mixed* were replayed alone, on a link with the leaf's 2.5 Mbit/s. They wait "
    "47.5 ms by forebay's law in plain Python and 41.0 ms by Linux's. One rule changes the "
    "former to 41.7 ms: Linux looks at the backlog of all its queues before it spares a queue "
    "that holds no more than one packet. The first packet of *recorded* with another fate is one "
    "that CoDel drops. Because of its 16-bit root, Linux drops the packet before it."
)


def most(rows: Sequence[Mapping[str, Any]], kinds: Sequence[str], rules: str) -> float:
    """By how much the one changed rule moves the mean wait, ms: the most of all rows."""
    moved = [
        row["changed"]["wait_ms"]["mean"] - row[rules]["wait_ms"]["mean"]
        for row in rows
        if row["queue"]["kind"] in kinds
    ]
    return max(moved, key=abs, default=0.0)


def described(queue: Mapping[str, Any]) -> str:
    """A discipline, as short as it can be told from the others."""
    marks = ", marks" if queue.get("ecn") else ""
    return f"{queue['kind']}{marks}" + (", all queues" if queue.get("backlog") == "all" else "")


def lawful_line(row: Mapping[str, Any]) -> list[Any]:
    """A line of the first table."""
    both = [f"{row['forebay'][name]} / {row['kernel'][name]}" for name in ("dropped", "marked")]
    head = [row["trace"], described(row["queue"]), row["packets"], *both, row["differ"]]
    asked = "{dropped} / {marked}".format(**row["idle_asks"]) if "idle_asks" in row else ""
    return [*head, row["kernel_apart"], row["forebay_apart"], row.get("idle_apart", ""), asked]


def pair(
    row: Mapping[str, Any], name: str, scale: float, whose: Sequence[str] = ("forebay", "kernel")
) -> str:
    """Means and intervals of two."""
    each = (row[who][name] for who in whose)
    return " / ".join(
        f"{one['mean'] * scale:.4g} ± {one['half_width'] * scale:.1g}" for one in each
    )


def drawing_line(row: Mapping[str, Any]) -> list[Any]:
    """A line of the second table."""
    cells = [pair(row, "dropped", 100), pair(row, "marked", 100), pair(row, "wait_ms", 1)]
    cells.append(pair(row, "wait_ms", 1, ("source", "linux")))
    cells.append(pair(row, "wait_ms", 1, ("changed",)))
    distance = f"{row['gap_distance']:.3f}"
    return [row["trace"], described(row["queue"]), *cells, distance, ", ".join(row["open"])]


def branch(table: Mapping[str, Any]) -> str:
    """A class of a tree in one line: its rates, and what is below it."""
    rates = f"{table['rate']} to {table.get('ceil', table['rate'])}"
    if "classes" in table:
        return f"{rates} over ({'; '.join(map(branch, table['classes']))})"
    more = [f"priority {table['priority']}"] if "priority" in table else []
    more += [f"{name} {table[name]}" for name in ("quantum",) if name in table]
    more += [" ".join(table["queue"].values())] if "queue" in table else []
    return ", ".join([rates, *more])


def sourced_line(row: Mapping[str, Any]) -> list[Any]:
    """A line of the third table."""
    queue = row["queue"]
    fields = [f"{name} {value}" for name, value in queue.items() if name not in ("kind", "classes")]
    fields += ["; ".join(map(branch, queue["classes"]))] if "classes" in queue else []
    head = [row["trace"], ", ".join([queue["kind"], *fields]), row["packets"]]
    cells = [pair(row, "dropped", 100), pair(row, "marked", 100), pair(row, "wait_ms", 1)]
    return [*head, row["other_times"], *cells, ", ".join(row["open"])]
