"""Make a release: `make release VERSION=0.3.0`, or `python tools/release/release.py 0.3.0`.

It writes the version wherever it stands, builds and tests what is released, commits and tags. Only
then is anything kept: a step that fails leaves the files as they were. It never pushes.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
BRANCH = "main"
STEPS = (["make", "test"], ["make", "package"], ["make", "audit"], ["make", "dist", "test-dist"])
"""What must succeed with the new version before it is committed."""

PROJECT = "tools/release/project.toml"
FIELDS = {
    "copyright": (r"\S.*", "a name"),
    "maintainer": (r"[^<>]+ <[^<>@\s]+@[^<>@\s]+\.[^<>@\s]+>", "a name and an address"),
    "repository": (r"https://\S+", "an address that begins with https://"),
}
"""What a maintainer fills in: its form, and that in words."""

Run = Callable[[Sequence[str], Path], None]
"""Runs a program in a folder; raises `Refused` if it fails."""


class Refused(Exception):
    """There is no release, and why."""


def git(root: Path, *words: str) -> str:
    """What git answers."""
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise Refused(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


def numbers(version: str) -> tuple[int, ...]:
    """A version as numbers that can be compared."""
    if not re.fullmatch(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}", version):
        raise Refused(f'version: expected three numbers such as 0.3.0, got "{version}"')
    return tuple(map(int, version.split(".")))


def present(root: Path) -> str:
    """The version that the workspace has now."""
    text = (root / "Cargo.toml").read_text("utf-8")
    found = re.search(r'^\[workspace\.package\]\nversion = "(.*)"$', text, re.MULTILINE)
    if not found:
        raise Refused("Cargo.toml: [workspace.package] does not begin with a version")
    return found[1]


def project(root: Path) -> dict[str, str]:
    """What a maintainer has filled in."""
    found = tomllib.loads((root / PROJECT).read_text("utf-8"))
    for name, (form, words) in FIELDS.items():
        value = str(found.get(name, ""))
        if not re.fullmatch(form, value) or '"' in value or "\\" in value:
            raise Refused(f'{PROJECT}: {name}: expected {words}, got "{value}"')
    return {name: found[name] for name in FIELDS}


def check(root: Path, version: str) -> None:
    """Refuse what must not be released."""
    now = present(root)
    if numbers(version) < numbers(now):
        raise Refused(f"version: {version} comes before {now}, which Cargo.toml has")
    project(root)
    if dirty := git(root, "status", "--porcelain"):
        files = ", ".join(line.split(maxsplit=1)[1] for line in dirty.splitlines()[:5])
        raise Refused(f"files are not committed: {files}; commit or remove them")
    if (branch := git(root, "branch", "--show-current")) != BRANCH:
        raise Refused(f"branch: releases are made on {BRANCH}, and this is {branch or 'none'}")
    if git(root, "tag", "--list", f"v{version}"):
        raise Refused(f"tag: v{version} exists")
    changes = (root / "CHANGELOG.md").read_text("utf-8")
    heading = section(now, version)
    found = re.search(heading + r"\n(.*?)(?=^## |\Z)", changes, re.MULTILINE | re.DOTALL)
    if not found or not re.search(r"^- ", found[1], re.MULTILINE):
        name = version if version == now else "Unreleased"
        raise Refused(f"CHANGELOG.md: nothing stands under [{name}]; say what has changed")


def section(old: str, version: str) -> str:
    """A pattern of the heading in the changelog under which the changes of a release stand."""
    return rf"^## \[{re.escape(version)}\] - [^\n]*$" if version == old else r"^## \[Unreleased\]$"


def places(old: str, version: str, today: str) -> dict[str, list[tuple[str, str]]]:
    """For each file the patterns where the version stands, and what is to stand there."""
    was = re.escape(old)
    heading = f"## [{version}] - {today}"
    lock = (
        rf'(^name = "forebay-(?!fuzz"|rattan")[^"]*"\nversion = )"{was}"$(?!\nsource)',
        rf'\g<1>"{version}"',
    )
    return {
        "Cargo.toml": [
            (rf'^(version = )"{was}"$', rf'\g<1>"{version}"'),
            (rf'^(forebay-.* version = )"{was}"', rf'\g<1>"{version}"'),
        ],
        "Cargo.lock": [lock],
        "fuzz/Cargo.lock": [lock],
        "contrib/rattan/Cargo.lock": [lock],
        "CITATION.cff": [
            (
                rf"^version: {was}\n(date-released: .*\n)?",
                f"version: {version}\ndate-released: {today}\n",
            )
        ],
        "contrib/conda/recipe.yaml": [(rf'^(  version: )"{was}"$', rf'\g<1>"{version}"')],
        "CHANGELOG.md": [
            (section(old, version), heading if version == old else f"## [Unreleased]\n\n{heading}"),
        ],
    }


def identity(known: dict[str, str]) -> dict[str, list[tuple[str, str]]]:
    """Likewise, for what stands in `project.toml`."""
    holder, maintainer, repository = (known[name] for name in FIELDS)
    urls = f'[project.urls]\nRepository = "{repository}"\n\n'
    return {
        "Cargo.toml": [(r'^repository = ".*"$', f'repository = "{repository}"')],
        "CITATION.cff": [
            (r'^  - name: ".*"$', f'  - name: "{holder}"'),
            (r"^(?:repository-code: .*\n)?license:$", f"repository-code: {repository}\nlicense:"),
        ],
        "LICENSE-MIT": [(r"^(Copyright \(c\) \d+) .*$", rf"\g<1> {holder}")],
        "contrib/gate/copyright": [(r"^(Copyright: \d+) .*$", rf"\g<1> {holder}")],
        "crates/gate/Cargo.toml": [(r'^maintainer = ".*"$', f'maintainer = "{maintainer}"')],
        "contrib/conda/recipe.yaml": [
            (r"^about:\n(?:  repository: .*\n)?", f"about:\n  repository: {repository}\n")
        ],
        "pyproject.toml": [
            (r"^(?:\[project\.urls\]\nRepository = .*\n\n)?(\[project\.scripts\])$", rf"{urls}\1")
        ],
    }


def write(root: Path, version: str, today: str) -> list[str]:
    """Write the version and what a maintainer has filled in; answers the files."""
    files = places(present(root), version, today)
    for name, patterns in identity(project(root)).items():
        files.setdefault(name, []).extend(patterns)
    for name, patterns in files.items():
        text = (root / name).read_text("utf-8")
        for pattern, new in patterns:
            text, count = re.subn(pattern, new, text, flags=re.MULTILINE)
            if not count:
                raise Refused(f"{name}: the version is not where it was expected: {pattern}")
        (root / name).write_text(text, "utf-8")
    return list(files)


def step(words: Sequence[str], root: Path) -> None:
    """Run one step, with its output shown."""
    print(f"== {' '.join(words)}", flush=True)
    if code := subprocess.run(words, cwd=root).returncode:
        raise Refused(f"{' '.join(words)} ended with code {code}")


def release(version: str, root: Path = ROOT, run: Run = step) -> None:
    """Everything, in order."""
    check(root, version)
    today = f"{datetime.now(timezone.utc):%Y-%m-%d}"
    try:
        files = write(root, version, today)
        for words in STEPS:
            run(words, root)
        # The steps may write generated files; those must be committed before a release.
        changed = {line.split(maxsplit=1)[1] for line in status(root)}
        if others := sorted(changed - set(files)):
            raise Refused(f"generated files are not up to date: {', '.join(others)}; commit them")
        git(root, "commit", "--quiet", "--message", f"Version {version}", "--", *files)
    except BaseException:
        git(root, "reset", "--quiet", "--hard")
        raise
    git(root, "tag", "--annotate", f"v{version}", "--message", f"forebay {version}")
    print(f"v{version} is committed and tagged; docs/release.md says how to publish dist")


def status(root: Path) -> list[str]:
    """What differs from the last commit."""
    return git(root, "status", "--porcelain").splitlines()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Test, build, commit and tag a release.")
    parser.add_argument("version", help="three numbers, such as 0.3.0")
    try:
        release(parser.parse_args(arguments).version)
    except Refused as why:
        print(f"error: {why}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
