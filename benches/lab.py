"""CP-AQM on real packets beside its simulation: sections of docs/validation.md.

sudo .venv/bin/python benches/lab.py --out docs/validation/lab.json
.venv/bin/python benches/lab.py --virtual --out docs/validation/lab-virtual.json

The second sets the rows of the first beside those in virtual time. A row that is measured is
written beside the output at once, so that a bench that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from forebay import Scenario, _written, lab, run
from forebay._engine import version
from forebay.lab.agreement import Agreement, Row
from forebay.lab.virtual import kernel
from forebay.stats import Interval

CONTROLS = {"new-reno": "New Reno", "cubic": "CUBIC"}
VALIDATION = Path(__file__).resolve().parents[1] / "docs" / "validation"
QUEUE = {"kind": "cp-aqm", "threshold": "5p", "max_congestion": 1.2}


QUANTITIES = ("mean queue", "utilization", "loss")
NEAR = (-0.1, -0.075, -0.05, -0.025, 0, 0.025, 0.05, 0.075, 0.1)
"""ms by which the simulated delay is moved, to see how much hangs on it."""
OPENINGS = (8, 9, 10, 11, 12)
"""Initial windows in segments.

One flow repeats one of several cycles for ever: of New Reno over 5 ms, two recoveries lose 3 and 5
packets, or 3 and 6, in Linux, too. How it opens decides which one it enters."""
PROBE = {"kind": "cbr", "name": "probe", "rate": "5Mbit", "size": "1500B"}


def scenario(congestion: str, flows: int, delay: str) -> Scenario:
    """The paper's dumbbell (CP-AQM, section IV-A) with Linux' senders."""
    return Scenario.of(
        {
            "title": f"{flows} {congestion} flows, {delay}",
            "duration": "70s",
            "warmup": "10s",
            "seed": 1,
            # As the hosts of the lab send.
            "tcp": {
                "preset": "linux",
                "congestion": congestion,
                "stack": {"gso_max_segs": 1},
            },
            "dumbbell": {
                "rate": "10Mbit",
                "delay": delay,
                "overhead": "ppp",
                "queue": QUEUE,
                "access": {"rate": "1Gbit", "delay": "100us"},
            },
            "traffic": [{"kind": "bulk", "flows": flows, "start": ["0s", "5s"]}],
        }
    )


def path_delay() -> float:
    """What the lab's path takes beyond its links, in s one way: hosts and gates in user space."""
    probe = scenario("new-reno", 1, "5ms").with_("traffic", [PROBE]).with_("duration", "20s")
    live, simulated = (
        float(each(probe).summary["classes"]["probe"]["p50_delay_ms"]) for each in (lab.run, run)
    )
    return (live - simulated) / 1e3


def compare(case: tuple[str, int, str], runs: int, extra: float) -> list[Any]:
    """A row of the table."""
    congestion, flows, delay = case
    longer = float(delay.removesuffix("ms")) + extra * 1e3
    seeds = range(1, runs + 1)
    live = tuple(lab.run(scenario(*case), seed=seed) for seed in seeds)

    def simulated(moved: float, opening: int) -> dict[str, Row]:
        link = scenario(congestion, flows, f"{longer + moved:.3f}ms").with_(
            "tcp.initial_window", opening
        )
        found = Agreement(link, live, tuple(run(link, seed=seed) for seed in seeds))
        return {row.what: row for row in found.rows() if row.where == "bottleneck"}

    near = {each: simulated(*each) for each in product(NEAR, OPENINGS)}
    rows = near[0, 10]
    cells: list[Any] = [CONTROLS[congestion], flows, delay]
    for what in QUANTITIES:
        cells += [_text(rows[what].live), _text(rows[what].simulated)]
    cells.append(_nearby(rows, list(near.values())))
    print(*cells, sep="  ", file=sys.stderr, flush=True)
    return cells


def compare_virtual(case: tuple[str, int, str], runs: int) -> list[Any]:
    """A row of the table in virtual time; every seed runs twice.

    Raises:
        RuntimeError: two runs of a seed differ.
    """
    congestion, flows, delay = case
    seeds = range(1, runs + 1)
    both = lab.virtual.run_all(scenario(*case), [*seeds, *seeds])
    virtual = tuple(both[:runs])
    for one, other in zip(virtual, both[runs:], strict=True):
        if one.summary != other.summary or not one.queue.equals(other.queue):
            raise RuntimeError(f"{case}: two runs of seed {one.summary['seed']} differ")
    simulated = tuple(run(scenario(*case), seed=seed) for seed in seeds)
    found = Agreement(scenario(*case), virtual, simulated)
    rows = {row.what: row for row in found.rows() if row.where == "bottleneck"}
    live = next(row for row in measured_live() if row[:3] == [CONTROLS[congestion], flows, delay])
    cells: list[Any] = live[:3]
    for at, what in enumerate(QUANTITIES):
        cells += [_text(rows[what].simulated), _text(rows[what].live), live[3 + 2 * at]]
    print(*cells, sep="  ", file=sys.stderr, flush=True)
    return cells


def measured_live() -> list[list[Any]]:
    """The rows that were measured live."""
    document = json.loads((VALIDATION / "lab.json").read_text("utf-8"))
    return list(document["tables"][0]["rows"])


