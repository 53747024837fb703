"""A plan, a harm and a find in words."""

from __future__ import annotations

import math
from collections.abc import Iterator

from forebay._report.table import number
from forebay.attack.measure import Measure
from forebay.attack.plan import DATAGRAMS, Joining, Plan, Target, rate, size, time
from forebay.stats import Interval


def harm(of: Measure, value: float) -> str:
    """A harm with its unit."""
    if math.isinf(value):
        return "breaks the contract" if value > 0 else "–"
    if math.isnan(value):
        return "–"
    shown = f"{value * of.scale:.{of.decimals}f}"
    return f"{shown} {of.unit}".rstrip()


def interval(of: Measure, found: Interval | None) -> str:
    """A mean harm with its interval."""
    if found is None:
        return "–"
    half = None if found.half_width is None else found.half_width * of.scale
    return f"{number(found.mean * of.scale, half, of.decimals)} {of.unit}".rstrip()


def sentences(target: Target, plan: Plan) -> list[str]:
    """What a plan does to a scenario, a sentence each."""
    return [*_path(target, plan), *(_joining(target, each) for each in plan.joining)]


def in_short(target: Target, plan: Plan) -> str:
    """A plan in a line."""
    return " ".join(sentences(target, plan)) or "The scenario as it is."


def _path(target: Target, plan: Plan) -> Iterator[str]:
    if plan.delay is not None:
        yield f"The link's delay is {time(plan.delay)}."
    if plan.slow is not None:
        share, every, part = plan.slow
        slow = time(every * part)
        yield (
            f"Every {time(every)} the link slows down to {rate(target.rate_bps * share)} "
            f"for {slow}."
        )
    if plan.loss is not None:
        yield f"The wire loses {100 * plan.loss:.3g} % of the packets."
    if plan.cut is not None:
        cut, every = plan.cut
        yield f"Every {time(every)} the wire loses everything for {time(cut)}."
    if plan.reorder is not None:
        share, late = plan.reorder
        yield f"{100 * share:.3g} % of the packets arrive {time(late)} late."
    for path, value in plan.parameters.items():
        yield f"{path} is {value}."


def _joining(target: Target, each: Joining) -> str:
    flows = f"{each.flows} flows" if each.flows > 1 else "one flow"
    if each.kind in DATAGRAMS:
        speed = rate(target.rate_bps * each.rate)
        what = {
            "cbr": f"{speed} of datagrams of {each.size} B, evenly",
            "poisson": f"{speed} of datagrams of {each.size} B, at random",
            "on-off": (
                f"pulses of {speed} for {time(each.on)}, {time(each.off)} apart, of datagrams of "
                f"{each.size} B"
            ),
        }[each.kind]
        what += f", {each.ecn.upper()}" if each.ecn != "not-ect" else ""
    else:
        ecn = ", with ECN" if each.ecn != "not-ect" else ""
        what = (
            f"endless transfers ({each.control}{ecn})"
            if each.kind == "bulk"
            else f"transfers of {size(each.file)}, {time(each.pause)} apart ({each.control}{ecn})"
        )
    text = f"From {time(each.start)}" + ("" if each.stop is None else f" to {time(each.stop)}")
    text += f", {flows}: {what}"
    if each.way is not None:
        text += f"; their way to the link takes {time(each.way)}"
    if each.like:
        text += f"; marked like {target.traffic[each.like - 1]['name']}"
    return f"{text}."
