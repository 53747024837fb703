"""Write THIRD-PARTY.md, the licences of what is compiled into our files: `make licences`.

cargo-about names the crates of each artefact and finds the texts of their licences, by about.toml.
"""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ARTEFACTS = {"python": "the module", "gate": "the gate"}
"""Crates that make a file of ours, and how it is called in THIRD-PARTY.md."""


def licences(crate: str) -> list[dict[str, Any]]:
    """The licences of what is compiled into the artefact of one of our crates."""
    words = [str(ROOT / "target/tools/bin/cargo-about"), "generate", "--format", "json"]
    words += ["--offline", "--locked", "--fail", "-c", str(ROOT / "tools/release/about.toml")]
    words += ["--manifest-path", str(ROOT / "crates" / crate / "Cargo.toml")]
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return list(json.loads(done.stdout)["licenses"])


def main() -> None:
    """Put the artefacts' licences together; a text that they share is written once."""
    texts: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for crate, artefact in ARTEFACTS.items():
        for licence in licences(crate):
            for user in licence["used_by"]:
                name, version = user["crate"]["name"], user["crate"]["version"]
                if not name.startswith("forebay-"):
                    texts[licence["name"], licence["text"]][f"{name} {version}"].add(artefact)
    parts = [(ROOT / "tools/release/third-party.md").read_text("utf-8")]
    for (name, text), crates in sorted(texts.items(), key=lambda item: (item[0][0], min(item[1]))):
        used = [
            crate if len(where) == len(ARTEFACTS) else f"{crate} ({' '.join(where)})"
            for crate, where in sorted(crates.items())
        ]
        parts.append(f"\n### {name}\n\nOf {', '.join(used)}:\n\n```\n{text}\n```\n")
    (ROOT / "THIRD-PARTY.md").write_text("".join(parts), "utf-8")


if __name__ == "__main__":
    main()
