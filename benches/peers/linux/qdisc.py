"""Queue tables of a scenario as qdiscs of the kernel: `tc` commands, or a refusal.

Nothing is approximated: what the kernel's discipline cannot be told, or has fixed otherwise, is
refused with the value that it could have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Table = Mapping[str, Any]
Commands = list[list[str]]

DEVICE = "egress"
FIRST_PORT = 10000
TICK = 1 / 250
"""The guest's tick, s."""
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
SIZES = {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "p": 1}


class Refused(Exception):
    """What of a scenario the kernel, or this harness, cannot do; the message names the field."""


@dataclass(frozen=True)
class Flow:
    """What a queue discipline may ask about a flow."""

    number: int
    q: int
    drop_precedence: int


@dataclass(frozen=True)
class Link:
    """What a queue discipline is told of its link."""

    rate: int
    """bit/s"""
    mtu: int
    """bytes"""
    flows: Sequence[Flow]


def commands(queue: Table, link: Link) -> Commands:
    """The `tc` commands of a queue table with all its defaults.

    Raises:
        Refused: the kernel cannot do that.
    """
    kind = queue["kind"]
    if kind not in KINDS:
        known = ", ".join(sorted(KINDS))
        raise Refused(f"dumbbell.queue.kind: the kernel has no {kind!r}; it has {known}")
    return KINDS[kind](queue, link)


def seconds(text: str) -> float:
    """A duration as the engine writes it, in s."""
    number, unit = _split(text, UNITS)
    return number * UNITS[unit]


def size(text: str) -> int:
    """A number of bytes or packets."""
    number, unit = _split(text, SIZES)
    return round(number * SIZES[unit])


def _split(text: str, units: Mapping[str, float]) -> tuple[float, str]:
    match = re.fullmatch(r"([0-9.]+)([A-Za-z]+)", text)
    if match is None or match[2] not in units:
        raise ValueError(f"not understood: {text!r}")
    return float(match[1]), match[2]


def packets(queue: Table, field: str) -> str:
    """A limit that must be one of packets."""
    text = str(queue[field])
    if not text.endswith("p"):
        raise Refused(f"queue.{field}: the kernel counts packets here, got {text!r}")
    return str(size(text))


def length(text: str, mtu: int) -> int:
    """A limit in bytes; packets count as full ones."""
    return size(text) * mtu if text.endswith("p") else size(text)


def microseconds(queue: Table, field: str) -> str:
    """A duration in whole microseconds."""
    number = seconds(queue[field]) * 1e6
    if abs(number - round(number)) > 1e-6:
        raise Refused(f"queue.{field}: the kernel counts microseconds, got {queue[field]!r}")
    return f"{round(number)}us"


def fixed(queue: Table, **values: Any) -> None:
    """Refuses fields that differ from what the kernel has fixed."""
    for field, value in values.items():
        if field in queue and queue[field] != value:
            got = queue[field]
            raise Refused(f"queue.{field}: the kernel has {value!r}, got {got!r}; give that")


def root(*words: str) -> list[str]:
    """The command that puts a discipline at the device."""
    return ["tc", "qdisc", "replace", "dev", DEVICE, "root", "handle", "1:", *words]


def fifo_words(limit: str) -> list[str]:
    """Tail drop."""
    kind = "pfifo" if limit.endswith("p") else "bfifo"
    return [kind, "limit", str(size(limit))]


def fifo(queue: Table, _: Link) -> Commands:
    """`fifo`: pfifo or bfifo."""
    if not isinstance(queue["limit"], str):
        raise Refused("queue.limit: one is wanted, for one queue")
    return [root(*fifo_words(queue["limit"]))]


def ecn(queue: Table) -> str:
    """The word for whether packets are marked."""
    return "ecn" if queue["ecn"] else "noecn"


def codel(queue: Table, _: Link) -> Commands:
    """`codel`."""
    words = ["limit", packets(queue, "limit"), "target", microseconds(queue, "target")]
    if queue.get("ce_threshold"):
        words += ["ce_threshold", microseconds(queue, "ce_threshold")]
    return [root("codel", *words, "interval", microseconds(queue, "interval"), ecn(queue))]


