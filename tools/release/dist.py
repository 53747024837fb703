"""Make what a release holds, in dist: `make dist`, or `dist.py PART...` for some parts of it.

The wheel and the package of x86-64 lie in dist, those of AArch64 in dist/aarch64, so that
`pip install dist/*.whl` finds one wheel. Zig links against the symbols of an old C library; AArch64
is left out, with a line that says so, where Rust's standard library for it cannot be had.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
WORK = ROOT / "target" / "dist"
"""What is made on the way; `contrib/gate` and the gate's Cargo.toml name its files."""

GLIBC = "2.17"
"""The oldest C library on which the wheels and Debian packages run, that of manylinux2014."""


class Machine(NamedTuple):
    """A kind of processor: its target of Rust, and where its files go."""

    target: str
    folder: Path


X86_64 = Machine("x86_64-unknown-linux-gnu", DIST)
AARCH64 = Machine("aarch64-unknown-linux-gnu", DIST / "aarch64")


def version() -> str:
    """The version that the workspace has."""
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))
    return str(manifest["workspace"]["package"]["version"])


def run(*words: object, where: Path = ROOT, rust: str = "", **more: str) -> None:
    """Run a program that must succeed. `rust` are flags of rustc, `more` environment variables."""
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    # Panics name files of the source; nobody needs to know where they lay here. The flags are the
    # same for all parts, so that a crate is compiled once for each machine.
    flags = [f"--remap-path-prefix={home}/registry/src=registry"]
    flags += [f"--remap-path-prefix={each}=forebay" for each in (ROOT, unpacked())]
    flags += rust.split()
    scripts = sysconfig.get_path("scripts")
    environment = {
        **os.environ,
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "CARGO_TARGET_DIR": str(ROOT / "target"),
        "CARGO_PROFILE_RELEASE_STRIP": "symbols",
        "RUSTFLAGS": " ".join(flags),
        **more,
    }
    code = subprocess.run([str(word) for word in words], cwd=where, env=environment).returncode
    if code:
        raise SystemExit(f"error: {' '.join(map(str, words))} ended with code {code}")


def machines() -> list[Machine]:
    """The machines that can be built for."""
    words = ["rustup", "target", "add", X86_64.target, AARCH64.target]
    try:
        added = subprocess.run(words, capture_output=True, text=True)
        why = added.stderr.strip() if added.returncode else ""
    except FileNotFoundError:
        why = "there is no rustup; https://rustup.rs"
    if not why:
        return [X86_64, AARCH64]
    print(f"nothing for AArch64: `{' '.join(words)}` failed: {why}")
    return [X86_64]


def sdist() -> None:
    """The source distribution."""
    run("maturin", "sdist", "--out", DIST)


def unpacked() -> Path:
    """Where the source distribution is unpacked."""
    return WORK / f"forebay-{version()}"


def source() -> Path:
    """The source distribution, unpacked: what is built from it proves that it is whole."""
    where = unpacked()
    shutil.rmtree(where, ignore_errors=True)
    with tarfile.open(DIST / f"{where.name}.tar.gz") as archive:
        archive.extractall(WORK, filter="data")
    for path in where.rglob("*"):
        os.utime(path)  # Cargo knows by the time what has changed.
    return where


def packages(where: Path) -> set[tuple[str, str]]:
    """Names and versions in a lock file of Cargo."""
    lock = tomllib.loads((where / "Cargo.lock").read_text("utf-8"))
    return {(each["name"], each["version"]) for each in lock["package"]}


def locked_source() -> Path:
    """The source distribution, unpacked, with a lock file of its own."""
    where = source()
    # Cargo leaves out of the lock file what the other crates of the workspace need.
    run("cargo", "update", "--quiet", "--workspace", where=where)
    if others := packages(where) - packages(ROOT):
        raise SystemExit(f"error: the source distribution needs others than Cargo.lock: {others}")
    return where


def wheels() -> None:
    """A wheel for each machine, for every Python from 3.10."""
    where = locked_source()
    for machine in machines():
        words = ["maturin", "build", "--release", "--locked", "--strip", "--zig"]
        words += ["--compatibility", "manylinux2014", "--target", machine.target]
        run(*words, "--out", machine.folder, where=where)


def pages() -> None:
    """The gate's manual pages, completions, and changelog in Debian's form."""
    shutil.rmtree(WORK / "pages", ignore_errors=True)
    words = ["cargo", "run", "--quiet", "--locked", "-p", "forebay-gate", "--example", "pages"]
    run(*words, "--", WORK / "pages", RUSTFLAGS="", CARGO_PROFILE_RELEASE_STRIP="none")
    with (ROOT / "crates/gate/Cargo.toml").open("rb") as file:
        maintainer = tomllib.load(file)["package"]["metadata"]["deb"]["maintainer"]
    when = datetime.fromtimestamp(moment(), timezone.utc)
    entry = f"forebay-gate ({version()}-1) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n"
    entry += f" -- {maintainer}  {when:%a, %d %b %Y %H:%M:%S +0000}\n"
    (WORK / "changelog").write_text(entry, "utf-8")


