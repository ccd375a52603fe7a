"""Masking by bias and noise, attacked with and without published parameters, target by target (paper 002)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats
from larvatus.core.errors import LarvatusError, MachineError, StudyError
from larvatus.core.progress import Clock, Progress
from larvatus.data.score import Row
from larvatus.pipeline.read_source import read_for_study
from larvatus.stats.estimates.intervals import paired_interval

SMALL_GAIN, LEVEL = 0.02, "99 %"
LITTLE, MORE, UNCLEAR = "adds little", "adds more", "cannot tell"
REPEATS = 20  # files drawn from each of the paper's populations
_ENOUGH, _OFTEN = 2000, 10  # targets over all maskings of a small file, and most maskings, by default
_OWN = ("parameters", "bias_sd", "noise_ratio", "bias", "noise")  # set by the maskings and the two intruders


@dataclass(frozen=True, slots=True)
class ScenarioRequest:
    """What the command was given: settings of the attack, which override those of the study, and the number of maskings."""

    study: Path | None
    settings: dict[str, Any]
    repeats: int | None
    secret: bytes | None
    said: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Pairs:
    """Credits for the same targets by each of the four ways: parameters published or not, without or with known records."""

    ways: Sequence[tuple[str, int]]
    one_file: bool
    record: list[NDArray[np.int64]] = field(default_factory=list)
    credit: list[Floats] = field(default_factory=list)
    scores: list[list[Any]] = field(default_factory=list)
    among: int = 0
    share: float = 1.0

    def add(self, scores: list[Any]) -> None:
        by = np.array([s.by_record for s in scores])
        same = ~np.isnan(by).any(axis=0)
        known = getattr(scores[0], "records", None)  # in a sample, the same position is not the same record
        self.record.append(np.flatnonzero(same) if known is None else known[same])
        self.credit.append(by[:, same])
        self.scores.append(scores)
        self.among = by.shape[1]
        here = scores[0].details.get("presence")
        if here is not None:  # targets may be absent, and those not in the file are never found
            self.share = here[1]["chance"] / here[0]["chance"]

    def strongest(self, parameters: str) -> int:
        """The most successful way; without known records if these do not help."""
        mine = [i for i, (p, _) in enumerate(self.ways) if p == parameters]
        return max(mine, key=lambda i: (np.concatenate(self.credit, axis=1)[i].mean(), -self.ways[i][1]))

    def row(self, known: int) -> dict[str, Any]:
        told, hidden = (self.strongest(p) for p in ("released", "unknown"))
        credit = np.concatenate(self.credit, axis=1)
        gain = credit[told] - credit[hidden]
        targets = len(self.record[0])
        if targets < self.among and self.one_file:  # masking a sampled target again does not make it a new target
            _, of = np.unique(np.concatenate(self.record), return_inverse=True)
            gain = np.bincount(of, gain) / np.bincount(of)
        low, high = (self.share * v for v in paired_interval(gain))
        out: dict[str, Any] = {
            "published": self.share * float(credit[told].mean()), "not_published": self.share * float(credit[hidden].mean()),
            "difference": self.share * float((credit[told] - credit[hidden]).mean()),
            "difference_low": low, "difference_high": high,
            "verdict": LITTLE if high <= SMALL_GAIN + 1e-9 else MORE if low > SMALL_GAIN else UNCLEAR,
            "targets": targets, "records": self.among, "maskings": len(self.record),
        }
        if known:
            out |= {"published_by": self._by(told), "not_published_by": self._by(hidden)}
        first = [s[told] for s in self.scores]
        out |= {"chance": float(np.mean([s.chance for s in first])), "s_alone": float(np.mean([s.s_alone for s in first]))}
        for name, way in (("published", told), ("not_published", hidden)):
            sure = [r["probability"] for s in self.scores for r in s[way].details["kernels"]
                    if r["reported"] and r["probability"] is not None]
            out[f"probability_{name}"] = float(np.mean(sure)) if sure else None
        return out

    def _by(self, way: int) -> str:
        return "known records" if self.ways[way][1] else "the target alone"


def run_scenarios(asked: ScenarioRequest, progress: Any) -> Iterator[tuple[str, int, int, Row | None]]:
    """Yield the current task, its index, their number, and a row when it is finished (with the reason if it was refused)."""
    from larvatus.core.randomness import NOT_A_SECRET
    from larvatus.datasets import key_variables
    from larvatus.pipeline import read
    from larvatus.stats.link_posteriors.scenarios import BIAS_SD, LEVELS, NOISE_RATIO, TABLE_2, TABLE_3
    from larvatus.study import Study

    settings, who, secret = asked.settings, None, asked.secret
    cells: list[_Cell] = []
    if asked.study is not None:
        plan = Study.read(asked.study)
        settings = {**_of_study(plan, asked.said), **asked.settings}
        data = read_for_study(str(plan.source_path()), plan)
        sources = {"": [data] * _often(asked, settings, data.rows)}
        cells = _own(plan, asked.said)
        who = plan.intruder_here().model_copy(update={"published": "all"})
    else:
        secret, count = secret or NOT_A_SECRET, asked.repeats or REPEATS
        populations: tuple[Literal["DATA1", "DATA2"], ...] = ("DATA1", "DATA2")
        sources = {n: [read(key_variables(like=n, seed=r), confidential="x1") for r in range(count)] for n in populations}
    settings = _checked(settings)
    known = settings.get("known_records", 0)
    own = {"release": ""} if cells else {}
    both: dict[str, Any] = {"published": TABLE_2, "not_published": TABLE_3}
    for name in sources:
        for b, c in product(LEVELS, LEVELS):
            step = {"method": "bias_and_noise", "bias_sd": BIAS_SD[b], "noise_ratio": NOISE_RATIO[c]}
            cells.append(_Cell(name, own | ({"data": name} if name else {}) | {"bias": b, "noise": c}, step))
    outer = _Outer(progress, Clock(sum(len(sources[cell.name]) for cell in cells)), len(cells))
    for i, cell in enumerate(cells):
        yield cell.doing(), i, len(cells), None
        outer.begin(i, len(sources[cell.name]))
        row = dict(cell.row)
        try:
            row |= _attacked(sources[cell.name], cell.steps, settings, secret, who, outer, cell.more).row(known)
            row["refused"] = None
        except MachineError:
            raise
        except LarvatusError as error:
            row["refused"] = str(error)
        outer.end()
        if cell.name:
            i_b, i_c = (LEVELS.index(row[k]) for k in ("bias", "noise"))
            row |= {f"paper_{k}": t[cell.name][i_b][i_c][0] / 100 for k, t in both.items()}
        yield "done", i, len(cells), row


@dataclass(frozen=True, slots=True)
class _Cell:
    """One masking: its source, the first cells of its row, its steps, and other settings of the study."""

    name: str
    row: dict[str, Any]
    steps: Any
    more: dict[str, Any] = field(default_factory=dict)

    def doing(self) -> str:
        if self.row.get("release"):
            return f"release {self.row['release']}"
        return f"{self.name} {self.row['bias']} bias, {self.row['noise']} noise".strip()


def _own(plan: Any, said: list[str]) -> list[_Cell]:
    """The study's own releases to which this applies: bias_and_noise, with sampling before or after it."""
    out: dict[str, _Cell] = {}
    for planned in plan.release:
        values = [s for s in planned.steps if not s.drops]
        if [s.name() for s in values] != ["bias_and_noise"]:
            said.append(f"Release {planned.name}: not attacked here, because it has steps other than bias_and_noise "
                        "and sampling.")
            continue
        key = repr([(s.name(), s.settings()) for s in planned.steps])
        if key in out:
            said.append(f"Release {planned.name}: it has the same steps as {out[key].row['release']}, which are attacked once.")
            continue
        row = {"release": planned.name, "bias": _plain(values[0].bias_sd), "noise": _plain(values[0].noise_ratio)}
        out[key] = _Cell("", row, list(planned.steps), {"constraints": plan.constraints, "folder": plan.folder})
    return list(out.values())


