"""What the documents say, works: their commands and snippets are run as written, page by page.

Blocks of `console`, `sh` and `python` are run in order in a folder that looks like the source tree,
and `toml` must be TOML. Comments that readers do not see shorten what would take long; each is
about the next block:

    <!-- test: -r 2 -->                   words to append to its first command
    <!-- test: replications=10 => replications=2 -->  text to replace in it
    <!-- test skip: needs root -->        it is not run
    <!-- test file: study.toml -->        it is written to a file
    <!-- test run: forebay sweep x.toml -->  a command that is run here
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import dots
import pytest
from click.testing import CliRunner

from forebay import _written
from forebay._cli import ORDER, app
from forebay._cli.help import examples
from forebay._scenario import plugins
from forebay.papers import page as papers

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("docs/tutorials/*.md"),
        *ROOT.glob("docs/papers/README.md"),
        *ROOT.glob("docs/reference/*.md"),
        *ROOT.glob("examples/*.md"),
        *ROOT.glob("papers/README.md"),
    ]
    if "```" in path.read_text(encoding="utf-8") or "`forebay " in path.read_text(encoding="utf-8")
)

DOCS = ROOT / "docs"
ALL = sorted([*ROOT.glob("*.md"), *DOCS.glob("**/*.md"), *ROOT.glob("examples/**/*.md")])

_FIGURE = re.compile(r"^<!-- figure (\S+): .*? -->$", re.M)
"""What the site draws."""
_PICTURE = re.compile(r"!\[[^]]*\]\(([^)]+)\)")
_TOKEN = re.compile(
    r"<!-- test(?: (?P<mark>\w+))?: (?P<text>.*?) -->"
    r"|^```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.S | re.M,
)


@dataclass
class Block:
    """A block of code and the marks before it."""

    language: str
    code: str
    line: int
    marks: list[tuple[str, str]]


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a page; a mark that asks for a command is one of its own."""
    marks: list[tuple[str, str]] = []
    for found in _TOKEN.finditer(text):
        line = text[: found.start()].count("\n") + 1
        if found["code"] is None:
            mark, words = found["mark"] or "", found["text"]
            if mark == "run":
                yield Block("console", f"$ {words}\n", line, [])
            else:
                assert mark in ("", "skip", "file"), f"line {line}: no such mark: {mark}"
                marks.append((mark, words))
        else:
            yield Block(found["language"], found["code"], line, marks)
            marks = []
    assert not marks, f"nothing follows {marks}"


def commands(block: Block) -> list[str]:
    """The commands of a block, one for each line that is not continued."""
    code = block.code.replace("\\\n", " ")
    lines = [line.strip() for line in code.splitlines()]
    if block.language == "console":
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return [line for line in lines if line and not line.startswith("#")]


def forebay(words: list[str]) -> None:
    """Run a command of forebay in this process, which has read its modules already."""
    done = CliRunner().invoke(app, words, prog_name="forebay")
    # The plug-ins of a command line are those of a process.
    plugins.clear()
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, f"forebay {shlex.join(words)}: {done.output}"


