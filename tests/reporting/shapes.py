"""Reports of few and many releases, sub-groups and columns, written into a folder to be looked at."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from larvatus.comparison.comparison import Comparison
from larvatus.data.score import Scores
from reporting.conftest import built
from reporting.pictured import pictured

SHAPES = {
    f"{releases}-releases-{groups}-sub-groups-{columns}-columns": (releases, groups, columns)
    for releases in (3, 60) for groups in (1, 300) for columns in (2, 40)
}


def shaped(releases: int, groups: int, columns: int, names: Mapping[int, str] | None = None) -> Comparison:
    """Scores of both kinds of tests together, so that nothing a report can hold is left out."""
    plain = built(releases, groups, columns, names=names)
    drawn = pictured(plain).candidates
    return replace(plain, candidates=tuple(
        replace(a, scores=Scores([*a.scores, *(s for s in b.scores if s.method not in {x.method for x in a.scores})]))
        for a, b in zip(plain.candidates, drawn, strict=True)
    ))


def main(folder: Path) -> None:
    for name, shape in SHAPES.items():
        made = shaped(*shape)
        made.report(folder / f"{name}.html", overwrite=True)
        made.report(folder / f"{name}-public.html", "public", True, made.candidates[0].name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
