"""A crate for a discipline of one's own, which builds, tests and runs at once."""

from __future__ import annotations

import os
import re
from pathlib import Path
from string import Template

from forebay import _disk
from forebay._engine import ScenarioError

HOME = Path(__file__).parent
"""Where the files of a crate are, to be filled in."""


def source_tree(start: Path) -> Path:
    """The folder of forebay's sources around `start`, or where this module lies."""
    here = Path(__file__).resolve()
    begun = _disk.leads_to(start)
    for folder in (begun, *begun.parents, *here.parents):
        if (folder / "crates" / "abi" / "Cargo.toml").is_file():
            return folder
    raise ScenarioError("forebay's sources are not here; say where they are with --source")


def write(name: str, folder: Path, source: Path) -> Path:
    """Write the crate of a discipline called `name` into a new folder."""
    if re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) is None:
        raise ScenarioError(
            f'"{name}" is not a name for a discipline; use small letters, '
            "digits and hyphens, as in my-aqm"
        )
    crate = folder / name
    if crate.exists():
        raise ScenarioError(f"{crate} exists; choose another name or remove it")
    words = {
        "name": name,
        "crate": name.replace("-", "_"),
        "type": "".join(word.capitalize() for word in name.split("-")),
        "tree": Path(os.path.relpath(_disk.leads_to(source), _disk.leads_to(crate))).as_posix(),
    }
    files: dict[str, str | bytes] = {
        path: Template((HOME / f"{Path(path).name}.in").read_text("utf-8")).substitute(words)
        for path in ("Cargo.toml", "src/lib.rs", "scenario.toml")
    }
    files[".gitignore"] = "target\n"
    # The versions that forebay is tested with.
    if (lock := _disk.read_if_any(source / "Cargo.lock")) is not None:
        files["Cargo.lock"] = lock

    def fill(fresh: Path) -> None:
        _disk.make_folder(fresh / "src")
        for path, content in files.items():
            _disk.write(fresh / path, content)

    _disk.make_folder(folder, follow=True)
    _disk.write_folder(crate, fill)
    return crate
