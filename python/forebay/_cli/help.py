"""How commands explain themselves: plain text that fits 80 columns and can be copied.

A command's help is its docstring. What stands under `Examples:` there is printed line by line.
Options that few need are hidden, and shown by `--help-all`.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any

import click

ALL = "--help-all"
_LONGEST = 80
"""Characters of a value that a message repeats."""


class Command(click.Command):
    """A command whose help ends in examples."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Answer `--help-all`, and repeat of a value that cannot be read only its beginning."""
        if ALL in args:
            ctx.meta[ALL] = True
            click.echo(ctx.get_help())
            ctx.exit()
        try:
            return super().parse_args(ctx, args)
        except click.BadParameter as error:
            shorter = re.sub(f"([^' ]{{{_LONGEST}}})[^' ]+", r"\1...", error.message)
            if shorter == error.message:
                raise
            raise click.BadParameter(shorter, error.ctx, error.param) from None

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Options last, as they are usually typed; arguments without braces."""
        formatter.write_usage(ctx.command_path, usage(self))

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """What the command does."""
        del ctx
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(prose(self.help))

    def format_arguments(self, ctx: Any, formatter: Any) -> None:
        """Arguments, each with what it means."""
        del ctx
        if rows := arguments(self):
            with formatter.section("Arguments"):
                formatter.write_dl(rows)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Options, each with what it means and its default."""
        found = _options(self, ctx)
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


class Group(click.Group):
    """Commands, each with a whole sentence."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Commands first, then the few options."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, _first_sentence(each.help)) for name, each in found if each is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
        with formatter.section("Options"):
            formatter.write_dl([_row(each) for each in _options(self, ctx)])

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """The command's name comes before its options."""
        formatter.write_usage(ctx.command_path, "COMMAND ...")


def examples(help_: str | None) -> list[str]:
    """The lines under `Examples:` of a docstring."""
    text = _parts(help_)[1]
    return text.splitlines()


def prose(help_: str | None) -> str:
    """A docstring without its examples."""
    return _parts(help_)[0]


def usage(command: click.Command) -> str:
    """What is typed after the name of a command."""
    shown = [_name(each) if each.required else f"[{_name(each)}]" for each in _arguments(command)]
    return " ".join([*shown, "[OPTIONS]"])


def arguments(command: click.Command) -> list[tuple[str, str]]:
    """The arguments of a command and what they mean."""
    return [(_name(each), each.help or "") for each in _arguments(command)]


def options(command: click.Command) -> list[tuple[str, str]]:
    """The options of a command and what they mean, those for few included."""
    return [_row(each) for each in command.params if isinstance(each, click.Option)]


def _parts(help_: str | None) -> tuple[str, str]:
    text, _, lines = inspect.cleandoc(help_ or "").partition("\n\nExamples:\n")
    return text.strip(), textwrap.dedent(lines).rstrip()


def _options(command: click.Command, ctx: click.Context) -> list[click.Option]:
    return [each for each in command.get_params(ctx) if isinstance(each, click.Option)]


def _arguments(command: click.Command) -> list[click.Argument]:
    return [each for each in command.params if isinstance(each, click.Argument)]


def _name(argument: click.Argument) -> str:
    return str(argument.metavar).strip("[]")


def _first_sentence(text: str | None) -> str:
    return " ".join(re.split(r"(?<=[.])\s", _parts(text)[0] + " ", maxsplit=1)[0].split())


def _row(option: click.Option) -> tuple[str, str]:
    flags = ", ".join(sorted(option.opts, key=len))
    if option.is_flag:
        return flags, option.help or ""
    default = option.show_default or option.to_info_dict()["default"]
    shown = f" [default: {default}]" if default not in (None, ()) else ""
    choices = option.type.choices if isinstance(option.type, click.Choice) else ()
    values = option.metavar or "|".join(choices)
    return f"{flags} {values}", f"{option.help}{shown}"
