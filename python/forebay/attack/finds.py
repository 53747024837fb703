"""Finds as files: a scenario that other commands take, and a story for explore."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from forebay import _engine
from forebay._runs import run
from forebay._scenario import Scenario, labelled, to_toml
from forebay.attack import words
from forebay.attack.confirm import Confirmation, verdict
from forebay.attack.measure import Measure
from forebay.attack.minimise import Small
from forebay.attack.plan import Plan, Target, time
from forebay.attack.search import Tried


@dataclass(frozen=True, slots=True)
class Found:
    """A find: as the search met it, made small, and looked at again.

    Example:
        >>> found.finds[0].verdict
        'not looked at'
    """

    name: str
    """Of its files."""
    tried: Tried
    """What the search met."""
    small: Small
    """The same made small."""
    confirmations: tuple[Confirmation, ...]
    """How it was looked at again."""
    scenario: Scenario
    """What `forebay run` takes; its seed is that of the search."""

    @property
    def verdict(self) -> str:
        """Whether it is confirmed by all that was possible."""
        return verdict(self.confirmations)

    @property
    def harm(self) -> float:
        """Mean over the seeds by which it was made small."""
        return self.small.after.mean


def scenario_of(target: Target, plan: Plan, queue: Any, seed: int, title: str) -> Scenario:
    """The scenario of a plan."""
    changed = target.change(plan, queue, seed=seed).of(target.base)
    files: dict[str, Any] = {
        each["path"]: _absolute(changed, each["file"]) for each in changed.resolved()["files"]
    }
    plugins = [_absolute(changed, each) for each in changed.document.get("plugins", [])]
    if plugins:
        files = {path: at for path, at in files.items() if not path.startswith("plugins")}
        files["plugins"] = plugins
    return changed.with_all({"title": title, "seed": seed, **files})


def _absolute(scenario: Scenario, file: str) -> str:
    """A file's name for a scenario that is written elsewhere."""
    return str(Path(scenario.base, file).resolve())


def file_text(found: Found, of: Measure, target: Target, command: str) -> str:
    """The scenario's file, with what it is above it."""
    lines = [
        f"{of.title}: {words.harm(of, found.harm)} ({found.verdict}).",
        *words.sentences(target, found.small.plan),
        "",
        f"Found by `{command}`, forebay {_engine.version}.",
    ]
    head = "\n".join(f"# {line}".rstrip() for line in lines)
    return f"{head}\n\n{to_toml(found.scenario.document)}"


def story(
    found: Found, of: Measure, target: Target, called: str, queue: Any, beside: dict[str, Any]
) -> str:
    """A story for `forebay explore --story FILE`."""
    return to_toml(_story(found, of, target, called, queue, beside))


def _story(
    found: Found,
    of: Measure,
    target: Target,
    called: str,
    queue: Any,
    beside: dict[str, Any],
) -> dict[str, Any]:
    scenario, plan = found.scenario, found.small.plan
    end = plan.duration or target.duration_s
    worst_s, moment = _worst(scenario, target.link, called)
    starts = [each.start for each in plan.joining]
    first = min(max(min(starts, default=end / 10), end / 20), end * 0.8)
    around = max(0.0, worst_s - end / 20)
    document = {name: each for name, each in scenario.document.items() if name != "seed"}
    given = {} if queue is None else labelled(queue)[1]
    lane = {"label": called, **given, **_own_queue(scenario, target.link)}

    def step(title: str, text: str, at: float, until: float, **more: Any) -> dict[str, Any]:
        until = min(end, max(until, at + end / 50))
        at = min(at, until - end / 100)
        speed = max(0.05, min(5.0, round((until - at) / 8, 2)))
        return {
            "title": title, "text": text, "at": time(at), "until": time(until), "speed": speed,
            **more,
        }  # fmt: skip

    names = ", ".join(entry["name"] for entry in target.traffic)
    return {
        "title": f"An attack on {called}",
        "question": f"How does {called} come to {words.harm(of, found.harm)} ({of.title})?",
        "order": 100,
        "link": target.link,
        "lanes": [lane],
        "scenario": document,
        "step": [
            step("The network", f"The scenario's own traffic: {names}.", 0.0, first),
            step(
                "What happens to it", words.in_short(target, plan), first, first + end / 5,
                shows=["queue", "throughput"],
            ),
            step(
                "The worst moment", moment, around, worst_s + end / 20,
                shows=["queue", "delay", "variables"],
            ),
            step(
                "What it costs",
                f"At the end: {of.title} {words.harm(of, found.harm)}. {of.about}",
                worst_s, end, shows=["delay", "throughput", "drops"],
            ),
            step(
                "Another discipline", f"The same network under {beside['label']}.", first, end,
                lanes=[lane, beside], shows=["queue", "delay", "throughput"],
            ),
        ],
    }  # fmt: skip


def _own_queue(scenario: Scenario, link: str) -> dict[str, Any]:
    from forebay._scenario import lookup, resolved_link

    place = resolved_link(scenario, link)["queue_path"]
    found: dict[str, Any] = lookup(scenario.document, place) or {"kind": "fifo"}
    return found


def _worst(scenario: Scenario, link: str, called: str) -> tuple[float, str]:
    """The instant at which the queue was longest after the warm-up, and what it was like."""
    result = run(scenario, threads=1)
    rows = result.queue.filter(pl.col("link") == link)
    rows = rows.filter(pl.col("time_s") > float(result.summary["warmup_s"]))
    row = rows.sort("max_packets", descending=True, maintain_order=True).row(0, named=True)
    own = [
        f"its {name.replace('_', ' ')} is {value:.4g}"
        for name, value in row.items()
        if name not in _USUAL and isinstance(value, float) and value == value
    ]
    lost = rows["dropped"].sum()
    text = (
        f"At {row['time_s']:.3g} s, {row['max_packets']:.0f} packets wait in {called}"
        + (f"; {', '.join(own)}" if own else "")
        + f". It drops {row['dropped']:.0f} packets just then, and {lost:.0f} in all."
    )
    return float(row["time_s"]), text


_USUAL = ("link", "time_s", "mean_packets", "max_packets", "mean_bytes", "dropped", "marked")
"""Columns of the series that are not a discipline's own variables."""
