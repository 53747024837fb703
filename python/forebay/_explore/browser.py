"""The person's browser, shown the page without a word of its address to others.

Every account of a machine can read the command lines of all programs, and whoever has the address
can do what the page can. So the browser is given a file that only this account can read, and that
leads to the page.
"""

from __future__ import annotations

import html
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LEADS_TO = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>forebay explore</title>
<p><a href="{address}">Open the page of forebay explore</a>
</html>
"""


@contextmanager
def shown(address: str) -> Iterator[None]:
    """Open the browser at an address; the file that leads there is gone when the block ends.

    A browser that runs until it is closed holds nothing up. Without one, nothing happens.
    """
    with tempfile.TemporaryDirectory(prefix="forebay-", ignore_cleanup_errors=True) as folder:
        file = Path(folder, "explore.html")
        file.touch(0o600, exist_ok=False)
        file.write_text(LEADS_TO.format(address=html.escape(address)), "utf-8")
        threading.Thread(target=_open, args=(file.as_uri(),), name="browser", daemon=True).start()
        yield


def _open(address: str) -> None:
    with suppress(webbrowser.Error, OSError):
        webbrowser.open(address)
