"""The user's cache folder. This needs no engine, because kernels may be built before it."""

import os
from pathlib import Path


def folder() -> Path:
    """The cache folder; it may be absent, or not be writable.

    It is `forebay` in $XDG_CACHE_HOME, if that is an absolute path, else in ~/.cache (XDG Base
    Directory Specification 0.8).

    Raises:
        RuntimeError: this user has no home.
    """
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (named if named.is_absolute() else Path("~/.cache").expanduser()) / "forebay"
