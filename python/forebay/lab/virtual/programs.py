"""Programs of Linux on the hosts of a virtual lab: what is asked for, and how the guest runs it."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebay._engine import ScenarioError
from forebay.lab.errors import LabError
from forebay.lab.hosts import Clock
from forebay.lab.network import FOLDER
from forebay.lab.virtual.kernel import PATHS

LARGEST = 256 << 20
"""Bytes of the largest file that a program may write: results are kept in memory."""
DATE = 1_767_225_600_000_000_000
"""What the real-time clock of hosts with programs says at time zero, ns since 1970: 2026-01-01, as
the kernel's own date."""
_PROGRAMS = "programs"
"""Folder of a run with what programs said."""
_FILES = "files"
"""Folder of a run with what programs wrote."""
_GRACE_S = 0.5
"""From SIGTERM to SIGKILL."""
_MOMENT_S = 1e-6
"""In virtual time no moment ends before everybody waits."""
_SETTING = {
    "PATH": PATHS,
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    # It would be among what programs have written.
    "PYTHONDONTWRITEBYTECODE": "1",
    # OpenSSL and its kin would draw from the processor itself: RDRAND and RDSEED.
    "OPENSSL_ia32cap": "~0x4000000000000000:~0x40000",
}
_ROOT = """
set -e
mkdir "$1" "$1/upper" "$1/work" "$1/root"
mount -t overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" overlay "$1/root"
cd "$1/root"
mkdir -p proc sys dev run tmp etc
mount -t proc proc proc
nsenter "--net=$3" mount -t sysfs sysfs sys
mount -t devtmpfs devtmpfs dev
mkdir -p dev/pts dev/shm
mount -t devpts -o ptmxmode=666 devpts dev/pts
mount -t tmpfs tmpfs dev/shm
mount -t tmpfs tmpfs run
mkdir run/lock run/sshd
chmod 1777 tmp run/lock dev/shm
rm -f etc/hosts etc/resolv.conf etc/hostname
printf %s "$4" >etc/hosts
printf '%s\\n' "$5" >etc/hostname
: >etc/resolv.conf
"""
"""Make a host's files: those of the machine, with what is written beside them. Folder, what is
below, network namespace, names of hosts, its own name."""
_NAMED = 'printf %s "$0" >/proc/sys/kernel/hostname && exec "$@"'


@dataclass(frozen=True)
class Program:
    """A program, and its host."""

    host: str
    words: tuple[str, ...]
    """Its path or name, and arguments."""

    @property
    def command(self) -> str:
        """As a shell reads it."""
        return shlex.join(self.words)


@dataclass(frozen=True)
class Order:
    """The programs of a run, and the files that they see."""

    programs: tuple[Program, ...] = ()
    root: str = "/"
    """The folder that is below every host's files."""
    folder: str = "/"
    """Where they begin."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that have programs."""
        return tuple(dict.fromkeys(each.host for each in self.programs))


def read(asked: Sequence[str], root: str | Path | None = None) -> Order:
    """The programs in `HOST: COMMAND`; commands are split as by a shell.

    Args:
        asked: programs, in the order in which they start.
        root: a folder that takes the place of the machine's files.

    Raises:
        ScenarioError: one is not understood, or there is no such program.
    """
    base = Path(root).resolve() if root is not None else Path("/")
    if root is not None and not base.is_dir():
        raise ScenarioError(f"--root {root}: is not a folder")
    if root is not None and not asked:
        raise ScenarioError("--root: is for programs; give them by --run")
    folder = Path.cwd() if root is None else Path("/")
    programs = tuple(_program(each, base, folder) for each in asked)
    return Order(programs, str(base), str(folder))


def _program(text: str, root: Path, folder: Path) -> Program:
    place = f'--run "{text}"'
    host, colon, command = text.partition(":")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ScenarioError(f"{place}: {error}") from None
    if not (host.strip() and colon and words):
        raise ScenarioError(f'{place}: must be "HOST: COMMAND", as in "server: iperf3 -s"')
    name = words[0]
    if root == Path("/"):
        # A shell that starts forebay finds it, too.
        path = f"{os.environ.get('PATH', '')}:{PATHS}"
        found = shutil.which(name, path=path)
        # A link is what its name says, as python in a virtual environment.
        found = str(Path(found).absolute()) if found else None
    elif "/" in name:
        found = name if os.path.lexists(root / folder.relative_to("/") / name.lstrip("/")) else None
    else:
        places = (f"{each}/{name}" for each in PATHS.split(":"))
        found = next((each for each in places if os.path.lexists(f"{root}{each}")), None)
    if found is None:
        where = "" if root == Path("/") else f" in {root}"
        raise ScenarioError(f'{place}: there is no program "{name}"{where}')
    return Program(host.strip(), (found, *words[1:]))


def check(order: Order, nodes: Collection[str]) -> None:
    """Refuse programs of hosts that a scenario does not have.

    Raises:
        ScenarioError: there is one.
    """
    for each in order.programs:
        if each.host not in nodes:
            raise ScenarioError(
                f'--run "{each.host}: {each.command}": the scenario has no host "{each.host}"; it '
                f"has {', '.join(nodes)}"
            )


