"""A guest: Linux in user mode whose time moves only when nothing has anything to do.

What a guest does is decided by its seed, its plan and what it is started with, and by nothing else:
not by the load of the machine, nor by names of folders, dates or process numbers.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from forebay.lab.errors import LabError
from forebay.lab.virtual.kernel import Kernel

RESULTS = "/mnt"
"""Where the guest sees the folder of a run."""
EPOCH = (300 * 250 + 8**6) * 4_000_000
"""Time 0 of a scenario by the guest's clock, ns. A kernel counts its ticks of 4 ms from 300 s
before 0, and 8^6 after 0 all levels of its timer wheel turn over, as forebay's do at time 0."""
DONE = "guest: done"
"""What the guest says before it turns itself off."""
TCP_MEMORY = "196608 262144 393216"
"""For net.ipv4.tcp_mem, pages: as on a machine with 4 GB and more."""
_MEMORY = "1024M"
_START = 1000
"""What the real-time clock says when a guest begins, ns since 1970."""
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_PREFIX = "forebay-guest-"
_MOST_SAID = 4000
_LOOK_S = 0.05
_ASK_S = 1.0
"""Between two looks at the processor time of all processes."""
_TOLD = ["sh", "-c", 'read -r go && exec "$@" </dev/null', "sh"]
"""Before a command: it starts when a line is said, and not at all if who would say it is gone."""
_WATCH = ["sh", "-c", 'read -r ended || kill -s KILL -- "-$1"', "sh"]
"""Before a process group: it is killed when whoever would say a line is gone."""