def _plain(stated: Any) -> str:
    if isinstance(stated, dict):
        return ", ".join(f"{k} {v:.4g}" for k, v in stated.items())
    return ", ".join(f"{v:.4g}" for v in (stated if isinstance(stated, tuple) else (stated,)))


def _fewer_targets(settings: dict[str, Any], rows: int) -> bool:
    count = settings.get("targets")
    return isinstance(count, int) and count < rows


def _often(asked: ScenarioRequest, settings: dict[str, Any], rows: int) -> int:
    """Number of maskings: a small file is masked until there are enough targets, unless the number is set or chains are run."""
    if asked.repeats is not None or settings.get("known_records") or _fewer_targets(settings, rows):
        return asked.repeats or 1
    times = min(-(-_ENOUGH // max(rows, 1)), _OFTEN)
    if times > 1:
        asked.said.append(f"The file is small: it was masked {times} times with fresh draws, because {rows:,} records masked "
                          "once give little information. Set the number with --repeats.")
    return times


@dataclass(slots=True)
class _Outer:
    """Adds the masking, the intruder and the estimated time left to the progress reports of the attack."""

    progress: Progress
    clock: Clock
    total: int
    masking: int = 0
    times: int = 1
    time: int = 0
    who: str = ""

    def begin(self, masking: int, times: int) -> None:
        self.masking, self.times, self.time = masking, times, 0

    def attack(self, parameters: str, known: int) -> None:
        self.who = ("published" if parameters == "released" else "not published") + (f", {known:,} known" if known else "")

    def masked(self) -> None:
        """One more masking was made and attacked in every way."""
        self.time += 1
        self.clock.done()

    def end(self) -> None:
        """Count the maskings that a refusal has skipped as done."""
        self.clock.done(self.times - self.time)

    def __call__(self, doing: str, done: int, total: int) -> None:
        again = f", time {self.time + 1} of {self.times}" if self.times > 1 else ""
        self.progress(
            f"masking {self.masking + 1} of {self.total}{again}, {self.who}{self.clock.time_left()}: {doing}", done, total
        )


def _of_study(plan: Any, said: list[str]) -> dict[str, Any]:
    """The study's settings of this attack: of the one with unknown parameters if there are several."""
    mine = [a for a in plan.attack or () if a.name() == "bayesian_intruder"]
    if not mine:
        return {}
    chosen = next((a for a in mine if a.parameters == "unknown"), mine[0])
    stated = {k: getattr(chosen, k) for k in sorted(chosen.model_fields_set)}
    if len(mine) > 1:
        said.append(f"the study has {len(mine)} bayesian_intruder attacks: the "
                    + ("first with parameters = \"unknown\" is used" if chosen.parameters == "unknown" else "first is used"))
    idle = [k for k in _OWN if k in stated and k != "parameters"]
    if idle:
        said.append(f"{', '.join(idle)} of the study's attack: not used, because every masking here sets its own")
    return {k: v for k, v in stated.items() if k not in _OWN}


def _checked(settings: dict[str, Any]) -> dict[str, Any]:
    """Check the settings once, so that an invalid one is refused at once and not in every row."""
    from larvatus.data.contracts import Attack
    from larvatus.data.method_parsing import method_of

    try:
        method_of(Attack, {"method": "bayesian_intruder", **settings})
    except ValueError as error:
        raise StudyError([str(error)], "publish-noise") from None
    return settings


def _attacked(
    sources: Sequence[Any], step: Any, settings: dict[str, Any], secret: bytes | None, who: Any, progress: _Outer,
    more: dict[str, Any],
) -> _Pairs:
    """Every masking of every source, attacked in every way on the same targets: those of the way that can afford fewest."""
    from larvatus.pipeline import mask, risk

    known = settings.get("known_records", 0)
    ways = [(p, n) for p in ("unknown", "released") for n in dict.fromkeys((0, known))]
    pairs = _Pairs(ways, all(data is sources[0] for data in sources))
    for r, data in enumerate(sources):
        mine = secret if secret is None or r == 0 else hashlib.blake2b(secret + r.to_bytes(4, "big"), digest_size=32).digest()
        release = mask(data, step, secret=mine, **more)
        scores: list[Any] = []
        limit = settings.get("targets")
        for parameters, records in ways:
            progress.attack(parameters, records)
            given = {**settings, "parameters": parameters, "known_records": records, "targets": limit}
            attack = {"method": "bayesian_intruder", **{k: v for k, v in given.items() if v is not None}}
            scores.append(risk(data, release, [attack], intruder=who, progress=progress)[0])
            if limit is None:
                limit = int((~np.isnan(scores[0].by_record)).sum())
        pairs.add(scores)
        progress.masked()
    return pairs
