"""The message `stage`: what does not move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forebay._explore import fields, stories
from forebay._explore.lane import Lane
from forebay._scenario import nanoseconds

Table = dict[str, Any]


def stage(
    lanes: Sequence[Lane],
    watched: str | None,
    grain_ns: int,
    changes: Sequence[Table],
    story: Table | None,
) -> Table:
    """All that does not move of these lanes, at the present instant."""
    first = lanes[0]
    scenarios = [lane.now for lane in lanes]
    resolved = [scenario.resolved() for scenario in scenarios]
    whole, shown = resolved[0], first.shown
    links = whole["links"]
    queue_fields = [_queue(each, watched) for each in resolved]
    return {
        "type": "stage",
        "title": whole["title"] or first.scenario.name,
        "scenario": first.scenario.name,
        "duration_s": whole["duration_s"],
        "warmup_s": whole["warmup_s"],
        "grain_s": grain_ns / 1e9,
        "watched": watched,
        "nodes": _nodes(links),
        "links": [_link(link, watched) for link in links],
        "classes": [{"id": place, "name": name} for place, name in enumerate(shown["classes"])],
        "flows": _flows(whole, shown, watched),
        "traffic": _traffic(first, whole, shown["classes"]),
        "lanes": [
            _lane(number, lane, path, queue)
            for number, (lane, (path, queue)) in enumerate(zip(lanes, queue_fields, strict=True))
        ],
        "fields": _link_fields(links, watched),
        "kinds": fields.kinds(),
        "changes": list(changes),
        "stories": [each.for_page() for each in stories.all_stories()],
        "story": story,
    }


def _queue(resolved: Table, watched: str | None) -> tuple[str, Table]:
    """Path and table of the watched queue."""
    for link in resolved["links"]:
        if link["name"] == watched:
            return link["queue_path"], link["queue"] or {"kind": "fifo"}
    return "", {}


def _lane(number: int, lane: Lane, path: str, queue: Table) -> Table:
    packets, size = fields.limits(queue)
    return {
        "id": number,
        "label": lane.label,
        "colour": number,
        "kind": str(queue.get("kind", "combination")),
        "queue": queue,
        "limit_packets": packets,
        "limit_bytes": size,
        "fields": fields.of_queue(path, queue),
    }


def _link(link: Table, watched: str | None) -> Table:
    return {
        "name": link["name"],
        "source": link["from"],
        "target": link["to"],
        "reverse": link["reverse"],
        "rate_bps": link["rate_bps"],
        "delay_s": link["delay_s"],
        "queue": (link["queue"] or {}).get("kind") if link["queue"] else None,
        "watched": link["name"] == watched,
    }


def _link_fields(links: Sequence[Table], watched: str | None) -> list[Table]:
    """Those of the watched link first."""
    forward = [link for link in links if not link["reverse"] or link["name"] == watched]
    forward.sort(key=lambda link: link["name"] != watched)
    return [field for link in forward for field in fields.of_link(link)]


def _flows(resolved: Table, shown: Table, watched: str | None) -> list[Table]:
    rows = shown["flows"]
    flows: list[Table] = []
    for place, row in enumerate(rows):
        entry = resolved["traffic"][row["traffic"]]
        mates = [other for other, each in enumerate(rows) if each["traffic"] == row["traffic"]]
        number = f" {mates.index(place) + 1}" if len(mates) > 1 else ""
        flows.append(
            {
                "id": place,
                "name": entry["name"] + number,
                "traffic": row["traffic"],
                "class_id": row["class"],
                "flows": row["flows"],
                "transport": entry["transport"],
                "watched": watched in entry["links"],
            }
        )
    return flows


def _traffic(lane: Lane, resolved: Table, classes: Sequence[str]) -> list[Table]:
    now = lane.times[0]
    joined: dict[str, float] = {}
    left: dict[str, float] = {}
    for change in lane.scenario.document.get("change", []):
        at = nanoseconds(change["at"])
        if at <= now and "join" in change:
            joined[change["join"].get("name", change["join"].get("kind"))] = at / 1e9
        if at <= now and "leave" in change:
            left[change["leave"]] = at / 1e9
    return [
        {
            "id": place,
            "name": entry["name"],
            "kind": entry["kind"],
            "class_id": classes.index(entry["class"]),
            "flows": entry["flows"],
            "joined_s": joined.get(entry["name"], 0.0),
            "left_s": left.get(entry["name"]),
        }
        for place, entry in enumerate(resolved["traffic"])
    ]


def _nodes(links: Sequence[Table]) -> list[Table]:
    """The ends of links, from left to right as the links go, those of a column below each other."""
    forward = [(link["from"], link["to"]) for link in links if not link["reverse"]]
    columns = dict.fromkeys((node for ends in forward for node in ends), 0)
    # As often as the longest way has links; ways in a circle end there, too.
    for _ in columns:
        for source, target in forward:
            columns[target] = min(len(columns) - 1, max(columns[target], columns[source] + 1))
    used = sorted(set(columns.values()))
    last = len(used) - 1 or 1
    nodes: list[Table] = []
    for name, column in columns.items():
        mates = [other for other, its in columns.items() if its == column]
        y = (mates.index(name) + 0.5) / len(mates)
        nodes.append({"name": name, "x": used.index(column) / last, "y": y})
    return nodes
