"""Known vulnerabilities, licences and sources of all dependencies: `make audit`.

cargo-deny checks the crates, by deny.toml. Python packages are compared with PyPA's database. Both
databases are git repositories, cloned into target/advisories; without a network what was cloned
before is used, with its date. A mirror is named to git: `git config url.MIRROR.insteadOf URL`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import yaml
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parents[2]
PYPA = "https://github.com/pypa/advisory-database"
DATABASES = ROOT / "target" / "advisories"
OLD = timedelta(days=30)
"""From then on a database deserves a warning: PyPA's changes every day."""
PLACES = ("", "fuzz", "contrib/rattan", "benches/quinn")
MANIFESTS = [ROOT / place / "Cargo.toml" for place in PLACES]


def pinned(lock: Path) -> Iterator[tuple[str, str]]:
    """Names and versions that a lock file pins."""
    for line in lock.read_text("utf-8").splitlines():
        if found := re.match(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)", line):
            yield canonicalize_name(found[1]), found[2]


def version(text: str) -> Version | None:
    """A version, if it is one by PEP 440."""
    try:
        return Version(text)
    except InvalidVersion:
        return None


def affected(entry: dict[str, Any], text: str) -> bool:
    """Whether an entry of OSV's `affected` concerns a version."""
    if text in entry.get("versions", ()):
        return True
    wanted = Version(text)
    for scope in entry.get("ranges", ()):
        if scope["type"] != "ECOSYSTEM":
            continue
        inside = False
        events = [(kind, when) for event in scope["events"] for kind, when in event.items()]
        for kind, when in events:
            at = Version("0") if when == "0" else version(str(when))
            if at is None:
                continue
            if kind == "introduced" and wanted >= at:
                inside = True
            elif (kind == "fixed" and wanted >= at) or (kind == "last_affected" and wanted > at):
                inside = False
        if inside:
            return True
    return False


def found(database: Path, name: str, text: str) -> Iterator[str]:
    """The vulnerabilities of a package's version: identity, other names and what fixes it."""
    for path in sorted((database / "vulns" / name).glob("*.yaml")):
        record = yaml.safe_load(path.read_text("utf-8"))
        if record.get("withdrawn"):
            continue
        for entry in record["affected"]:
            if canonicalize_name(entry["package"]["name"]) == name and affected(entry, text):
                others = ", ".join(record.get("aliases", ()))
                yield f"{name} {text}: {record['id']}" + (f" ({others})" if others else "")
                break


def cloned(url: str, folder: Path) -> bool:
    """Have a clone of a repository that is as new as can be had."""
    quiet = ["--quiet", "--depth", "1"]
    if folder.exists():
        words = ["git", "-C", str(folder), "pull", "--ff-only", *quiet]
    else:
        words = ["git", "clone", *quiet, url, str(folder)]
    code = subprocess.run(words).returncode
    if code and not folder.exists():
        return False
    words = ["git", "-C", str(folder), "log", "-1", "--format=%cs"]
    date = subprocess.run(words, capture_output=True, text=True).stdout.strip()
    print(f"PyPA's database is of {date}{', and cannot be updated' if code else ''}")
    if (age := datetime.now(timezone.utc).date() - datetime.fromisoformat(date).date()) > OLD:
        print(f"warning: it is {age.days} days old; what has been found since is not in it")
    return True


def python() -> bool:
    """Compare the pinned Python packages with PyPA's database."""
    database = DATABASES / "pypa"
    if not cloned(PYPA, database):
        print(f"error: Python packages are not compared: cannot clone {PYPA}", file=sys.stderr)
        return False
    pins = {pin for lock in sorted(ROOT.glob("requirements*.lock")) for pin in pinned(lock)}
    known = [line for name, text in sorted(pins) for line in found(database, name, text)]
    for line in known:
        print(f"error: {line}", file=sys.stderr)
    print(f"{len(pins)} Python packages, {len(known)} known vulnerabilities")
    return not known


def crates() -> bool:
    """Have cargo-deny check the crates."""
    tool = [str(ROOT / "target/tools/bin/cargo-deny"), "--config", str(ROOT / "deny.toml")]
    fetched = subprocess.run([*tool, "fetch", "db"], cwd=ROOT, capture_output=True, text=True)
    if fetched.returncode and not any(DATABASES.glob("advisory-db-*")):
        print(fetched.stderr.rstrip(), file=sys.stderr)
        print("error: crates are not checked: cannot clone RustSec's database", file=sys.stderr)
        return False
    good = True
    for manifest in MANIFESTS:
        print(f"cargo deny: {manifest.relative_to(ROOT)}", flush=True)
        words = ["--manifest-path", str(manifest), "--log-level", "error", "--locked", "check"]
        if fetched.returncode:
            words.insert(0, "--offline")
        good &= subprocess.run([*tool, *words, "--hide-inclusion-graph"], cwd=ROOT).returncode == 0
    return good


def main() -> int:
    """Both, whatever the first one says."""
    results = [crates(), python()]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
