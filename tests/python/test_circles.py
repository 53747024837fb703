"""The check for circles among Rust modules (tools/rust_circles.py)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "rust_circles.py"


def check(folder: Path, files: dict[str, str]) -> tuple[int, str]:
    """The check's exit code and its output, for a crate `toy` with these files."""
    for name, text in files.items():
        file = folder / "crates" / "toy" / "src" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    run = subprocess.run([sys.executable, TOOL], cwd=folder, capture_output=True, text=True)
    return run.returncode, run.stdout


ROOT = "mod a;\nmod b;\npub use a::A;\npub use b::B as C;\n"


@pytest.mark.parametrize(
    "files",
    [
        {"lib.rs": ROOT, "a.rs": "use crate::C;\npub struct A(C);", "b.rs": "use super::A;"},
        {"lib.rs": ROOT, "a.rs": "pub struct A(crate::b::B);", "b.rs": "use super::a::A;"},
        {
            "lib.rs": "mod a;\nmod b;\npub use a::*;\n",
            "a/mod.rs": "mod inner;\npub use inner::{A, D};\nuse crate::b::B;",
            "a/inner.rs": "pub struct A;",
            "b.rs": "use crate::{\n    A,\n};",
        },
        # What follows the tests counts, too.
        {
            "lib.rs": ROOT,
            "a.rs": "#[cfg(test)]\nmod tests {\n    use x::Y;\n}\nuse crate::C;",
            "b.rs": "use super::A;",
        },
        {
            "lib.rs": ROOT,
            "a.rs": "#[cfg(test)]\nconst OPEN: char = '{';\nuse crate::C;\npub struct A(C);",
            "b.rs": "use super::A;",
        },
        # Globs: of what a module defines, of globs, of a parent's own imports, of its modules.
        {
            "lib.rs": "mod a;\nmod b;\npub use a::*;\npub use b::*;\n",
            "a/mod.rs": "mod inner;\npub use inner::*;\nuse crate::B;",
            "a/inner.rs": "pub struct A;",
            "b.rs": "use crate::A;\npub struct B;",
        },
        {
            "lib.rs": "mod a;\nmod b;\nuse a::A;\nuse b::B;\n",
            "a.rs": "use super::*;\npub struct A(B);",
            "b.rs": "use super::A;\npub struct B;",
        },
        {
            "lib.rs": "mod a;\nmod b;\n",
            "a.rs": "use super::*;\npub struct A(b::B);",
            "b.rs": "use super::*;\npub struct B(Vec<a::A>);",
        },
        # Other names for a module, for the crate, and for a restricted export.
        {
            "lib.rs": "mod a;\nmod b;\nuse a as x;\npub use x::A;\npub(in crate) use b as y;",
            "a.rs": "use crate as root;\npub struct A(root::y::B);",
            "b.rs": "use crate::A;\npub struct B;",
        },
        # Modules written in their parent.
        {"lib.rs": "mod a { pub struct A(crate::b::B); }\nmod b { use super::a::A; }"},
        # Macros, a path on two lines, and text that looks like a comment.
        {
            "lib.rs": "mod a;\nmod b;\n",
            "a.rs": "#[macro_export]\nmacro_rules! m { () => { $crate\n    ::b::B } }",
            "b.rs": 'pub fn f() { g("http://x", crate::m!()) }',
        },
        # A program beside the library does not hide what the library exports.
        {
            "lib.rs": ROOT,
            "main.rs": "use toy::A;",
            "a.rs": "pub struct A(crate::C);",
            "b.rs": "use crate::A;",
        },
    ],
)
def test_a_circle_is_found_through_what_a_root_exports(
    tmp_path: Path, files: dict[str, str]
) -> None:
    code, out = check(tmp_path, files)
    assert code == 1, out
    assert out.startswith("toy: crate: {a, b}\n"), out
    assert re.search("a -> b: crates/toy/src/(a|lib)", out), out


@pytest.mark.parametrize(
    "other",
    [
        "pub struct B;",
        "// use super::A;\npub struct B;",
        '/* use super::A; */ pub const B: &str = "super::A";',
        "enum E { A }\nuse E::*;\npub struct B;",
        "#[cfg(test)]\nmod tests {\n    use crate::A;\n}",
    ],
)
def test_one_way_is_no_circle(tmp_path: Path, other: str) -> None:
    files = {"lib.rs": ROOT, "a.rs": "use crate::C;\npub struct A(C);", "b.rs": other}
    assert check(tmp_path, files) == (0, "")
