"""Explanations of terms, shown when a reader points at a term or reaches it with the keyboard."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from markupsafe import Markup

from larvatus.comparison.plain_names import plain_words
from larvatus.comparison.release_sentences import plain_name

TERMS = (
    ("baseline", "What an intruder finds without the masked columns: by guessing, also from the unmasked columns."),
    ("by guessing", "The success of the attack by chance, without the release."),
    ("without the masked columns", "The success of the attack by guessing from the columns that are released unmasked."),
    ("far from all others", "At least three times as far from the median as the next value, and further than the gaps between "
     "the values after it suggest. Everyone may know whose it is."),
    ("from the unmasked columns alone", "Without the masked columns. No mask can reduce it."),
    ("the rule", "The stated way to choose: among the releases that pass, the one with the least mean loss. A release passes "
     "if it meets the limits or, without limits, keeps every attack near its baseline. It does not replace a decision."),
    ("Strongest attack", "The counted attack that comes furthest above its baseline, in percentage points."),
    ("Mean loss", "The mean of the relative losses over the measures that all releases have. 0 % is best; 100 % means that "
     "everything is lost."),
    ("Largest single loss", "The measure on which this release loses most. The mean can hide it."),
    ("of what could be lost", "Each loss is divided by the loss of a useless file."),
    ("best trade-offs", "The releases that may go out and that no other of these beats on both risk and loss."),
    ("rank correlation", "How well the order of the released values shows the order of the original ones: 0 not at all, 1 "
     "fully."),
    ("limit", "The most that the study, or the default rule, allows."),
    ("sub-group", "Records that agree in the sub-group columns. Masking and scoring run within them."),
    ("interval", "The range in which the figure lies with 95 % confidence, given the number of records."),
    ("exact", "The same in the release as in the original, up to rounding."),
    ("Kept exact", "The same in the release as in the original, up to rounding: ✓ exactly, ≈ nearly, ✗ changed, "
     "? not measured."),
    ("single out", "To be the only record with these values."),
    ("weight", "The number of people that a record represents."),
    ("excess risk", "How far the strongest attack is above its baseline."),
)


def glossary_for(methods: Iterable[tuple[str, str, str]]) -> tuple[tuple[str, str], ...]:
    """General terms, then every attack and measure that was run, given as name, kind and meaning."""
    own = {plain_name(name).removeprefix("the "): plain_words(name, kind, meaning).explanation
           for name, kind, meaning in methods}
    return (*TERMS, *((name, said) for name, said in own.items() if said))


class TermMarker:
    """Marks the first use of each term since the last `start`; text outside the board's part stays as it is."""

    def __init__(self, glossary: Sequence[tuple[str, str]]) -> None:
        self._ids = {term.lower(): f"term-{i}" for i, (term, _) in enumerate(glossary)}
        longest = sorted(self._ids, key=len, reverse=True)
        self._pattern = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, longest))})(?![\w-])", re.IGNORECASE)
        self._used: set[str] = set()
        self._on = False

    def start(self) -> str:
        """Mark terms from here on, each once."""
        self._used, self._on = set(), bool(self._ids)
        return ""

    def stop(self) -> str:
        """Mark no terms from here on."""
        self._on = False
        return ""

    def __call__(self, said: str) -> Markup:
        """The text as HTML, with terms that explain themselves."""
        if not self._on:
            return Markup(escape(said))
        out, end = [], 0
        for found in self._pattern.finditer(said):
            key = self._ids[found[1].lower()]
            if key in self._used:
                continue
            self._used.add(key)
            term = f'<span role="button" tabindex="0" class="term" aria-describedby="{key}">{escape(found[1])}</span>'
            out.append(escape(said[end : found.start()]) + term)
            end = found.end()
        return Markup("".join(out) + escape(said[end:]))
