"""Outcomes of single attacks and measures on a release that is not finished, from which a run with the same secret resumes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from larvatus.core.files import replace_file
from larvatus.core.safe_files.removal import remove_if_possible
from larvatus.pipeline.attack_release import AttackOutcome
from larvatus.pipeline.candidates.cache import plain_score, score_of_plain
from larvatus.pipeline.measure_release import MeasureOutcome

_Part = Literal["attack", "measure"]
_KINDS: dict[str, type[AttackOutcome] | type[MeasureOutcome]] = {"attack": AttackOutcome, "measure": MeasureOutcome}


@dataclass(frozen=True, slots=True)
class StoredOutcomes:
    """One file per attack and measure, without figures per record; nothing is stored without a folder."""

    folder: Path | None

    def read(self, part: _Part, place: int) -> AttackOutcome | MeasureOutcome | None:
        """A stored outcome, if there is one."""
        if self.folder is None:
            return None
        try:
            plain = json.loads(self._file(self.folder, part, place).read_text(encoding="utf-8"))
            score = plain.pop("score")
            return _KINDS[part](score=score and score_of_plain(score), **plain)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def write(self, part: _Part, place: int, outcome: AttackOutcome | MeasureOutcome) -> None:
        """Store an outcome."""
        if self.folder is None:
            return
        plain: dict[str, object] = {"score": outcome.score and plain_score(outcome.score), "left_out": outcome.left_out}
        if isinstance(outcome, AttackOutcome):
            plain["unsuitable"] = outcome.unsuitable
        self.folder.mkdir(mode=0o700, exist_ok=True)
        with replace_file(self._file(self.folder, part, place), private=True) as temporary:
            temporary.write_text(json.dumps(plain, ensure_ascii=False), encoding="utf-8")

    def remove(self) -> None:
        """Remove everything, once the release is finished."""
        if self.folder is not None:
            remove_if_possible(self.folder)

    @staticmethod
    def _file(folder: Path, part: _Part, place: int) -> Path:
        return folder / f"{part}-{place}.json"
