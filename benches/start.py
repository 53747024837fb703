"""Processor time of short commands in seconds: the median of 11, beside an empty Python.

`python benches/start.py` on a quiet machine. The modules are compiled before.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

REPETITIONS = 11
SMALL = str(Path(__file__).parents[1] / "tests" / "python" / "small.toml")
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "forebay --help": ["-m", "forebay", "--help"],
    "forebay check": ["-m", "forebay", "check", SMALL],
    "forebay run": ["-m", "forebay", "run", SMALL],
    "forebay paper list": ["-m", "forebay", "paper", "list"],
}


def spent(words: list[str], environment: dict[str, str]) -> float:
    """Processor time of one command and of what it starts, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, *words]
    subprocess.run(command, env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    """Print the times of all commands."""
    with tempfile.TemporaryDirectory() as compiled:
        environment = os.environ | {"PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for name, words in COMMANDS.items():
            spent(words, environment)
            times = [spent(words, environment) for _ in range(REPETITIONS)]
            print(f"{name:20} {statistics.median(times):.3f} (least {min(times):.3f})")


if __name__ == "__main__":
    main()
