"""The kernels of virtual labs: Linux in user mode, found, or built from Debian's source package.

    python -m forebay.lab.virtual.kernel [--kernel 6.12] [--into FOLDER]

Six minutes of processor time and, while it builds, 2 GB of disk; what is built is kept until a file
in `linux/` changes. Needs no root.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from forebay import _cache
from forebay.lab.errors import LabError

VERSIONS = {"6.1": "6.1.192", "6.12": "6.12.117"}
"""The kernels that there are, and the release of each that this file knows."""
USUAL = "6.1"
"""The kernel that is taken if none is asked for."""
BUILDERS = {"gcc": "gcc", "make": "make", "flex": "flex", "bison": "bison", "bc": "bc"}
BUILDERS |= {"tar": "tar", "xz": "xz-utils"}
"""What a build calls, and the Debian package that has it."""
RUNNERS = {"setarch": "util-linux", "taskset": "util-linux", "tc": "iproute2"}
"""What runs call."""
PATHS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LINUX = Path(__file__).parent / "linux"
CONFIG = LINUX / "kernel.config"
DRIVERS = ("forebay_link", "forebay_gate", "forebay_qdisc")
SOURCES = (*(f"{name}.c" for name in DRIVERS), "forebay_qdisc.h")
"""What is put beside the kernel's own drivers."""
HELPERS = {
    "guest": ["-O2", "-o"],
    "fixed_random.so": ["-O2", "-shared", "-fPIC", "-o"],
}
# Drivers that no guest has make half of the source.
LEFT_OUT = ["Documentation/*/*", "tools/testing", "sound/*.[ch]", "drivers/gpu/*.[ch]"]
LEFT_OUT += ["drivers/media/*.[ch]", "drivers/staging/*.[ch]", "drivers/scsi/*.[ch]"]
LEFT_OUT += ["drivers/infiniband/*.[ch]", "drivers/net/ethernet/*.[ch]"]
LEFT_OUT += ["drivers/net/wireless/*.[ch]", "arch/arm*/boot/dts/*.dts*", "arch/mips/*.[chS]"]

EDITS = [  # a file, a pattern, what takes its place, and how often at most
    # The clock counts single nanoseconds, not 256 at a time.
    (
        "arch/um/include/linux/time-internal.h",
        r"(#define TIMER_MULTIPLIER) 256\n(#define TIMER_MIN_DELTA)  500\n",
        r"\1 1\n\2 1\n",
        1,
    ),
    # A timer comes when it was asked for, not a nanosecond later.
    (
        "arch/um/kernel/time.c",
        r"(static int itimer_next_event\([^)]*\)\n\{\n)\tdelta \+= 1;\n\n",
        r"\1",
        1,
    ),
    # A program that calls without end and never waits, such as iperf3 for a round trip, sees time
    # pass: from 10 000 calls on each takes 1 us, from 20 000 on 2 us, and so on.
    (
        "arch/um/kernel/skas/syscall.c",
        r"(\t\t\tschedule\(\);\n\t\t\}\n)",
        r"""\1
\t\tif (time_travel_mode == TT_MODE_INFCPU &&
\t\t    ++time_travel_calls >= 10000) {
\t\t\tum_udelay(time_travel_calls / 10000);
\t\t\tschedule();
\t\t}
""",
        1,
    ),
    (
        "arch/um/kernel/time.c",
        r"(\nstatic bool time_travel_start_set;\n)",
        r"\nunsigned long time_travel_calls;\1",
        1,
    ),
    (
        "arch/um/kernel/time.c",
        r"(\ttime_travel_update_time\(next, true\);\n)",
        r"\ttime_travel_calls = 0;\n\1",
        1,
    ),
    (
        "arch/um/include/linux/time-internal.h",
        r"\nvoid time_travel_sleep\(void\);\n",
        r"\nextern unsigned long time_travel_calls;\g<0>",
        1,
    ),
    # TCP's timers tick as in Debian's kernels for real machines.
    ("arch/um/Kconfig", r"(config HZ\n\tint\n\tdefault) 100\n", r"\1 250\n", 1),
    # The processes of a guest that is killed end with it.
    (
        "arch/um/os-Linux/skas/process.c",
        r"\(void \*\) ?PTRACE_O_TRACESYSGOOD\)",
        r"(void *) (PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))",
        2,
    ),
    # Registers are given back whole: some processors have more than are kept. Those for matrices
    # (AMX) stay empty, as no program of a guest asks for them.
    (
        "arch/x86/um/os-Linux/registers.c",
        r"\nint restore_fp_registers\(",
        r"\nstatic char whole_state[16384] __attribute__((aligned(64)));\n\g<0>",
        1,
    ),
    (
        "arch/x86/um/os-Linux/registers.c",
        r"\t\tiov\.iov_base = fp_regs;\n\t\tiov\.iov_len = (FP_SIZE \* sizeof\(unsigned long\));\n"
        r"(?=\t\tif \(ptrace\(PTRACE_SETREGSET)",
        r"\t\tmemcpy(whole_state, fp_regs, \1);\n"
        r"\t\tiov.iov_base = whole_state;\n\t\tiov.iov_len = sizeof(whole_state);\n",
        1,
    ),
    (
        "arch/x86/um/os-Linux/registers.c",
        r"#include <stdlib.h>\n",
        r"\g<0>#include <string.h>\n",
        1,
    ),
    ("drivers/net/Makefile", r"\A", f"obj-y += {' '.join(f'{name}.o' for name in DRIVERS)}\n", 1),
]
COMPILED = 636
"""Files that a build compiles."""


