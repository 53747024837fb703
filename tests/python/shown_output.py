"""What pages of the documents show of a command's output; run as a program, it writes it anew.

python tests/python/shown_output.py

A block ```text shows a part of what the command above it prints, as a reader's terminal shows it.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path

from click.testing import CliRunner

from forebay._cli import app

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("start.md", "tutorials/provider.md")
LAST = re.compile("^Judged: | in a gate$")
"""The first line that no page shows."""
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def output(commands: list[str]) -> str:
    """What the last command prints, after the others have run in an empty folder."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for each in commands:
            words = shlex.split(each)[1:]
            done = CliRunner().invoke(app, words, env={"COLUMNS": "80", "NO_COLOR": "1"})
            assert done.exit_code == 0, (each, done.output)
    return "".join(f"{line.rstrip()}\n" for line in done.output.splitlines())


def shown(page: str) -> Iterator[tuple[str, str]]:
    """Each block of a page, and the same part of what its command prints now."""
    text = (DOCS / page).read_text("utf-8")
    before: list[str] = []
    last = ""
    for fence in FENCE.finditer(text):
        language, block = fence.groups()
        if language == "console":
            last = re.findall(r"^\$ (forebay .*)", block, re.MULTILINE)[-1]
            before += [last] if " new scenario " in last else []
        elif language == "text":
            lines, now = block.splitlines(), output([*before, last]).splitlines()
            first = next(
                at for at, line in enumerate(now) if line.split()[:2] == lines[0].split()[:2]
            )
            end = next(at for at in range(first, len(now)) if LAST.search(now[at]))
            yield block, "\n".join(now[first:end]).rstrip() + "\n"


if __name__ == "__main__":
    for page in PAGES:
        text = (DOCS / page).read_text("utf-8")
        for was, now in shown(page):
            text = text.replace(was, now)
        (DOCS / page).write_text(text, encoding="utf-8")
