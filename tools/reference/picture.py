"""A picture of a scenario's topology, as SVG: its links in a row, and the way of its traffic."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape

from forebay import _engine
from forebay._scenario import Scenario

_LEFT, _TOP, _STEP, _ROW = 90, 60, 240, 26


def picture(scenario: Scenario) -> str:
    """The topology of a scenario whose links form a row, with its stations and traffic.

    Nodes are boxes, queues are bars where packets wait, and each entry of traffic is an arrow from
    sender to receiver.
    """
    resolved = scenario.resolved()
    forward = [link for link in resolved["links"] if not link["reverse"]]
    back = {link["name"]: link for link in resolved["links"] if link["reverse"]}
    nodes = _row([(link["from"], link["to"]) for link in forward])
    grids = _grids(scenario)
    shift = 150 if grids else 0
    at = {node: _LEFT + shift + _STEP * number for number, node in enumerate(nodes)}
    parts: list[str] = []
    for link in forward:
        parts += _link(link, back.get(f"{link['name']}-reverse"), at)
    for node, x in at.items():
        parts += [
            f'<rect class="node" x="{x - 45}" y="{_TOP - 18}" width="90" height="36" rx="6"/>',
            _text(x, _TOP + 5, node),
        ]
    for name in grids:
        at[name] = _LEFT - 20
        parts += _field(name)
    bottom = _TOP + 70
    for number, entry in enumerate(resolved["traffic"]):
        parts += _way(entry, at, bottom + _ROW * number)
    width = max(at.values()) + _LEFT
    height = bottom + _ROW * len(resolved["traffic"])
    return "\n".join([_HEAD.format(width=width, height=height), *parts, "</svg>", ""])


def _row(links: list[tuple[str, str]]) -> list[str]:
    """Nodes in the order in which links join them."""
    targets = {end for _, end in links}
    beginnings = [start for start, _ in links if start not in targets]
    following = dict(links)
    node = (beginnings or [links[0][0]])[0]
    found = [node]
    while node in following and following[node] not in found:
        node = following[node]
        found.append(node)
    return found


def _grids(scenario: Scenario) -> list[str]:
    wireless = scenario.effective().get("wireless") or {}
    return [grid["name"] for grid in wireless.get("grid", [])]


def _link(link: dict[str, Any], back: dict[str, Any] | None, at: dict[str, int]) -> list[str]:
    start, end = at[link["from"]] + 45, at[link["to"]] - 45
    middle = (start + end) / 2
    parts = [f'<path class="link" d="M{start} {_TOP}H{end}"/>']
    if link["queue"] is not None:
        parts += _queue(start + 6)
    if back is not None and back["queue"] is not None:
        parts += _queue(end - 24)
    rates = _rate(link)
    if back is not None and _rate(back) != rates:
        rates = f"→ {rates}, ← {_rate(back)}"
    parts.append(_text(middle, _TOP - 24, link["name"], "name"))
    parts.append(_text(middle, _TOP + 36, f"{rates}, {_delay(link)}", "small"))
    return parts


def _queue(x: float) -> list[str]:
    """Packets that wait."""
    return [
        f'<rect class="queue" x="{x + 6 * number}" y="{_TOP - 8}" width="4" height="16"/>'
        for number in range(3)
    ]


def _field(name: str) -> list[str]:
    x, y = _LEFT - 20, _TOP
    dots = [
        f'<circle class="station" cx="{x - 30 + 15 * column}" cy="{y - 30 + 15 * row}" r="3"/>'
        for row in range(5)
        for column in range(5)
    ]
    waves = [
        f'<path class="wave" d="M{x + 48 + 8 * n} {y - 6 - 4 * n}q{6 + 3 * n} {6 + 4 * n} 0 '
        f'{12 + 8 * n}"/>'
        for n in range(3)
    ]
    return [*dots, *waves, _text(x, y + 52, name, "name")]


def _way(entry: dict[str, Any], at: dict[str, int], y: int) -> list[str]:
    start, end = at[entry["from"]], at[entry["to"]]
    flows = f" × {entry['flows']}" if entry["flows"] > 1 else ""
    words = f"{entry['name']} ({entry['kind']}){flows}"
    return [
        f'<path class="way" marker-end="url(#tip)" d="M{start} {y}H{end}"/>',
        f'<circle class="end" cx="{start}" cy="{y}" r="3"/>',
        _text((start + end) / 2, y - 5, words, "small"),
    ]


def _rate(link: dict[str, Any]) -> str:
    if link["rate_bps"] is None:
        return "rate varies"
    text = _engine.format_quantity(float(link["rate_bps"]), "rate")
    return text.replace("bit", " bit/s").replace("M ", " M").replace("G ", " G").replace("k ", " k")


def _delay(link: dict[str, Any]) -> str:
    if link["delay_s"] is None:
        return "delay varies"
    return f"{1000 * link['delay_s']:g} ms"


def _text(x: float, y: float, words: str, kind: str = "word") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(words)}</text>'


_HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" \
height="{height}" font-family="sans-serif" text-anchor="middle">
<style>
rect.back {{ fill: #fff }}
rect.node {{ fill: #eef3fa; stroke: #35567f; stroke-width: 1.5 }}
rect.queue {{ fill: #c9621f }}
path.link {{ stroke: #35567f; stroke-width: 3 }}
path.way {{ stroke: #777; stroke-width: 1.2; fill: none }}
path.wave {{ stroke: #35567f; stroke-width: 1.5; fill: none }}
circle.end {{ fill: #777 }}
circle.station {{ fill: #35567f }}
text {{ font-size: 13px; fill: #222 }}
text.name {{ font-weight: bold }}
text.small {{ font-size: 12px; fill: #444 }}
</style>
<marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" \
orient="auto"><path d="M0 0L8 4L0 8z" fill="#777"/></marker>
<rect class="back" width="{width}" height="{height}"/>"""
