"""Compare the advice on examples/confirmed with Linux' own disciplines, in the virtual lab.

Run from the source tree: `.venv/bin/python benches/advice.py REPLICATIONS GATE NETWORK...`, all of
which may be left out. It prints, as Markdown, what forebay recommends, and what that discipline
gives and costs compared with today's queue, once simulated and once with the kernel's disciplines
and senders.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import forebay
from forebay import lab
from forebay._advice import advise, judged_by
from forebay._advice.criteria import Criterion
from forebay._advice.network import number
from forebay._advice.pick import rank
from forebay._advice.words import amount
from forebay._comparison import Comparison, beside_today, entries
from forebay._scenario import TODAY
from forebay.lab import topology
from forebay.lab.errors import LabError
from forebay.lab.virtual import kernel

FOLDER = Path(__file__).parents[1] / "examples" / "confirmed"


def of_kernel(label: str, queue: Mapping[str, Any], overhead: str) -> dict[str, Any]:
    """The kernel's discipline that is the same as forebay's on a link with this overhead."""
    options = ""
    if queue["kind"] == "fifo":
        limit = str(queue.get("limit", "1000p"))
        packets = limit.endswith("p")
        name, count = ("pfifo", limit[:-1]) if packets else ("bfifo", limit.replace("MB", "000000"))
        options = f"limit {count}"
    else:
        name = str(queue["kind"]).replace("-", "_")
        words = [f"{key} {queue[key]}" for key in ("target", "interval") if key in queue]
        options = " ".join([*words, *([overhead] if name == "cake" else [])])
    return {"label": label, "kind": "kernel", "qdisc": name, "options": options.strip()}


def beside(found: Comparison, pick: str) -> Iterator[tuple[Criterion, str]]:
    """Each deciding measure, and its difference from today in words."""
    for each in judged_by(found):
        if pick in each.intervals and TODAY in each.intervals:
            difference = each.difference(pick, TODAY)
            assert difference is not None
            way = "-" if difference.mean < 0 else "+"
            yield each, f"{way}{amount(difference, each)}"


def networks(names: list[str]) -> Iterator[tuple[str, forebay.Scenario]]:
    """Each network; one whose rate varies at its lowest and highest: links of a lab keep theirs."""
    for file in sorted(FOLDER.glob("*.toml")):
        if names and file.stem not in names:
            continue
        scenario = forebay.load(file)
        rate = scenario.document["link"][0]["rate"]
        if isinstance(rate, str):
            yield file.stem, scenario
            continue
        steps = sorted({step[1] for step in rate["steps"]}, key=lambda each: number(each) or 0.0)
        for one in (steps[0], steps[-1]):
            yield f"{file.stem} at {one}", scenario.with_("link[0].rate", one)


def main(replications: int, gate: str | None, names: list[str]) -> None:
    """Print a row for each deciding measure of each network."""
    linux_kernel = kernel.found()
    print("| Network | Recommended | Among the best on Linux | Measure | Simulated | Linux |")
    print("|---|---|---|---|---|---|")
    for name, scenario in networks(names):
        lanes = entries(beside_today(scenario))
        hosted = topology.read(scenario).simulated
        simulated = forebay.compare(hosted, disciplines=lanes, replications=replications)
        overhead = scenario.document["link"][0]["overhead"]
        twins = [of_kernel(each.label, each.queue, overhead) for each in simulated.variants]
        linux = lab.compare(
            scenario, twins, replications=replications, kernel=linux_kernel, gate=gate
        )
        pick = advise(simulated).pick
        assert pick is not None
        order = rank(judged_by(linux), linux.labels, linux.level)
        best = [order.order[0], *order.equal, *order.alike, *order.open]
        among = f"{'yes' if pick in best else 'no'}: {', '.join(best)}"
        there = {each.name: words for each, words in beside(linux, pick)}
        for row, (each, words) in enumerate(beside(simulated, pick)):
            head = [name, pick, among] if row == 0 else ["", "", ""]
            print("|", " | ".join([*head, each.name, words, there.get(each.name, "–")]), "|")
        sys.stdout.flush()


if __name__ == "__main__":
    count, gate, *names = [*sys.argv[1:], *("5", "")[len(sys.argv) - 1 :]]
    try:
        main(int(count), gate or None, names)
    except LabError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
