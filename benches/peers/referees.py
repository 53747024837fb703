"""Runs all referees that this machine has, and names those that it lacks.

Usage: python benches/peers/referees.py [--nsc FOLDER] [--ns318 PROGRAM] [--pam2025 FOLDER]
                                        [--only GROUP]... [--list]

FOLDER holds NSC's `sim_interface.h` and `liblinux2.6.18.so`, `liblinux2.6.26.so` (nsc/README.md);
PROGRAM is a dumbbell of ns-3.18 (stacks.py); the other FOLDER has the public testbed's trials
(testbed.py). GROUP is one of the comparison with ns-2 and ns-3.
Results are written to docs/validation. A comparison that was made with the same programs, scripts
and engine is not made again, and one that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kept import digest
from peers import HERE, KEPT, debian_version
from reasons import GROUPS
from testbed import TRIALS
from unseen import DATA

from forebay import _engine
from forebay.lab.virtual import kernel

ROOT = HERE.resolve().parents[1]
DOCS = ROOT / "docs" / "validation"
KERNELS = ("2.6.18", "2.6.26")


@dataclass(frozen=True)
class Referee:
    """Who is asked, whether it is here, and how to get it."""

    name: str
    remedy: str
    """A Debian package or what else would bring it."""
    version: Callable[[], str | None]
    """What is here of it; none if nothing is."""


@dataclass(frozen=True)
class Comparison:
    """A script that asks referees."""

    title: str
    script: str
    asks: Sequence[str]
    """Names of referees."""
    output: str
    """The file that it writes to `DOCS`."""
    words: Sequence[str] = ()
    """Arguments."""
    again: Sequence[str] = ()
    """More of them where of forebay alone something has changed."""
    then: Sequence[str] = ()
    """A script with arguments that is run afterwards: it fills in what the first left open."""
    any_of: bool = False
    """Whether one of the referees is enough; the others' figures stay as they are."""


def program(name: str, package: str) -> Callable[[], str | None]:
    """The version of a program's package, if the program is here."""
    return lambda: debian_version(package) if shutil.which(name) else None


def ns3() -> str | None:
    """The version of ns-3, if it is here with a compiler for it."""
    header = Path("/usr/include/ns3/core-module.h")
    return debian_version("libns3-dev") if header.exists() and shutil.which("g++") else None


