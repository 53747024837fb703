"""Tables on a terminal: no number and no head is cut, however narrow it is."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest

from forebay._cli.drawn import Terminal
from forebay._report.page import Cell, Group, Row, Table
from forebay._report.terminal import print_table

LONG = "fq-codel with a target of three milliseconds for the uplink of the house"


def shown(table: Table, width: int) -> list[str]:
    out = io.StringIO()
    print_table(Terminal(file=out, width=width), table)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    return lines


def words(lines: Sequence[str]) -> set[str]:
    return {word for line in lines for word in line.split()}


@pytest.mark.parametrize("label", ["today", LONG, LONG + LONG[:33], "a" * 105, "名" * 50])
@pytest.mark.parametrize("width", [40, 41, 59, 60, 79, 80, 120])
def test_no_number_is_cut(label: str, width: int) -> None:
    rows: list[Row | Group] = [
        Group("p99 delay, ms"),
        ["fifo", Cell("199", "±279"), Cell("12930.25", "±11104.75", "best")],
        [label, Cell("292"), Cell("0.48", "±0.06", "open")],
    ]
    lines = shown(Table(["", "call", "a download of the whole house"], rows), width)
    numbers = {"199", "±279", "12930.25", "±11104.75*", "292", "0.48", "±0.06~"}
    assert numbers <= words(lines)
    assert {"a", "download", "of", "the", "whole", "house"} <= words(lines)


@pytest.mark.parametrize("width", range(40, 121, 10))
def test_no_unit_is_cut(width: int) -> None:
    name = "the photos of a whole year that somebody sends (bulk, 2 flows, from 0s)"
    row: Row = [name, "268.8 ms", Cell("100 %"), "shown"]
    lines = shown(Table(["the same run without", "then", "of the rise gone", ""], [row]), width)
    assert {"268.8", "ms", "100", "%", "shown", "gone"} <= words(lines)


def test_names_that_leave_room_are_not_folded() -> None:
    name = "room for 300p; with 83p, 100 ms of the link"
    lines = shown(Table(["without", "then", "gone"], [[name, "18.5 ms", Cell("100 %")]]), 60)
    assert any(name in line for line in lines)
