"""A release and its documents, written as one set: all copies, the pairing file, codebook, manifests and setup file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from larvatus.core.files import stem_of_file
from larvatus.core.safe_files.file_sets import FileSet, file_set
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release, copy_paths
from larvatus.documents.file_digests import COPY, describe_file
from larvatus.documents.manifest import DecisionFacts, manifest_paths, write_beside
from larvatus.documents.setup_files import setup_path, write_setup


@dataclass(frozen=True, slots=True)
class ReleaseSet:
    """The set of a release that is going to be written. While it is open, no other process can write to the same name."""

    path: Path
    files: FileSet

    def write(
        self, release: Release, original: Microdata, *, row_order: Literal["random", "keep"] = "random",
        pairing: Path | None = None, decided: DecisionFacts | None = None, labels: Mapping[str, str] | None = None,
        spreadsheet: bool = False,
    ) -> Path | None:
        """Write everything; return the path of the setup file, if there is one."""
        targets = copy_paths(self.path, len(release.copies))
        staged = self.files.place / self.path.name
        for target in targets:
            self.files.path(target)
        for earlier in _earlier_copies(self.path):
            if earlier not in targets:
                self.files.remove(earlier)
        release.write(staged, row_order, None if pairing is None else self.files.path(pairing), spreadsheet=spreadsheet)
        write_beside(release, original, staged, decided=decided, labels=labels)
        stated = release.data.labels.with_missing(release.data.roles.missing).only(release.data.released)
        write_setup(staged, stated, overwrite=False)
        return setup_path(self.path, stated)


@contextmanager
def open_release_set(path: Path, overwrite: bool = False) -> Iterator[ReleaseSet]:
    """Open the set of a release with its documents. What was written appears at the end, or nothing."""
    with file_set(path.parent, stem_of_file(path), overwrite) as files:
        yield ReleaseSet(path, files)


def _earlier_copies(path: Path) -> list[Path]:
    """The copies of the release that is replaced, as its manifest describes them; files that were changed are left out."""
    try:
        known = json.loads(manifest_paths(path)[0].read_text(encoding="utf-8"))["files"]
        there = [p for p in copy_paths(path, len(known)) if p.is_file()]
        described = [{k: v for k, v in one.items() if k not in COPY} for one in known]
        return [p for p in there if describe_file(p) in described]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
