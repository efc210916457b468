"""A set searched in this process by any variant: the services' own code over passages held in memory.

Exact where the index's searches are approximate. Every question is asked on one day (`ASKED_ON`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, takewhile

from eval.retrieval.encoding import EncodedCorpus, FloatArray, OfflineEncoder, Variant
from eval.retrieval.offline import LexicalIndex, OfflineSearch
from eval.retrieval.offline_asking import passages_of
from eval.retrieval.slips import Spelling
from eval.sets.acronyms import SpelledOut
from eval.sets.datasets import Dataset
from eval.times.asked_set import ASKED_ON
from eval.variants.variants import DENSE, FULL_TEXT, RERANKED, Settings
from sourcier.services.gateway.events import RankedPassage
from sourcier.services.gateway.retrieval.asked_times import asked_times
from sourcier.services.gateway.retrieval.near_duplicates import distinct
from sourcier.services.gateway.retrieval.ranking_order import asked_in, lexical_shares, title_shares
from sourcier.services.gateway.retrieval.retriever import CANDIDATES_MAX
from sourcier.services.index.acronyms.asking import Expansion, with_long_forms
from sourcier.services.index.identifiers.terms import passage_terms
from sourcier.services.index.search.dense import Hit
from sourcier.services.index.search.holding import (
    NOTHING_ASKED,
    SIBLINGS_MAX,
    Holding,
    asked_identifiers,
    holding_among,
)
from sourcier.services.index.search.passages import Passage
from sourcier.services.index.search.search import SearchResult
from sourcier.services.index.slips.choosing import Respelling, as_meant
from sourcier.services.index.times.periods import Period
from sourcier.services.index.times.reading import times_of

LIMIT = 20
"""Passages of an answer of `Search`."""
Progress = Callable[[str], Callable[[int, int], None]]


@dataclass(frozen=True)
class _Held:
    """A set's passages, cut and read in one way."""

    corpus: EncodedCorpus
    passages: tuple[Passage, ...]
    index: LexicalIndex
    terms: Terms


@dataclass(frozen=True)
class _Asked:
    """A set's questions, read in one way."""

    search: OfflineSearch
    expansions: Sequence[Sequence[Expansion]]
    respellings: Sequence[Sequence[Respelling]]


class Terms:
    """The terms of identifiers that passages hold, as the index looks them up."""

    def __init__(self, terms: Sequence[Sequence[str]]) -> None:
        """Take the terms of each passage."""
        self._holders: defaultdict[str, list[int]] = defaultdict(list)
        for chunk, held in enumerate(terms):
            for term in held:
                self._holders[term].append(chunk)
        self._sorted = sorted(self._holders)

    def weighed(self, scores: FloatArray) -> WeighedTerms:
        """Return them with each passage's BM25 for a question."""
        return WeighedTerms(self, scores)

    def beginning(self, prefix: str) -> list[str]:
        """Return the terms that begin so, in order."""
        start = bisect_left(self._sorted, prefix)
        return list(takewhile(lambda term: term.startswith(prefix), self._sorted[start:]))

    def holders(self, term: str) -> Sequence[int]:
        """Return the passages that hold a term."""
        return self._holders.get(term, ())


class WeighedTerms:
    """Terms as `holding_among` asks for them."""

    def __init__(self, terms: Terms, scores: FloatArray) -> None:
        self._terms = terms
        self._scores = scores

    async def holding(self, terms: Sequence[str], *, limit: int, beginnings: bool = False) -> list[Hit]:
        """Return passages that hold any of the terms, those of the highest BM25 first."""
        wanted = [each for term in terms for each in self._terms.beginning(term)] if beginnings else terms
        chunks = {chunk for term in wanted for chunk in self._terms.holders(term)}
        ranked = sorted(chunks, key=lambda chunk: (-float(self._scores[chunk]), chunk))
        return [Hit(str(chunk), float(self._scores[chunk])) for chunk in ranked[:limit]]

    async def beginning(self, prefix: str) -> list[str]:
        """Return terms that begin so."""
        return self._terms.beginning(prefix)[:SIBLINGS_MAX]