def fair(queue: Table) -> list[str]:
    """What `fq_codel` and `fq_pie` share; the kernel draws the salt itself."""
    words = ["limit", packets(queue, "limit"), "flows", str(queue["queues"])]
    return [*words, "quantum", str(size(queue["quantum"])), "memory_limit", "256mb"]


def fq_codel(queue: Table, _: Link) -> Commands:
    """`fq-codel`."""
    words = [*fair(queue), "target", microseconds(queue, "target")]
    return [root("fq_codel", *words, "interval", microseconds(queue, "interval"), ecn(queue))]


ACK_FILTERS = {
    "none": "no-ack-filter",
    "conservative": "ack-filter",
    "aggressive": "ack-filter-aggressive",
}


def cake(queue: Table, _: Link) -> Commands:
    """`cake`; its memory limit counts what the kernel allocates, up to eight times as much."""
    fixed(queue, ingress=False)
    rate = queue.get("bandwidth")
    isolation = "flowblind" if queue["isolation"] == "none" else queue["isolation"]
    words = ["bandwidth", rate.lower()] if rate else ["unlimited"]
    words += [queue["diffserv"], isolation, "rtt", microseconds(queue, "rtt")]
    words += ["overhead", str(queue["overhead"]), "mpu", str(size(queue["mpu"]))]
    words += ["noatm" if queue["framing"] == "none" else queue["framing"]]
    words += ["wash" if queue["wash"] else "nowash", ACK_FILTERS[queue["ack_filter"]]]
    return [root("cake", *words, "memlimit", str(8 * size(queue["memory_limit"])))]


def update_interval(queue: Table) -> str:
    """What PIE's timer is told so that updates come every `t_update`.

    It is armed anew at every update, for whole ticks, and the kernel's timer wheel fires at the end
    of the tick in which it is due: a tick more than it was told.
    """
    ticks = seconds(queue["t_update"]) / TICK
    if abs(ticks - round(ticks)) > 1e-9 or ticks < 2:
        got = queue["t_update"]
        raise Refused(f"queue.t_update: the kernel's are multiples of 4 ms from 8 ms, got {got!r}")
    return f"{(round(ticks) - 1) * round(TICK * 1e6)}us"


def pie_words(queue: Table) -> list[str]:
    """What `pie` and `fq_pie` share; alpha and beta are told in sixteenths."""
    fixed(queue, max_burst="150ms", mark_ecnth=0.1, derandomize=True)
    words = ["target", microseconds(queue, "target"), "tupdate", update_interval(queue)]
    for field in ("alpha", "beta"):
        share = queue[field] * 16
        if share != round(share) or not 0 <= share <= 32:
            raise Refused(f"queue.{field}: the kernel takes sixteenths up to 2, got {queue[field]}")
        words += [field, str(round(share))]
    return words


def pie(queue: Table, _: Link) -> Commands:
    """`pie`."""
    by_rate = queue["delay_estimation"] == "departure-rate"
    estimator = "dq_rate_estimator" if by_rate else "no_dq_rate_estimator"
    words = ["limit", packets(queue, "limit"), *pie_words(queue), estimator]
    return [root("pie", *words, "nobytemode", ecn(queue))]


def fq_pie(queue: Table, _: Link) -> Commands:
    """`fq-pie`."""
    words = [*fair(queue), *pie_words(queue), "no_dq_rate_estimator", "nobytemode"]
    return [root("fq_pie", *words, "ecn_prob", "10", ecn(queue))]


