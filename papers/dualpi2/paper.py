"""DualPI2 by its authors: their overload experiments, and the headline figures of their paper."""

from __future__ import annotations

from forebay.papers import Data, Figure, Paper, Quick, Section, StudyFile

from .claims import CLAIMS, CONCLUSIONS
from .figures import delays, overload
from .points import HEADLINE, OVERLOAD, TEXT, near, run_rows
from .sections import rows


def found(data: Data) -> str:
    """The page's beginning."""
    every = run_rows(data)
    kept = [each for each in every if each.load not in (10, 20)]
    return TEXT["found"].format(
        near=len(near(data)),
        rows=len(every),
        loaded=sum(each in near(data) for each in kept),
        of=len(kept),
        predicted=sum(each.is_predicted(data) for each in every),
    )


PAPER = Paper(
    title="DualPI2 under overload, and its headline figures",
    citation=TEXT["citation"],
    setup=TEXT["setup"],
    statistics=TEXT["statistics"],
    found=found,
    studies=(
        StudyFile(OVERLOAD, "overload.toml", Quick(2)),
        StudyFile(HEADLINE, "headline.toml", Quick(2, axes={"rtt": ["9800us", "49800us"]})),
    ),
    figures=(
        Figure("1", "What Prague and CUBIC deliver beside unresponsive datagrams.",
               overload, (OVERLOAD,)),
        Figure("2", "Queueing delay of Prague's packets.", delays, (HEADLINE,)),
    ),
    claims=CLAIMS,
    conclusions=CONCLUSIONS,
    sections=(Section("The overload experiments, row by row", TEXT["rows"], rows, (OVERLOAD,)),),
)  # fmt: skip
