"""Who is asked by `make validate`: those that are here, once; the others are named."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import peers
import pytest
import referees
from kept import Kept
from referees import Comparison, Referee, Stamps

from forebay import _engine
from forebay.lab.virtual import kernel

SCRIPT = """\
import json, pathlib, sys
log = pathlib.Path({log!r})
log.write_text((log.read_text() if log.exists() else "") + " ".join(sys.argv[1:]) + ";")
print("a row")
if {code} != 2:
    pathlib.Path({output!r}).write_text(json.dumps(log.read_text()))
sys.exit({code})
"""


class Fakes:
    """Referees that are scripts, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.here: dict[str, str] = {}
        self.asked: list[Comparison] = []
        self.stamps = folder / "stamps.json"

    def add(self, name: str, *needs: str, code: int = 0, any_of: bool = False) -> None:
        log, output = str(self.folder / f"{name}.log"), str(self.folder / f"{name}.json")
        script = self.folder / "scripts" / f"{name}.py"
        script.write_text(SCRIPT.format(log=log, output=output, code=code))
        more = Comparison(name, f"{name}.py", needs, f"{name}.json", again=["--keep"])
        self.asked.append(
            more if not any_of else Comparison(name, more.script, needs, more.output, any_of=True)
        )

    def runs(self, name: str) -> list[str]:
        """The arguments of each run of a comparison."""
        log = self.folder / f"{name}.log"
        return log.read_text().split(";")[:-1] if log.exists() else []

    def go(self) -> int:
        names = dict.fromkeys(name for each in self.asked for name in each.asks)
        every = [
            Referee(name, f"apt-get install {name}", lambda name=name: self.here.get(name))  # type: ignore[misc]
            for name in names
        ]
        return referees.run(every, self.asked, Stamps(self.stamps))


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    (tmp_path / "scripts").mkdir()
    monkeypatch.setattr(referees, "HERE", tmp_path / "scripts")
    monkeypatch.setattr(referees, "DOCS", tmp_path)
    return Fakes(tmp_path)


def test_those_that_are_here_are_asked_and_the_others_named(
    fakes: Fakes, capfd: pytest.CaptureFixture[str]
) -> None:
    fakes.add("one", "old-linux")
    fakes.add("two", "ns-2", "ns-3")
    fakes.add("three", "ns-2", "ns-4", any_of=True)
    fakes.here = {"ns-2": "2.35", "ns-3": "3.37"}
    assert fakes.go() == 0
    assert (fakes.runs("one"), fakes.runs("two"), fakes.runs("three")) == ([], [""], [""])
    said = capfd.readouterr().out
    assert "== 1 of 2: two (ns-2, ns-3)" in said and "== 2 of 2: three" in said
    assert "not asked: old-linux is not here; apt-get install old-linux" in said
    assert "not asked: ns-4 is not here; apt-get install ns-4" in said


def test_what_was_made_with_the_same_inputs_is_kept(
    fakes: Fakes, capfd: pytest.CaptureFixture[str]
) -> None:
    fakes.add("one", "ns-2")
    fakes.here = {"ns-2": "2.35"}
    assert fakes.go() == fakes.go() == 0
    assert fakes.runs("one") == [""]
    assert "one (ns-2): kept, nothing has changed" in capfd.readouterr().out
    # A new version of the referee, figures that somebody changed: asked again, from the beginning.
    fakes.here = {"ns-2": "2.36"}
    assert fakes.go() == 0
    (fakes.folder / "one.json").write_text("{}")
    assert fakes.go() == 0
    assert fakes.runs("one") == ["", "", ""]


