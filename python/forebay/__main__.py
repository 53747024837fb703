"""The program `forebay`, also as `python -m forebay`."""

import _signal  # type: ignore[import-not-found]  # Loaded with Python, which `signal` is not.
import sys

if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    # While modules are read, Ctrl-C ends the process as it ends any program: without a traceback.
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

import io
import signal

from forebay._limits import bad_threads, too_little_memory

if (_refusal := too_little_memory() or bad_threads()) is not None:
    print(f"error: {_refusal}", file=sys.stderr)
    sys.exit(2)

from forebay._cli import app
from forebay._cli.console import INTERRUPTED, READER_GONE, flushed

__all__ = ["main"]

for _stream in (sys.stdout, sys.stderr):
    if isinstance(_stream, io.TextIOWrapper) and _stream.errors == "strict":
        # A terminal that is not UTF-8 shows "?" for what it lacks.
        _stream.reconfigure(errors="replace")


def main() -> None:
    """Run the command line, and end with its exit code."""
    heard = signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    try:
        if heard:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        app(prog_name="forebay")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except SystemExit as end:
        if heard:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        gone = sys.stdout is not sys.__stdout__  # Click puts another there when writing fails.
        sys.exit(READER_GONE if gone else flushed(end.code))


if __name__ == "__main__":
    main()
