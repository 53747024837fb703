"""Results by what they came from, so that a stopped comparison with peers goes on where it was.

A file of JSON lines, one a result, written as soon as it is there. What has other inputs (another
version, scenario, seed or program) is measured.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


class Kept:
    """The results in one file."""

    def __init__(self, path: Path) -> None:
        """Reads them; a last line that was not written to its end is cut off."""
        self.path = path
        self.lock = threading.Lock()
        self.known: dict[str, Any] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab+") as file:
            file.seek(0)
            for line in file:
                if not line.endswith(b"\n"):
                    file.truncate(file.tell() - len(line))
                    break
                key, result = json.loads(line)
                self.known[key] = result

    def of(self, inputs: Mapping[str, Any], measure: Callable[[], Any]) -> Any:
        """The result of `inputs`, plain values; measured if none is known.

        Threads may ask at once; measuring the same inputs twice at a time does no harm.
        """
        key = json.dumps(inputs, sort_keys=True)
        if key not in self.known:
            result = measure()
            with self.lock, self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, result]) + "\n")
                self.known[key] = result
        return self.known[key]


def digest(*paths: Path) -> str:
    """What files hold, as a word; one that is not there counts as empty."""
    found = hashlib.sha256()
    for path in paths:
        found.update(path.read_bytes() if path.is_file() else b"")
        found.update(b"\0")
    return found.hexdigest()[:16]
