"""What is shown for a question on what holds: the services' own search, standing and clauses, and no language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eval.sentences.yes_no import WORDS
from eval.sets.halves import TODAY
from eval.times.families import Asked, Document, Half
from sourcier.services.gateway.answering.in_force import InForce, judged
from sourcier.services.gateway.clauses.ruling import Source, ruling
from sourcier.services.gateway.events import RankedPassage
from sourcier.services.gateway.history import language_of
from sourcier.services.gateway.retrieval.query import Found, Mode, Query
from sourcier.services.gateway.times.disagreements import disagreements
from sourcier.services.gateway.times.standing import NOTHING_SAID, closest_clause
from sourcier.services.gateway.times.statements import Candidate
from sourcier.services.index.search.filters import Filters
from sourcier.services.index.search.passages import Passage
from sourcier.services.index.search.search import SearchResult

PASSAGES = 5
"""Found for an answer, as `SOURCIER_GATEWAY_PASSAGES` has it."""
Ranker = Callable[[int], Sequence[int]]
"""Gives the places of the documents that a search finds for a question, best first."""


@dataclass(frozen=True)
class Shown:
    """What is shown for one question, and what it should have been."""

    asked: Asked
    found: tuple[str, ...]
    aside: frozenset[str]
    """Documents that are told not to hold."""
    open: frozenset[str]
    """Documents that are told to disagree."""
    text: str
    """The clause that answers."""
    source: str
    """Its document."""
    word: str
    """The decision, of a yes/no question that a clause decides."""

    @property
    def outcome(self) -> str:
        """Return `right`, `quoted`, `open`, `false` or `other`.

        `quoted`: to a yes/no question, the clause that holds, without a word. `open`: a document that does not hold is
        shown beside the one that does, and the answer says that they disagree. `other`: the closest clause answers
        something else, and says nothing that does not hold.
        """
        if self.asked.between:
            told = self.asked.between <= self.open
            return "right" if told and not self.word else "false" if not told else "open"
        if self.asked.holds in self.aside:
            return "false"
        if self.asked.is_yes_no:
            return self._by_word()
        if any(value.casefold() in self.text.casefold() for value in self.asked.values) and (
            not self.asked.holds or self.source == self.asked.holds
        ):
            return "right"
        if self.source in self.asked.aside:
            return "open" if self.source in self.open else "false"
        return "other"

    def _by_word(self) -> str:
        if not self.word and self.source in self.asked.aside:
            return "open" if self.source in self.open else "false"
        if not self.word:
            return "quoted" if self.source == self.asked.holds or not self.asked.holds else "other"
        expected = frozenset().union(*(WORDS[value] for value in self.asked.values))
        return "right" if self.word in {each.value for each in expected} else "false"

    @property
    def conflict(self) -> str:
        """Return `told`, `missed`, `needless` or `none`: of what the answer tells of other documents."""
        told = self.aside | self.open
        if not self.asked.conflict:
            return "needless" if told else "none"
        if told - self.asked.aside - self.asked.between - {self.asked.holds}:
            return "needless"
        found = frozenset(self.found)
        if self.asked.between:
            return "told" if self.asked.between & found <= self.open else "missed"
        return "told" if self.asked.aside & found <= self.aside and self.asked.aside & found else "missed"


def shown(half: Half, rank: Ranker) -> list[Shown]:
    """Return what is shown for each question of a half."""
    return [_shown(half, asked, rank(number)[:PASSAGES]) for number, asked in enumerate(half.questions)]


def _shown(half: Half, asked: Asked, places: Sequence[int]) -> Shown:
    documents = [half.documents[place] for place in places]
    entries = tuple(
        RankedPassage(SearchResult(passage=_passage(each, place), score=0.03, similarity=0.9))
        for each, place in zip(documents, places, strict=True)
    )
    query = Query(
        tenant="eval", question=asked.question, collection="in-force", filters=Filters(), mode=Mode.RERANKED,
        limit=PASSAGES, candidates=len(entries), language=language_of(asked.question),
    )
    known = {each.name: each.times for each in documents}
    in_time = judged(Found(entries, len(entries)), query, known, NOTHING_SAID, today=TODAY)
    text, source, word = _answer(asked, in_time)
    return Shown(
        asked, tuple(each.name for each in documents),
        frozenset(each.other.passage.document_id for each in in_time.conflicts if each.reason),
        frozenset(
            side.passage.document_id for each in in_time.conflicts if not each.reason
            for side in (each.holds, each.other)
        ), text, source, word,
    )


def _answer(asked: Asked, in_time: InForce) -> tuple[str, str, str]:
    """Return the clause that answers, its document, and the word that it decides, where it decides one."""
    passages = [entry.passage for entry in in_time.held]
    if asked.is_yes_no:
        ruled = ruling(asked.question, [
            Source(number, each.text, each.title) for number, each in enumerate(passages, start=1)
        ], today=TODAY, disputed=in_time.disputed)
        if ruled is not None:
            place = ruled.places[0]
            passage = passages[place.number - 1]
            word = ruled.decision.value if ruled.decision.says else ""
            return passage.text[place.start : place.end], passage.document_id, word
    found = closest_clause(asked.question, [(each.text, each.title) for each in passages])
    if found is None:
        return "", "", ""
    number, clause = found
    return clause.text, passages[number].document_id, ""


def listed(half: Half) -> list[tuple[str, str, str]]:
    """Return what `documents conflicts` lists of a half, all pairs compared: what holds, the other, and why."""
    documents = half.documents
    candidates = [Candidate(each.name, each.text, each.title, each.times) for each in documents]
    pairs = [(first, second) for second in range(len(documents)) for first in range(second)]
    return [
        (documents[each.holds].name, documents[each.other].name, each.why.value if each.why else "")
        for each in disagreements(candidates, pairs, today=TODAY, said=NOTHING_SAID)
    ]


def _passage(document: Document, place: int) -> Passage:
    return Passage(
        chunk_id=f"chunk-{place}", document_id=document.name, version_id="", collection="in-force",
        title=document.title, source=document.name, filename=document.name, chunk_index=0, kind="text", method="hybrid",
        language="", page=0, start_character=0, end_character=len(document.text), token_count=0, heading_path=(),
        text=document.text, category="", metadata={},
    )