class SetSearch:
    """One set; what variants have in common is encoded, cut and looked up once."""

    def __init__(self, dataset: Dataset, encoder: OfflineEncoder, *, progress: Progress) -> None:
        """Take the set; `progress` is given what is done, and returns what hears how much of it is."""
        self.dataset = dataset
        self._encoder = encoder
        self._progress = progress
        self._spelled_out: SpelledOut | None = None
        self._dates: dict[int, Period | None] = {}
        self._held: dict[Variant, _Held] = {}
        self._asked: dict[tuple[Variant, bool, bool], _Asked] = {}

    async def ranked(self, number: int, settings: Settings) -> list[str]:
        """Return the ids of the passages that a variant finds for a question, best first, each once."""
        found = await self._found(number, settings, limit=LIMIT)
        if not settings.duplicates:
            kept = await distinct(found, limit=LIMIT)
            if len(kept) < min(LIMIT, len(found)) and len(found) < CANDIDATES_MAX:
                # As the gateway does: once more, deeper, where so many say the same.
                kept = await distinct(await self._found(number, settings, limit=CANDIDATES_MAX), limit=LIMIT)
            found = kept
        chunks = [int(each.passage.chunk_id) for each in found]
        return self._questions(settings).search.passages(chunks)

    def bytes_a_passage(self, settings: Settings) -> float:
        """Return what the index holds of a passage: vector, token codes, words with their weights; not its text."""
        corpus = self._of(settings.encoding).corpus
        words = sum(map(len, corpus.words))
        whole = 2 * corpus.vectors.size + corpus.codes.rows.nbytes + 8 * words
        return float(whole) / max(len(self.dataset.passages), 1)

    async def _found(self, number: int, settings: Settings, *, limit: int) -> Sequence[RankedPassage]:
        asked, held = self._questions(settings), self._of(settings.encoding)
        search = asked.search
        dense, lexical = (
            {str(chunk): score for chunk, score in zip(hits.chunks.tolist(), hits.scores.tolist(), strict=True)}
            for hits in (search.dense[number], search.lexical[number])
        )
        depth = max(settings.candidates, limit) if settings.mode == RERANKED else limit
        holding = NOTHING_ASKED
        if settings.mode == DENSE:
            scores = _first(dense, depth)
        else:
            holding = await self._holding(number, settings, limit=depth)
            if settings.mode == FULL_TEXT:
                scores = {**holding.scores, **_first(lexical, depth)}
            else:
                scores = {str(chunk): score for chunk, score in search.fused(number, settings.fusion, limit=depth)}
                everywhere = dict(search.fused(number, settings.fusion, limit=2 * len(dense) + len(lexical)))
                scores |= {each: everywhere.get(int(each), 0.0) for each in holding.standings}
        if holding.asked:
            scores = holding.dominate(scores, limit=depth)
        by_words = {**holding.scores, **lexical}
        results = [
            SearchResult(passage=held.passages[int(each)], score=score, similarity=dense.get(each),
                         lexical_score=by_words.get(each), standing=holding.of(each),
                         expansions=tuple(asked.expansions[number]), respellings=tuple(asked.respellings[number]))
            for each, score in scores.items()
        ]
        if settings.mode != RERANKED:
            return [RankedPassage(each) for each in results]
        return self._reranked(number, settings, results, search)

    def _reranked(
        self, number: int, settings: Settings, results: Sequence[SearchResult], search: OfflineSearch
    ) -> list[RankedPassage]:
        reranking = settings.reranking
        interaction = search.interaction(
            number, [int(each.passage.chunk_id) for each in results], reranking.precision
        )
        shares = lexical_shares(
            [each.lexical_score or 0.0 for each in results], weight=reranking.lexical_weight,
            power=reranking.lexical_power,
        )
        question = self.dataset.questions[number].text
        named = [each.passage.title for each in results]
        asked = asked_times(question, today=ASKED_ON)
        titles = title_shares(
            named, asked_in(question if asked is None else asked.subject, results[0]) if results else (),
            weight=settings.title_share,
        )
        times = [0.0] * len(results) if asked is None else asked.shares(
            named, [self._dated(int(each.passage.chunk_id), settings) for each in results], weights=settings.times
        )
        best = max((each.score for each in results), default=0.0) or 1.0
        least = min((each.similarity for each in results if each.similarity is not None), default=0.0)
        ranked = [
            RankedPassage(
                each, interaction[int(each.passage.chunk_id)],
                share + settings.fused_share * each.score / best
                + settings.dense_share * (least if each.similarity is None else each.similarity),
                title, time,
            )
            for each, share, title, time in zip(results, shares, titles, times, strict=True)
        ]
        return sorted(ranked, key=lambda each: each.order, reverse=True)

    def _dated(self, chunk: int, settings: Settings) -> Period | None:
        """Return the own date of a chunk's document, as the index reads it at its commit."""
        place = int(self._of(settings.encoding).corpus.passages[chunk])
        if place not in self._dates:
            passage = self.dataset.passages[place]
            self._dates[place] = times_of(
                title=passage.title, name=passage.passage_id, head=passage.text
            ).period
        return self._dates[place]

    async def _holding(self, number: int, settings: Settings, *, limit: int) -> Holding:
        identifiers = asked_identifiers(self.dataset.questions[number].text) if settings.identifiers else ()
        if not identifiers:
            return NOTHING_ASKED
        held, asked = self._of(settings.encoding), self._questions(settings)
        scores = held.index.scores(
            self.dataset.questions[number].text, respellings=asked.respellings[number] if settings.slips else ()
        )
        return await holding_among(held.terms.weighed(scores), identifiers, limit=limit)

    def _of(self, encoding: Variant) -> _Held:
        if encoding not in self._held:
            corpus = self._encoder.corpus(
                self.dataset, encoding, full=False, progress=self._progress(f"chunks of {self.dataset.name} encoded")
            )
            titles = [passage.title for passage in self.dataset.passages]
            passages = tuple(
                replace(each, chunk_id=str(chunk))
                for chunk, each in enumerate(passages_of(self.dataset, corpus, titles))
            )
            terms = Terms([passage_terms(each.title, each.heading_path, each.text) for each in passages])
            self._held[encoding] = _Held(corpus, passages, LexicalIndex(corpus.words, corpus.stems), terms)
        return self._held[encoding]

    def _questions(self, settings: Settings) -> _Asked:
        """Return the questions as a variant reads them; by vectors alone, slips are not looked for."""
        slips = settings.slips and settings.mode != DENSE
        key = settings.encoding, settings.acronyms, slips
        if key not in self._asked:
            self._asked[key] = self._read(settings, slips=slips)
        return self._asked[key]

    def _read(self, settings: Settings, *, slips: bool) -> _Asked:
        held, questions = self._of(settings.encoding), self.dataset.questions
        expansions: list[Sequence[Expansion]] = [() for _ in questions]
        respellings: list[Sequence[Respelling]] = [() for _ in questions]
        if settings.acronyms:
            self._spelled_out = self._spelled_out or SpelledOut(self.dataset)
            expansions = [self._spelled_out.of(each.text) for each in questions]
        if slips:
            texts = [
                ("\n".join((each.title, *each.heading_path, each.text)), language)
                for each, language in zip(held.passages, held.corpus.languages, strict=True)
            ]
            spelling = Spelling(held.index, texts)
            respellings = [
                spelling.of(each.text, acronyms=known) for each, known in zip(questions, expansions, strict=True)
            ]
        embedded = [
            as_meant(with_long_forms(each.text, known), meant)
            for each, known, meant in zip(questions, expansions, respellings, strict=True)
        ]
        encoded = self._encoder.questions(
            embedded, progress=self._progress(f"questions of {self.dataset.name} encoded")
        )
        search = OfflineSearch(self.dataset, held.corpus, encoded, expansions, respellings, held.index)
        return _Asked(search, expansions, respellings)


def _first(scores: Mapping[str, float], count: int) -> dict[str, float]:
    return dict(islice(scores.items(), count))
