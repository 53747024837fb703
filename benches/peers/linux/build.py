"""Builds Linux 6.1 in virtual time from Debian's source package into target/virtual-linux.

Usage: python benches/peers/linux/build.py [--jobs N]

Six minutes of processor time and, while it builds, 2 GB of disk; what is built is kept until the
package or a file beside this one changes. Needs no root. `make virtual-linux` calls it.
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
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = HERE.parents[2] / "target" / "virtual-linux"
PACKAGE = "linux-source-6.1"
ARCHIVE = Path("/usr/src") / f"{PACKAGE}.tar.xz"
PROGRAMS = {"gcc": "gcc", "make": "make", "flex": "flex", "bison": "bison", "bc": "bc"}
PROGRAMS |= {"tar": "tar", "xz": "xz-utils", "setarch": "util-linux", "tc": "iproute2"}
"""What is called, and the Debian package that has it."""
PATHS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
DRIVER = HERE / "forebay_link.c"
CONFIG = HERE / "kernel.config"
HELPERS = {
    "guest": ["-O2", "-o"],
    "fixed_random.so": ["-O2", "-shared", "-fPIC", "-o"],
}
# Drivers that no guest has make half of the source.
LEFT_OUT = ["Documentation/*/*", "tools/testing", "sound/*.[ch]", "drivers/gpu/*.[ch]"]
LEFT_OUT += ["drivers/media/*.[ch]", "drivers/staging/*.[ch]", "drivers/scsi/*.[ch]"]
LEFT_OUT += ["drivers/infiniband/*.[ch]", "drivers/net/ethernet/*.[ch]"]
LEFT_OUT += ["drivers/net/wireless/*.[ch]", "arch/arm*/boot/dts/*.dts*", "arch/mips/*.[chS]"]

EDITS = [
    # The clock counts single nanoseconds, not 256 at a time.
    (
        "arch/um/include/linux/time-internal.h",
        r"(#define TIMER_MULTIPLIER) 256\n(#define TIMER_MIN_DELTA)  500\n",
        r"\1 1\n\2 1\n",
    ),
    # A timer comes when it was asked for, not a nanosecond later.
    (
        "arch/um/kernel/time.c",
        r"(static int itimer_next_event\([^)]*\)\n\{\n)\tdelta \+= 1;\n\n",
        r"\1",
    ),
    # TCP's timers tick as in Debian's kernels for real machines.
    ("arch/um/Kconfig", r"(config HZ\n\tint\n\tdefault) 100\n", r"\1 250\n"),
    ("drivers/net/Makefile", r"\A", "obj-y += forebay_link.o\n"),
]


# The kernel draws random numbers from its own name, too.
SIGNATURE = ["KBUILD_BUILD_TIMESTAMP=2026-01-01", "KBUILD_BUILD_USER=forebay"]
SIGNATURE += ["KBUILD_BUILD_HOST=forebay", "KBUILD_BUILD_VERSION=1"]


class Failed(Exception):
    """What was in the way; the message names the remedy."""


def main() -> int:
    """Build what is not built."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    try:
        check_machine()
        made = {"version": package_version(), "inputs": inputs()}
        if built() == made:
            print(f"== {TARGET / 'linux'} is built of {PACKAGE} {made['version']}")
            return 0
        TARGET.mkdir(parents=True, exist_ok=True)
        (TARGET / "built.json").unlink(missing_ok=True)
        source = TARGET / f"source-{made['version']}-{digest(repr((EDITS, LEFT_OUT)).encode())}"
        if not source.exists():
            step(f"unpacking {ARCHIVE}", lambda: unpack(source))
        shutil.copyfile(DRIVER, source / "drivers/net" / DRIVER.name)
        step("configuring", lambda: configure(source))
        step(f"building Linux, {options.jobs} jobs", lambda: make(source, "linux", options.jobs))
        shutil.copyfile(source / "linux", TARGET / "linux")
        (TARGET / "linux").chmod(0o755)
        step("building the guest's programs", helpers)
        shutil.rmtree(source)
    except Failed as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    (TARGET / "built.json").write_text(json.dumps(made, indent=1) + "\n", "utf-8")
    print(f"== built {TARGET / 'linux'}")
    return 0


