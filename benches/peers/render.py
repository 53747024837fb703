"""The pages of the comparison with ns-2 and ns-3, from what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reasons import AGREEMENT, CONVENTIONS, GROUPS, REASONS, reason_of

Summary = Mapping[str, Mapping[str, float | None]]

TOLERANCE = 0.1
COMPARED = ("queue", "utilization", "loss")
TITLES = {"queue": "mean queue, packets", "utilization": "utilization", "loss": "loss, %"}
# What the last digit shown is worth, and so what no table could tell apart.
NOISE = {"queue": 0.1, "utilization": 0.001, "loss": 0.0001}
CONTROL_NAMES = {"newreno": "New Reno", "sack": "SACK", "cubic": "CUBIC"}


def shown(value: float, quantity: str) -> str:
    """A mean as the table shows it: loss in per cent."""
    digits = 3 if quantity == "utilization" else 2
    return f"{value * (100 if quantity == 'loss' else 1):.{digits}f}"


def outside(results: Mapping[str, Summary], quantity: str) -> float | None:
    """How far forebay's mean is outside the span of the peers' means, as a share of the nearer.

    None if it is inside, or no more than 10 % outside, or by less than the last digit shown.
    """
    ours = mean(results["forebay"], quantity)
    peers = [mean(found, quantity) for name, found in results.items() if name != "forebay"]
    for edge, distance in ((min(peers), min(peers) - ours), (max(peers), ours - max(peers))):
        if distance > max(TOLERANCE * edge, NOISE[quantity]):
            return (ours - edge) / edge if edge > 0 else float("inf")
    return None


def mean(summary: Summary, quantity: str) -> float:
    """A mean; nothing was measured without one."""
    value = summary[quantity]["mean"]
    assert value is not None
    return value


def render(document: Mapping[str, Any]) -> str:
    """The page of the comparison."""
    cases = document["cases"]
    apart = sum(any(outside(case["results"], q) is not None for q in COMPARED) for case in cases)
    versions = document["versions"]
    lines = [
        "# forebay beside ns-2 and ns-3",
        "",
        f"forebay {versions['forebay']}, ns-2 {versions.get('ns-2', 'missing')}, "
        f"ns-3 {versions.get('ns-3', 'missing')}; {document['date']}; {document['seeds']} seeds. "
        "Made by `make validate-peers`.",
        "",
        CONVENTIONS,
        "",
        f"Of {len(cases)} scenarios, {len(cases) - apart} are inside the peers' span, or outside "
        f"it by at most 10 %, in all three quantities; {apart} are not, and their reason stands "
        "in the last column.",
        "",
        AGREEMENT,
        "",
    ]
    for group, heading in GROUPS.items():
        members = [case for case in cases if case["group"] == group]
        if members:
            lines += [f"## {heading}", "", *table(members), ""]
    lines += ["## Reasons", ""]
    for number, reason in enumerate(REASONS.values(), 1):
        lines += [f"**R{number}.** {reason}", ""]
    if document["experiments"]:
        lines += ["## Experiments", "", *experiments(document), ""]
    return "\n".join(lines).rstrip() + "\n"


def table(cases: Iterable[Mapping[str, Any]]) -> list[str]:
    """One row a scenario: each quantity in all three, and the reason where ours stands apart."""
    heads = [f"{TITLES[quantity]}: forebay / ns-2 / ns-3" for quantity in COMPARED]
    rows = [["scenario", "flows", "delay", *heads, "delivered once: f / 2 / 3", "why apart"]]
    rows.append(["---", "---:", "---:", *["---:"] * len(COMPARED), "---:", "---"])
    for case in cases:
        options, results = case["options"], case["results"]
        name = options.get("queue") or CONTROL_NAMES[options["tcp"]]
        delay = f"{options['delay'] * 1000:g} ms"
        cells = [name, str(options.get("flows", 16)), delay]
        cells += [values(results, quantity, options.get("flows") == 1) for quantity in COMPARED]
        cells.append(" / ".join(once(results.get(name)) for name in ("forebay", "ns-2", "ns-3")))
        cells.append(why(case))
        rows.append(cells)
    return ["| " + " | ".join(row) + " |" for row in rows]


def once(summary: Summary | None) -> str:
    """Share of delivered packets that were delivered once."""
    return "–" if summary is None else f"{mean(summary, 'once'):.3f}"


def values(results: Mapping[str, Summary], quantity: str, alone: bool) -> str:
    """A quantity in all three, in bold where ours stands apart; a lone flow has no interval."""
    cells = []
    for simulator in ("forebay", "ns-2", "ns-3"):
        if simulator not in results:
            cells.append("–")
            continue
        found = results[simulator][quantity]
        width = None if alone else found["half_width"]
        scale, digits = (100, 2) if quantity == "loss" else (1, 3 if quantity != "queue" else 1)
        text = f"{mean(results[simulator], quantity) * scale:.{digits}f}"
        cells.append(text if width is None else f"{text} ± {width * scale:.{digits}f}")
    if outside(results, quantity) is not None:
        cells[0] = f"**{cells[0]}**"
    return " / ".join(cells)


def why(case: Mapping[str, Any]) -> str:
    """The reason's number, or nothing if ours is not apart."""
    apart = [quantity for quantity in COMPARED if outside(case["results"], quantity) is not None]
    keys = dict.fromkeys(reason_of(case, quantity) for quantity in apart)
    order = list(REASONS)
    return ", ".join("not explained" if key is None else f"R{order.index(key) + 1}" for key in keys)


