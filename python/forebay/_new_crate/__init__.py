"""A crate for something of one's own, which builds, tests and runs at once."""

from __future__ import annotations

import os
import re
import tarfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from string import Template

from forebay import _disk
from forebay._engine import ScenarioError, version

HOME = Path(__file__).parent
"""Where the files of a crate are, to be filled in."""


@dataclass(frozen=True)
class Kind:
    """What a crate is for, and what of forebay it is built on."""

    what: str
    """Its word in the command and in errors; the folder of its files."""
    example: str
    """A name for one."""
    files: tuple[str, ...]
    base: str
    """The crate that it names, without the first word."""
    parts: tuple[str, ...]
    """Those that this consists of."""


DISCIPLINE = Kind(
    "discipline",
    "my-aqm",
    ("Cargo.toml", "src/lib.rs", "scenario.toml"),
    "plugin",
    ("abi", "conformance", "core", "disciplines"),
)
ENDPOINT = Kind(
    "endpoint",
    "my-protocol",
    ("Cargo.toml", "src/lib.rs", "tests/world.rs"),
    "world",
    ("core", "disciplines", "middlebox", "shaper", "sim", "tcp"),
)


def _source_tree(start: Path) -> Path | None:
    """The folder of forebay's sources around `start` or this module, if there is one."""
    here = Path(__file__).resolve()
    begun = _disk.leads_to(start)
    for folder in (begun, *begun.parents, *here.parents):
        if (folder / "crates" / "plugin" / "Cargo.toml").is_file():
            return folder
    return None


def write(kind: Kind, name: str, folder: Path, source: Path | None) -> Path:
    """Write a crate called `name` into a new folder.

    Args:
        kind: what it is for.
        name: of a discipline also what scenarios call it.
        folder: where the crate's folder comes.
        source: a source tree, whose crates are used where they lie, or a folder of packed crates,
            which are unpacked into the new crate. None: the source tree around the folder or this
            module; if there is none, Cargo takes them from its registry.

    Raises:
        ScenarioError: the name is no name, the folder is there, or `source` has no crates.
    """
    if re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) is None:
        raise ScenarioError(
            f'"{name}" is not a name for a crate; use small letters, '
            f"digits and hyphens, as in {kind.example}"
        )
    crate = folder / name
    if crate.exists():
        raise ScenarioError(f"{crate} exists; choose another name or remove it")
    source = source if source is not None else _source_tree(folder)
    crates = sorted([kind.base, *kind.parts])
    files: dict[str, str | bytes] = {}
    paths: dict[str, str] = {}
    if source is not None and (source / "crates" / "plugin" / "Cargo.toml").is_file():
        tree = Path(os.path.relpath(_disk.leads_to(source), _disk.leads_to(crate))).as_posix()
        paths = {each: f"{tree}/crates/{each}" for each in crates}
        # The versions that forebay is tested with.
        if (tested := _disk.read_if_any(source / "Cargo.lock")) is not None:
            files["Cargo.lock"] = tested
    elif source is not None:
        for each in crates:
            packed = _unpacked(source, each)
            paths[each] = f"vendor/forebay-{each}"
            files |= {f"vendor/forebay-{each}/{path}": text for path, text in packed.items()}
        lock = files.get(f"vendor/forebay-{kind.base}/Cargo.lock", b"")
        assert isinstance(lock, bytes)
        files["Cargo.lock"] = _without_registry(lock.decode())
    patches = [f'forebay-{each} = {{ path = "{path}" }}' for each, path in paths.items()]
    words = {
        "name": name,
        "crate": name.replace("-", "_"),
        "type": "".join(word.capitalize() for word in name.split("-")),
        "version": version,
        "patch": "\n".join(["", "[patch.crates-io]", *patches, ""]) if patches else "",
    }
    for path in kind.files:
        text = (HOME / kind.what / f"{Path(path).name}.in").read_text("utf-8")
        files[path] = Template(text).substitute(words)
    files[".gitignore"] = "target\n"

    def fill(fresh: Path) -> None:
        for path, content in files.items():
            _disk.make_folder((fresh / path).parent)
            _disk.write(fresh / path, content)

    _disk.make_folder(folder, follow=True)
    _disk.write_folder(crate, fill)
    return crate


def _unpacked(folder: Path, crate: str) -> dict[str, bytes]:
    """The files of a packed crate, by their paths within it."""
    found = sorted(folder.glob(f"forebay-{crate}-[0-9]*.crate"))
    if len(found) != 1:
        what = "several" if found else "no"
        raise ScenarioError(
            f"{folder}: has {what} forebay-{crate}-VERSION.crate; --source takes forebay's source "
            "tree, or a folder with the packed crates of one version"
        )
    files = {}
    try:
        with tarfile.open(found[0]) as archive:
            for member in archive:
                path = PurePosixPath(*PurePosixPath(member.name).parts[1:])
                content = archive.extractfile(member) if member.isfile() else None
                if content is not None and ".." not in path.parts:
                    files[str(path)] = content.read()
    except (OSError, EOFError, tarfile.TarError) as error:
        raise ScenarioError(f"{found[0]}: is not a packed crate: {error}") from error
    return files


def _without_registry(lock: str) -> str:
    """`lock` with forebay's crates as of a folder, and all others as they are."""
    ours = r'(\[\[package\]\]\nname = "forebay-[^\]]*?)source = .*\nchecksum = .*\n'
    return re.sub(ours, r"\1", lock)
