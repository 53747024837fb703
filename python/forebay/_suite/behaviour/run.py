"""Running the cases, each kept as soon as it has ended."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from forebay import _disk, _engine
from forebay._engine import ScenarioError
from forebay._runs.folder import claim
from forebay._suite import candidates, catalogue, tables
from forebay._suite.behaviour import case as cases
from forebay._suite.behaviour import report
from forebay._suite.behaviour.case import Case, Judged, Outcome
from forebay._suite.behaviour.rig import Rig
from forebay._suite.behaviour.trace import SilentControl

CONTROL = "bbr3"
"""What is tested unless told otherwise."""
KEPT = "cases"


def run(
    name: str,
    head: catalogue.SuiteTable,
    controls: list[str] | None,
    folder: Path,
    *,
    quick: bool,
    command: str,
    tell: Callable[[str, float], None] = lambda _text, _share: None,
) -> Path:
    """Run the cases that a folder lacks, of one control, and write the report.

    A quick run has the first path of each case alone.
    """
    chosen = candidates.named(controls) if controls is not None else [CONTROL]
    if len(chosen) != 1:
        raise ScenarioError(f"{name} tests one congestion control at a time; name one")
    [control] = chosen
    claim(folder, "suite.json", {"suite": name, "quick": quick, "control": control}, tables.held)
    _disk.make_folder(folder / KEPT)
    every = cases.read(catalogue.HOME / name / "cases.toml")
    found = []
    for number, case in enumerate(every):
        tell(f"{case.number} {case.title}", number / len(every))
        kept = folder / KEPT / f"{case.number:02}.json"
        found.append((case, _case(case, control, kept, quick)))
    suite = {"name": name, "title": head.title, "citation": head.citation, "control": control}
    return report.write(suite | {"quick": quick}, found, folder, command)


def _case(case: Case, control: str, path: Path, quick: bool) -> dict[str, Any]:
    """What a case comes to, run unless it is kept for the same engine and rigs."""
    rigs = case.paths[:1] if quick else case.paths
    asked = json.dumps([_engine.version, control, case.model_dump(), rigs])
    key = hashlib.sha256(asked.encode()).hexdigest()[:16]
    if (content := _disk.read_if_any(path)) is not None:
        kept: dict[str, Any] = json.loads(content)
        if kept["key"] == key:
            return kept
    begun = time.process_time()
    outcomes = [asdict(_outcome(case, Rig(control, *rig))) for rig in rigs]
    spent = time.process_time() - begun
    done = {"key": key, "outcomes": outcomes, "cpu_seconds": round(spent, 2)}
    _disk.write(path, json.dumps(done))
    return done


def _outcome(case: Case, rig: Rig) -> Outcome:
    try:
        return case.run(rig)
    except SilentControl:
        raise ScenarioError(
            f'"{rig.control}" does not report its states; choose one that does, such as bbr3'
        ) from None
    except ScenarioError as error:
        return Outcome(
            rig.title, [Judged("what the case begins with", str(error), "reached", holds=False)]
        )