def burst(weight: float, min_th: int, mean_packet: int) -> int:
    """The `burst` by which `tc` arrives at this weight, a power of two.

    tc (q_red, `tc_red_eval_ewma`) takes the largest weight W, a negative power of two, for which
    burst + 1 - min / avpkt <= (1 - (1 - W)^burst) / W.

    Raises:
        Refused: there is none.
    """
    shift = next((each for each in range(1, 32) if 0.5**each == weight), None)
    if shift is None:
        near = min((0.5**each for each in range(1, 32)), key=lambda each: abs(each - weight))
        raise Refused(f"queue.weight: the kernel takes powers of two, got {weight}; near: {near!r}")

    def chosen(count: int) -> int | None:
        a = count + 1 - min_th / mean_packet
        each = (n for n in range(1, 32) if a <= (1 - (1 - 0.5**n) ** count) / 0.5**n)
        return None if a < 1 else next(each, None)

    for count in range(1, 100_000):
        if chosen(count) == shift:
            return count
    raise Refused(f"queue.weight: tc has no burst that gives {weight} with this min_th")


def red_words(curve: Table, queue: Table, link: Link) -> list[str]:
    """One curve of RED; the average is over bytes, and packets count as full ones."""
    low, high = length(curve["min_th"], link.mtu), length(curve["max_th"], link.mtu)
    mean = size(queue["mean_packet"])
    count = burst(queue["weight"], low, mean)
    words = ["limit", str(length(queue["limit"], link.mtu)), "min", str(low), "max", str(high)]
    words += ["avpkt", str(mean), "burst", str(count), "probability", repr(curve["max_p"])]
    return [*words, "bandwidth", f"{link.rate}bit"]


def red(queue: Table, link: Link) -> Commands:
    """`red`."""
    fixed(queue, gentle=False, wait=False, spare_short=False, byte_mode=False, adapt_every=None)
    # As ours: above max_th it drops what it could mark.
    marks = ["ecn", "harddrop"] if queue["ecn"] else []
    return [root("red", *red_words(queue, queue, link), *marks)]


def wred(queue: Table, link: Link) -> Commands:
    """`wred`: gred in its WRED mode, in which all levels have one average."""
    fixed(queue, gentle=False, wait=False, drop_strategy="drop-arrivals")
    levels = queue["levels"]
    if len(levels) < 2:
        raise Refused("queue.levels: with one level the kernel's is `red`; give that, or two")
    most = max(flow.drop_precedence for flow in link.flows)
    if most >= len(levels):
        raise Refused(f"queue.levels: traffic has drop precedence {most}, give a level for it")
    # Only with grio does the kernel look whether priorities are equal, which turns WRED on.
    setup = root("gred", "setup", "DPs", str(len(levels)), "default", "0", "grio")
    change = ["tc", "qdisc", "change", "dev", DEVICE, "root", "handle", "1:", "gred"]
    return [
        setup,
        *(
            [*change, *red_words(level, queue, link), "DP", str(number), "prio", "1"]
            for number, level in enumerate(levels)
        ),
    ]


def limits(queue: Table, count: int) -> list[str]:
    """The limit of each queue."""
    given = queue["limit"]
    each = [given] * count if isinstance(given, str) else list(given)
    if len(each) != count:
        raise Refused(f"queue.limit: {count} queues, but {len(each)} limits")
    return each


def classes_of(queue: Table, otherwise: int) -> int:
    """The number of queues of a discipline that sorts by class."""
    classify = queue.get("classify") or {"kind": "class", "queues": otherwise}
    if classify["kind"] != "class":
        raise Refused(f"queue.classify: the harness sorts by class, got {classify['kind']!r}")
    return int(classify["queues"])


def port_match(flow: Flow) -> list[str]:
    """A filter's words for the packets of a flow."""
    return ["u32", "match", "ip", "sport", str(FIRST_PORT + flow.number), "0xffff"]


def sorted_by_class(link: Link, count: int, class_id: Callable[[int], str]) -> Commands:
    """Filters that send each flow, by its port, to the queue of its class."""
    add = ["tc", "filter", "add", "dev", DEVICE, "parent", "1:", "protocol", "ip", "prio", "1"]
    return [
        [*add, *port_match(flow), "flowid", class_id(min(flow.q, count - 1))] for flow in link.flows
    ]