def package(version: str) -> str:
    """Debian's source package of a kernel."""
    return f"linux-source-{version}"


def archive(version: str) -> Path:
    """The source that the package brings."""
    return Path("/usr/src") / f"{package(version)}.tar.xz"


def intent(version: str) -> str:
    """What to say before a build."""
    return (
        f"Building the kernel of virtual labs from Debian's {package(version)}, once: about six "
        "minutes of processor time, and 2 GB of disk until it is done."
    )


# The kernel draws random numbers from its own name, too.
SIGNATURE = ["KBUILD_BUILD_TIMESTAMP=2026-01-01", "KBUILD_BUILD_USER=forebay"]
SIGNATURE += ["KBUILD_BUILD_HOST=forebay", "KBUILD_BUILD_VERSION=1"]


@dataclass(frozen=True)
class Kernel:
    """A kernel that has been built, and what belongs to it.

    Example:
        >>> kernel = lab.virtual.find()
        >>> kernel.is_whole
        True
    """

    folder: Path
    """Where it is."""

    @property
    def linux(self) -> Path:
        """The kernel, a program."""
        return self.folder / "linux"

    @property
    def guest(self) -> Path:
        """The first process."""
        return self.folder / "guest"

    @property
    def random(self) -> Path:
        """The preload with the kernel's random numbers."""
        return self.folder / "fixed_random.so"

    @property
    def marks(self) -> dict[str, str]:
        """What it is built of: `version` of the package, and digests of our own files."""
        path = self.folder / "built.json"
        return dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}

    @property
    def is_whole(self) -> bool:
        """Whether it is built, of the files as they are now."""
        return {**self.marks, "version": ""} == {**digests(), "version": ""}


def places(version: str = USUAL) -> list[Path]:
    """Where a kernel is looked for: in a source tree its target folder, then the user's cache."""
    root = Path(__file__).parents[4]
    name = "virtual-linux" if version == USUAL else f"virtual-linux-{version}"
    tree = [root / "target" / name] if (root / "Cargo.toml").exists() else []
    return [*tree, cache(version)]


def cache(version: str = USUAL) -> Path:
    """The folder of a kernel in the user's cache."""
    return _cache.folder() / f"linux-{version}-{digests()['inputs']}"


def find(folder: str | Path | None = None, *, version: str = USUAL) -> Kernel | None:
    """The kernel in `folder`, or where kernels are looked for; None if there is none.

    Args:
        folder: of a kernel that has been built.
        version: "6.1", the usual one, or "6.12"; of no account if a folder is given.

    Raises:
        LabError: this machine cannot run one.

    Example:
        >>> lab.virtual.find().linux.name
        'linux'
    """
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        raise LabError("a virtual lab needs Linux on x86-64")
    check_programs(RUNNERS)
    if folder is not None:
        return kernel if (kernel := Kernel(Path(folder))).is_whole else None
    found = (kernel for kernel in map(Kernel, places(version)) if kernel.is_whole)
    return next((each for each in found if each.marks["version"].startswith(f"{version}.")), None)


