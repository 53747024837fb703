"""Tests that share what is made once run in one process of those that share the tests."""

from __future__ import annotations

import pytest


@pytest.mark.xdist_group("groups")
@pytest.mark.parametrize("number", range(6))
def test_a_group_runs_in_one_process(
    number: int, worker_id: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # Beside the folders of all processes.
    base = tmp_path_factory.getbasetemp()
    folder = base.parent if worker_id != "master" else base
    (folder / f"group-{worker_id}").touch()
    assert len(list(folder.glob("group-*"))) == 1, number