def built(version: str = kernel.USUAL) -> str | None:
    """What Linux in virtual time was built of."""
    tools = all(shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin") for name in ("tc", "ip"))
    marks = kernel.places(version)[0] / "built.json"
    return digest(marks) if marks.exists() and tools else None


@dataclass(frozen=True)
class Cradle:
    """NSC: what of it is in a folder."""

    header: Path
    libraries: dict[str, Path]

    @staticmethod
    def found(folder: Path | None) -> Cradle | None:
        """NSC in `folder`, if it has all that is wanted and there is a compiler."""
        if folder is None or shutil.which("g++") is None:
            return None
        header = next(iter(sorted(folder.rglob("sim/sim_interface.h"))), None)
        libraries = {
            version: path
            for version in KERNELS
            for path in sorted(folder.rglob(f"liblinux{version}.so"))[:1]
        }
        if header is None or len(libraries) < len(KERNELS):
            return None
        return Cradle(header, libraries)

    @property
    def version(self) -> str:
        """What is in it."""
        return digest(self.header, *self.libraries.values())

    def words(self) -> list[str]:
        """The arguments of its comparison, with the driver built.

        Raises:
            subprocess.CalledProcessError: the compiler failed; it has said why.
        """
        driver = KEPT / "nsc-driver"
        KEPT.mkdir(parents=True, exist_ok=True)
        command = ["g++", "-std=c++17", "-O2", "-I", str(self.header.parent)]
        source = str(HERE / "nsc" / "driver.cc")
        subprocess.run([*command, source, "-o", str(driver), "-ldl"], check=True)
        named = [f"{version}={path}" for version, path in self.libraries.items()]
        return ["--driver", str(driver), *(word for each in named for word in ("--library", each))]


def trials(checkout: Path | None, pattern: str) -> str | None:
    """A public testbed's trials in a checkout."""
    files = sorted(checkout.glob(pattern)) if checkout else []
    return digest(*files) if files else None


def referees(
    cradle: Cradle | None,
    ns318: Path | None,
    pam2025: Path | None = None,
    imc2023: Path | None = None,
) -> list[Referee]:
    """All of them."""
    linux = "apt-get install linux-source-6.1 gcc make flex bison bc xz-utils util-linux iproute2"
    second = linux.replace("6.1", "6.12")
    return [
        Referee("Linux 6.1 in virtual time", f"{linux}; make virtual-linux", built),
        Referee(
            "Linux 6.12 in virtual time",
            f"{second}; make virtual-linux KERNEL=6.12",
            lambda: built("6.12"),
        ),
        Referee(
            "the kernel's queue disciplines (tc)",
            f"{linux} cargo; make virtual-linux",
            lambda: built() if shutil.which("cargo") else None,
        ),
        Referee(
            "Linux 2.6.18 and 2.6.26 in NSC",
            "make validate NSC=FOLDER, as benches/peers/nsc/README.md says; apt-get install g++",
            lambda: cradle.version if cradle else None,
        ),
        Referee("ns-2", "apt-get install ns2", program("ns", "ns2")),
        Referee("ns-3.37", "apt-get install libns3-dev g++", ns3),
        Referee(
            "ns-3.18",
            "make validate NS318=PROGRAM, a dumbbell built with ns-3.18 (benches/peers/stacks.py)",
            lambda: digest(ns318) if ns318 is not None and ns318.is_file() else None,
        ),
        Referee(
            "a public testbed's trials",
            "make validate PAM2025=FOLDER, a checkout of github.com/fatihsarpkaya/L4S-PAM2025",
            lambda: trials(pam2025, f"{TRIALS}/*.json"),
        ),
        Referee(
            "another public testbed's trials",
            "make validate IMC2023=FOLDER, a checkout of github.com/sdatta97/imcbbrrepro",
            lambda: trials(imc2023, DATA),
        ),
    ]


def comparisons(
    groups: Sequence[str],
    cradle: Cradle | None,
    ns318: Path | None,
    pam2025: Path | None = None,
    imc2023: Path | None = None,
) -> list[Comparison]:
    """All of them, the quick ones first."""
    kernels = cradle.words() if cradle else []
    only = [word for group in groups for word in ("--only", group)]
    return [
        Comparison(
            "Linux 2.6 beside its presets",
            "nsc/compare.py",
            ["Linux 2.6.18 and 2.6.26 in NSC"],
            "linux-2.6.json",
            kernels,
            then=["differences.py", "linux-2.6", *kernels],
        ),
        Comparison(
            "queue disciplines beside the kernel's own",
            "linux/disciplines.py",
            ["the kernel's queue disciplines (tc)"],
            "disciplines.json",
        ),
        Comparison(
            "Prague beside classic senders on a public testbed",
            "testbed.py",
            ["a public testbed's trials"],
            "testbed.json",
            [str(pam2025)] if pam2025 else (),
        ),
        Comparison(
            "one transfer on a testbed not seen before",
            "unseen.py",
            ["another public testbed's trials"],
            "unseen.json",
            [str(imc2023)] if imc2023 else (),
        ),
        Comparison(
            'preset "linux" beside Linux',
            "linux/preset.py",
            ["Linux 6.1 in virtual time"],
            "linux.json",
            again=["--keep-linux"],
            then=["differences.py", "linux"],
        ),
        Comparison(
            'preset "linux-6.12" beside Linux',
            "linux/preset.py",
            ["Linux 6.12 in virtual time"],
            "linux-6.12.json",
            ["--kernel", "6.12"],
            again=["--keep-linux"],
            then=["differences.py", "linux-6.12"],
        ),
        Comparison(
            "WRED beside ns-2's diffserv module",
            "dsred.py",
            ["ns-2"],
            "dsred.json",
            ["--seeds", "12"],
        ),
        Comparison(
            "senders of the past beside themselves",
            "stacks.py",
            ["ns-2", "ns-3.37", "ns-3.18"],
            "stacks.json",
            ["--ns318", str(ns318)] if ns318 else (),
            any_of=True,
        ),
        Comparison(
            "ns-2 and ns-3.37 with their own rules",
            "compare.py",
            ["ns-2", "ns-3.37"],
            "peers.json",
            only,
        ),
    ]


class Stamps:
    """With which inputs each comparison was last made."""

    def __init__(self, path: Path) -> None:
        """Reads them."""
        self.path = path
        self.known: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}

    def write(self, output: str, stamp: dict[str, str]) -> None:
        """Keeps one."""
        self.known[output] = stamp
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.known, indent=1) + "\n", "utf-8")


