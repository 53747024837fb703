"""Every call of the system that a command makes on its files fails once, in every way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "faults"
ALL = bool(os.environ.get("FOREBAY_FAULTS"))
"""Also what takes minutes (`make faults`), and the driver says at once how far it is."""
ONCE = ("full", "denied", "interrupted", "broken", "short")
STAYING = ("stays-full", "stays-broken", "stays-read-only", "stays-short")
QUICK = {
    "run-again": ("full", "broken"),
    "compare": ("full",),
    "sweep": ("full",),
    "save": ONCE,
    "captures": ONCE,
    "import": ONCE,
    "export": ("denied",),
}
"""What `make test` does."""
LONG = ("run", "report", "gate", "sweep-again", "new", "paper")


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that makes calls fail."""
    library = tmp_path_factory.mktemp("shim") / "faults.so"
    words = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", str(library)]
    subprocess.run([*words, str(HERE / "faults.c"), "-ldl"], check=True)
    return library


@pytest.mark.parametrize("command", [*QUICK, *LONG] if ALL else QUICK)
def test_a_call_that_fails_leaves_all_or_nothing(command: str, shim: Path, tmp_path: Path) -> None:
    faults = (*ONCE, *STAYING) if ALL else QUICK[command]
    done = subprocess.run(
        [sys.executable, str(HERE / "driver.py"), str(tmp_path), command, *faults],
        env=os.environ | {"LD_PRELOAD": str(shim)},
        stderr=None if ALL else subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 0, done.stderr
