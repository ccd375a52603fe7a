"""The order of the pages: by the reader's question first, then what can be looked up. A page that is not listed is an error."""

from __future__ import annotations

import re
from pathlib import Path

from larvatus.core.discovery import own_names

QUESTIONS: dict[str, list[str]] = {
    "I have a file and must release it": [
        "guides/ten-minutes-at-the-desk.md", "guides/first-release.md", "notebooks/first-release.md",
        "notebooks/forty-maskings.md", "notebooks/a-hospital.md", "notebooks/giants.md", "notebooks/household-survey.md",
        "guides/advice.md", "guides/what-keys-give-away.md", "guides/choosing-a-mask.md",
        "guides/households-and-weights.md", "guides/dates.md", "guides/rules.md", "guides/searching.md",
        "guides/what-to-publish-about-noise.md", "guides/from-sdcmicro.md", "guides/from-mu-argus.md", "guides/from-arx.md",
        "guides/from-synthpop.md",
        "guides/reading-csv.md", "guides/your-file-is-spss.md",
        "guides/your-file-is-stata.md", "guides/your-file-is-sas.md", "guides/your-file-is-excel.md",
        "guides/your-data-are-in-a-database.md", "guides/larger-than-memory.md", "guides/scale.md",
    ],
    "I must judge a file made elsewhere": ["guides/judging-a-file.md", "guides/is-this-synthetic-file-safe.md",
                                           "notebooks/synthetic-file.md", "guides/intruders.md", "guides/judging-a-loss.md",
                                           "guides/intervals.md"],
    "I sign for the board": ["guides/signing.md", "guides/deciding.md", "guides/what-attacks-miss.md",
                             "guides/what-no-intruder-can-do.md", "gallery/README.md"],
    "I analyse a released file": ["guides/first-analysis.md", "guides/analysing-a-release.md",
                                  "guides/what-analysts-lost.md"],
    "I research methods": ["guides/first-experiment.md", "notebooks/published-table.md", "evidence.md", "papers.md",
                           "guides/speed.md", "reliability.md", "reliability-fuzz.md",
                           "science/certificates.md", "science/linkage-law.md", "science/certificates-census.md",
                           "science/release-budget.md", "science/differential-privacy.md",
                           "science/membership.md", "science/best-linear-mask.md",
                           "literature.md"],
    "I add a method": ["guides/first-method.md", "add-a-method.md", "architecture.md"],
}
METHODS = {"Masks": "larvatus.masks", "Attacks": "larvatus.attacks", "Measures": "larvatus.measures"}


def navigation(pages: Path, api: dict[str, list[str]]) -> list[object]:
    """The navigation as mkdocs takes it."""
    reference: list[object] = ["reference/README.md"]
    reference += [{heading: [f"reference/{n}.md" for n in own_names(package)]} for heading, package in METHODS.items()]
    python: list[object] = ["api/README.md", *({heading: [f"api/{n}.md" for n in names]} for heading, names in api.items())]
    numbered = sorted((pages / "decisions").glob("0*.md"))
    decisions: list[object] = ["decisions/README.md", *(f"decisions/{p.name}" for p in numbered)]
    listed: list[object] = [
        {"Home": "index.md"}, *({question: paths} for question, paths in QUESTIONS.items()),
        {"Reference": [{"Methods": reference}, {"Python interface": python}, "vocabulary.md", {"Decisions": decisions},
                       "security.md", "changelog.md", "licence.md"]},
    ]
    named = set(re.findall(r"[\w/.-]+\.md", repr(listed)))
    forgotten = sorted({p.relative_to(pages).as_posix() for p in pages.rglob("*.md")} - named)
    if forgotten:
        raise LookupError(f"pages in no part of the site: {', '.join(forgotten)}; add them in {Path(__file__).name}")
    return listed
