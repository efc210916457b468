"""Whether a passage supports a sentence, as far as wording, figures, names and negations tell.

A high score says that the passage uses the sentence's wording, never that it proves it. A negation left out goes
unseen, and so does a name or a number swapped for another of the same passage (docs/measured/quality.md has what each
rule catches, and what none does).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sourcier.services.gateway.clauses import classes, days
from sourcier.services.gateway.evidence import negation
from sourcier.services.gateway.evidence.wording import Span, Wording, content_words
from sourcier.services.gateway.findings import Basis, Finding
from sourcier.services.index.language import figures, names
from sourcier.services.index.language.recognition import recognise
from sourcier.services.index.search.passages import Passage

_LIST_MARK = re.compile(r"^\s*(?:[-*•]\s+|\d{1,2}[.)]\s+)+")

VECTORS_SHARE = 0.5
"""Of the score, what late interaction makes up; the rest is the share of the sentence's words in the passage."""


@dataclass(frozen=True)
class Verdict:
    """What one passage is to one sentence."""

    finding: Finding
    score: float | None
    """0 to 1 where all was compared; None where late interaction was not available."""
    span: Span
    absent: tuple[str, ...] = ()
    """The figures or names that the passage lacks."""
    basis: Basis = Basis.WORDING
    """Of the finding; another one than wording has its probability for score."""
    lead: tuple[int, int] | None = None
    """Where the line stands that a reader was shown above the span: of a list or a table."""


class Evidence:
    """One passage, or several together, looked at once for all sentences of an answer."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.wording = Wording(
            "\n\n".join(passage.text for passage in passages),
            "\n".join(passage.above for passage in passages),
        )

    def prepare(self) -> None:
        """Find out now what is found out at the first sentence otherwise."""
        self.wording.prepare()
        _ = self.figures, self.words, self.language

    @property
    def text(self) -> str:
        """Title, headings and text."""
        return f"{self.wording.context}\n{self.wording.text}"

    @cached_property
    def figures(self) -> figures.Figures:
        """The figures it holds."""
        return figures.held(self.text)

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words and their stems."""
        return names.known_words(self.text)

    @cached_property
    def language(self) -> str:
        """Its text's language; empty where unclear."""
        return recognise(self.wording.text)


@dataclass(frozen=True)
class Thresholds:
    """Where a score begins to support."""

    score: float
    """Of wording and late interaction together, for a sentence in the passage's language."""
    vectors: float
    """Of late interaction alone, for a sentence in another language than the passage's."""
    share: float
    """Of wording alone, where late interaction is not available."""


def statement_of(sentence: str) -> str:
    """Return a sentence without the mark of a list before it."""
    return _LIST_MARK.sub("", sentence)


@dataclass(frozen=True)
class Likeness:
    """What a passage has of a sentence's words; with their late interaction it makes the verdict."""

    span: Span
    share: float
    """Of the sentence's content words, 0 to 1."""
    foreign: bool
    """Whether both are plainly in different languages, so that words cannot be compared."""
    figures_absent: tuple[str, ...]
    """Figures, days and months."""
    names_absent: tuple[str, ...]
    denied: bool
    """Whether the sentence denies what the span does not."""

    def verdict(self, late_interaction: float | None, thresholds: Thresholds) -> Verdict:
        """Return what the passage is to the sentence; `late_interaction` is their score, None where there is none."""
        score, enough = self._score(late_interaction, thresholds)
        if self.figures_absent:
            finding = Finding.FIGURE_ABSENT if enough else Finding.OFF_TOPIC
            return Verdict(finding, score, self.span, self.figures_absent)
        if not enough:
            return Verdict(Finding.OFF_TOPIC, score, self.span)
        if self.names_absent:
            return Verdict(Finding.NAME_ABSENT, score, self.span, self.names_absent)
        if self.denied:
            return Verdict(Finding.NEGATION_ADDED, score, self.span)
        return Verdict(Finding.UNCHECKED if score is None else Finding.SUPPORTED, score, self.span)

    def _score(self, late_interaction: float | None, thresholds: Thresholds) -> tuple[float | None, bool]:
        if late_interaction is None:
            return None, self.foreign or self.share >= thresholds.share
        if self.foreign:
            return late_interaction, late_interaction >= thresholds.vectors
        score = VECTORS_SHARE * late_interaction + (1 - VECTORS_SHARE) * self.share
        return score, score >= thresholds.score


class Statement:
    """A sentence, analysed once for all passages."""

    def __init__(self, text: str) -> None:
        text = statement_of(text)
        self._text = text
        self.words = content_words(text)
        self.figures = figures.stated(text)
        self.language = recognise(text)
        # German writes every noun with a capital.
        # Days and months are looked for within ranges too.
        self.names = () if self.language == "de" else tuple(
            name for name in names.names(text) if not days.is_named(name)
        )
        self.denies = negation.denies(text)

    def against(self, evidence: Evidence, late_interaction: float | None, thresholds: Thresholds) -> Verdict:
        """Return what the evidence is to the sentence; `late_interaction` is their score, None where there is none."""
        return self.beside(evidence).verdict(late_interaction, thresholds)

    def beside(self, evidence: Evidence) -> Likeness:
        """Return what the evidence has of the sentence's words."""
        span = evidence.wording.best_span(self.words)
        foreign = self.is_foreign_to(evidence)
        return Likeness(
            span=span, share=evidence.wording.share(self.words), foreign=foreign,
            figures_absent=(
                *figures.absent(self.figures, evidence.figures, text=evidence.text),
                *days.absent(self._text, evidence.text),
                *(() if foreign else classes.absent(self._text, evidence.text)),
            ),
            names_absent=tuple(name for name in self.names if not names.holds(name, evidence.words)),
            denied=self.denies and not foreign and not negation.holds_denial(span.text),
        )

    def is_foreign_to(self, evidence: Evidence) -> bool:
        """Return whether sentence and evidence are plainly in different languages, so that words cannot be compared."""
        return bool(self.language and evidence.language and self.language != evidence.language)


def best(verdicts: Mapping[int, Verdict]) -> int:
    """Return the number of the passage with the best finding, the highest score among equals; 0 for none."""
    return min(
        verdicts, key=lambda number: (verdicts[number].finding, -(verdicts[number].score or 0.0), number), default=0
    )
