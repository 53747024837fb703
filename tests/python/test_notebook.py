"""The notebook of the examples runs from top to bottom."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

# Of Jupyter itself.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def output_of(notebook: Any, start: str) -> str:
    [cell] = [
        each
        for each in notebook.cells
        if each.cell_type == "code" and each.source.startswith(start)
    ]
    return "".join(str(output) for output in cell.outputs)


def test_the_notebook_runs(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "uplink-study.toml", tmp_path)
    path = EXAMPLES / "uplink-study.ipynb"
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    assert not any(cell.get("outputs") for cell in notebook.cells), "keep it without outputs"
    done = NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    assert "18 points" in output_of(done, "import")
    assert "<svg" in output_of(done, "lines")
    assert "report.html" in output_of(done, "sweep.write_report")
    assert (tmp_path / "out" / "uplink-study" / "report.html").is_file()