def experiments(document: Mapping[str, Any]) -> list[str]:
    """What one change of convention moves, beside the same scenario without it."""
    known = {key(case): case["results"] for case in document["cases"]}
    order = list(REASONS)
    rows = [["for", "change", "simulator", "queue", "loss, %", "utilization"]]
    rows.append(["---", "---", "---", "---:", "---:", "---:"])
    for experiment in document["experiments"]:
        number = f"R{order.index(experiment['reason']) + 1}"
        without = known.get(key(experiment), {})
        for simulator, after in experiment["results"].items():
            before = without.get(simulator)
            moved = [
                " → ".join(
                    shown(mean(found, q), q) for found in (before, after) if found is not None
                )
                for q in ("queue", "loss", "utilization")
            ]
            rows.append([number, experiment["change"], simulator, *moved])
    return ["| " + " | ".join(row) + " |" for row in rows]


def key(case: Mapping[str, Any]) -> str:
    """What makes two cases the same scenario."""
    return repr(sorted(case["options"].items()))


def render_speed(document: Mapping[str, Any]) -> str:
    """The page of speed and memory."""
    versions = document["versions"]
    lines = [
        "# Speed and memory beside ns-2 and ns-3",
        "",
        f"forebay {versions['forebay']}, ns-2 {versions.get('ns-2', 'missing')}, "
        f"ns-3 {versions.get('ns-3', 'missing')} (Debian's build, with logging compiled in); "
        f"{document['machine']}; {document['date']}. Made by `make bench-peers`.",
        "",
        "A rate is the number of data segments that the receivers got, each once, per CPU second "
        "(user and system). *Run phase* leaves out what comes before the first event: for forebay "
        "only Python's start, because building the world and the summary count; for ns-2 nodes "
        "and routes; for ns-3 the topology. *Process* is everything. Memory is the peak resident "
        "size of the process; forebay's includes Python with its libraries. The peers measure "
        "nothing on the way, forebay keeps all its statistics. With 1000 hosts a side most of "
        "ns-3's time goes into linear scans over a router's interfaces: it is the cost of the "
        "scenario, not of its event loop.",
        "",
        "| scenario | simulator | runs | run phase, packets/CPU s | process, packets/CPU s | "
        "forebay is faster by (run, process) | peak memory, MB |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for load in document["loads"]:
        ours = load["results"]["forebay"]
        for simulator, found in load["results"].items():
            ratio = " , ".join(
                f"{ours[rate] / found[rate]:.1f}" for rate in ("run_rate", "process_rate")
            )
            lines.append(
                f"| {load['name']} | {simulator} | {found['runs']:.0f} | {rate(found['run_rate'])} "
                f"| {rate(found['process_rate'])} | {'' if found is ours else ratio} "
                f"| {found['memory'] / 1e6:.0f} |"
            )
    loads = {load["name"]: load["results"]["forebay"] for load in document["loads"]}
    many = [found for found in loads.values() if found.get("flow_memory") is not None]
    if many:
        per_flow = many[-1]["flow_memory"]
        lines += [
            "",
            f"With 100 000 flows the engine grows by {per_flow / 1000:.1f} kB a flow while it "
            "runs: hosts, connections, queue and packets in flight, summary not yet made.",
        ]
    return "\n".join(lines) + "\n"


def rate(value: float) -> str:
    """A rate with three digits and a unit."""
    return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value / 1e3:.3g} k"