def found(version: str = USUAL) -> Kernel:
    """The kernel where kernels are looked for.

    Raises:
        LabError: there is none.
    """
    kernel = find(version=version)
    if kernel is None:
        where = " or ".join(str(each) for each in places(version))
        option, setting = "", ""
        if version != USUAL:
            option, setting = f" --kernel {version}", f" KERNEL={version}"
        raise LabError(
            f"no kernel in {where}; `forebay lab SCENARIO --virtual{option}` builds one, or "
            f"`make virtual-linux{setting}`"
        )
    return kernel


def build(
    into: Path,
    *,
    version: str = USUAL,
    jobs: int | None = None,
    told: Callable[[str, float], None] = lambda *_: None,
) -> Kernel:
    """Build the kernel in the folder `into`, unless it is there.

    Args:
        into: is made; what is half built is gone on with.
        version: "6.1", the usual one, or "6.12".
        jobs: of the compiler at a time, one a processor by default.
        told: is given what is being done, and what part of it is done (0 to 1).

    Raises:
        LabError: something is missing, or does not build.

    Example:
        >>> lab.virtual.build(lab.virtual.find().folder).is_whole
        True
    """
    wanted = {"version": check_machine(version), **digests()}
    kernel = Kernel(into)
    before = kernel.marks
    if before == wanted:
        return kernel
    into.mkdir(parents=True, exist_ok=True)
    (into / "built.json").unlink(missing_ok=True)
    if before.get("version") != wanted["version"] or before.get("inputs") != wanted["inputs"]:
        edited = digest(repr((EDITS, LEFT_OUT)).encode())
        source = into / f"source-{wanted['version']}-{edited}"
        if not source.exists():
            told(f"unpacking {archive(version)}", 0.0)
            unpack(version, source)
        for name in SOURCES:
            shutil.copyfile(LINUX / name, source / "drivers/net" / name)
        told("configuring Linux", 0.0)
        configure(source, into)
        compiled = partial(told, "building Linux")
        compiled(0.0)
        make(source, into, "linux", jobs or os.cpu_count() or 1, progress=compiled)
        shutil.copyfile(source / "linux", kernel.linux)
        kernel.linux.chmod(0o755)
        shutil.rmtree(source)
    told("building the guest's programs", 0.0)
    for name, words in HELPERS.items():
        code = LINUX / f"{Path(name).stem}.c"
        call(["gcc", *words, str(into / name), str(code)], into / f"{name}.log")
    (into / "built.json").write_text(json.dumps(wanted, indent=1) + "\n", "utf-8")
    return kernel


def by_tenths(say: Callable[[str], None]) -> Callable[[str, float], None]:
    """For `build`: says a line at each step, and at each tenth of a long one."""
    last = ("", 0)

    def told(what: str, part: float) -> None:
        nonlocal last
        if (now := (what, int(10 * part))) != last:
            last = now
            say(f"{what}: {10 * now[1]} %" if now[1] else what)

    return told


def check_programs(wanted: dict[str, str], *more: str) -> None:
    """Refuses a machine that lacks a program, or the packages `more`, naming all of it."""
    path = f"{os.environ.get('PATH', '')}:{PATHS}"
    lacking = [package for name, package in wanted.items() if not shutil.which(name, path=path)]
    if lacking or more:
        names = " ".join(sorted({*lacking, *more}))
        raise LabError(
            f"missing: {names}; on Debian: apt-get install --no-install-recommends {names}"
        )