def shell(command: str) -> None:
    """Run any other command, and forebay where it is part of a line for the shell."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, shell=True, env=os.environ | {"PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def execute(command: str) -> None:
    words = shlex.split(command, comments=True)
    program = words[0].removeprefix(".venv/bin/")
    if program == "forebay" and not set(command) & set("|>&"):
        forebay(words[1:])
    else:
        shell(command)


def replaced(code: str, marks: list[tuple[str, str]]) -> str:
    for mark, text in marks:
        if mark == "" and " => " in text:
            old, new = text.split(" => ")
            assert old in code, f"the mark's {old!r} is not in the block"
            code = code.replace(old, new)
    return code


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like the source tree, whose output goes nowhere else."""
    for path in ROOT.iterdir():
        if path.name not in ("out", "report.html", ".git"):
            (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # as of a program that is begun there
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_says_works(page: str, tree: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "snippet"}
    for block in blocks((tree / page).read_text(encoding="utf-8")):
        kinds = dict(block.marks)
        if "skip" in kinds:
            continue
        block.code = replaced(block.code, block.marks)
        if "file" in kinds:
            (tree / kinds["file"]).write_text(block.code, encoding="utf-8")
        try:
            if block.language in ("console", "sh"):
                for number, command in enumerate(commands(block)):
                    more = [text for mark, text in block.marks if mark == "" and " => " not in text]
                    execute(" ".join([command, *more]) if number == 0 else command)
            elif block.language == "python":
                exec(compile(block.code, page, "exec"), namespace)
            elif block.language == "toml":
                (tree / "snippet.toml").write_text(block.code, encoding="utf-8")
                _written.load(tree / "snippet.toml")
        except Exception as error:
            raise AssertionError(f"{page}:{block.line}: {error}") from error


COMMANDS: dict[str, Any] = {name: app.get_command(click.Context(app), name) for name in ORDER}
SHORT = {
    "attack": ["--minutes", "0.005", "--no-confirm", "--set", "duration=3s", "--set", "warmup=1s"],
    "compare": ["-r", "1", "--set", "duration=12s"],
    "run": ["--set", "duration=12s"],
    "sweep": ["--set", "scenario.duration=6s", "--set", "until.at_most=5"],
    "tune": [
        "--trials",
        "2",
        "-r",
        "2",
        "--candidates",
        "1",
        "--verify",
        "2",
        "--set",
        "duration=12s",
    ],
}
"""What makes the examples of a command's help short."""
LONG = {
    "sudo": "needs root",
    "forebay suite": "takes minutes; test_suite.py runs one shortened",
    "forebay paper": "reads or runs whole papers; test_papers.py does with a small one",
    "forebay gate": "needs a program that is built without Python; test_lab.py calls it",
    "forebay import network.json": "reads a provider's own files; docs/import.md reads a village's",
    "forebay fit ping.txt": "reads a user's own files; test_fit.py makes some",
    "forebay twin": "reads a provider's own files; test_twin.py makes some",
    "forebay --plugin mine.py": "needs a discipline of the reader's; test_attack.py makes one",
    "forebay lab": "needs a kernel, which it would build; test_virtual_lab.py runs labs",
    "forebay replay": "needs a recording; test_replay.py makes one",
    "forebay validate": "takes a minute; test_validate.py runs some checks",
    "forebay explore": "plays until Ctrl-C; the tests in explore/ play it",
    "forebay watch": "plays until a key ends it; test_watch.py plays it",
}


CACHE = ROOT / "target" / "mypy-of-pages"
"""What mypy knows of forebay is the larger part."""


def test_python_on_pages_is_typed(tmp_path: Path) -> None:
    """The blocks of a page are one module, in the lines that they have there.

    A block that becomes a file, or is not run with the others, is one of its own.
    """
    for page in PAGES:
        text = (ROOT / page).read_text("utf-8")
        name = re.sub(r"\W", "_", page.removesuffix(".md"))
        modules: dict[str, list[str]] = {}
        for block in blocks(text):
            if block.language == "python":
                marks = dict(block.marks)
                alone = f"{name}_{block.line}.py" if "skip" in marks else f"{name}.py"
                lines = modules.setdefault(marks.get("file", alone), [""] * text.count("\n"))
                code = block.code.splitlines()
                lines[block.line : block.line + len(code)] = code
        for module, lines in modules.items():
            (tmp_path / module).write_text("\n".join(lines) + "\n", "utf-8")
    names = sorted(path.name for path in tmp_path.glob("*.py"))
    assert len(names) > 8
    words = ["--config-file=", "--check-untyped-defs", "--allow-redefinition"]
    # Of a program for clusters with SLURM, and of libraries of learning, which are not installed.
    words += ["--disable-error-code=import-not-found", "--disable-error-code=import-untyped"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words, "--cache-dir", CACHE, *names],
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": f"{ROOT / 'python'}{os.pathsep}{tmp_path}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def helps() -> dict[str, list[str]]:
    """The examples of each command's help."""
    found = {}
    for name, command in COMMANDS.items():
        for inner, each in getattr(command, "commands", {"": command}).items():
            found[f"{name} {inner}".strip()] = examples(each.help)
    return found


@pytest.mark.parametrize("command", helps())
def test_the_examples_of_help_work(command: str, tree: Path) -> None:
    del tree
    lines = "\n".join(helps()[command]).replace("\\\n", " ").splitlines()
    assert lines, "a command's help ends in examples"
    for line in lines:
        if not line.startswith(tuple(LONG)):
            if command in ("report", "export"):
                execute(" ".join(["forebay sweep examples/uplink-study.toml", *SHORT["sweep"]]))
            before, redirect, after = line.partition(" > ")
            execute(" ".join([before, *SHORT.get(command, [])]) + redirect + after)


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_sentences_exist(page: str) -> None:
    """Code spans such as `forebay kinds NAME`: the command and its options are there."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.S | re.M)
    for span in re.findall(r"`((?:\.venv/bin/)?forebay [^`]+)`", text):
        words = span.split()[1:]
        if words[0].startswith("-") or words[0] in ("...", "COMMAND"):
            continue
        assert words[0] in COMMANDS, span
        command = COMMANDS[words[0]]
        if hasattr(command, "commands") and len(words) > 1:
            assert words[1] in command.commands, span
            command = command.commands[words[1]]
        known = {option for each in command.params for option in each.opts} | {"--help"}
        for word in words:
            if word.startswith("-") and words[0] != "gate":
                assert word.partition("=")[0] in known, span


def test_the_control_of_endpoints_is_the_one_that_is_tested() -> None:
    text = (DOCS / "endpoints.md").read_text("utf-8")
    section = text.partition("## From an idea")[2].partition("\n## ")[0]
    source = (ROOT / "crates" / "quic" / "tests" / "own_control.rs").read_text("utf-8")
    found = [block.code for block in blocks(section) if block.language == "rust"]
    assert len(found) == 2 and all(each in source for each in found)


@pytest.mark.parametrize("page", [str(path.relative_to(ROOT)) for path in ALL])
def test_links_and_pictures_of_a_page_are_there(page: str) -> None:
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text("utf-8"), flags=re.S | re.M)
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (ROOT / page).parent.joinpath(target).exists(), target


def test_the_site_draws_the_figures_that_pages_ask_for_and_pages_show_all_pictures() -> None:
    drawn, asked, linked = set(), set(), set()
    for path in ROOT.glob("papers/*/results.json"):
        found = json.loads(path.read_text("utf-8"))
        drawn |= {f"papers/{papers.image(found, each)}" for each in found["figures"]}
    for path in ROOT.glob("docs/suites/*.json"):
        drawn |= set(json.loads(path.read_text("utf-8"))["figures"])
    drawn.add(dots.IMAGE)
    assert len(drawn) > 100
    for page in ALL:
        folder, text = page.parent, page.read_text("utf-8")
        asked |= {str((folder / each).relative_to(DOCS)) for each in re.findall(_FIGURE, text)}
        linked |= {(folder / each).resolve() for each in re.findall(_PICTURE, text)}
    assert asked <= drawn
    assert linked == set((DOCS / "images").iterdir())
