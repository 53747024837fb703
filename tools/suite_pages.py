"""Write the pages of results of suites into docs: docs/suite-NAME-results.md and its images.

Each argument is NAME=FOLDER=TITLE: a suite, the folder of its results, and the page's heading.
"""

import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


def page(name: str, folder: Path, title: str) -> None:
    """One page, and the images that it shows."""
    summary = (folder / "summary.md").read_text("utf-8")
    head = f"# {title}: results\n\n[What is run, and how to read it](suite-{name}.md).\n\n"
    (DOCS / f"suite-{name}-results.md").write_text(head + summary, "utf-8")
    for image in sorted((folder / "images").glob("*.svg")):
        shutil.copy(image, DOCS / "images" / image.name)


if __name__ == "__main__":
    for each in sys.argv[1:]:
        name, folder, title = each.split("=")
        page(name, Path(folder), title)
