"""The results of a study on disk: appended run by run, whole after any crash.

A folder holds

- `study.json`: the study, its hash and the engine's version;
- `journal`: finished runs that are not in a part yet (see `forebay._runs.journal`);
- `runs/part-*.parquet`: the journal's lines once there are enough of them, one part when the study
  is complete; written under another name, synchronised and renamed, a part is whole or absent;
- `tables/POINT-REPLICATION.TABLE.parquet`: tables of runs, if any are kept;
- `complete`: there once the study is;
- `lock`: held by the sweep that writes.

A crash between a part's renaming and the journal's truncation leaves runs in both; readers take
one of two that have the same key.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from forebay import _disk, _engine
from forebay._engine import ScenarioError
from forebay._runs.frames import parquet
from forebay._runs.journal import Kept, going_on
from forebay._runs.task import Record
from forebay.sweep.layout import COMPLETE, Layout, differing, parts, read_part, readable
from forebay.sweep.study import Study

JOURNAL_RUNS = 1000
"""Runs in the journal that make a part."""
COMPACT_UP_TO = 1_000_000
"""Runs up to which a complete study becomes a single part, for which all are held in memory."""


class Store(Kept):
    """The folder of a study, held by the one sweep that writes to it."""

    def __init__(self, study: Study, folder: Path) -> None:
        """Open a folder, new or begun earlier.

        Raises:
            ScenarioError: another sweep holds it, or it holds something else than this study.
            OSError: it cannot be written.
        """
        self._layout = Layout.of(study)
        check_folder(folder)
        _disk.make_folder(folder, follow=True)
        _disk.make_folder(folder / "runs")
        super().__init__(folder, lambda: self._claim(folder))

    def finished(self, key: str | None = None) -> Iterator[tuple[str, int, float | None]]:
        """Every run that is there: its point, its replication and one of its measures.

        A run may come twice.
        """
        for name in parts(self.folder):
            columns = ["point", "replication"]
            with readable(name) as part:
                if key is not None and pl.read_parquet_schema(part).get(key) == pl.Float64:
                    columns.append(key)
            frame = read_part(name, columns)
            values = frame[key].to_list() if key in columns else [None] * frame.height
            yield from zip(frame["point"], frame["replication"], values, strict=True)
        for record in self._journal.records:
            value = record.measures.get(key) if key is not None else None
            yield record.id, record.replication, None if isinstance(value, str) else value

    def append(self, records: Sequence[Record]) -> None:
        """Keep finished runs."""
        self._journal.append(records)
        if len(self._journal.records) >= JOURNAL_RUNS:
            self._roll()

    def finish(self) -> None:
        """Mark the study as complete and make its parts one, in order."""
        try:
            self._roll()
            names = parts(self.folder)
            if len(names) > 1 and sum(map(_height, names)) <= COMPACT_UP_TO:
                self._write(self._layout.arranged([read_part(name) for name in names]))
                for name in names:
                    name.unlink()
            _disk.write(self.folder / COMPLETE, b"")
        except OSError as error:
            raise going_on(error, self.folder) from None

    def repair(self) -> None:
        """Set damaged parts aside, in the folder `damaged`; their runs count as not run.

        What a crash tore of the journal has been cut off already.
        """
        for path in parts(self.folder):
            try:
                read_part(path)
            except ScenarioError:
                aside = self.folder / "damaged"
                _disk.make_folder(aside)
                path.rename(aside / path.name)
                (self.folder / COMPLETE).unlink(missing_ok=True)

    def _claim(self, folder: Path) -> None:
        """Write the manifest, or check that the folder's is this study's."""
        path = folder / "study.json"
        if _disk.read_if_any(path) is None:
            text = json.dumps(self._layout.manifest, indent=1, ensure_ascii=False)
            _disk.write(path, f"{text}\n")
            return
        found = Layout.read(folder)
        if found.manifest["version"] != _engine.version:
            raise ScenarioError(
                f"{folder}: was begun with forebay {found.manifest['version']}, and this is "
                f"{_engine.version}, whose numbers may differ; finish it with that version, or "
                "give another folder with --out"
            )
        if found.manifest["hash"] != self._layout.manifest["hash"]:
            fields = ", ".join(differing(found.study, self._layout.study))
            raise ScenarioError(
                f"{folder}: holds results of another study, which differs in: {fields}. "
                "Restore the study, or give another folder with --out"
            )
        if found.manifest["points"] != self._layout.manifest["points"]:
            raise ScenarioError(
                f"{folder}: its points have changed though the study has not: a file that the "
                "scenario reads, or a default of the engine, has; give another folder with --out"
            )

    def _roll(self) -> None:
        """Make a part of the journal."""
        if self._journal.records:
            self._write(self._layout.arranged([self._layout.frame(self._journal.records)]))
            self._journal.clear()

    def _write(self, frame: pl.DataFrame) -> None:
        """Add a part."""
        names = parts(self.folder)
        number = int(names[-1].stem.rpartition("-")[2]) + 1 if names else 1
        _disk.write(self.folder / "runs" / f"part-{number:06d}.parquet", parquet(frame))


def _height(path: Path) -> int:
    """The runs of one part."""
    with readable(path) as part:
        rows: int = pl.scan_parquet(part, glob=False).select(pl.len()).collect().item()
        return rows


def check_folder(folder: Path) -> None:
    """Check that a study can be written to `folder`.

    Raises:
        ScenarioError: something stands there that is not a study.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ScenarioError(f"{folder}: is a file; choose another folder with --out")
    names = sorted(entry.name for entry in folder.iterdir())
    # A sweep that was killed as it began leaves all but the manifest.
    ours = {"study.json", "lock", "runs"}
    foreign = [each for each in names if each not in ours and not each.endswith(_disk.PARTIAL)]
    if "study.json" not in names and foreign:
        raise ScenarioError(
            f"{folder}: holds {foreign[0]}, which is not of a study; "
            "choose another folder with --out"
        )
