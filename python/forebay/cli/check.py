"""The command `forebay check`."""

from __future__ import annotations

import json

from forebay.cli.console import friendly
from forebay.cli.options import AsJson, ScenarioFile, Settings
from forebay.scenario import load_with, to_toml


def command(
    scenario: ScenarioFile,
    set_: Settings = [],  # noqa: B006 - read only
    as_json: AsJson = False,
) -> None:
    """Check a scenario and print it with every default filled in.

    Examples:
        forebay check examples/branch-uplink.toml
        forebay check examples/branch-uplink.toml --set link[0].queue.kind=pie
    """
    with friendly():
        effective = load_with(scenario, set_).effective()
        if as_json:
            print(json.dumps(effective, indent=2, ensure_ascii=False))
        else:
            print(to_toml(effective), end="")
