"""The address of the page: known to the person, and to nobody else on the machine."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser

from explore.driven import SCENARIO
from forebay._explore.browser import shown
from forebay._scenario import Scenario

NOBODY = 65534
SEEN = """\
#!/bin/sh
printf '%s\\n' "$@" > {note}.partial && mv {note}.partial {note}
exec sleep 600
"""
"""A browser that tells how it was called, and stays."""
SPY = """
import os, sys
os.setgroups([]); os.setgid({uid}); os.setuid({uid})
for process in os.listdir("/proc"):
    for what in ("cmdline", "environ"):
        try:
            print(open(f"/proc/{{process}}/{{what}}", "rb").read().decode(errors="replace"))
        except OSError:
            pass
try:
    print(open(sys.argv[1]).read())
except PermissionError:
    print("DENIED")
"""


@contextmanager
def exploring(folder: Path) -> Iterator[tuple[str, Path]]:
    """A command with a browser that stays in the foreground: the address, and how it was called."""
    note, browser = folder / "note", folder / "browser"
    browser.write_text(SEEN.format(note=note))
    browser.chmod(0o755)
    (folder / "small.toml").write_text(Scenario.of(SCENARIO).to_toml())
    with subprocess.Popen(
        [sys.executable, "-m", "forebay", "explore", "small.toml"],
        cwd=folder,
        env={**os.environ, "BROWSER": f"{browser} %s"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            while not note.exists():
                assert process.poll() is None
                time.sleep(0.01)
            yield address, Path(urlparse(note.read_text().strip()).path)
        finally:
            # Ctrl-C reaches the browser, too.
            os.killpg(process.pid, signal.SIGINT)
        assert process.wait(30) == 0


def test_the_page_is_served_while_the_browser_stays_and_leaves_no_file(tmp_path: Path) -> None:
    with exploring(tmp_path) as (address, file):
        with urlopen(address, timeout=30) as answer:
            assert answer.status == 200 and b"<html" in answer.read()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert address in file.read_text()
        token = address.split("/")[3]
        assert len(token) == 24 and token not in (tmp_path / "note").read_text()
    assert not file.parent.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")
def test_another_account_cannot_learn_the_address(tmp_path: Path) -> None:
    with exploring(tmp_path) as (address, file):
        command = [sys.executable, "-I", "-c", SPY.format(uid=NOBODY), str(file)]
        # What the account can read of every process, and of the file itself.
        spied = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd="/")
        assert "DENIED" in spied.stdout and "explore.html" in spied.stdout, spied.stderr
        assert address.split("/")[3] not in spied.stdout


def test_a_browser_follows_the_file(chromium: Browser, tmp_path: Path) -> None:
    (tmp_path / "there.html").write_text("<title>it & that</title>")
    address = f"{(tmp_path / 'there.html').as_uri()}?a=1#story=b&step=2"
    page = chromium.new_page()
    with pytest.MonkeyPatch.context() as patched:
        opened: list[str] = []
        patched.setattr("webbrowser.open", opened.append)
        with shown(address):
            while not opened:
                time.sleep(0.01)
            page.goto(opened[0])
            page.wait_for_url(re.compile(re.escape(address)))
    assert page.title() == "it & that"
    page.close()
