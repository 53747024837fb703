"""The public testbed as a referee: its trials are read, run again and judged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import testbed
from testbed import Cell

import forebay


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with two trials of every cell; the second is 2 Mbit/s and 1 ms above the first."""
    folder = tmp_path / testbed.TRIALS
    folder.mkdir(parents=True)
    for control, (name, _) in testbed.CONTROLS.items():
        for kind, value in (("tput", 40.0), ("srtt", 15.0)):
            for side in ("L4S", "legacy"):
                trials = {
                    f"prague_{buffer}_100_10_{queue}_5_0_3_0_{trial}": value + step
                    for queue, _ in testbed.QUEUES.values()
                    for buffer in testbed.BUFFERS
                    for trial, step in ((1, 0.0), (2, 2.0 if kind == "tput" else 1.0))
                }
                # A file has one with a name of another form, and a queue that forebay lacks.
                trials |= {
                    "prague_1.0_100_10_FIFO_none_0_3_0_1_2": 1.0,
                    "prague_1.0_100_10_FQ_5_0_3_0_1": 1.0,
                }
                path = folder / f"{name}_{kind}_tx_{side}.json"
                path.write_text(json.dumps(trials), "utf-8")
        assert control
    return tmp_path


def test_trials_are_read_by_cell(checkout: Path) -> None:
    found = testbed.trials(checkout)
    assert len(found) == len(testbed.CONTROLS) * len(testbed.QUEUES) * len(testbed.BUFFERS)
    cell = found[Cell("BBR v1", "FQ-CoDel, step for L4S", 0.5)]
    assert cell == {
        "prague Mbit/s": [40.0, 42.0],
        "classic Mbit/s": [40.0, 42.0],
        "prague ms": [15.0, 16.0],
        "classic ms": [15.0, 16.0],
    }


def test_a_folder_without_trials_is_an_error_that_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="give a checkout of L4S-PAM2025"):
        testbed.trials(tmp_path)


def test_what_fits_has_bounds_of_both_kinds() -> None:
    # Deviation 5: ten Mbit/s on either side of 45; 3 where the trials agree.
    assert testbed.fits("prague Mbit/s", 54.9, [40.0, 45.0, 50.0])
    assert not testbed.fits("prague Mbit/s", 55.1, [40.0, 45.0, 50.0])
    assert testbed.fits("classic Mbit/s", 42.9, [40.0, 40.0])
    assert not testbed.fits("classic Mbit/s", 43.1, [40.0, 40.0])
    # Whatever the trials' deviation: 2 ms, or 10 % of 60 ms.
    assert testbed.fits("prague ms", 16.9, [10.0, 20.0])
    assert not testbed.fits("prague ms", 17.1, [10.0, 20.0])
    assert testbed.fits("prague ms", 65.9, [60.0, 60.0])
    assert not testbed.fits("prague ms", 66.1, [60.0, 60.0])


def test_every_set_up_can_run_and_has_the_testbeds_buffers() -> None:
    for control in testbed.CONTROLS:
        for queue in testbed.QUEUES:
            scenario = forebay.Scenario.of(Cell(control, queue, 0.5).scenario())
            assert scenario.effective()["duration"] == "60s"
    limits = [
        Cell("CUBIC", queue, 2.0).scenario()["link"][2]["queue"].get("limit")
        for queue in ("FIFO", "PIE", "DualPI2")
    ]
    # 250 000 bytes of packets of 1514; 250 000 / 1500 + 1; the buffer of DualPI2 is its own.
    assert limits == ["247688B", "167p", None]


def test_the_section_counts_cells_and_shows_what_does_not_fit(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(testbed, "SECONDS", 2)
    monkeypatch.setattr(testbed, "BUFFERS", (1.0,))
    monkeypatch.setattr(testbed, "KEPT", tmp_path / "kept")
    output = tmp_path / "testbed.json"
    words = ["--seeds", "1", "--jobs", "1", "--only", "CUBIC", "--queue", "FIFO"]
    monkeypatch.setattr("sys.argv", ["testbed.py", str(checkout), *words, "--output", str(output)])
    assert testbed.main() == 0
    section = json.loads(output.read_text("utf-8"))
    [row] = section["results"]
    ours, theirs, deviation = row["quantities"]["prague Mbit/s"]
    assert (theirs, deviation) == (41.0, 1.41)
    # In its first two seconds a transfer gets less than in the testbed's minute.
    assert 0 < ours < 100
    controls, queues, tried, cells = section["tables"]
    assert [line[:2] for line in controls["rows"]] == [["CUBIC", 1], ["all", 1]]
    assert [line[:2] for line in queues["rows"]] == [["FIFO", 1]]
    fit = [not any(unit in name for name in row["missed"]) for unit in ("Mbit/s", "ms")]
    assert section["text"][0].startswith(
        f"Of 1 cells, {fit[0]:d} fit in throughput and {fit[1]:d} in"
    )
    assert tried["rows"] == [["FIFO", 1 - fit[0], 1 - fit[1], testbed.TRIED["FIFO"]]]
    [line] = cells["rows"]
    assert line[:2] == ["FIFO", "1"]
    for name, shown in zip(testbed.names(), line[2:], strict=True):
        assert ("**" in shown) == (name in row["missed"])
    shutil.rmtree(checkout / "Data")
    with pytest.raises(SystemExit):
        testbed.main()
