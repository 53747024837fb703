"""Runs a command once for each call of the system that it makes on its files, which then fails.

`LD_PRELOAD=faults.so python driver.py FOLDER COMMAND FAULT...` says after each fault how many calls
there are, how many of them failed, and how the command ended. A command that takes long is run for
some of its calls, evenly spread. Ends with 1 if a promise is broken:

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
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[1]))

import toy_paper
from forebay import _cli, sweep
from forebay._disk import PARTIAL
from forebay._engine import ScenarioError
from forebay._explore.results import save
from forebay._explore.stage import File
from forebay._scenario import load
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
    most: int = 1000
    """Calls that fail for each fault, if there are more."""

    def numbers(self, calls: int) -> Sequence[int]:
        """Which of the calls fail, from 1 on."""
        if calls <= self.most:
            return range(1, calls + 1)
        return [1 + at * (calls - 1) // (self.most - 1) for at in range(self.most)]


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
    "paper": Command("paper run ../papers/toy --quick -j 1 -o out", goes_on=True, most=12),
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
            base = load(folder / "base.toml")
            save(File("base-codel", base.to_toml(), None), base)
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
            content = re.sub(rb'"cpu_seconds": ?[-.e\d]+', b"", content)
            content = re.sub(rb"[.\d]+ s of processor time", b"", content)
            # Parts that an error left, too, change the number of the last one.
            name = re.sub(r"part-\d+", "part", name)
            if path.name == "runs.parquet":
                content = (
                    pl.read_parquet(path).select(pl.exclude("^cost\\..*$")).write_csv().encode()
                )
            found[name] = b"whole" if content.endswith(b"</html>\n") else content
    return found, partial


class Trial:
    """A command that is run many times, each in a fresh folder, and what it should leave."""

    def __init__(self, base: Path, command: Command) -> None:
        """Prepare its files in `base` and run it once without a fault."""
        self.command, self.template, self.folder = command, base / "template", base / "work"
        template(self.template)
        command.prepare(self.template)
        self.before, _ = state(self.template)
        code, said = self.run(errno.EIO, 0, stays=False)
        assert code == 0, said
        self.after, partial = state(self.folder)
        assert not partial

    def run(self, error: int, number: int, stays: bool) -> tuple[int, str]:
        """How it ends if that call fails; no call is number 0."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.template, self.folder)
        arm(self.folder, error, number, stays)
        try:
            return invoke(self.folder, self.command.line)
        finally:
            preloaded.faults_disarm()

    def broken(self, code: int, said: str, stays: bool) -> str | None:
        """Which promise it broke when it ended so."""
        folder, after = self.folder, self.after
        now, partial = state(folder)
        if not preloaded.faults_failed():
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
        if not self.command.goes_on:
            names = {*now, *self.before, *after}
            for result in (
                names if self.command.apart else {name.partition("/")[0] for name in names}
            ):
                of_it = [of(result, each) for each in (now, self.before, after)]
                if of_it[0] not in of_it[1:]:
                    return f"neither the earlier result nor the new one: {differing(now, after)}"
            return None
        if (folder / "out" / "study.json").exists():
            sweep.results(folder / "out")
        again, said = invoke(folder, self.command.line)
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


def say(line: str) -> None:
    """Say it at once, where pytest's workers can be heard, too."""
    print(line, file=sys.stderr, flush=True)


def tried(trial: Trial, name: str, fault: str) -> int:
    """Let calls fail in one way, and say how the command ended; how often it broke a promise."""
    error, stays = FAULTS[fault]
    begun = time.monotonic()
    trial.run(error, 0, stays)
    calls = preloaded.faults_calls()
    assert calls, f"{name}: no call was counted"
    numbers = trial.command.numbers(calls)
    ends: Counter[str] = Counter()
    for number in numbers:
        try:
            code, said = trial.run(error, number, stays)
            end = {0: "with the result", 2: "with a message"}.get(code, "otherwise")
            found = trial.broken(code, said, stays)
        except Exception as error_:
            end, found = "with a traceback", repr(error_)
        ends["errors"] += preloaded.faults_failed()
        ends[f"ended {end}"] += 1
        if found is not None:
            ends["broken promises"] += 1
            say(f"{name}, {fault}: {preloaded.faults_last().decode().strip()}: {found}")
    which = "each" if len(numbers) == calls else str(len(numbers))
    told = ", ".join(f"{count} {what}" for what, count in ends.items())
    seconds = time.monotonic() - begun
    say(f"{name}, {fault}: {which} of {calls} calls: {told}; {seconds:.0f} s")
    return ends["broken promises"]


def main() -> None:
    """Calls of a command fail in every way that is named."""
    place, name, *faults = sys.argv[1:]
    base = Path(place)
    os.chdir(base)
    toy_paper.write(base / "papers")
    trial = Trial(base, COMMANDS[name])
    broken = sum(tried(trial, name, fault) for fault in faults)
    sys.exit(broken > 0)


if __name__ == "__main__":
    main()
