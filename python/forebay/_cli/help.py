"""How commands explain themselves: plain text that fits 80 columns and can be copied.

A command's help is its docstring. What stands under `Examples:` there is printed line by line.
Options that few need are hidden, and shown by `--help-all`.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

ALL = "--help-all"


class Command(TyperCommand):
    """A command whose help ends in examples."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Answer `--help-all`, and say in plain words what is wrong with a value."""
        if ALL in args:
            ctx.meta[ALL] = True
            typer.echo(ctx.get_help())
            ctx.exit()
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = plain(error.message)
            raise

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Options last, as they are usually typed; arguments without braces."""
        formatter.write_usage(ctx.command_path, usage(self))

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """What the command does."""
        del ctx
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(prose(self.help))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments and options, each with what it means and its default."""
        rows = arguments(self)
        if rows:
            with formatter.section("Arguments"):
                formatter.write_dl(rows)
        found = [each for each in self.get_params(ctx) if isinstance(each, TyperOption)]
        hidden = any(each.hidden for each in found)
        rows = [_row(each) for each in found if ctx.meta.get(ALL) or not each.hidden]
        if hidden and not ctx.meta.get(ALL):
            rows.append((ALL, "Show the other options too."))
        with formatter.section("Options"):
            formatter.write_dl(rows, col_max=26)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Examples, unwrapped."""
        del ctx
        lines = examples(self.help)
        if lines:
            with formatter.section("Examples"):
                formatter.write("".join(f"{'':>{formatter.current_indent}}{x}\n" for x in lines))


class Group(TyperGroup):
    """Commands, each with a whole sentence."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Commands first, then the few options."""
        rows = [
            (name, _first_sentence(self.commands[name].help or ""))
            for name in self.list_commands(ctx)
            if not self.commands[name].hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
        found = [each for each in self.get_params(ctx) if isinstance(each, TyperOption)]
        with formatter.section("Options"):
            formatter.write_dl([_row(each) for each in found if not each.hidden])

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """The command's name comes before its options."""
        formatter.write_usage(ctx.command_path, "COMMAND ...")


def plain(message: str) -> str:
    """What pydantic says of an option's value, in the words of other messages."""
    for theirs, ours in _PLAIN.items():
        message = message.replace(theirs, ours)
    return message


_PLAIN = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": (
        "must be a whole number"
    ),
    "Input should be a valid number, unable to parse string as a number": "must be a number",
    "Input should be greater than or equal to": "must be at least",
    "Input should be less than or equal to": "must be at most",
    "Input should be": "must be",
}


def add(app: typer.Typer, name: str, function: Callable[..., None], **settings: Any) -> None:
    """Register a command under a name."""
    app.command(name, cls=Command, **settings)(function)


def examples(help_: str | None) -> list[str]:
    """The lines under `Examples:` of a docstring."""
    text = _parts(help_)[1]
    return text.splitlines()


def prose(help_: str | None) -> str:
    """A docstring without its examples."""
    return _parts(help_)[0]


def usage(command: TyperCommand) -> str:
    """What is typed after the name of a command."""
    shown = [_name(each) if each.required else f"[{_name(each)}]" for each in _arguments(command)]
    return " ".join([*shown, "[OPTIONS]"])


def arguments(command: TyperCommand) -> list[tuple[str, str]]:
    """The arguments of a command and what they mean."""
    return [(_name(each), each.help or "") for each in _arguments(command)]


def options(command: TyperCommand | TyperGroup) -> list[tuple[str, str]]:
    """The options of a command and what they mean, those for few included."""
    found = [each for each in command.params if isinstance(each, TyperOption)]
    return [_row(each) for each in found]


def _parts(help_: str | None) -> tuple[str, str]:
    text, _, lines = (help_ or "").partition("\n\nExamples:\n")
    return text.strip(), textwrap.dedent(lines).rstrip()


def _arguments(command: TyperCommand) -> list[TyperArgument]:
    return [each for each in command.params if isinstance(each, TyperArgument)]


def _name(argument: TyperArgument) -> str:
    """Typer puts one that may be left out in brackets."""
    return argument.display_name_raw.strip("[]")


def _first_sentence(text: str) -> str:
    return " ".join(re.split(r"(?<=[.])\s", _parts(text)[0] + " ", maxsplit=1)[0].split())


def _row(option: TyperOption) -> tuple[str, str]:
    flags = sorted(option.opts, key=len)
    metavar = "" if option.is_flag else f" {option.metavar or option.name.upper()}"
    default = option.show_default if isinstance(option.show_default, str) else option.default
    shown = ""
    if not option.is_flag and option.show_default and default not in (None, [], ()):
        shown = f" [default: {getattr(default, 'value', default)}]"
    return ", ".join(flags) + metavar, f"{option.help or ''}{shown}"
