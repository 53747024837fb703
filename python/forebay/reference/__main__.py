"""Writes the reference pages: `python -m forebay.reference docs/reference`."""

from __future__ import annotations

import sys
from pathlib import Path

from forebay.reference.files import File
from forebay.reference.kinds import kinds_page
from forebay.reference.pages import page

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kinds.md").write_text(kinds_page(), encoding="utf-8")
    for file in (File.scenario, File.study, File.suite):
        (folder / f"{file.value}.md").write_text(page(file), encoding="utf-8")