def virtual_section(rows: list[list[Any]], runs: int) -> dict[str, Any]:
    """The section of what was measured in virtual time."""
    columns = [
        f"{what}, {side}" for what in QUANTITIES for side in ("simulated", "virtual", "live")
    ]
    made = kernel.found().marks["version"]
    return {
        "section": "Simulated, in virtual time and live",
        "order": 5,
        "version": version,
        "command": shlex.join(["python", "benches/lab.py", *sys.argv[1:]]),
        "text": [
            "The scenarios of *Live against simulated* ran with `forebay lab --virtual` "
            f"(Debian's Linux {made} in user mode, [lab.md](lab.md)): {runs} runs with seeds 1 to "
            f"{runs} on each side, 95 % intervals. Every run in virtual time was done twice, and "
            f"all {runs * len(rows)} pairs are equal in every number. Hosts and gates take no "
            "time there, so the simulated link is exactly as long as the virtual one. The live "
            "measurements are repeated from that section.",
        ],
        "tables": [
            {
                "heading": "CP-AQM, threshold 5 packets, maximum congestion 1.2",
                "text": "",
                "columns": ["TCP", "flows", "one-way delay", *columns],
                "rows": rows,
            }
        ],
    }


def _nearby(rows: Mapping[str, Row], moved: Sequence[Mapping[str, Row]]) -> str:
    """The ranges of what little changes give, if what is seen live lies in all of them."""
    said = []
    for what in QUANTITIES:
        live, *simulated = (rows[what].live, *(each[what].simulated for each in moved))
        if live is None or None in simulated:
            return ""
        low = min(each.mean for each in simulated if each)
        high = max(each.mean for each in simulated if each)
        half = live.half_width or 0
        if not low - half <= live.mean <= high + half:
            return ""
        said.append(f"{what} {low:.4g} to {high:.4g}")
    return (
        f"delays up to {max(NEAR)} ms apart and initial windows of {OPENINGS[0]} to {OPENINGS[-1]} "
        f"have {', '.join(said)}"
    )


def _key(case: tuple[str, int, str]) -> str:
    return " ".join(map(str, case))


def _text(interval: Interval | None) -> str:
    if interval is None:
        return ""
    half = "" if interval.half_width is None else f" ± {interval.half_width:.2g}"
    return f"{interval.mean:.4g}{half}"


def main() -> None:
    """Measure, and write the section."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=3, help="runs of 60 s on each side")
    arguments.add_argument("--jobs", type=int, default=2, help="labs at a time")
    arguments.add_argument("--out", type=Path, required=True, help="where the section goes")
    arguments.add_argument("--virtual", action="store_true", help="in virtual time")
    options = arguments.parse_args()
    cases = list(product(CONTROLS, (1, 16), ("5ms", "50ms")))
    load = [os.getloadavg()[0]]
    part = options.out.with_suffix(".part")
    done = json.loads(part.read_text("utf-8")) if part.exists() else {}
    if options.virtual:
        for case in cases:
            if _key(case) not in done:
                done[_key(case)] = compare_virtual(case, options.runs)
                part.write_text(json.dumps(done), "utf-8")
        write(virtual_section([done[_key(case)] for case in cases], options.runs), options.out)
        part.unlink()
        return
    if "extra" not in done:
        done["extra"] = path_delay()
    extra = done["extra"]
    missing = [case for case in cases if _key(case) not in done]
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        asked = {pool.submit(compare, case, options.runs, extra): case for case in missing}
        for answer in as_completed(asked):
            done[_key(asked[answer])] = answer.result()
            part.write_text(json.dumps(done), "utf-8")
    rows = [done[_key(case)] for case in cases]
    load.append(os.getloadavg()[0])
    kernel = platform.release().split("-")[0]
    section = {
        "section": "Live against simulated",
        "order": 5,
        "version": version,
        "command": shlex.join(["python", "benches/lab.py", *sys.argv[1:]]),
        "text": [
            f"`forebay lab` ran real Linux TCP (kernel {kernel}) over the gate. `forebay run` "
            "simulated the same scenario: 10 Mb/s with PPP framing, 45 kB of buffer, flows that "
            f"start within 5 s, 60 s measured after 10 s. There are {options.runs} runs of each "
            f"with seeds 1 to {options.runs}, {options.jobs} labs at a time, and 95 % intervals. "
            "The mean queue counts packets that wait. Utilization and loss are in percent.",
            f"The machine's load average on its {os.cpu_count()} cores, other work included, was "
            f"{load[0]:.0f} when the measurement began and {load[1]:.0f} when it ended.",
            f"The path of the lab takes {extra * 1e6:.0f} us one way in addition to its links, "
            "because hosts and gates run in user space. The simulated link is longer by the same "
            "time, which matters if few packets are in flight.",
        ],
        "tables": [
            {
                "heading": "CP-AQM, threshold 5 packets, maximum congestion 1.2",
                "text": "",
                "columns": [
                    "TCP",
                    "flows",
                    "one-way delay",
                    "mean queue, live",
                    "simulated",
                    "utilization, live",
                    "simulated",
                    "loss, live",
                    "simulated",
                    "how much hangs on delay and opening",
                ],
                "rows": rows,
            }
        ],
    }
    write(section, options.out)
    part.unlink()


def write(section: Mapping[str, Any], path: Path) -> None:
    """Write a section."""
    path.write_text(_written.dump(section), "utf-8")


if __name__ == "__main__":
    main()