def stamp(asked: Comparison, here: dict[str, str]) -> dict[str, str]:
    """What decides a comparison's figures, and the figures themselves."""
    folders = {HERE, (HERE / asked.script).parent}
    sources = sorted(path for folder in folders for path in folder.glob("*.*"))
    versions = json.dumps([asked.words, {name: here[name] for name in asked.asks if name in here}])
    return {
        "referees": f"{versions} {digest(*sources)}",
        "engine": digest(Path(_engine.__file__)),
        "output": digest(DOCS / asked.output),
    }


def ask(asked: Comparison, before: dict[str, str], now: dict[str, str]) -> bool:
    """Makes a comparison; whether it was made.

    A script that finds the two apart may say so by exit code 1: what counts is what it wrote.
    """
    output = DOCS / asked.output
    same = before.get("referees") == now["referees"] and before.get("output") == now["output"]
    words = [*asked.words, *(asked.again if same else ())]
    written = output.stat().st_mtime_ns if output.exists() else 0
    code = script(asked.script, *words)
    if code != 0 and not (code == 1 and output.exists() and output.stat().st_mtime_ns > written):
        return False
    return not asked.then or script(*asked.then) == 0


def script(name: str, *words: str) -> int:
    """Runs a script of this folder; its exit code."""
    return subprocess.run([sys.executable, str(HERE / name), *words]).returncode


def run(every: Iterable[Referee], asked: Sequence[Comparison], stamps: Stamps) -> int:
    """Asks those that are here, one comparison after another; names the others."""
    versions = {each.name: (each, each.version()) for each in every}
    here = {name: version for name, (_, version) in versions.items() if version is not None}
    failed = []
    possible = [
        each for each in asked if (any if each.any_of else all)(name in here for name in each.asks)
    ]
    for number, each in enumerate(possible, 1):
        head = f"== {number} of {len(possible)}: {each.title} ({', '.join(each.asks)})"
        before, now = stamps.known.get(each.output, {}), stamp(each, here)
        if before == now:
            print(f"{head}: kept, nothing has changed", flush=True)
            continue
        print(head, flush=True)
        start = time.monotonic()
        if ask(each, before, now):
            # The inputs as they were when it began.
            stamps.write(each.output, {**now, "output": digest(DOCS / each.output)})
            print(f"== {time.monotonic() - start:.0f} s", flush=True)
        else:
            failed.append(each.title)
            print("== failed", flush=True)
    for name, (referee, version) in versions.items():
        if version is None:
            print(f"== not asked: {name} is not here; {referee.remedy}")
    for title in failed:
        print(f"== failed, its figures are as they were: {title}")
    return 1 if failed else 0


def main() -> int:
    """Ask those that are here."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--nsc", type=Path, help="folder with NSC's interface and kernels")
    parser.add_argument("--ns318", type=Path, help="a dumbbell in ns-3.18")
    parser.add_argument("--pam2025", type=Path, help="a checkout of L4S-PAM2025")
    parser.add_argument("--imc2023", type=Path, help="a checkout of imcbbrrepro")
    parser.add_argument("--only", choices=GROUPS, action="append", default=[], help="may repeat")
    parser.add_argument("--list", action="store_true", help="say who is here and ask nobody")
    options = parser.parse_args()
    cradle = Cradle.found(options.nsc)
    every = referees(cradle, options.ns318, options.pam2025, options.imc2023)
    if options.list:
        for referee in every:
            print(f"{referee.name}: {'here' if referee.version() else referee.remedy}")
        return 0
    asked = comparisons(options.only, cradle, options.ns318, options.pam2025, options.imc2023)
    try:
        return run(every, asked, Stamps(KEPT / "comparisons.json"))
    except KeyboardInterrupt:
        print("\n== stopped; the same command goes on where it was", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
