"""What a process needs before anything is loaded: libraries abort it otherwise."""

from __future__ import annotations

import os
import resource

_BASE, _EACH_CORE = 1_200_000_000, 200_000_000
"""Addresses in bytes that the libraries reserve, and what threads add; most are never used."""


def too_little_memory() -> str | None:
    """What is wrong if the limit on addresses is too low to load the libraries, and the remedy."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    needed = _BASE + _EACH_CORE * (cores or 1)
    if limit == resource.RLIM_INFINITY or limit >= needed:
        return None
    return (
        f"the limit on memory is {limit / 1e9:.1f} GB of addresses, and forebay needs "
        f"{needed / 1e9:.1f} GB on {cores} cores; raise it: ulimit -v {needed // 1024}"
    )


def bad_threads() -> str | None:
    """What is wrong with the environment's number of threads for tables, and the remedy."""
    given = os.environ.get("POLARS_MAX_THREADS")
    if given is None or (given.isdecimal() and len(given) < 5 and int(given) > 0):
        return None
    return (
        f"POLARS_MAX_THREADS is {given[:20]!r} and must be 1 to 9999; unset it, or set "
        "it to the number of threads that tables may take"
    )
