"""Sections of the validation page from what was measured beside ns-2 and ns-3."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from peers import OWN, SIMULATORS
from reasons import BETWEEN, CONVENTIONS, GROUPS, REASONS, SPEED, TOLERANCE, reason_of

Summary = Mapping[str, Mapping[str, float | None]]

COMPARED = ("queue", "utilization", "loss")
TITLES = {"queue": "mean queue, packets", "utilization": "utilization", "loss": "loss, %"}
# What the last digit shown is worth, and so what no table could tell apart.
NOISE = {"queue": 0.1, "utilization": 0.001, "loss": 0.0001}
CONTROL_NAMES = {"newreno": "New Reno", "sack": "SACK", "cubic": "CUBIC"}
NONE = "–"


def section(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The section of the comparison; `results` by group, in order."""
    results = {name: {**group, "rows": explained(group["rows"])} for name, group in results.items()}
    rows = [row for group in results.values() for row in group["rows"] if "change" not in row]
    apart = [
        row for row in rows if any(outside(row["found"], each) is not None for each in COMPARED)
    ]
    versions = {
        name: text for group in results.values() for name, text in group["versions"].items()
    }
    left_out = [heading for group, heading in GROUPS.items() if group not in results]
    tables = [
        {
            "heading": heading,
            "text": f"{results[group]['seeds']} seeds.",
            **(
                experiments(results[group]["rows"], rows)
                if group == "experiments"
                else comparison(results[group]["rows"])
            ),
        }
        for group, heading in GROUPS.items()
        if group in results
    ]
    return {
        "section": "Beside ns-2 and ns-3",
        "order": 5,
        "version": versions["forebay"],
        "command": "make validate-peers",
        "text": [
            f"ns-2 {versions['ns-2']} and ns-3 {versions['ns-3']} are the packages of Debian. The "
            "scripts are in `benches/peers`.",
            *CONVENTIONS,
            *([f"Not measured yet: {'; '.join(left_out)}."] if left_out else []),
            f"{len(rows) - len(apart)} of {len(rows)} scenarios are within the range of the "
            "peers' means, or at most 10 % outside it, in all three quantities. In the other "
            f"{len(apart)}, values outside are **bold**, and the last column has the number of "
            "the reason (open: no reason is known):",
            "\n".join(f"{number}. {reason}" for number, reason in enumerate(REASONS.values(), 1)),
        ],
        "tables": tables,
        "results": results,
    }