def check_machine(version: str) -> str:
    """Refuses a machine that lacks something to build; the version of the source package."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        raise LabError(f"Linux on x86_64 is needed, this is {os.uname().machine}")
    if version not in VERSIONS:
        raise LabError(f'no kernel "{version}"; there are {", ".join(VERSIONS)}')
    more = [] if archive(version).exists() else [package(version)]
    if not Path("/usr/include/stdio.h").exists():
        more.append("libc6-dev")
    check_programs(BUILDERS | RUNNERS, *more)
    command = ["dpkg-query", "-W", "-f=${Version}", package(version)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise LabError(
            f"{archive(version)} is there, but not as the Debian package {package(version)}"
        ) from None
    return done.stdout


def digests() -> dict[str, str]:
    """Of what a build depends on here: the kernel (`inputs`), and its helpers."""
    drivers = [(LINUX / name).read_bytes() for name in SOURCES]
    helpers = [(LINUX / f"{Path(name).stem}.c").read_bytes() for name in HELPERS]
    ways = repr((EDITS, LEFT_OUT, SIGNATURE)).encode()
    return {
        "inputs": digest(ways, CONFIG.read_bytes(), *drivers),
        "helpers": digest(repr(HELPERS).encode(), *helpers),
    }


def digest(*parts: bytes) -> str:
    """Eight hexadecimal digits that tell one content from another."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()[:8]


def call(command: list[str], log: Path, heard: Callable[[str], None] = lambda _: None) -> None:
    """Runs a command; what it says is in `log`, and heard line by line."""
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as process,
    ):
        try:
            assert process.stdout is not None
            for line in process.stdout:
                file.write(line)
                heard(line)
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        tail = "".join(log.read_text("utf-8").splitlines(keepends=True)[-20:])
        raise LabError(f"{' '.join(command)}: exit {process.returncode}; {log} ends so:\n{tail}")


def unpack(version: str, source: Path) -> None:
    """Unpacks the source, edited, or nothing."""
    partial = source.with_name("unpacking")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    leave = [f"--exclude=*/{each}" for each in LEFT_OUT]
    command = [
        "tar",
        "xf",
        str(archive(version)),
        "-C",
        str(partial),
        "--strip-components=1",
        *leave,
    ]
    call(command, source.with_name("unpack.log"))
    for name, pattern, replacement, times in EDITS:
        path = partial / name
        text, count = re.subn(pattern, replacement, path.read_text("utf-8"))
        if not 1 <= count <= times:
            known = f"kernel.py knows {VERSIONS[version]}"
            raise LabError(f"{name} of {package(version)} is not as expected; {known}")
        path.write_text(text, "utf-8")
    partial.rename(source)


def configure(source: Path, into: Path) -> None:
    """Writes .config, and checks that every option wanted is in it."""
    make(source, into, "allnoconfig", 1, f"KCONFIG_ALLCONFIG={CONFIG}")
    chosen = (source / ".config").read_text("utf-8").splitlines()
    wanted = [line for line in CONFIG.read_text("utf-8").splitlines() if line.startswith("CONFIG_")]
    if lacking := [line for line in wanted if line not in chosen]:
        raise LabError(f"the kernel does not take {', '.join(lacking)}")


def make(
    source: Path,
    into: Path,
    goal: str,
    jobs: int,
    *settings: str,
    progress: Callable[[float], None] = lambda _: None,
) -> None:
    """Makes a goal of the kernel."""
    compiled = 0

    def heard(line: str) -> None:
        nonlocal compiled
        if line.startswith("  CC "):
            compiled += 1
            progress(min(compiled / COMPILED, 1.0))

    words = ["ARCH=um", "SUBARCH=x86_64", *SIGNATURE, *settings, goal]
    call(["make", "-C", str(source), f"-j{jobs}", *words], into / f"{goal}.log", heard)


def main() -> int:
    """Build what is not built."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", choices=VERSIONS, default=USUAL)
    parser.add_argument("--into", type=Path)
    parser.add_argument("--jobs", type=int)
    options = parser.parse_args()
    start = time.monotonic()

    def say(text: str) -> None:
        print(f"== {text} ({time.monotonic() - start:.0f} s)", flush=True)

    try:
        into = options.into or places(options.kernel)[0]
        kernel = build(into, version=options.kernel, jobs=options.jobs, told=by_tenths(say))
    except LabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"== {kernel.linux} is built of {package(options.kernel)} {kernel.marks['version']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
