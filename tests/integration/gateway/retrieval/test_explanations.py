"""Why a passage is where it is: places, words and identifiers as the search had them, and in sentences."""

from __future__ import annotations

from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.postgres.database import Database
from tests.integration.gateway.fix_gateway import Scenario, gateway
from tests.integration.index.writer import Writer

QUESTION = "Combien de jours de télétravail pour le personnel ?"
RERANKED, LEXICAL = answer_pb2.SEARCH_MODE_RERANKED, answer_pb2.SEARCH_MODE_LEXICAL


async def test_each_passage_says_its_places_and_words_where_that_is_asked(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        plain = await served.search(QUESTION, mode=RERANKED)
        explained = await served.search(QUESTION, mode=RERANKED, explain=True)
        english = await served.search("How many days of work per week?", mode=RERANKED, explain=True)
    assert not any(each.HasField("explanation") for each in plain.passages)
    assert [each.chunk_id for each in explained.passages] == [each.chunk_id for each in plain.passages]
    explanations = [each.explanation for each in explained.passages]
    count = len(explanations)
    assert count == 3
    for places in zip(*((each.dense_place, each.merged_place, each.reranked_place) for each in explanations),
                      strict=True):
        assert sorted(places) == list(range(1, count + 1))
    assert [each.reranked_place for each in explanations] == list(range(1, count + 1))
    by_words = {passage.text[:14]: passage.explanation for passage in explained.passages}
    telework = by_words["Le télétravail"]
    assert telework.lexical_place == 1
    assert (list(telework.words), list(telework.missing_words)) == (["jours", "télétravail"], ["personnel"])
    assert "Mots de la question présents : jours, télétravail." in telework.sentences
    assert by_words["Les frais de r"].lexical_place == 0
    assert "Par les mots : pas parmi les passages regardés." in by_words["Les frais de r"].sentences
    assert explanations[0].score_behind == 0
    assert explanations[1].score_behind > 0
    assert any(each.startswith("By meaning: ") for each in english.passages[0].explanation.sentences)


async def test_an_identifier_is_named_as_what_put_a_passage_first(handbook: Database) -> None:
    await Writer(handbook).index("L1121-1", ["Nul ne peut apporter de restrictions."], title="Article L1121-1")
    async with gateway(handbook, Scenario()) as served:
        found = await served.search("le télétravail selon L. 1121-1", mode=LEXICAL, explain=True)
    first, second = (each.explanation for each in found.passages[:2])
    assert list(first.identifiers) == ["L. 1121-1"]
    assert first.identifier_place == answer_pb2.IDENTIFIER_PLACE_TITLE
    assert first.sentences[0] == (
        "Porte L. 1121-1 dans son titre : passe avant tout passage qui ne le porte pas."
    )
    assert second.score_behind == 0
    assert second.sentences[-1].startswith("Le passage devant contient L. 1121-1")
    assert not any("sens" in each for each in second.sentences)