@contextmanager
def folder() -> Iterator[Path]:
    """A folder of a run, which goes with it; what killed runs left goes, too."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        found = re.fullmatch(rf"{_PREFIX}(\d+)-\w+", left.name)
        if found and not Path(f"/proc/{int(found[1])}").exists():
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-") as name:
        yield Path(name)


class Guests:
    """The guests that run; a context manager in whose end none is left."""

    def __init__(self) -> None:
        """None so far."""
        self._running: set[subprocess.Popen[str]] = set()
        self._free = threading.Lock()
        self._ended = False

    def __enter__(self) -> Guests:
        """Start them by `boot`."""
        return self

    def __exit__(self, *_: object) -> None:
        """End them."""
        self.end()

    def end(self) -> None:
        """Kill those that run; no more start."""
        with self._free:
            self._ended = True
            for process in self._running:
                # It may have ended just now.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

    @contextmanager
    def running(
        self, start: Callable[[], subprocess.Popen[str]]
    ) -> Iterator[subprocess.Popen[str]]:
        """A process of a guest until it has ended."""
        with self._free:
            if self._ended:
                raise LabError("no more guests are started")
            process = start()
            self._running.add(process)
        try:
            with process:
                yield process
        finally:
            with self._free:
                self._running.discard(process)


@contextmanager
def _cores() -> Iterator[str]:
    """Where a guest runs: on a core that no other guest has, or on any.

    The kernel and the process that it traces take turns, thirty thousand times before time zero. On
    one core this takes a third to a half of the time that it takes between two.
    """
    cores = sorted(os.sched_getaffinity(0))
    with socket.socket(socket.AF_UNIX) as held:
        for core in cores:
            # An abstract name, which goes with this process.
            with suppress(OSError):
                held.bind(f"\0forebay-guest-{core}")
                cores = [core]
                break
        yield ",".join(map(str, cores))


@contextmanager
def _watched(process: subprocess.Popen[str]) -> Iterator[None]:
    """Let a process that is _TOLD go on; its group ends with this process, however that ends.

    The kernel's own signal at the end of a parent would not do: those whom the guest starts do not
    inherit it, and one that is just being started outlives it.
    """
    words = [*_WATCH, str(process.pid)]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    ) as watch:
        assert process.stdin and watch.stdin
        # Who was killed reads nothing.
        with suppress(BrokenPipeError):
            process.stdin.write("go\n")
            process.stdin.close()
        try:
            yield
        finally:
            with suppress(BrokenPipeError):
                watch.stdin.write("ended\n")
                watch.stdin.close()


def _spent(group: int) -> float:
    """Processor time of the processes of a group that there are, s."""
    ticks = 0
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            fields = (each / "stat").read_text("utf-8", "replace").rpartition(") ")[2].split()
            if int(fields[2]) == group:
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class _Quiet:
    """How long a guest has said nothing, by the processor time of its group."""

    def __init__(self, group: int, patience: float | None) -> None:
        self._group = group
        self._patience = patience
        self._since = self._asked = 0.0
        self._said = True
        self.ended = False

    def too_long(self, said: bool) -> bool:
        """Whether it is time to end it; `said` if it has said something since the last call."""
        self._said |= said
        if self._patience is None or time.monotonic() < self._asked + _ASK_S or self.ended:
            return False
        self._asked, spent = time.monotonic(), _spent(self._group)
        if self._said:
            self._since, self._said = spent, False
        self.ended = spent - self._since > self._patience
        return self.ended


def boot(
    guests: Guests,
    kernel: Kernel,
    folder: Path,
    plan: Sequence[str],
    *,
    seed: int,
    parameters: Iterable[str] = (),
    library: Path | None = None,
    date: int | None = None,
    patience: float | None = None,
    heard: Callable[[str], None] = lambda _: None,
) -> float:
    """Carry out a plan (its steps: linux/guest.c) in a new guest; the processor time in s.

    Args:
        guests: among whom it runs.
        kernel: what runs.
        folder: of the run; the guest sees it at RESULTS, and everything else read-only.
        plan: steps of the first process.
        seed: of all its random numbers.
        parameters: of the kernel.
        library: a shared library that the kernel calls.
        date: what its real-time clock says at EPOCH, ns since 1970.
        patience: processor time in s after which a guest that says nothing is ended.
        heard: called with each line that the guest says.
    """
    (folder / "plan").write_text("\n".join(plan) + "\n", "utf-8")
    # The kernel draws random numbers from its command line, and the length of the environment moves
    # the stack, and with it the guest's memory: no names of folders in either.
    names = {"linux": kernel.linux, "guest": kernel.guest, "random.so": kernel.random}
    if library is not None:
        names["library.so"] = library
    for name, path in names.items():
        (folder / name).symlink_to(path.resolve())
    environment = {
        "PATH": _PATH,
        "LD_PRELOAD": " ".join(f"./{name}" for name in names if name.endswith(".so")),
        "FOREBAY_SEED": f"{seed:020d}",
        "TMPDIR": "/tmp",
        "HOME": ".",
    }
    command = [
        # A shell adds to the environment.
        *("env", "-i", *(f"{name}={value}" for name, value in environment.items())),
        *("setarch", "-R", "./linux", f"mem={_MEMORY}"),
        *("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "loglevel=3"),
        *("con=null", "con0=null,fd:1", "time-travel=inf-cpu"),
        *(f"time-travel-start={_START if date is None else date - EPOCH}", "ipv6.disable_ipv6=1"),
        *("init=/proc/self/cwd/guest", *parameters),
    ]
    # A file: who reads a pipe interrupts its writer, and the kernel draws from when that was.
    console = folder / "console"

    def start(cores: str) -> subprocess.Popen[str]:
        with console.open("w") as output:
            return subprocess.Popen(
                [*_TOLD, "taskset", "--cpu-list", cores, *command],
                cwd=folder,
                env={"PATH": _PATH},
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )

    with (
        _cores() as cores,
        guests.running(partial(start, cores)) as process,
        _watched(process),
        console.open(encoding="utf-8", errors="replace") as said,
    ):
        ended, rest, quiet = 0, "", _Quiet(process.pid, patience)
        while not ended:
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            *lines, rest = (rest + said.read()).split("\n")
            for line in lines:
                heard(line)
            if quiet.too_long(bool(lines)):
                os.killpg(process.pid, signal.SIGKILL)
            if not ended:
                time.sleep(_LOOK_S)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read()
    if quiet.ended:
        raise LabError(
            f"time has stood still for {patience:g} s of processor time: a program computes "
            "without end, and never waits"
        )
    if process.returncode != 0 or DONE not in text:
        end = text[-_MOST_SAID:]
        raise LabError(f"the guest failed: exit {process.returncode}\n{end}")
    return usage.ru_utime + usage.ru_stime