def check_machine() -> None:
    """Refuses a machine that lacks something, naming all of it."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        raise Failed(f"Linux on x86_64 is needed, this is {os.uname().machine}")
    path = f"{os.environ.get('PATH', '')}:{PATHS}"
    lacking = [name for program, name in PROGRAMS.items() if not shutil.which(program, path=path)]
    if not ARCHIVE.exists():
        lacking.append(PACKAGE)
    if not Path("/usr/include/stdio.h").exists():
        lacking.append("libc6-dev")
    if lacking:
        names = " ".join(sorted(set(lacking)))
        raise Failed(
            f"missing: {names}; on Debian: apt-get install --no-install-recommends {names}"
        )


def package_version() -> str:
    """The version of the source package."""
    command = ["dpkg-query", "-W", "-f=${Version}", PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{ARCHIVE} is there, but not as the Debian package {PACKAGE}")
    return done.stdout


def inputs() -> str:
    """A hash of the files beside this one that what is built depends on."""
    names = (Path(__file__).name, DRIVER.name, CONFIG.name, "guest.c", "fixed_random.c")
    return digest(*((HERE / name).read_bytes() for name in names))


def digest(*parts: bytes) -> str:
    """Eight hexadecimal digits that tell one content from another."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()[:8]


def built() -> object:
    """What stands in the target folder, if it is whole."""
    path = TARGET / "built.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def step(what: str, act: Callable[[], None]) -> None:
    """Says what is done and how long it took."""
    print(f"== {what}", flush=True)
    start = time.monotonic()
    act()
    print(f"   {time.monotonic() - start:.0f} s", flush=True)


def call(command: list[str], log: Path) -> None:
    """Runs a command; what it says is in `log`."""
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        tail = "".join(log.read_text("utf-8", "replace").splitlines(keepends=True)[-20:])
        raise Failed(f"{' '.join(command)}: exit {done.returncode}; {log} ends so:\n{tail}")


def unpack(source: Path) -> None:
    """Unpacks the source, edited, or nothing."""
    partial = source.with_name("unpacking")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    leave = [f"--exclude=*/{each}" for each in LEFT_OUT]
    command = ["tar", "xf", str(ARCHIVE), "-C", str(partial), "--strip-components=1", *leave]
    call(command, TARGET / "unpack.log")
    for name, pattern, replacement in EDITS:
        path = partial / name
        text, count = re.subn(pattern, replacement, path.read_text("utf-8"))
        if count != 1:
            raise Failed(f"{name} of {PACKAGE} is not as expected; build.py knows 6.1.192")
        path.write_text(text, "utf-8")
    partial.rename(source)


def configure(source: Path) -> None:
    """Writes .config, and checks that every option wanted is in it."""
    make(source, "allnoconfig", 1, f"KCONFIG_ALLCONFIG={CONFIG}")
    chosen = (source / ".config").read_text("utf-8").splitlines()
    wanted = [line for line in CONFIG.read_text("utf-8").splitlines() if line.startswith("CONFIG_")]
    if lacking := [line for line in wanted if line not in chosen]:
        raise Failed(f"the kernel does not take {', '.join(lacking)}")


def make(source: Path, goal: str, jobs: int, *settings: str) -> None:
    """Makes a goal of the kernel."""
    words = ["ARCH=um", "SUBARCH=x86_64", *SIGNATURE, *settings, goal]
    call(["make", "-C", str(source), f"-j{jobs}", *words], TARGET / f"{goal}.log")


def helpers() -> None:
    """Builds the first process, and the preload with random numbers."""
    for name, words in HELPERS.items():
        source = HERE / f"{Path(name).stem}.c"
        call(["gcc", *words, str(TARGET / name), str(source)], TARGET / f"{name}.log")


if __name__ == "__main__":
    sys.exit(main())
