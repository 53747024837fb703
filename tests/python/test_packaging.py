"""Files about the project that packages and registries read, beside the code that they describe."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import licences
import pytest
import yaml
from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
VERSION: str = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"][
    "version"
]


def test_licence_files_have_their_texts() -> None:
    for name, words in {
        "LICENSE-MIT": "Permission is hereby granted",
        "LICENSE-APACHE": "TERMS AND CONDITIONS FOR USE",
        "THIRD-PARTY.md": "uPlot",
    }.items():
        assert name in PROJECT["license-files"]
        assert words in (ROOT / name).read_text("utf-8")


@pytest.mark.skipif(not shutil.which("cargo"), reason="needs cargo")
def test_the_licences_of_the_crates_that_are_shipped_are_named_and_of_no_others() -> None:
    shipped: dict[str, set[str]] = {}
    for crate, artefact in licences.ARTEFACTS.items():
        words = ["cargo", "tree", "--locked", "--offline", "--edges=normal", "--prefix=none"]
        words += [f"--manifest-path=crates/{crate}/Cargo.toml", "--format={p}"]
        words += [f"--target={machine}-unknown-linux-gnu" for machine in ("x86_64", "aarch64")]
        tree = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name, version in (line.split()[:2] for line in tree.splitlines() if line):
            if not name.startswith("forebay-"):
                shipped.setdefault(f"{name} {version[1:]}", set()).add(artefact)
    assert len(shipped) > 80
    text = (ROOT / "THIRD-PARTY.md").read_text("utf-8")
    named: dict[str, set[str]] = {}
    for line in re.findall(r"^Of (.*):$", text, re.MULTILINE):
        for crate, where in re.findall(r"(\S+ [^\s,]+)(?: \((.*?)\))?(?:, |$)", line):
            named[crate] = {where} if where else set(licences.ARTEFACTS.values())
    assert named == shipped, "run `make licences`"


def test_the_conda_recipe_asks_for_what_the_package_needs() -> None:
    recipe = yaml.safe_load((ROOT / "contrib/conda/recipe.yaml").read_text("utf-8"))
    assert recipe["context"]["version"] == VERSION
    needed = map(Requirement, PROJECT["dependencies"])
    wanted = {found.name: str(found.specifier) for found in needed}
    has = dict(line.split(" ", 1) for line in recipe["requirements"]["run"])
    assert has == {**wanted, "python": PROJECT["requires-python"]}
    (build,) = PROJECT["optional-dependencies"]["build"]
    assert build.replace(">", " >", 1) in recipe["requirements"]["host"]
    assert recipe["about"]["license"] == PROJECT["license"]


def test_the_citation_names_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == VERSION
    assert " OR ".join(citation["license"]) == PROJECT["license"]


def test_the_workflow_calls_what_there_is() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text("utf-8"))
    steps = [
        step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step
    ]
    called = {word for step in steps for word in re.findall(r"\bmake ([\w-]+)", step)}
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert called >= {"sanitize", "miri", "dist", "test-dist", "audit"}
    assert called <= targets
    assert ".ci/run" in steps
