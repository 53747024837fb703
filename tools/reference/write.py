"""Writes the reference pages: `python tools/reference/write.py docs/reference`."""

from __future__ import annotations

import sys
from pathlib import Path

from commands import cli_page
from controls import controls_page, stacks_page
from glossary import glossary_page
from header import c_page
from kinds import kinds_page
from modules import file_of, modules, python_page
from pages import PAGED, page
from picture import picture

from forebay._reference.files import Template
from forebay._scenario import load

if __name__ == "__main__":
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cli.md").write_text(cli_page(), encoding="utf-8")
    (folder / "kinds.md").write_text(kinds_page(), encoding="utf-8")
    (folder / "congestion.md").write_text(controls_page(folder.parents[1]), encoding="utf-8")
    (folder / "stacks.md").write_text(stacks_page(folder.parents[1]), encoding="utf-8")
    (folder / "glossary.md").write_text(glossary_page(), encoding="utf-8")
    (folder / "c.md").write_text(c_page(folder.parents[1]), encoding="utf-8")
    for file in PAGED:
        (folder / f"{file.value}.md").write_text(page(file), encoding="utf-8")
    for module in modules():
        (folder / file_of(module)).write_text(python_page(module), encoding="utf-8")
    images = folder.parent / "images"
    images.mkdir(exist_ok=True)
    for template in Template:
        (images / f"topology-{template.value}.svg").write_text(
            picture(load(template.file)), encoding="utf-8"
        )