def test_of_a_new_engine_only_our_side_is_measured(
    fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    fakes.add("one", "ns-2")
    fakes.here = {"ns-2": "2.35"}
    fakes.go()
    engine = fakes.folder / "engine.so"
    engine.write_text("new")
    monkeypatch.setattr(_engine, "__file__", str(engine))
    fakes.go()
    assert fakes.runs("one") == ["", "--keep"]


def test_one_that_fails_stops_no_other_and_is_asked_again(
    fakes: Fakes, capfd: pytest.CaptureFixture[str]
) -> None:
    fakes.add("broken", "ns-2", code=2)
    # It found the two apart, and wrote so.
    fakes.add("apart", "ns-2", code=1)
    fakes.here = {"ns-2": "2.35"}
    assert fakes.go() == fakes.go() == 1
    assert (len(fakes.runs("broken")), len(fakes.runs("apart"))) == (2, 1)
    assert "failed, its figures are as they were: broken" in capfd.readouterr().out


def test_what_is_left_open_is_filled_in_afterwards(fakes: Fakes) -> None:
    fakes.add("one", "ns-2")
    fakes.add("filler", "nobody")
    fakes.asked = [replace(fakes.asked[0], then=["filler.py", "one"])]
    fakes.here = {"ns-2": "2.35"}
    assert fakes.go() == fakes.go() == 0
    assert (fakes.runs("one"), fakes.runs("filler")) == ([""], ["one"])


def test_every_referee_has_a_version_or_a_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.setattr(kernel, "places", lambda _version="6.1": [tmp_path / "none"])
    monkeypatch.setattr(sys, "argv", ["referees.py", "--list", "--nsc", str(tmp_path)])
    assert referees.main() == 0
    said = capsys.readouterr().out.splitlines()
    wanted = [
        "make virtual-linux",
        "KERNEL=6.12",
        "iproute2",
        "NSC=FOLDER",
        "ns2",
        "libns3-dev",
        "NS318=PROGRAM",
        "PAM2025=FOLDER",
        "IMC2023=FOLDER",
    ]
    assert len(said) == len(wanted)
    for line, word in zip(said, wanted, strict=True):
        assert word in line and ": here" not in line


def test_every_comparison_asks_referees_and_is_a_script() -> None:
    known = {each.name for each in referees.referees(None, None)}
    asked = referees.comparisons([], None, None)
    assert {name for each in asked for name in each.asks} == known
    for each in asked:
        assert (peers.HERE / each.script).is_file()
        assert (referees.DOCS / each.output).is_file()


def test_the_cradle_is_found_by_its_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: name)
    (tmp_path / "nsc" / "sim").mkdir(parents=True)
    (tmp_path / "nsc" / "sim" / "sim_interface.h").touch()
    (tmp_path / "liblinux2.6.18.so").touch()
    assert referees.Cradle.found(tmp_path) is None
    (tmp_path / "liblinux2.6.26.so").touch()
    found = referees.Cradle.found(tmp_path)
    assert found is not None and set(found.libraries) == {"2.6.18", "2.6.26"}
    before = found.version
    (tmp_path / "liblinux2.6.26.so").write_text("another")
    assert found.version != before


def counted(calls: list[int], value: int) -> Callable[[], int]:
    def measure() -> int:
        calls.append(value)
        return value

    return measure


def test_a_result_is_measured_once(tmp_path: Path) -> None:
    calls: list[int] = []
    path = tmp_path / "folder" / "kept.jsonl"
    kept = Kept(path)
    assert kept.of({"seed": 1}, counted(calls, 1)) == kept.of({"seed": 1}, counted(calls, 9)) == 1
    assert kept.of({"seed": 2}, counted(calls, 2)) == 2
    # A stop in the middle of a line loses that line alone.
    path.write_bytes(path.read_bytes()[:-3])
    kept = Kept(path)
    assert kept.of({"seed": 1}, counted(calls, 9)) == 1
    assert kept.of({"seed": 2}, counted(calls, 3)) == 3
    assert calls == [1, 2, 3]
    assert Kept(path).known == kept.known


def test_a_peers_program_runs_once_for_the_same_words_files_and_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "KEPT", tmp_path)
    script = tmp_path / "peer.py"
    log = tmp_path / "log"
    program = f"print('x'); open({str(log)!r}, 'a').write('.')\n"
    script.write_text(program)
    command = [sys.executable, str(script), "seed", "1"]
    for versions in ({"ns-2": "1"}, {"ns-2": "1"}, {"ns-2": "2"}):
        assert peers.printed(command, versions) == "x\n"
    assert log.read_text() == ".."
    assert peers.printed([*command[:-1], "2"], {"ns-2": "1"}) == "x\n"
    script.write_text(program + "# changed\n")
    peers.printed(command, {"ns-2": "1"})
    assert log.read_text() == "...."
    script.write_text("import sys; sys.exit('no such queue')")
    with pytest.raises(RuntimeError, match="no such queue"):
        peers.printed(command, {"ns-2": "1"})


def test_a_stopped_comparison_goes_on_where_it_was(tmp_path: Path) -> None:
    """Ctrl-C in the middle: what had been measured is there the next time."""
    log, kept = tmp_path / "log", tmp_path / "kept.jsonl"
    script = tmp_path / "slow.py"
    script.write_text(
        "import pathlib, sys, time\n"
        f"sys.path.append({str(Path(peers.__file__).parent)!r})\n"
        "from kept import Kept\n"
        f"kept = Kept(pathlib.Path({str(kept)!r}))\n"
        "def measure(seed):\n"
        f"    open({str(log)!r}, 'a').write(str(seed))\n"
        "    if seed == 3 and len(sys.argv) > 1:\n"
        "        print('waits', flush=True)\n"
        "        time.sleep(60)\n"
        "    return seed\n"
        "print([kept.of({'seed': seed}, lambda: measure(seed)) for seed in range(5)])\n"
    )
    first = subprocess.Popen(
        [sys.executable, str(script), "wait"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    timer = threading.Timer(30, first.kill)
    timer.start()
    assert first.stdout is not None and first.stdout.readline() == "waits\n"
    os.kill(first.pid, signal.SIGINT)
    assert first.wait() != 0
    first.stdout.close()
    timer.cancel()
    again = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert json.loads(again.stdout) == [0, 1, 2, 3, 4]
    assert log.read_text() == "0123" + "34"
