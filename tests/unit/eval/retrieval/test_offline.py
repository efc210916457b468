"""The offline formulas are the services' own: the same fusion, the same late interaction."""

from __future__ import annotations

import numpy as np
import pytest

from eval.retrieval.codes import Loss, codes_table
from eval.retrieval.encoding import EncodedCorpus, EncodedQuestions, TokenRows
from eval.retrieval.measures import Estimate
from eval.retrieval.offline import Fusion, OfflineSearch, Reranking
from eval.sets.datasets import Dataset, Passage, Question
from eval.sets.rare_names import rare_names
from sourcier.services.gateway.retrieval.ranking_order import LEXICAL_POWER, LEXICAL_WEIGHT, lexical_shares
from sourcier.services.index.language.analyser import analyse_passage
from sourcier.services.index.lexical.bm25 import passage_weights
from sourcier.services.index.search.fusion import fuse
from sourcier.services.rerank.late_interaction import LateInteractionRanker
from sourcier.services.rerank.ranker import Candidate
from sourcier.services.rerank.ranker import Question as RankedQuestion

DIMENSION = 64
TEXTS = ("Le chat dort sur le toit.", "Le chien garde la maison.", "Un chat et un chien jouent.", "La pluie tombe.")


@pytest.fixture
def search() -> OfflineSearch:
    """Return a set of random vectors and real words."""
    generator = np.random.default_rng(3)
    lengths = [3, 4, 2, 0]
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    full = generator.standard_normal((sum(lengths), DIMENSION)).astype(np.float32)
    full /= np.linalg.norm(full, axis=1, keepdims=True)
    vectors = generator.standard_normal((4, DIMENSION)).astype(np.float32)
    analyses = [analyse_passage(text) for text in TEXTS]
    corpus = EncodedCorpus(
        passages=np.arange(4), texts=TEXTS, vectors=vectors, codes=TokenRows(np.packbits(full > 0, axis=1), starts),
        full=TokenRows(full.astype(np.float16), starts), words=tuple(map(passage_weights, analyses)),
        stems=tuple(frozenset(each.frequencies) for each in analyses),
    )
    tokens = generator.standard_normal((5, DIMENSION)).astype(np.float32)
    tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
    questions = EncodedQuestions(
        generator.standard_normal((1, DIMENSION)).astype(np.float32), TokenRows(tokens, np.asarray([0, 5])),
        TokenRows(np.asarray([1.0, 2.0, 0.5, 3.0, 1.0], np.float32), np.asarray([0, 5])),
    )
    dataset = Dataset("pets", tuple(Passage(str(n), "", text) for n, text in enumerate(TEXTS)),
                      (Question("q", "Où dort le chat ?", {"0": 1}),))
    return OfflineSearch(dataset, corpus, questions)


def test_fusion_is_the_indexs(search: OfflineSearch) -> None:
    lists = [[str(chunk) for chunk in hits.chunks] for hits in (search.dense[0], search.lexical[0])]
    expected = [(int(chunk), score) for chunk, score in fuse(lists, limit=4)]
    found = search.fused(0, Fusion(), limit=4)
    assert [chunk for chunk, _ in found] == [chunk for chunk, _ in expected]
    assert [score for _, score in found] == pytest.approx([score for _, score in expected])
    assert lists[1][0] == "0"


def test_late_interaction_is_the_rerank_services(search: OfflineSearch) -> None:
    tokens, weights = search._questions.tokens.of(0), search._questions.weights.of(0)
    candidates = [Candidate(str(chunk), "", search.corpus.codes.of(chunk).tobytes()) for chunk in range(4)]
    expected = LateInteractionRanker().score(RankedQuestion("q", tokens, weights), candidates)
    found = search.interaction(0, [2, 3], "one bit") | search.interaction(0, [0, 1, 2, 3], "one bit")
    assert [found[chunk] for chunk in range(4)] == pytest.approx(expected.tolist(), abs=1e-5)
    assert found[3] == -1.0
    whole = search.interaction(0, [0, 1, 2, 3], "full")
    assert found[0] != whole[0]
    assert found[0] == pytest.approx(whole[0], abs=0.2)


def test_heads_are_among_the_candidates_in_any_case(search: OfflineSearch) -> None:
    fusion = Fusion(heads=1)
    best = {int(search.dense[0].chunks[0]), int(search.lexical[0].chunks[0])}
    assert best <= {chunk for chunk, _ in search.fused(0, fusion, limit=len(best))}
    assert set(search.reranked(0, fusion, Reranking(candidates=4))) == set(range(4))


def test_each_letter_has_a_name_of_its_own() -> None:
    people = rare_names()
    assert len({passage.text for passage in people.passages}) == len(people.passages) == 300
    for question in people.questions:
        name = question.text.split("mutation de ")[1].removesuffix(" ?")
        assert [each.passage_id for each in people.passages if f"Dossier de {name}." in each.text] == list(
            question.relevant
        )


def test_a_passage_with_half_of_the_best_bm25_gets_a_quarter_of_its_share() -> None:
    assert lexical_shares([8.0, 4.0, 0.0]) == pytest.approx([LEXICAL_WEIGHT, LEXICAL_WEIGHT / 4, 0.0])
    assert lexical_shares([8.0, 4.0], weight=0.1, power=1.0) == pytest.approx([0.1, 0.05])
    assert lexical_shares([0.0, 0.0]) == [0.0, 0.0]
    assert lexical_shares([]) == []


def test_what_one_bit_loses_is_told_as_a_share_of_what_there_is_in_full() -> None:
    loss = Loss(
        weight=LEXICAL_WEIGHT, power=LEXICAL_POWER, one_bit=0.87, full=0.88, difference=Estimate(-0.01, -0.012, -0.008)
    )
    row = f"| **{LEXICAL_WEIGHT:g} × (BM25 / best BM25)^{LEXICAL_POWER:g}** (what the gateway does) | 0.8700 | 0.8800 |"
    assert f"{row} -0.0100 (-0.0120 to -0.0080) | -1.14% |" in codes_table([loss])