def moment() -> int:
    """When the source was committed, in seconds: the time that all files bear."""
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(epoch)
    words = ["git", "log", "-1", "--format=%ct"]
    return int(subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout)


def debian() -> None:
    """A Debian package of the gate for each machine."""
    pages()
    for machine in machines():
        words = ["--release", "--locked", "-p", "forebay-gate", "--bin", "forebay-gate"]
        run("cargo-zigbuild", "zigbuild", *words, "--target", f"{machine.target}.{GLIBC}")
        words = ["--no-build", "--no-strip", "--target", machine.target, "--output"]
        tool = ROOT / "target/tools/bin/cargo-deb"
        run(
            tool,
            "--quiet",
            "-p",
            "forebay-gate",
            *words,
            machine.folder,
            SOURCE_DATE_EPOCH=str(moment()),
        )


def static() -> None:
    """The gate as a program that needs no library, in an archive with its pages."""
    pages()
    words = ["cargo", "build", "--release", "--locked", "-p", "forebay-gate"]
    words += ["--bin", "forebay-gate", "--target", X86_64.target]
    run(*words, rust="-C target-feature=+crt-static")
    name = f"forebay-gate-{version()}-x86_64-linux-static"
    files = [ROOT / "target" / X86_64.target / "release/forebay-gate"]
    files += [ROOT / each for each in ("LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.md")]
    others = ("README.md", "copyright")
    files += [path for path in (ROOT / "contrib/gate").iterdir() if path.name not in others]
    files += (WORK / "pages").iterdir()
    with (
        (DIST / f"{name}.tar.gz").open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=moment()) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for path in sorted(files):
            archive.add(path, f"{name}/{path.name}", filter=of_nobody)


def of_nobody(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """A file as anybody would have packed it."""
    entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = moment(), 0, 0, "root", "root"
    entry.mode = 0o755 if entry.mode & 0o100 else 0o644
    return entry


def npm() -> None:
    """The engine as a package of npm, with types for TypeScript."""
    tool = shutil.which("npm")
    if tool is None:
        print("   left out: npm is missing (Debian: nodejs npm)")
        return
    made = subprocess.run(["make", "web"], cwd=ROOT).returncode
    if made:
        print("   left out: make web says why")
        return
    folder = WORK / "npm"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "crates/web/npm", folder)
    manifest = json.loads((folder / "package.json").read_text("utf-8"))
    manifest["version"] = version()
    (folder / "package.json").write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")
    shutil.copy(ROOT / "crates/web/js/engine.js", folder)
    shutil.copy(ROOT / "target/page/forebay.wasm", folder)
    for name in ("LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.md"):
        shutil.copy(ROOT / name, folder)
    types = "--declaration --emitDeclarationOnly --allowJs --checkJs --strict --skipLibCheck"
    words = [*types.split(), "--target", "es2022", "--lib", "es2023,dom", "--outDir", folder]
    run(ROOT / "tools/js/node_modules/.bin/tsc", *words, folder / "engine.js")
    run(tool, "pack", "--silent", "--pack-destination", DIST, where=folder)


def sums() -> None:
    """SHA256SUMS, in the form of sha256sum."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(DIST)}\n"
        for path in sorted(DIST.rglob("*"))
        if path.is_file() and path.name != "SHA256SUMS"
    ]
    (DIST / "SHA256SUMS").write_text("".join(lines), "utf-8")


PARTS: dict[str, Callable[[], None]] = {
    "sdist": sdist,
    "wheels": wheels,
    "debian": debian,
    "static": static,
    "npm": npm,
}


def main(names: list[str]) -> None:
    """Make the parts that are named, or all of them."""
    if unknown := [name for name in names if name not in PARTS]:
        raise SystemExit(f"error: {unknown[0]}: no part of a release; there are {', '.join(PARTS)}")
    if not names:
        shutil.rmtree(DIST, ignore_errors=True)
    WORK.mkdir(parents=True, exist_ok=True)
    for machine in (X86_64, AARCH64):
        machine.folder.mkdir(parents=True, exist_ok=True)
    for name in names or PARTS:
        print(f"== {name}", flush=True)
        PARTS[name]()
    sums()
    for path in sorted(DIST.rglob("*")):
        if path.is_file():
            print(f"{path.stat().st_size / 1e6:8.2f} MB  {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1:])
