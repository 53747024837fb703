"""The notebooks of examples/learn run in a short form, from top to bottom."""

from __future__ import annotations

import importlib
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import forebay

LEARN = Path(__file__).resolve().parents[2] / "examples" / "learn"

# Of Jupyter itself.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def shortened(folder: Path, name: str, **instead: int) -> str:
    """What a notebook prints, with other numbers in place of those that it assigns."""
    shutil.copytree(LEARN, folder, dirs_exist_ok=True)
    notebook = nbformat.read(folder / name, as_version=4)  # type: ignore[no-untyped-call]
    for cell in notebook.cells:
        lines = cell.source.splitlines()
        for variable, value in instead.items():
            lines = [
                f"{variable} = {value}" if line.startswith(f"{variable} = ") else line
                for line in lines
            ]
        cell.source = "\n".join(lines)
    done: Any = NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(folder)}}
    ).execute()
    outputs = [output for cell in done.cells for output in cell.get("outputs", [])]
    return "".join(output.get("text", "") for output in outputs)


def test_the_controller_of_cp_aqm_is_found(tmp_path: Path) -> None:
    said = shortened(tmp_path, "cp_aqm.ipynb", trials=2)
    assert "best scaled less best fixed, trace by trace" in said
    assert said.count("paid") == 3


@pytest.mark.parametrize(
    ("library", "variable", "shorter"),
    [("stable_baselines3", "timesteps", 1600), ("ray", "iterations", 1)],
)
def test_the_recipes_run(library: str, variable: str, shorter: int) -> None:
    """Those of docs/gym.md, with less of all."""
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"needs {library}, with PyTorch 6 GB: examples/learn/requirements.txt")
    page = (LEARN.parents[1] / "docs" / "gym.md").read_text("utf-8")
    recipes = re.findall(r"```python\n(.*?)```", page, re.S)
    (recipe,) = [code for code in recipes if f"from {library}." in code]
    recipe, found = re.subn(rf"^{variable} = .*$", f"{variable} = {shorter}", recipe, flags=re.M)
    assert found == 1
    recipe, found = re.subn(r"^seeds = range\(.*\)$", "seeds = range(2)", recipe, flags=re.M)
    assert found == 1
    done = subprocess.run(
        [sys.executable, "-c", recipe], cwd=LEARN.parents[1], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("learnt: ")


@pytest.mark.skipif(
    importlib.util.find_spec("skrl") is None, reason="needs skrl[jax], which is 800 MB"
)
def test_the_aqm_is_learnt(tmp_path: Path) -> None:
    said = shortened(tmp_path, "aqm.ipynb", timesteps=64, replications=1)
    assert "a flood that does not answer" in said
    assert (tmp_path / "learnt.json").read_bytes() != (LEARN / "learnt.json").read_bytes()


def test_what_was_learnt_is_a_discipline(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the network that is kept it holds the queue of a link that it has not seen."""
    monkeypatch.syspath_prepend(LEARN)
    learnt_class = importlib.import_module("learnt").Learnt
    scenario = forebay.load(LEARN / "aqm.toml").without("agent").with_("duration", "8s")
    learnt, tail_drop = (
        forebay.run(scenario, discipline=queue).summary["queues"]["bottleneck"]
        for queue in (learnt_class, "fifo")
    )
    assert 0 < learnt["mean_delay_ms"] < tail_drop["mean_delay_ms"] / 5
    assert learnt["dropped"] > 0
