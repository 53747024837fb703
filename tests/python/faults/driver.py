"""Runs a command once for each call of the system that it makes on its files, which then fails.

`LD_PRELOAD=faults.so python driver.py FOLDER COMMAND FAULT...`; ends with 1 if a promise is broken:

- what stands under the name of a result is the earlier one or the new one, whole;
- nothing half-written is left;
- the command ends with 0 and its result, or with 2 and one message that names the file and says
  what to do;
- a sweep or a paper goes on afterwards and comes to the same.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[1]))

import toy_paper
from forebay import _cli, sweep
from forebay._disk import PARTIAL
from forebay._engine import ScenarioError
from forebay.explore.results import save
from forebay.scenario import load
from small_study import BASE, RATE

FAULTS = {
    "full": (errno.ENOSPC, False),
    "denied": (errno.EACCES, False),
    "interrupted": (errno.EINTR, False),
    "broken": (errno.EIO, False),
    "short": (0, False),
    "stays-full": (errno.ENOSPC, True),
    "stays-broken": (errno.EIO, True),
    "stays-read-only": (errno.EROFS, True),
    "stays-short": (0, True),
}
"""The error and whether every later call fails, too; 0 is a write of half the bytes."""
REMEDY = re.compile(
    "choose|make room|run the command again|check it|check the path|remove|the same command|"
    "raise the limit|to start from"
)
SHORT = BASE.replace('"4s"', '"500ms"')
STUDY = {"scenario": "base.toml", "disciplines": ["fifo", "codel"], "axis": [RATE]}
NETWORK = {"nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2}]}

PLACES = {
    *("base.toml", "captured.toml", "study.json", "net.json", "../papers/toy"),
    *("out", "csv", "net.toml", "mine.toml", "gate.toml"),
}
"""Words of commands that are files."""

State = dict[str, bytes]
preloaded = ctypes.CDLL(None)
preloaded.faults_last.restype = ctypes.c_char_p


@dataclass
class Command:
    """What is run, in a folder of its own."""

    line: str
    prepare: Callable[[Path], None] = lambda _: None
    goes_on: bool = False
    """Whether the same command goes on after an error."""
    apart: bool = False
    """Whether its files are results each of its own."""


def earlier(line: str) -> Callable[[Path], None]:
    """What an earlier command leaves."""

    def prepare(folder: Path) -> None:
        assert invoke(folder, line) == (0, "")

    return prepare


def half_a_sweep(folder: Path) -> None:
    """A sweep that a full disk has ended."""
    arm(folder, errno.ENOSPC, 22, stays=True)
    code, _ = invoke(folder, SWEEP)
    preloaded.faults_disarm()
    assert code == 2 and 0 < sweep.results(folder / "out").runs.height < 8


RUN = "run base.toml -o out"
COMPARE = "compare base.toml -r 2 -j 1 -o out --disciplines"
SWEEP = "sweep study.json -j 1 -o out"
COMMANDS = {
    "run": Command(RUN),
    "run-again": Command(RUN, earlier(f"{RUN} --seed 3")),
    "compare": Command(f"{COMPARE} fifo,codel --no-report", earlier(RUN)),
    "report": Command(f"{COMPARE} fifo,codel"),
    "gate": Command(f"{COMPARE} codel --no-report --gate gate.toml"),
    "sweep": Command(SWEEP, goes_on=True),
    "sweep-again": Command(SWEEP, half_a_sweep, goes_on=True),
    "captures": Command("run captured.toml"),
    "import": Command("import net.json -o net.toml"),
    "new": Command("new scenario -t household -o mine.toml"),
    "export": Command("export out -o csv --csv", earlier(RUN), apart=True),
    "save": Command("save"),
    "paper": Command("paper run ../papers/toy --quick -j 1 -o out", goes_on=True),
}


def template(folder: Path) -> None:
    """Files that the commands read."""
    folder.mkdir()
    (folder / "base.toml").write_text(SHORT)
    (folder / "captured.toml").write_text(SHORT.replace("queue = {", 'pcap = "up.pcap"\nqueue = {'))
    (folder / "study.json").write_text(json.dumps(STUDY | {"replications": 2}))
    (folder / "net.json").write_text(json.dumps(NETWORK))


def arm(folder: Path, error: int, number: int, stays: bool) -> None:
    preloaded.faults_arm(os.fsencode(folder), number, error, int(stays))


def invoke(folder: Path, line: str) -> tuple[int, str]:
    """The exit code and what is said of an error."""
    if line == "save":
        try:
            save("codel", load(folder / "base.toml"))
        except ScenarioError as error:
            return 2, f"error: {error}\n"
        except OSError as error:
            return 2, f"error: {error.filename}: {error.strerror}\n"
        return 0, ""
    placed = [str(folder / each) if each in PLACES else each for each in line.split()]
    done = CliRunner().invoke(_cli.app, placed)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    said = done.stderr if done.exit_code else ""
    return done.exit_code, said


def state(folder: Path) -> tuple[State, list[str]]:
    """Files by their names, without what differs from run to run, and what is half-written."""
    found: State = {}
    partial = []
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.name.endswith((PARTIAL, ".part")):
            partial.append(name)
        elif path.is_file() and PARTIAL not in name and path.name not in ("lock", "spent.json"):
            content = path.read_bytes()
            content = re.sub(rb'"cost": ?{[^}]*}', b"", content)
            content = re.sub(rb"[.\d]+ s of processor time", b"", content)
            # Parts that an error left, too, change the number of the last one.
            name = re.sub(r"part-\d+", "part", name)
            if path.name == "runs.parquet":
                content = (
                    pl.read_parquet(path).select(pl.exclude("^cost\\..*$")).write_csv().encode()
                )
            found[name] = b"whole" if content.endswith(b"</html>\n") else content
    return found, partial


def broken(command: Command, folder: Path, before: State, after: State, stays: bool) -> str | None:
    """Which promise a command broke whose call has failed."""
    try:
        code, said = invoke(folder, command.line)
    finally:
        failed = preloaded.faults_failed()
        preloaded.faults_disarm()
    now, partial = state(folder)
    if not failed:
        return None if now == after and code == 0 else f"no call failed: {code} {said}"
    if code == 0 and now != after:
        return f"ended with 0, and {differing(now, after)}"
    if code not in (0, 2):
        return f"ended with {code}: {said}"
    if code == 2:
        if len(said.splitlines()) != 1 or not said.startswith("error: "):
            return f"not one message: {said}"
        if str(folder) not in said or not REMEDY.search(said):
            return f"no place or remedy: {said}"
    if partial and not stays:
        return f"left {partial}"
    if not command.goes_on:
        names = {*now, *before, *after}
        for result in names if command.apart else {name.partition("/")[0] for name in names}:
            of_it = [of(result, each) for each in (now, before, after)]
            if of_it[0] not in of_it[1:]:
                return f"neither the earlier result nor the new one: {differing(now, after)}"
        return None
    if (folder / "out" / "study.json").exists():
        sweep.results(folder / "out")
    again, said = invoke(folder, command.line)
    then, partial = state(folder)
    if again != 0 or then != after or partial:
        return f"did not go on: {again} {said}{differing(then, after)} {partial}"
    return None


def of(result: str, whole: State) -> State:
    """The files of one result: a file, or a folder."""
    return {
        name: each
        for name, each in whole.items()
        if name == result or name.startswith(f"{result}/")
    }


def differing(one: State, other: State) -> str:
    names = sorted(name for name in {*one, *other} if one.get(name) != other.get(name))
    return f"these files differ from a whole result: {names}"


def main() -> None:
    """Every call of a command fails in every way that is named."""
    place, name, *faults = sys.argv[1:]
    base, command = Path(place), COMMANDS[name]
    os.chdir(base)
    toy_paper.write(base / "papers")
    template(base / "template")
    command.prepare(base / "template")
    before, _ = state(base / "template")
    folder = base / "work"
    shutil.copytree(base / "template", folder)
    code, said = invoke(folder, command.line)
    assert code == 0, said
    after, partial = state(folder)
    assert not partial
    bad = 0
    for fault in faults:
        error, stays = FAULTS[fault]
        number = 0
        while True:
            number += 1
            shutil.rmtree(folder)
            shutil.copytree(base / "template", folder)
            arm(folder, error, number, stays)
            try:
                found = broken(command, folder, before, after, stays)
            except Exception as error_:
                found = f"traceback: {error_!r}"
                preloaded.faults_disarm()
            if found is not None:
                bad += 1
                print(f"{name}, {fault}: {preloaded.faults_last().decode().strip()}: {found}")
            if not preloaded.faults_failed():
                break
        assert number > 1, f"{name}: no call was counted"
        print(f"{name}, {fault}: {number - 1} calls")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
