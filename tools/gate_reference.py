"""The reference page of the gate's configuration, part of `make docs`: prints it.

The gate needs no Python and has no schema: fields, types and meanings are read from the structs of
its `config` module, and put into the template beside this file.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from jinja2 import Environment

GATE = Path(__file__).parents[1] / "crates" / "gate" / "src"

TYPES = {
    "Rate": 'rate such as "10Mbit"',
    "Bytes": 'size such as "1500B"',
    "Duration": 'time such as "5ms"',
    "Overhead": '"none", "ppp", "ethernet" or a size',
    "Codepoint": 'DSCP such as "EF", or a number',
    "IpNet": 'prefix such as "10.0.0.0/8"',
    "Ports": 'port such as 53, or range such as "16384-32767"',
    "Protocol": '"tcp", "udp", "icmp", "icmpv6" or a number',
    "Interface": '"eth0" or `{ name = "eth0", netns = "left" }`',
    "Backend": '"tun", "packet" or "xdp"',
    "Other": '"pass" or a QoS class',
    "PathBuf": "file",
    "SocketAddr": 'address such as "127.0.0.1:9101"',
    "String": "text",
    "Value": "table",
}
"""Types that are written as a value; others are tables or whole numbers."""


def main() -> None:
    """Print the page."""
    source = next(path for path in (GATE / "config.rs", GATE / "config/mod.rs") if path.exists())
    text = with_links(source.read_text(encoding="utf-8"))
    template = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
    page = Environment(keep_trailing_newline=True).from_string(template)
    sys.stdout.write(page.render(fields=lambda name: table(text, name)))


def with_links(text: str) -> str:
    """The source with its `link_table!` written out: the fields that scenarios have too."""
    shared = (GATE.parents[1] / "shaper" / "src" / "link.rs").read_text(encoding="utf-8")
    found = re.search(r"\$\(\$before\)\*\n(.*?)\$\(\$after\)\*", shared, flags=re.S)
    assert found is not None
    fields = re.sub(r"\b(forebay_\w+|serde_json|link)::", "", found[1])

    def written_out(macro: re.Match[str]) -> str:
        return f"pub struct Link {{\n{macro[1]}{fields}{macro[2]}\n}}\n"

    pattern = r"pub struct Link \{\s*before \{(.*?)\}\s*after \{\n(.*?)\n        \}\n    \}\n\}\n"
    return re.sub(pattern, written_out, text, flags=re.S) + shared


def table(text: str, name: str) -> str:
    """The fields of a struct as a table of Markdown."""
    found = re.search(rf"^ *pub struct {name} \{{\n(.*?)^\}}", text, flags=re.S | re.M)
    assert found is not None, name
    given = re.search(r"#\[serde\(default[,)][^\n]*\n" + rf"pub struct {name} ", text) is not None
    lines = ["| Field | Value | Default | Meaning |", "|---|---|---|---|"]
    about: list[str] = []
    attribute = ""
    for line in map(str.strip, found[1].splitlines()):
        if line.startswith("///"):
            about.append(line.removeprefix("///").strip())
        elif line.startswith("#["):
            attribute += line
        elif match := re.fullmatch(r"pub (\w+): (.+),", line):
            renamed = re.search(r'rename = "(\w+)"', attribute)
            field = renamed[1] if renamed else match[1]
            default = "" if given or "default" in attribute else "required"
            if function := re.search(r'default = "(\w+)"', attribute):
                default = f"`{value(text, function[1])}`"
            lines.append(f"| `{field}` | {words(match[2])} | {default} | {' '.join(about)} |")
            about, attribute = [], ""
    return "\n".join(lines)


def words(rust: str) -> str:
    """A type in the words of a configuration."""
    inner = re.fullmatch(r"(Option|Vec|Box)<(.+)>", rust)
    if inner:
        return f"list of {words(inner[2])}" if inner[1] == "Vec" else words(inner[2])
    number = "whole number" if re.fullmatch(r"u\d+", rust) else "table"
    return TYPES.get(rust, number)


def value(text: str, function: str) -> str:
    """What a function for a default gives, as it is written in a file."""
    found = re.search(
        rf"^(?:pub const )?fn {function}\(\)[^{{]*\{{\n\s*(.+?)\n\}}", text, flags=re.S | re.M
    )
    assert found is not None, function
    inner = re.fullmatch(r"(\w+)(?:::from)?\((.+)\)", found[1])
    if inner is None:
        return found[1].replace("_", "")
    return f'"{inner[2]}B"' if inner[1] == "Bytes" else inner[2]


if __name__ == "__main__":
    main()
