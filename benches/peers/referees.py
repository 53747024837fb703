"""Runs all referees that this machine has, and names those that it lacks.

Usage: python benches/peers/referees.py [--only GROUP]...

Arguments go to the comparison with ns-2 and ns-3. Results are written to docs/validation.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Referee:
    """Who is asked, whether it is here, how to get it, and the scripts that ask it."""

    name: str
    is_here: Callable[[], bool]
    remedy: str
    scripts: Sequence[Sequence[str]]


def has_ns2() -> bool:
    """Whether ns-2 is installed."""
    return shutil.which("ns") is not None


def has_both() -> bool:
    """Whether ns-2 and ns-3 are."""
    library = Path("/usr/include/ns3/core-module.h")
    return has_ns2() and library.exists() and shutil.which("g++") is not None


def has_linux() -> bool:
    """Whether Linux in virtual time is built."""
    return (HERE.parents[1] / "target" / "virtual-linux" / "built.json").exists()


def referees(groups: Sequence[str]) -> list[Referee]:
    """All of them."""
    return [
        Referee(
            "ns-2 and ns-3",
            has_both,
            "apt-get install ns2 libns3-dev g++",
            [["compare.py", *groups]],
        ),
        Referee(
            "ns-2's diffserv and senders",
            has_ns2,
            "apt-get install ns2",
            [["dsred.py", "--seeds", "12"], ["stacks.py"]],
        ),
        Referee(
            "Linux in virtual time",
            has_linux,
            "make virtual-linux",
            [["linux/preset.py"], ["linux/disciplines.py"]],
        ),
    ]


def main() -> int:
    """Ask those that are here."""
    every = referees(sys.argv[1:])
    here = [each for each in every if each.is_here()]
    for each in here:
        print(f"== {each.name}", flush=True)
        for script, *words in each.scripts:
            done = subprocess.run([sys.executable, str(HERE / script), *words])
            if done.returncode != 0:
                return done.returncode
    for each in every:
        if each not in here:
            print(f"== not asked: {each.name} is not here; {each.remedy}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
