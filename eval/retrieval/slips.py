"""What slips of typing cost full text, kind by kind, as it was and with what is searched for beside them; no model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Self

from eval.reporting import report
from eval.retrieval.measures import estimate, measure
from eval.retrieval.offline import LexicalIndex
from eval.sets.datasets import Dataset, Passage, Question
from eval.sets.slips import KINDS, slipped
from sourcier.services.index.acronyms.asking import Expansion
from sourcier.services.index.identifiers.recognition import identifiers
from sourcier.services.index.language.analyser import analyse_passage
from sourcier.services.index.slips.asking import PASSAGES_READ_MAX
from sourcier.services.index.slips.choosing import (
    Respelling,
    candidates,
    confirmed,
    one_of,
    two_slips_away,
    words_by_stem,
)
from sourcier.services.index.slips.forms import SLIPS_MAX
from sourcier.services.index.slips.reading import Form, Typed, Typing, forms_of, joined_ones, unknown

LIMIT = 20
CHARACTERS_MAX = 3_000
"""Of a passage."""


class Spelling:
    """What the index does about slips, over passages in this process."""

    @classmethod
    def reading(cls, passages: Sequence[Passage]) -> Self:
        """Analyse passages as the index does."""
        analyses = [analyse_passage(each.title, each.text[:CHARACTERS_MAX]) for each in passages]
        return cls(LexicalIndex.of(analyses), [
            (f"{passage.title}\n{passage.text[:CHARACTERS_MAX]}", analysis.language)
            for passage, analysis in zip(passages, analyses, strict=True)
        ])

    def __init__(self, index: LexicalIndex, texts: Sequence[tuple[str, str]]) -> None:
        """Take an index, and each of its texts with its language."""
        self.index = index
        self._texts = texts
        self._known: dict[str, frozenset[str]] = {}
        self._by_letter: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for stem, passages_with in self.index.frequencies.items():
            self._by_letter[stem[:1]][stem] = passages_with

    def of(self, question: str, *, acronyms: Sequence[Expansion] = ()) -> tuple[Respelling, ...]:
        """Return what is searched for beside a question's words; its acronyms are what they are."""
        known = [each.written for each in identifiers(question, question=True)]
        typing = Typing.of(question, kept=[*known, *(each.written for each in acronyms)])
        counted = self.index.frequencies
        joined = joined_ones(typing, counted)
        found = [one_of(each, counted) for each in joined]
        for typed in unknown(typing, counted, joined=joined):
            chosen = self._confirmed(typed, candidates(forms_of(typed), counted), slips_max=1)
            if not chosen:
                far = two_slips_away(typed, self._by_letter[typed.folded[0]])
                chosen = self._confirmed(typed, far, slips_max=SLIPS_MAX)
            found += chosen
        return tuple(found)

    def _confirmed(self, typed: Typed, forms: Sequence[Form], *, slips_max: int) -> tuple[Respelling, ...]:
        words = {stem: self._words(stem) for form in forms for stem in form.stems}
        return confirmed(typed, forms, words, slips_max=slips_max)

    def _words(self, stem: str) -> frozenset[str]:
        if stem not in self._known:
            texts = [self._texts[chunk] for chunk in self.index.holding(stem, limit=PASSAGES_READ_MAX)]
            self._known[stem] = frozenset(words_by_stem(texts, {stem}).get(stem, ()))
        return self._known[stem]


def measure_slips(dataset: Dataset) -> str:
    """Return a table of nDCG@10: as the questions are, and with a word of six letters or more written wrongly."""
    spelling = Spelling.reading(dataset.passages)

    def found(question: Question, text: str, *, mended: bool) -> float:
        meant = spelling.of(text) if mended else ()
        chunks = spelling.index.search(text, limit=LIMIT, respellings=meant).chunks.tolist()
        return measure([dataset.passages[chunk].passage_id for chunk in chunks], question.relevant)["ndcg@10"]

    before = {each.question_id: found(each, each.text, mended=False) for each in dataset.questions}
    rows: list[tuple[str, ...]] = [(dataset.name, "questions", "as they are", "with the slip", "mended", "noise")]
    for kind in ("none", *KINDS):
        triples = [
            (before[question.question_id], found(question, text, mended=False), found(question, text, mended=True))
            for question in dataset.questions
            if (text := question.text if kind == "none" else slipped(question.text, kind)) is not None
        ]
        if triples:
            plain, slip, _ = (sum(column) / len(triples) for column in zip(*triples, strict=True))
            loss = estimate([mended - plain for plain, _, mended in triples])
            rows.append((kind, str(len(triples)), f"{plain:.3f}", f"{slip - plain:+.3f}", f"{loss.mean:+.3f}",
                         f"{loss.low:+.3f} to {loss.high:+.3f}"))
    return report.markdown_table(rows)
