"""One worst case of the system of a paper, as `papers/*/attack` keeps it.

    python benches/paper_attacks.py OUT [--minutes 0.25] [--only aspq]

Each folder has `scenario.toml`, what is attacked. This writes `found.toml` beside it, the worst
find that is confirmed (the worst if none is), and `found.json`, what the paper's page says of it.
The harm is what the system does more than a rival: its paper's own baseline. Of CQ-AQM and CP-AQM
no such find was confirmed: their finds are those of `worst_cases.py`, without a rival. OUT
keeps all runs; called again, it goes on. `forebay paper page NAME` writes the page again.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from worst_cases import confirmations

from forebay import _disk, _engine, _written, attack, load
from forebay.attack import confirm, finds, words
from forebay.attack.confirm import CONFIRMED
from forebay.attack.minimise import SEEDS
from forebay.attack.outcome import Outcome

HOME = Path(__file__).parents[1] / "papers"
ATTACKS: dict[str, dict[str, Any]] = {
    "ncq": {"against": "fifo", "measure": "p99"},
    "drop-strategies": {"against": "red", "measure": "starvation"},
    "aspq": {"box": "aspq", "measure": "starvation"},
}
"""Papers, and how their system is attacked."""
REMEDIES = {"aspq": {"kind": "aspq", "freeze": "when-full"}}
"""Boxes that prevent what was found."""


def main() -> None:
    """Attack what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=0.25)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    for paper, how in ATTACKS.items():
        if options.only in paper:
            keep(paper, how, options.out / paper, options.minutes)


def keep(paper: str, how: dict[str, Any], folder: Path, minutes: float) -> None:
    """Attack the system of a paper, and keep what was found."""
    home = HOME / paper.replace("-", "_") / "attack"
    place = home.relative_to(HOME.parent)
    given = " ".join(f"--{name} {value}" for name, value in how.items())
    command = f"forebay attack {place}/scenario.toml {given} --minutes {minutes:g}"
    outcome = attack.attack(
        load(home / "scenario.toml"), folder, **how, seconds=60 * minutes, command=command
    )
    confirmed = [each for each in outcome.finds if each.verdict == CONFIRMED]
    found = (confirmed or list(outcome.finds))[0]
    text = finds.file_text(found, outcome.measure, outcome.target, command)
    _disk.write(home / "found.toml", text)
    record = {
        "command": command,
        "run": f"forebay run {place}/found.toml",
        "version": _engine.version,
        "attacked": outcome.called,
        "beside": outcome.beside,
        "measure": outcome.measure.title,
        "harm": words.harm(outcome.measure, found.harm),
        "calm": words.harm(outcome.measure, outcome.calm),
        "about": words.in_short(outcome.target, found.small.plan),
        "verdict": found.verdict,
        "confirmations": confirmations(found, outcome),
        "candidates": outcome.searched.tried,
        "cpu_seconds": round(outcome.searched.cpu_s, 1),
    }
    if paper in REMEDIES:
        record["remedy"] = remedy(outcome, found, REMEDIES[paper], place, folder / "remedy")
    _disk.write(home / "found.json", _written.dump(record))
    print(paper, found.verdict, record["harm"], record["about"], flush=True)


def remedy(
    outcome: Outcome, found: finds.Found, box: dict[str, Any], place: Path, folder: Path
) -> dict[str, Any]:
    """What is left of a find with another box, in the simulator and in Linux in virtual time."""
    target, plain = outcome.target, outcome.target.queue
    again = confirm.confirmations(
        target,
        outcome.measure.name,
        found.small.plan,
        found.harm,
        SEEDS + 1,
        queue={**plain, "box": box},
        rival=plain,
        folder=folder,
    )
    seeds, _, linux = (words.interval(outcome.measure, each.found) for each in again)
    changed = " ".join(
        f"--set dumbbell.box.{name}={value}" for name, value in box.items() if name != "kind"
    )
    return {
        "run": f"forebay run {place}/found.toml {changed}",
        "harm": seeds,
        "seeds": confirm.SEEDS,
        "linux": linux,
    }


if __name__ == "__main__":
    main()
