"""The five systems beside their descendants, at the same tasks."""

from __future__ import annotations

from forebay.papers import Figure, Paper, Quick, Section, StudyFile

from . import figures, tables
from .points import TEXT
from .sections import BACKGROUND, POLICE, PRECEDENCE, PROFILES, SMALL, found

PAPER = Paper(
    title="Ancestors and descendants",
    citation=TEXT["citation"],
    setup=TEXT["setup"],
    statistics=TEXT["statistics"],
    found=found,
    studies=(
        StudyFile("small", "small.toml", Quick(2, {"duration": "15s"})),
        StudyFile("police", "police.toml", Quick(2, {"duration": "15s"})),
        StudyFile("precedence", "precedence.toml", Quick(2, {"duration": "15s"})),
        StudyFile("background", "background.toml", Quick(2, {"duration": "30s"})),
        StudyFile("profiles", "profiles.toml", Quick(2, {"duration": "25s"})),
    ),
    figures=(
        Figure("D1", "Small, rare packets: delay of a game", figures.small, ("small",)),
        Figure("D2", "A sender that does not yield", figures.police, ("police",)),
        Figure("D3", "Important packets, by the line's rate", figures.precedence, ("precedence",)),
        Figure("D4", "A background transfer", figures.background, ("background",)),
        Figure("D5", "Two customers, 6 and 2 Mbit/s bought", figures.profiles, ("profiles",)),
    ),
    sections=(
        Section("Small, rare packets", TEXT["small"], tables.small, ("small",), SMALL),
        Section("Who does not yield", TEXT["police"], tables.police, ("police",), POLICE),
        Section("Important packets", TEXT["precedence"], tables.precedence, ("precedence",),
                PRECEDENCE),
        Section("Background transfers", TEXT["background"], tables.background, ("background",),
                BACKGROUND),
        Section("Bought rates", TEXT["profiles"], tables.profiles, ("profiles",), PROFILES),
    ),
)  # fmt: skip