def explained(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a group with the field `difference`: the reasons in a few words."""
    return [dict(row) if "change" in row else {**row, "difference": in_short(row)} for row in rows]


def in_short(row: Mapping[str, Any]) -> str:
    """The headings of a row's reasons."""
    keys = reasons(row)
    if not keys:
        return BETWEEN
    heads = [REASONS[key].split("**")[1].rstrip(".") for key in keys if key is not None]
    return "; ".join(heads)


def outside(found: Mapping[str, Summary], quantity: str) -> float | None:
    """How far forebay's mean is outside the span of the peers' means, as a share of the nearer.

    None if it is inside, or no more than 10 % outside, or by less than the last digit shown.
    """
    ours = mean(found["forebay"], quantity)
    peers = [mean(summary, quantity) for name, summary in found.items() if name != "forebay"]
    for edge, distance in ((min(peers), min(peers) - ours), (max(peers), ours - max(peers))):
        if distance > max(TOLERANCE * edge, NOISE[quantity]):
            return (ours - edge) / edge if edge > 0 else float("inf")
    return None


def mean(summary: Summary, quantity: str) -> float:
    """A mean; nothing was measured without one."""
    value = summary[quantity]["mean"]
    assert value is not None
    return value


def comparison(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """One row a scenario: each quantity in all three, and the reason where ours stands apart."""
    heads = [f"{TITLES[quantity]}: forebay / ns-2 / ns-3" for quantity in COMPARED]
    table = []
    for row in rows:
        options, found = row["options"], row["found"]
        cells: list[Any] = [name_of(options), options.get("flows", 16), delay_of(options)]
        cells += [values(found, quantity, options.get("flows") == 1) for quantity in COMPARED]
        cells.append(" / ".join(once(found.get(name)) for name in SIMULATORS))
        table.append([*cells, why(row)])
    return {
        "columns": ["scenario", "flows", "delay", *heads, "delivered once", "reason"],
        "rows": table,
    }


def name_of(options: Mapping[str, Any]) -> str:
    """What a scenario is called in the tables."""
    return str(options.get("queue") or CONTROL_NAMES[options.get("tcp", "sack")])


def delay_of(options: Mapping[str, Any]) -> str:
    """The delay of the congested link."""
    return f"{options.get('delay', 0.02) * 1000:g} ms"


def once(summary: Summary | None) -> str:
    """Share of delivered packets that were delivered once."""
    return NONE if summary is None else f"{mean(summary, 'once'):.3f}"


def shown(value: float, quantity: str) -> str:
    """A value as the tables show it."""
    if quantity == "loss":
        return f"{100 * value:.2f}"
    return f"{value:.3f}" if quantity == "utilization" else f"{value:.1f}"


def values(found: Mapping[str, Summary], quantity: str, alone: bool) -> str:
    """A quantity in all three, in bold where ours stands apart; a lone flow has no interval."""
    cells = []
    for simulator in SIMULATORS:
        if simulator not in found:
            cells.append(NONE)
            continue
        text = shown(mean(found[simulator], quantity), quantity)
        width = found[simulator][quantity]["half_width"]
        cells.append(text if alone or width is None else f"{text} ± {shown(width, quantity)}")
    if outside(found, quantity) is not None:
        cells[0] = f"**{cells[0]}**"
    return " / ".join(cells)


def why(row: Mapping[str, Any]) -> str:
    """The reasons' numbers, or nothing if ours is not apart."""
    order = list(REASONS)
    return ", ".join("open" if key is None else str(order.index(key) + 1) for key in reasons(row))


def reasons(row: Mapping[str, Any]) -> list[str | None]:
    """The keys of the reasons for which ours is apart; none where there is no reason."""
    apart = [quantity for quantity in COMPARED if outside(row["found"], quantity) is not None]
    return list(dict.fromkeys(reason_of(row["options"], quantity) for quantity in apart))


def experiments(
    rows: Iterable[Mapping[str, Any]], cases: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """What one change of convention moves, beside the same scenario without it."""
    known = {key(case): case["found"] for case in cases}
    order = list(REASONS)
    table = []
    for row in rows:
        without = known.get(key(row), {})
        options = row["options"]
        for simulator, after in row["found"].items():
            before = without.get(simulator)
            moved = [
                " → ".join(
                    shown(mean(found, each), each) for found in (before, after) if found is not None
                )
                for each in COMPARED
            ]
            case = f"{name_of(options)}, {options.get('flows', 16)} flows, {delay_of(options)}"
            table.append([order.index(row["about"]) + 1, case, row["change"], simulator, *moved])
    return {
        "columns": ["reason", "scenario", "change", "in", *(TITLES[each] for each in COMPARED)],
        "rows": table,
    }


def key(row: Mapping[str, Any]) -> str:
    """What makes two cases the same scenario."""
    options = {name: value for name, value in row["options"].items() if name not in OWN}
    return repr(sorted(options.items()))


def speed_section(document: Mapping[str, Any]) -> dict[str, Any]:
    """The section of speed and memory."""
    versions = document["versions"]
    htsim = f", htsim {versions['htsim']}" if "htsim" in versions else ""
    rows, growth = [], []
    for load in document["loads"]:
        ours = load["results"]["forebay"]
        for simulator, found in load["results"].items():
            ratios = [ours[each] / found[each] for each in ("run_rate", "process_rate")]
            rows.append(
                [
                    load["name"],
                    simulator,
                    f"{found['runs']:.0f}",
                    rate(found["run_rate"]),
                    rate(found["process_rate"]),
                    *("" if found is ours else ratio(each) for each in ratios),
                    f"{found['memory'] / 1e6:.0f}",
                    "" if found is ours else ratio(found["memory"] / ours["memory"]),
                ]
            )
        flows = load["options"].get("flows", 16)
        if flows >= 1000 and "htsim" not in load["results"]:
            sizes = [ours[each] / flows / 1000 for each in ("grown", "memory")]
            growth.append(f"{sizes[0]:.2f} and {sizes[1]:.2f} kB with {flows} flows")
    return {
        "section": "Speed and memory",
        "order": 6,
        "version": versions["forebay"],
        "command": "make bench-peers",
        "text": [
            f"ns-2 {versions['ns-2']}, ns-3 {versions['ns-3']} (Debian's, with logging)"
            f"{htsim}; {document['machine']}.{_faster(document)}{_bare(document)}",
            *SPEED,
            "Memory for each flow: first what forebay's engine needs while it runs (hosts, "
            "connections, meters, the queue and packets in flight), then the peak of its whole "
            f"process (including Python, its packages and the summary): {'; '.join(growth)}.",
        ],
        "tables": [
            {
                "heading": "",
                "text": "",
                "columns": [
                    "scenario",
                    "simulator",
                    "runs",
                    "run phase, packets / CPU s",
                    "process, packets / CPU s",
                    "forebay faster, run phase",
                    "forebay faster, process",
                    "peak memory, MB",
                    "of forebay's",
                ],
                "rows": rows,
            }
        ],
        "results": document,
    }


def _faster(document: Mapping[str, Any]) -> str:
    """How many times as fast as each peer forebay runs its longest load of few flows, if any."""
    few = [each for each in document["loads"] if each["options"].get("flows", 16) == 16]
    if not few:
        return ""
    longest: dict[str, Mapping[str, Any]] = {}
    for load in sorted(few, key=lambda each: float(each["options"]["duration"]), reverse=True):
        for name in load["results"]:
            longest.setdefault(name, load)
    times = ", ".join(
        f"{ours['run_rate'] / load['results'][name]['run_rate']:.3g} times {name}'s"
        for name, load in longest.items()
        if name != "forebay"
        for ours in [load["results"]["forebay"]]
    )
    return f" Packets per CPU second, {longest['forebay']['name']}: {times}."


def _bare(document: Mapping[str, Any]) -> str:
    """How many times as fast as htsim forebay is if neither has access links, if that was run."""
    times = [
        f"{ours['run_rate'] / load['results']['htsim']['run_rate']:.3g} times htsim's with "
        f"{load['options'].get('flows', 16)} flows"
        for load in document["loads"]
        if "htsim" in load["results"] and not load["options"].get("access", True)
        for ours in [load["results"]["forebay"]]
    ]
    return f" Without access links: {', '.join(times)}." if times else ""


def rate(value: float) -> str:
    """A rate with three digits and a unit."""
    return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value / 1e3:.3g} k"


def ratio(value: float) -> str:
    """How many times."""
    return f"{value:.3g} x" if value < 100 else f"{value:.0f} x"
