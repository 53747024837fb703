"""What the advice says about each scenario in `advice/`; run as a program, it writes it down.

python tests/python/advice_said.py
"""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from rich.console import Console

import forebay
from forebay._advice import advise
from forebay._advice.show import print_advice
from forebay._comparison import beside_today, entries

FOLDER = Path(__file__).parent / "advice"
SCENARIOS = sorted(path.stem for path in FOLDER.glob("*.toml"))


def said(name: str) -> str:
    """What a user reads below the table."""
    scenario = forebay.load(FOLDER / f"{name}.toml")
    lanes = entries(beside_today(scenario))
    advice = advise(forebay.compare(scenario, disciplines=lanes))
    screen = StringIO()
    print_advice(Console(file=screen, width=100), advice)
    findings = "".join(f"{finding}\n" for finding in (*advice.findings, *advice.others))
    lines = [line.rstrip() for line in f"{screen.getvalue().strip()}\n\n{findings}".splitlines()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for each in SCENARIOS:
        (FOLDER / f"{each}.txt").write_text(said(each), encoding="utf-8")