def prio(queue: Table, link: Link) -> Commands:
    """`prio`: the kernel serves the lowest band first."""
    given = queue["limit"]
    count = classes_of(queue, 2 if isinstance(given, str) else len(given))
    if not 2 <= count <= 16:
        raise Refused(f"queue.classify: the kernel has 2 to 16 bands, got {count}")
    found = [root("prio", "bands", str(count), "priomap", *["0"] * 16)]
    for q, limit in enumerate(limits(queue, count)):
        words = ["tc", "qdisc", "add", "dev", DEVICE, "parent", f"1:{count - q:x}"]
        found.append([*words, *fifo_words(limit)])
    return found + sorted_by_class(link, count, lambda q: f"1:{count - q:x}")


def drr(queue: Table, link: Link) -> Commands:
    """`drr`."""
    weights = queue["weights"] or []
    count = classes_of(queue, len(weights) or 2)
    quantum = size(queue["quantum"]) if queue.get("quantum") else link.mtu
    found = [root("drr")]
    for q, limit in enumerate(limits(queue, count)):
        own = quantum * (weights[q] if weights else 1)
        words = ["dev", DEVICE, "parent", "1:", "classid", f"1:{q + 1:x}", "drr"]
        found.append(["tc", "class", "add", *words, "quantum", str(own)])
        words = ["dev", DEVICE, "parent", f"1:{q + 1:x}", *fifo_words(limit)]
        found.append(["tc", "qdisc", "add", *words])
    return found + sorted_by_class(link, count, lambda q: f"1:{q + 1:x}")


def htb(queue: Table, link: Link) -> Commands:
    """`htb`; classes are numbered level by level, so that those of one parent keep their order.

    The kernel counts what the device adds, here nothing.
    """
    fixed(queue, overhead=0)
    found = [root("htb")]
    waiting = [("1:", each) for each in queue["classes"]]
    leaves: dict[int, str] = {}
    number = 0
    while waiting:
        parent, table = waiting.pop(0)
        number += 1
        own = f"1:{number:x}"
        words = ["rate", str(table["rate"]).lower(), "ceil", str(table["ceil"]).lower()]
        words += ["burst", str(size(table["burst"])), "cburst", str(size(table["cburst"]))]
        inner = table.get("classes")
        if not inner:
            words += ["prio", str(table["priority"]), "quantum", str(size(table["quantum"]))]
        named = ["dev", DEVICE, "parent", parent, "classid", own]
        found.append(["tc", "class", "add", *named, "htb", *words])
        waiting += [(own, each) for each in inner or ()]
        leaves[id(table)] = own
    ordered = [(leaves[id(table)], table) for table in leaves_of(queue["classes"])]
    at_root = root()[-3:]
    for handle, (own, table) in enumerate(ordered, start=2):
        inner_commands = commands(table["queue"], link)
        if len(inner_commands) > 1:
            kind = table["queue"]["kind"]
            raise Refused(f"queue.classes: the harness puts one command on a leaf, not {kind!r}")
        words = inner_commands[0]
        start = words.index(at_root[0])
        at_leaf = ["parent", own, "handle", f"{handle:x}:"]
        found.append([*words[:start], *at_leaf, *words[start + len(at_root) :]])
    count = classes_of(queue, len(ordered))
    return found + sorted_by_class(link, count, lambda q: ordered[q][0])


def leaves_of(classes: Sequence[Table]) -> list[Table]:
    """The leaves of a tree, in the order in which they are written."""
    return [
        leaf
        for table in classes
        for leaf in (leaves_of(table["classes"]) if table.get("classes") else [table])
    ]


KINDS: Mapping[str, Callable[[Table, Link], Commands]] = {
    "cake": cake,
    "codel": codel,
    "drr": drr,
    "fifo": fifo,
    "fq-codel": fq_codel,
    "fq-pie": fq_pie,
    "htb": htb,
    "pie": pie,
    "prio": prio,
    "red": red,
    "wred": wred,
}