NONE = Order()


class Programs:
    """The programs of a guest."""

    def __init__(
        self,
        order: Mapping[str, Any],
        names: Mapping[str, str],
        addresses: Mapping[str, str],
        folder: Path,
        clock: Clock,
    ) -> None:
        """Those of an `Order` as plain values, with their outputs in the folder of the run.

        Args:
            order: what runs.
            names: the hosts' namespaces.
            addresses: of all nodes.
            folder: of the run.
            clock: the scenario's.
        """
        self._order = order
        self._names = names
        self._folder = folder
        self._clock = clock
        self._numbers = {
            host: number
            for number, host in enumerate(dict.fromkeys(each["host"] for each in order["programs"]))
        }
        self._running: list[subprocess.Popen[bytes]] = []
        self._seen: list[dict[str, Any]] = []
        known = "".join(f"{address}\t{node}\n" for node, address in addresses.items())
        self._hosts = f"127.0.0.1\tlocalhost\n{known}"
        self._waiting: list[threading.Thread] = []

    def prepare(self) -> None:
        """Make the files of their hosts."""
        (self._folder / _PROGRAMS).mkdir()
        # Commas and colons part the options of an overlay.
        below = "".join(f"\\{each}" if each in "\\:," else each for each in self._order["root"])
        for host in self._numbers:
            names = [str(self._home(host)), below, str(FOLDER / self._names[host])]
            words = ["sh", "-c", _ROOT, "sh", *names, self._hosts, host]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise LabError(f'the files of host "{host}": {done.stderr.strip()}')

    def run(self, duration: int) -> list[dict[str, Any]]:
        """Run them from time zero to `duration`, ns; what became of each, in their order.

        Each starts when those before it wait for something. Files that they wrote are put beside
        what they said.
        """
        never = threading.Event()
        self._clock.sleep_until(0, never)
        for number, program in enumerate(self._order["programs"], 1):
            self._start(number, program["host"], program["words"])
            time.sleep(_MOMENT_S)
        self._clock.sleep_until(duration, never)
        self._end()
        for host, number in self._numbers.items():
            wrote = self._home(host) / "upper" / self._order["folder"].lstrip("/")
            if self._order["folder"] != "/" and wrote.is_dir():
                shutil.copytree(wrote, self._folder / _FILES / f"{number}", ignore=_others)
        return self._seen

    def _start(self, number: int, host: str, words: Sequence[str]) -> None:
        folder = self._folder / _PROGRAMS / f"{number}"
        folder.mkdir()
        root = self._home(host) / "root"
        where = f"{root}{self._order['folder']}"
        enter = [f"--net={FOLDER / self._names[host]}", f"--root={root}", f"--wd={where}"]
        limited = ["prlimit", f"--fsize={LARGEST}", "unshare", "--uts", "sh", "-c", _NAMED, host]
        seen = {"host": host, "command": shlex.join(words), "start_s": self._clock.now() / 1e9}
        self._seen.append(seen)
        with (folder / "stdout").open("wb") as said, (folder / "stderr").open("wb") as complained:
            process = subprocess.Popen(
                [*limited, "nsenter", *enter, "--", *words],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=complained,
                env=_SETTING,
                start_new_session=True,
            )
        self._running.append(process)
        thread = threading.Thread(target=self._wait, args=(process, seen), daemon=True)
        self._waiting.append(thread)
        thread.start()

    def _wait(self, process: subprocess.Popen[bytes], seen: dict[str, Any]) -> None:
        process.wait()
        seen["end_s"] = self._clock.now() / 1e9

    def _end(self) -> None:
        """Stop those that still run."""
        for process, seen in zip(self._running, self._seen, strict=True):
            seen["stopped"] = process.poll() is None
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in self._running:
                if process.poll() is None:
                    os.killpg(process.pid, number)
            for thread in self._waiting:
                thread.join(_GRACE_S)
        for process, seen in zip(self._running, self._seen, strict=True):
            seen["exit_code"] = process.poll()

    def _home(self, host: str) -> Path:
        return Path("/run") / f"host{self._numbers[host]}"


def _others(folder: str, names: list[str]) -> list[str]:
    """What is not kept: neither a file nor a folder, as what stands for a removed file."""
    paths = {name: Path(folder, name) for name in names}
    return [
        name
        for name, path in paths.items()
        if path.is_symlink() or not (path.is_file() or path.is_dir())
    ]


def collected(folder: Path, order: Order) -> dict[str, bytes]:
    """What programs said and wrote in the folder of a run, by its path among the results."""
    found = {}
    for number, program in enumerate(order.programs, 1):
        for name in ("stdout", "stderr"):
            said = folder / _PROGRAMS / f"{number}" / name
            if said.exists():
                found[f"programs/{number}-{_plain(program.host)}.{name}"] = said.read_bytes()
    for number, host in enumerate(order.hosts):
        base = folder / _FILES / f"{number}"
        for path in sorted(base.rglob("*")):
            if path.is_file():
                place = path.relative_to(base)
                found[f"programs/files-{_plain(host)}/{place}"] = path.read_bytes()
    return found


def _plain(name: str) -> str:
    return name.replace("/", "%2F")
