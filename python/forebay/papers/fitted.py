"""What `forebay paper fit` found, as blocks of a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from forebay._judge import PAPER, STANDARD
from forebay._report.page import Block, Bullets, Heading, Section, Table, Text
from forebay.papers.verdicts import options

HEADING = "Set-ups tried"
_COUNTS = ["claim", "holds", "open", "differs"]
_HOLDS = {PAPER[standing]: word for standing, word in STANDARD.items()}


def section(found: Mapping[str, Any]) -> Section:
    """The section of the full page."""
    return Section(HEADING, list(_blocks(found)))


def short(found: Mapping[str, Any]) -> Section:
    """The section of the short page: which claims hold under which set-ups, without tables."""
    lists = _lists(found)
    bullets = [f"**{heading}:** {', '.join(ids)}" for heading, ids in lists.items() if ids]
    return Section(HEADING, [Text(_tried(found)), Bullets(bullets), Text(_best(found))])


def counts(found: Mapping[str, Any]) -> Table:
    """Under how many set-ups each claim holds."""
    return Table(_COUNTS, [_counts(each) for each in found["claims"]])


def texts(found: Mapping[str, Any]) -> Iterator[str]:
    """What a terminal says around the counts."""
    yield _tried(found)
    yield from (f"{heading}: {', '.join(ids)}." for heading, ids in _lists(found).items() if ids)
    yield from (
        f"{each['id']} holds with {_with(each)}." for each in found["claims"] if _with(each)
    )
    yield _best(found)
    for words, page, best in _conclusions(found):
        yield f"Conclusion: {words}\n  page's set-up: {page}; best set-up: {best}"


def _blocks(found: Mapping[str, Any]) -> Iterator[Block]:
    yield Text(_tried(found))
    yield Table(
        ["what the paper leaves open", "what it says", "set-ups tried; the first is the page's"],
        [[each["name"], each["words"], "; ".join(each["options"])] for each in found["choices"]],
    )
    yield Text(_RULE)
    rows = [[*_counts(each), _with(each)] for each in found["claims"]]
    yield Table([*_COUNTS, "holds, for example, with"], rows)
    yield Heading("The set-up that satisfies most claims")
    yield Text(_best(found))
    if rows := _conclusions(found):
        yield Table(["what the authors conclude", "page's set-up", "best set-up"], rows)
    yield Text(_seeds(found))


_RULE = (
    "For each claim, these are the numbers of set-ups under which it holds, is open because an "
    "interval is too wide or a number was not measured, and differs. *Only* names the options "
    "without which it held under no set-up tried."
)


def _tried(found: Mapping[str, Any]) -> str:
    all_ = found["tried"] == found["setups"]
    which = f"all {found['setups']}" if all_ else f"{found['tried']} of {found['setups']}"
    told = (
        f"`{found['command']}` judged the claims under {which} combinations of what the paper "
        f"leaves open, and {_counted(found['again'], 'set-up')} again with other seeds; "
        f"{found['cpu_seconds'] / 60:.0f} minutes of processor time."
    )
    if found["refused"]:
        told += f" {_counted(found['refused'], 'combination')} could not run."
    return told


def _lists(found: Mapping[str, Any]) -> dict[str, list[str]]:
    """Ids of the claims, by where they hold."""
    tried = found["tried"]
    lists: dict[str, list[str]] = {
        f"Hold under all {tried} tried": [],
        "Hold under some": [],
        "Hold under none, but are open under some": [],
        f"Differ under all {tried} tried": [],
    }
    every, some, undecided, none = lists.values()
    for each in found["claims"]:
        id_, holds, unknown = each["id"], each["holds"], each["open"]
        if holds == tried:
            every.append(id_)
        elif holds:
            some.append(f"{id_} ({holds})")
        elif unknown:
            undecided.append(f"{id_} ({unknown})")
        else:
            none.append(id_)
    return lists


def _conclusions(found: Mapping[str, Any]) -> list[list[str]]:
    """What the authors conclude, with the verdicts under the page's set-up and the best."""
    pairs = zip(found["page"]["conclusions"], found["best"]["conclusions"], strict=True)
    return [
        [best["words"], _HOLDS[page["verdict"]], _HOLDS[best["verdict"]]] for page, best in pairs
    ]


def _counts(claim: Mapping[str, Any]) -> list[str]:
    return [claim["id"], *(str(claim[word]) for word in _COUNTS[1:])]


def _with(claim: Mapping[str, Any]) -> str:
    if "with" not in claim:
        return ""
    told = options(claim["with"])
    if claim["only"]:
        only = {choice: " or ".join(names) for choice, names in claim["only"].items()}
        told += f". Only {options(only)}"
    return told


def _best(found: Mapping[str, Any]) -> str:
    best, page = found["best"], found["page"]
    of = len(best["claims"])

    def said(judged: Mapping[str, Any]) -> str:
        good = sum(verdict == "reproduced" for verdict in judged["claims"].values())
        numbers = judged["numbers"]
        return f"{good} of {of} claims and {numbers['good']} of {numbers['of']} numbers"

    if not best["changed"]:
        told = f"No set-up satisfies more claims than the page's: {said(page)}."
    else:
        told = (
            f"One set-up satisfies {said(best)} at once ({options(best['changed'])}). "
            f"The page's set-up satisfies {said(page)} with the same runs."
        )
    told += (
        " A claim whose words have several readings counts with the one that fits best, whose "
        "study may choose starts, delays or buffers itself."
    )
    if any(each["again"] < each["page_runs"] for each in found["studies"]):
        told += (
            " Points have fewer runs here than above, so a claim that is decided there may be open "
            "here."
        )
    return told


def _seeds(found: Mapping[str, Any]) -> str:
    rows = (
        f"`{each['name']}` {each['points']} points, {each['runs']} runs from seed {each['seed']}, "
        f"again {each['again']} from seed {each['again_seed']}"
        for each in found["studies"]
    )
    return f"Runs of each point: {'; '.join(rows)}."


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
