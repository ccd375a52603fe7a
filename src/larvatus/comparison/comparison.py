"""Several releases of the same data with their scores. It holds no data, so it can be stored and reported."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from larvatus.comparison.combined_scores import Combination, add_combined_scores
from larvatus.comparison.labelled_levels import with_level_labels
from larvatus.comparison.limits import Judgement, Limits, LimitsLike, limits_of
from larvatus.core.display import view
from larvatus.core.errors import StudyError
from larvatus.core.number_format import Cell
from larvatus.data.budgets.release_budget import ReleaseBudget
from larvatus.data.certificate import Certificates
from larvatus.data.contracts import Mask
from larvatus.data.intruder import Intruder
from larvatus.data.labelling.level_labels import ValueLabels, value_labels
from larvatus.data.method_parsing import redacted_settings
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score, Scores
from larvatus.data.steps import columns_of_step, sentence_of_step
from larvatus.measures.scoring.null_placement import NULL


@dataclass(frozen=True, slots=True)
class Candidate:
    """One release in a comparison: its steps, their notes, and its scores.

    `paired` is false if its rows are no records of the original.
    """

    name: str
    steps: tuple[Mapping[str, Any], ...]
    sentences: tuple[str, ...]
    publishable: tuple[Mapping[str, Any], ...]
    notes: tuple[Note, ...]
    records: int
    scores: Scores
    permutes: bool = False
    copies: int = 1
    rules: Rows = field(default_factory=Rows)
    codebook: Rows = field(default_factory=Rows)
    altered: tuple[str, ...] = ()
    certificates: Certificates | None = None
    budget: ReleaseBudget | None = None
    paired: bool = True

    @classmethod
    def of(cls, name: str, release: Release, scores: Scores, codebook: Rows = Rows()) -> Candidate:  # noqa: B008 (frozen)
        """A candidate without figures per record, to save memory; `lv.risk` gives those for one release."""
        steps = tuple(redacted_settings(s) for s in release.steps)
        public = tuple({"method": s.name(), **s.public_settings(_kinds(s, release.data))} for s in release.steps)
        sentences = tuple(sentence_of_step(s, release.data.roles) for s in release.steps)
        permutes = _permuted(release.steps) and not len(release.rules)
        rows, copies = release.data.rows, len(release.copies)
        light = Scores(replace(s, by_record=None, records=None) for s in scores)
        altered = tuple(s.change_clause() for s in release.steps)
        return cls(
            name, steps, sentences, public, release.notes, rows, light, permutes, copies, release.rules, codebook, altered,
            paired=release.is_paired,
        )

    def of_kind(self, kind: Literal["risk", "loss"]) -> tuple[Score, ...]:
        """Its risks or its losses."""
        return tuple(s for s in self.scores if s.kind == kind)


@dataclass(frozen=True, slots=True)
class NotMade:
    """A planned release that could not be made or scored, with the reason."""

    name: str
    steps: tuple[Mapping[str, Any], ...]
    reason: str


@dataclass(frozen=True, slots=True)
class About:
    """What a report may say about the data: column names and counts, no values."""

    records: int
    confidential: tuple[str, ...]
    non_confidential: tuple[str, ...]
    sub_groups: tuple[str, ...]
    weight: str | None
    group_sizes: tuple[tuple[str, int], ...]
    intruder_knows: tuple[str, ...]
    purpose: str = ""
    intruder: str = ""
    study: str = ""
    kinds: tuple[tuple[str, str], ...] = ()
    value_labels: ValueLabels = ()
    keys: tuple[str, ...] = ()


def about(data: Microdata, intruder: Intruder, purpose: str = "", study: str = "") -> About:
    """Collect what a report may say about the data."""
    groups = data.groups
    return About(
        data.rows, data.confidential, data.non_confidential, data.sub_groups.columns,
        data.roles.weight if data.roles.release_weight else None,
        tuple(zip(groups.names, groups.sizes, strict=True)), _known_to(data, intruder), purpose,
        intruder.in_words(data.confidential), study, tuple((n, data.table.columns[n].kind_for_people) for n in data.released),
        value_labels(data.labels, [n for n in data.released if data.table.columns[n].kind == "nominal"]),
        data.roles.key,
    )


def _known_to(data: Microdata, intruder: Intruder) -> tuple[str, ...]:
    masked, beside = intruder.columns(data.confidential, tuple(n for n in data.released if n not in data.confidential))
    return tuple(n for n in data.released if n in (*masked, *beside))


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """The candidates in the given order, the releases that could not be made, and the limits.

    `reused` lists releases that an earlier run had finished; `warnings` lists those approved or published although they break
    a limit.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> noise, shuffled = lv.mask(data, "additive_noise", name="noise"), lv.mask(data, "data_shuffling", name="shuffled")
        >>> comparison = lv.compare(data, [noise, shuffled], "nearest_record", "moments")
        >>> comparison.wide().columns
        ('release', 'nearest_record', 'moments')
        >>> comparison.meets({"moments": 0.01}).column("meets")
        [False, True]
        >>> comparison.plot().save("map.svg").name
        'map.svg'
    """

    candidates: tuple[Candidate, ...]
    about: About
    not_made: tuple[NotMade, ...] = ()
    combine: tuple[Combination, ...] = ()
    limits: Limits = field(default_factory=Limits)
    reused: tuple[str, ...] = field(default=(), compare=False)
    warnings: tuple[str, ...] = ()
    inputs: tuple[str, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        lost = f", {len(self.not_made)} not made" if self.not_made else ""
        loud = "".join(f"\nWARNING: {w}" for w in self.warnings)
        n = len(self.candidates)
        return f"Comparison of {n} release{'' if n == 1 else 's'}{lost}{loud}\n{self.headline()}\nAll scores: .table()"

    def _repr_html_(self) -> str:
        return str(view(self, "html_of_comparison"))

    def plot(self) -> Any:
        """The risk–utility map: it shows itself in a notebook, and `.save("map.svg")` writes it as SVG, PNG or PDF."""
        return view(self, "plot_comparison")

    def table(self) -> Rows:
        """One row per release and score."""
        return Rows.of({"release": c.name, **s.row()} for c in self.candidates for s in c.scores)

    def headline(self) -> Rows:
        """One row per release: its strongest attack, the baseline of that attack, and the mean loss.

        If some releases are not paired with the original, a column says which ones are.
        """
        from larvatus.comparison.headline import headlines

        paired = {c.name: {"paired": c.paired} for c in self.candidates} if not all(c.paired for c in self.candidates) else {}
        return Rows.of(
            {
                "release": h.name, "strongest attack": h.attack.method if h.attack else None, "value": h.risk,
                "baseline": h.base, "loss": h.loss, **paired.get(h.name, {}),
            }
            for h in headlines(self.candidates)
        )

    def wide(self) -> Rows:
        """One row per release, one column per score."""
        return Rows.of({"release": c.name, **{s.method: s.value for s in c.scores}} for c in self.candidates)

    def tidy(self) -> Rows:
        """One row per figure: overall, by sub-group, variable, pair, domain, copy and null."""
        rows: list[Row] = [row for c in self.candidates for s in c.scores for row in _tidy(c.name, s)]
        rows += [row for c in self.candidates for s in self.combined_scores(c) for row in _tidy(c.name, s)]
        rows += [
            {"release": n.name, "score": "", "kind": "", "level": "not made", "of": n.reason, **_figures({})}
            for n in self.not_made
        ]
        return Rows.of(rows)

    def combined_scores(self, candidate: Candidate) -> tuple[Score, ...]:
        """The combined scores of a release."""
        return add_combined_scores(candidate.scores, self.combine)[len(candidate.scores) :]

    def frontier(self, *axes: str) -> Rows:
        """The releases that no other release beats on all axes (default: `excess_risk` and `loss`).

        `excess_risk` is how far the strongest attack is above its baseline; 0 if no attack is shown to beat its baseline.

        Other axes are the names of scores and combinations, or figures of a score, such as `nearest_record.above_chance`.
        Lower is better. Releases without a figure on one of the axes are left out.
        """
        from larvatus.comparison.frontier import EXCESS_RISK, LOSS, frontier

        return frontier(self, axes or (EXCESS_RISK, LOSS))

    def judge(self, limits: LimitsLike | None = None) -> dict[str, Judgement]:
        """Check every release against the limits (default: those of the study)."""
        chosen = self.limits if limits is None else limits_of(limits, self.combine)
        if not chosen:
            raise StudyError(["limits: none are set. Give a table of limits, or a tier such as \"public\"."])
        return {c.name: chosen.judge(c.scores, self.combine) for c in self.candidates}

    def limit_rows(self) -> dict[str, Rows]:
        """One row per limit and release, with the figure it applies to; empty if no limit is set."""
        return {name: j.rows for name, j in self.judge().items()} if self.limits else {}

    def meets(self, limits: LimitsLike | None = None) -> Rows:
        """One row per release: whether it meets every limit, and which limits it breaks and by how much."""
        rows: list[Row] = [
            {"release": name, "meets": j.meets_limits, "broken": len(j.broken), "which": j.in_words()}
            for name, j in self.judge(limits).items()
        ]
        rows += [{"release": n.name, "meets": False, "broken": None, "which": f"not made: {n.reason}"} for n in self.not_made]
        return Rows.of(rows)

    def decisions(self, names: Collection[str]) -> dict[str, Rows]:
        """Tables for a report on these releases: limits, combined scores with their parts, and releases not made."""
        out = {"Limits": Rows.of(r for r in self.meets() if r["release"] in names)} if self.limits else {}
        combined = [row for c in self.candidates if c.name in names for s in self.combined_scores(c)
                    for row in _tidy(c.name, s)]
        out["Combined scores and their parts"] = Rows.of(
            {"release": r["release"], "combined": r["score"], "part": r["of"], "value": r["value"]} for r in combined
        )
        if len(names) == len(self.candidates):
            out["Not made"] = Rows.of({"release": n.name, "reason": n.reason} for n in self.not_made)
        return out

    def explain(self) -> Rows:
        """The scores in sentences: one row each, with the score and the figure behind it."""
        from larvatus.comparison.explanations import explain

        return explain(self)

    def plain(self) -> dict[str, Any]:
        """Everything except figures per record, in a form that JSON can store."""
        return {
            "records": self.about.records,
            "releases": [
                {
                    "name": c.name, "steps": [dict(s) for s in c.steps], "records": c.records, "copies": c.copies,
                    **({} if c.paired else {"paired": False}),
                    "notes": [{"kind": n.kind, "text": str(n)} for n in c.notes],
                    **({"rules": [dict(r) for r in c.rules]} if len(c.rules) else {}),
                    "scores": [s.plain() for s in c.scores],
                    **({"certificates": c.certificates.plain()} if c.certificates else {}),
                    **({"budget": c.budget.plain()} if c.budget else {}),
                }
                for c in self.candidates
            ],
            **self._decided(),
        }

    def _decided(self) -> dict[str, Any]:
        """Releases not made, combined scores and limits, if there are any."""
        out: dict[str, Any] = {}
        if self.not_made:
            out["not_made"] = [{"name": n.name, "steps": [dict(s) for s in n.steps], "reason": n.reason} for n in self.not_made]
        if self.combine:
            out["combined"] = [{"name": c.name, "scores": [s.plain() for s in self.combined_scores(c)]}
                               for c in self.candidates]
        if self.limits:
            judged = self.judge().items()
            out["limits"] = {
                "stated": self.limits.plain(),
                "releases": [{"name": n, "meets": j.meets_limits, "rows": [dict(r) for r in j.rows]} for n, j in judged],
            }
        if self.warnings:
            out["warnings"] = list(self.warnings)
        return out

    def for_purpose(self, purpose: str) -> Comparison:
        """The same comparison with a purpose of the release, which the report prints."""
        return replace(self, about=replace(self.about, purpose=purpose))

    def html(
        self, edition: Literal["internal", "public"] = "internal", release: str | None = None, chosen: str | None = None,
        reason: str | Sequence[str] = (), warned: Sequence[str] = (), approved: Mapping[str, str] = MappingProxyType({}),
    ) -> str:
        """The report as HTML text, on all releases or on one; the public edition is about one release.

        `chosen` is the release proposed to the board, `reason` gives reasons in addition to the figures, and `warned` lists
        warnings to print above them. `approved` has, by name of release, who approved it and when; it is not published.
        """
        from larvatus.reporting.editions.compose import compose_report
        from larvatus.reporting.page.html import render

        reasons = (reason,) if isinstance(reason, str) else tuple(reason)
        return render(compose_report(with_level_labels(self), edition, release, chosen, reasons, warned, approved))

    def report(
        self, path: str | Path, edition: Literal["internal", "public"] = "internal", overwrite: bool = False,
        release: str | None = None, chosen: str | None = None, reason: str | Sequence[str] = (), warned: Sequence[str] = (),
        approved: Mapping[str, str] = MappingProxyType({}),
    ) -> Path:
        """Write the report as one HTML file that opens offline; the other parameters are those of `html`.

        Only its owner can read the internal report, whatever the umask; give it to others by choice.
        """
        from larvatus.core.files import write_text
        from larvatus.core.input_paths import refuse_inputs

        target = Path(path)
        refuse_inputs([target], self.inputs)
        text = self.html(edition, release, chosen, reason, warned, approved)
        write_text(target, text, overwrite, private=edition == "internal")
        return target


def _kinds(step: Mask, released: Microdata) -> set[str]:
    """The kinds of the columns that a step was applied to."""
    return {released.table.columns[n].kind_for_people for n in columns_of_step(step, released)}


def _permuted(steps: Sequence[Mask]) -> bool:
    """Whether all masked values are original values, some of them in other records; false if that is not certain."""
    moved, collected, names_changed = False, True, False
    for step in steps:
        if step.permutes:
            moved = True
            mapped_back = step.follows and step.columns is None and step.where is None
            collected = collected or (mapped_back and not names_changed)
        elif not (step.drops or step.blanks):
            collected, names_changed = False, names_changed or "nominal" in step.handles
    return moved and collected


def _tidy(release: str, score: Score) -> Sequence[Row]:
    head: dict[str, Cell] = {"release": release, "score": score.method, "kind": score.kind}
    rows: list[Row] = [{**head, "level": "overall", "of": "", **_figures(score.row())}]
    rows += [{**head, "level": "sub_group", "of": r["sub_group"], **_figures(r)} for r in score.by_group]
    rows += [{**head, "level": "variable", "of": r["variable"], **_figures(r)} for r in score.by_variable]
    rows += [{**head, "level": "pair", "of": f"{r['first']}, {r['second']}", **_figures(r)} for r in score.by_pair]
    rows += [{**head, "level": "domain", "of": f"{r['domain']}: {r['part']}", **_figures(r)} for r in score.by_domain]
    for row in score.details.get(NULL, ()):
        rows += [{**head, "level": NULL, "of": k, **_figures({"value": row[k]})} for k in ("median", "p95", "share_below")]
    rows += [{**head, "level": "part", "of": r["part"], **_figures(r)} for r in score.details.get("parts", ()) if "part" in r]
    rows += [{**head, "level": "copy", "of": r["copy"], **_figures(r)} for r in score.details.get("copies", ())]
    return rows + _estimates(head, score)


def _estimates(head: Row, score: Score) -> list[Row]:
    """Estimates of the named analyses: original, released, corrected, and the overlap of their intervals."""
    out: list[Row] = []
    for r in score.details.get("estimates", ()):
        of = f"{r['analysis']}: {r['quantity']}"
        for side in ("original", "released", "corrected"):
            figures: Row = {"value": r[side], "low": r[f"{side}_low"], "high": r[f"{side}_high"]}
            if r[side] is not None:
                out.append({**head, "level": f"estimate, {side}", "of": of, **_figures(figures)})
        if r["overlap"] is not None:
            out.append({**head, "level": "overlap", "of": of, **_figures({"value": r["overlap"]})})
    return out


def _figures(row: Row) -> dict[str, Cell]:
    value = row.get("value", row.get("loss"))
    return {"value": value, **{k: row.get(k) for k in ("chance", "s_alone", "low", "high")}}
