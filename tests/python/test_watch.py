"""`forebay watch`: what keys do, what is drawn, and the terminal that it leaves behind."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

import forebay
from forebay._cli import app
from forebay._comparison import variants_of
from forebay._watch import FASTEST, SLOWEST, Watch, sparks


def watched(file: Path, *disciplines: str) -> Watch:
    scenario = forebay.load(file)
    return Watch(variants_of(scenario, None, disciplines), scenario.compared_link(), seed=3)


def drawn(watch: Watch, width: int = 120, height: int = 40) -> str:
    console = Console(width=width, height=height, record=True, file=io.StringIO())
    console.print(watch.draw(width, height))
    return console.export_text()


def test_lanes_go_on_in_step_and_change_nothing(scenario_file: Path) -> None:
    watch = watched(scenario_file, "fifo", "codel")
    watch.speed = None
    while not watch.complete:
        watch.tick(0.1)
    assert len({lane.session.now_s for lane in watch.lanes}) == 1
    for lane in watch.lanes:
        plain = forebay.run(forebay.load(scenario_file), discipline=lane.label, seed=3)
        assert lane.session.finish().fingerprint == plain.fingerprint


def test_keys(scenario_file: Path) -> None:
    watch = watched(scenario_file, "fifo")
    watch.press(" ")
    watch.tick(0.1)
    assert watch.now_s == 0
    watch.press(".")
    assert watch.now_s == pytest.approx(0.1)
    watch.press(" ")
    watch.tick(0.1)
    assert watch.now_s > 0.1
    for _ in range(20):
        watch.press("-")
    assert watch.speed == SLOWEST
    for _ in range(20):
        watch.press("+")
    assert watch.speed is None
    watch.press("-")
    assert watch.speed == FASTEST
    watch.press(",")
    assert watch.now_s == 0 and len(watch.lanes[0].series["queue"].values) == 1
    watch.press("q")
    assert watch.ended


def test_the_picture_fits_and_says_what_there_is(scenario_file: Path) -> None:
    watch = watched(scenario_file, "fifo", "pie")
    for _ in range(30):
        watch.tick(0.1)
    for width, height in ((120, 40), (80, 24), (40, 60)):
        text = drawn(watch, width, height)
        lines = text.splitlines()
        assert max(map(len, lines)) <= width and len(lines) <= height
        for words in ("fifo", "pie", "p wait", "queue", "Mbit/s"):
            assert words in text
        # No number is cut.
        assert len(re.findall(r"\d p wait +dropped \d+ +│", text)) == 2
    assert "drop probability" in drawn(watch, 120, 60)


def test_sparks() -> None:
    assert sparks([0, 4, None, 8], 6, 8) == "   ▄ █"
    assert sparks([1, 2], 1, 2) == "█"
    assert sparks([1], 2, 0) == "  "


def test_it_plays_in_a_terminal_and_leaves_it_as_it_was(scenario_file: Path) -> None:
    inside, outside = pty.openpty()
    before = termios.tcgetattr(outside)
    command = [sys.executable, "-m", "forebay", "watch", str(scenario_file), "--speed", "5"]
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
    with subprocess.Popen(
        command, stdin=outside, stdout=outside, stderr=subprocess.PIPE, env=environment
    ) as process:
        seen = b""
        end = time.monotonic() + 60
        while b"paused" not in seen and time.monotonic() < end:
            if b"playing" in seen:
                os.write(inside, b" ")
            if select.select([inside], [], [], 0.2)[0]:
                seen += os.read(inside, 65536)
        assert b"p wait" in seen and b"paused" in seen
        os.write(inside, b"q")
        while process.poll() is None and time.monotonic() < end:
            if select.select([inside], [], [], 0.1)[0]:
                os.read(inside, 65536)
        assert process.returncode == 0
        assert process.stderr is not None and process.stderr.read() == b""
    assert termios.tcgetattr(outside) == before
    os.close(inside)
    os.close(outside)


def test_what_cannot_be_watched_is_said(scenario_file: Path) -> None:
    done = CliRunner().invoke(app, ["watch", str(scenario_file)])
    assert done.exit_code == 2 and "forebay run" in done.output


def test_bars_have_one_scale(scenario_file: Path) -> None:
    watch = watched(scenario_file, "fifo", "codel")
    for _ in range(60):
        watch.tick(0.1)
    most = max(lane.most for lane in watch.lanes)
    for place, lane in enumerate(watch.lanes):
        console = Console(width=70, height=20, record=True, file=io.StringIO())
        console.print(watch._panel(place, 60, 4))
        [bar] = [line for line in console.export_text().splitlines() if "\u2591" in line]
        assert bar.count("\u2588") == min(60, round(60 * lane.packets / most))
