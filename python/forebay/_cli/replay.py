"""The command `forebay replay`."""

from __future__ import annotations

import json
from pathlib import Path

import click
from click.exceptions import Exit

from forebay import _engine
from forebay._cli.help import Command
from forebay._cli.options import PATH, as_json
from forebay._scenario import plugins


@click.command(cls=Command)
@click.argument("recording", metavar="FILE", type=PATH, help="A recording of forebay-gate.")
@as_json
def command(recording: Path, as_json: bool) -> None:
    """Replay a gate's recording through the simulator's queue.

    Every packet must be queued, dropped, marked and sent as it was on the real link. Exit code 1
    if anything differs.

    Examples:
        forebay replay recording/forward.rec
    """
    found = json.loads(_engine.replay(str(recording), plugins))
    if as_json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        dropped = sum(found["dropped"].values())
        print(
            f"{found['kind']}: {found['calls']} calls in {found['span_s']:.3f} s: "
            f"{found['offered']} packets offered, {found['sent']} sent, {dropped} dropped, "
            f"{found['marked']} marked"
        )
        if found["truncated"]:
            print("The recording ends within a call.")
        difference = found["difference"]
        print(f"The first difference: {difference}" if difference else "Everything is the same.")
    if found["difference"]:
        raise Exit(1)
