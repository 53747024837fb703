"""The page of the words that `forebay explain` knows beside fields and kinds."""

from __future__ import annotations

from forebay._reference.words import glossary


def glossary_page() -> str:
    """The glossary as a page of Markdown."""
    lines = [
        "# Glossary",
        "",
        "This page lists the words of forebay that are not names of fields or kinds, and what else "
        "people call them. `forebay explain WORD` prints the same. (`make docs` generates this "
        "page.)",
    ]
    for word in glossary():
        title, *others = word.names
        also = f"*Also: {', '.join(others)}.* ".replace(" *.", " \\*.") if others else ""
        more = f"[More](../{word.page})."
        if word.page.startswith("reference/"):
            more = f"[More]({word.page.removeprefix('reference/')})."
        lines += ["", f"## {title}", "", f"{also}{word.means} {more}"]
    return "\n".join(lines) + "\n"
