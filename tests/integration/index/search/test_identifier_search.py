"""Identifiers in the index: found in any writing, before all that resembles, and said to be missing where they are."""

from __future__ import annotations

from typing import Any

import pytest

from sourcier.services.chassis.postgres.database import Database
from sourcier.services.index.identifiers.terms import READ
from sourcier.services.index.search import search
from sourcier.services.index.search.filters import filters_from
from sourcier.services.index.search.holding import Missing, Place
from sourcier.services.index.search.search import QuestionVector, SearchRequest, SearchResult
from tests.integration.index.writer import SPACE, Writer, text_vector

SHEETS = {
    f"sheet-{number}.md": (
        f"Filtre à huile, référence VM-{1740 + number}/B, code-barres 840191614610{number}. Lot n° 2026-3846{number}. "
        f"Téléphone 06 24 39 33 2{number}, courriel e.moreau{number}@fournisseur.example, "
        f"SIRET 367 916 011 0843{number}. Véhicule CB-22{number}-DH. Compte FR89 9143 3014 6730 0245 8921 52{number}."
    ) for number in range(8)
}
FORMS = (
    "VM-174{}/B", "vm174{}b", "VM 174{} B", "Quel est le prix de la référence VM-174{}/B ?", "840191614610{}",
    "2026-3846{}", "062439332{}", "+33 6 24 39 33 2{}", "06.24.39.33.2{}", "e.moreau{}@fournisseur.example",
    "3679160110843{}", "CB22{}DH", "FR8991433014673002458921 52{}", "FR89 9143 3014 6730 0245 8921 52{}",
)
ARTICLES = ("L1121-1", "L1121-2", "L1121-11", "R1121-1", "L1121-1-1")


def request(**fields: Any) -> SearchRequest:
    return SearchRequest(**{"tenant": "acme", "collections": ["default"], "limit": 5} | fields)


async def fused(database: Database, question: str, *, nearest: str = "", **fields: Any) -> list[SearchResult]:
    """Search by words and by a vector that is closest to the text `nearest`."""
    vector = QuestionVector(SPACE.space_id, text_vector(nearest or question))
    return await search.fused(database, request(**fields), question=question, vector=vector)


async def write_articles(writer: Writer) -> None:
    for article in ARTICLES:
        await writer.index(article, [f"Nul ne peut apporter de restrictions, dit {article} autrement."],
                           title=f"Article {article} du code du travail")
    await writer.index("commentary", ["Voir les articles L. 1121-1 et L. 1121-1, ou L. 1121-1 encore."], title="Revue")


async def test_each_form_is_found_first_by_words_and_beside_a_vector(database: Database, writer: Writer) -> None:
    for source, text in SHEETS.items():
        await writer.index(source, [text])
    for number, form in enumerate(FORMS):
        wanted, other = f"sheet-{number % 8}.md", SHEETS[f"sheet-{(number + 3) % 8}.md"]
        question = form.format(number % 8)
        by_words = await search.lexical(database, request(), question=question)
        both = await fused(database, question, nearest=other)
        assert [each[0].passage.source for each in (by_words, both)] == [wanted, wanted], question
        assert both[0].standing.place is Place.TEXT
        assert not both[0].missing
        assert [each.standing.place for each in both[1:]] == [Place.NONE] * (len(both) - 1), question


@pytest.mark.parametrize("question", [
    "article L1121-1", "L. 1121-1", "Que dit l'article L.1121-1 du code du travail ?", "art. L 1121-1", "l1121-1",
])
async def test_the_article_itself_comes_before_what_cites_it_and_near_ones_are_none(
    database: Database, writer: Writer, question: str
) -> None:
    await write_articles(writer)
    found = await fused(database, question, nearest="Nul ne peut apporter de restrictions, dit L1121-2 autrement.")
    assert [each.passage.source for each in found[:2]] == ["L1121-1", "commentary"]
    assert [each.standing.place for each in found[:3]] == [Place.TITLE, Place.TEXT, Place.NONE]


async def test_the_number_alone_finds_all_articles_that_have_it(database: Database, writer: Writer) -> None:
    await write_articles(writer)
    found = await fused(database, "que dit 1121-1 ?")
    assert {each.passage.source for each in found[:2]} == {"L1121-1", "R1121-1"}
    assert found[2].passage.source == "commentary"


async def test_an_identifier_that_no_passage_holds_is_said_to_be_missing(database: Database, writer: Writer) -> None:
    await write_articles(writer)
    found = await fused(database, "Que dit l'article L. 1121-3 ?")
    assert found
    assert found[0].missing == (Missing("L. 1121-3", ("L1121-2", "L1121-1", "L1121-11")),)
    assert not any(each.standing.place for each in found)


async def test_the_beginning_of_a_reference_finds_longer_ones_and_says_so(database: Database, writer: Writer) -> None:
    for end in ("A", "B"):
        await writer.index(end, [f"Joint torique, référence PX-1200/{end}."])
    await writer.index("other", ["Joint torique, référence PX-12001."])
    found = await fused(database, "PX-1200", nearest="Joint torique, référence PX-12001.")
    assert {each.passage.source for each in found[:2]} == {"A", "B"}
    assert found[0].standing.place is Place.BEGINNING
    assert found[0].missing == (Missing("PX-1200", ("PX-1200-A", "PX-1200-B")),)
    (siren,) = (await fused(database, "VM-9999/Z"))[0].missing
    assert siren == Missing("VM-9999/Z")


async def test_what_many_passages_hold_dominates_only_where_it_is_surely_an_identifier(
    database: Database, writer: Writer
) -> None:
    await writer.index("many", [f"Mesure {number} contre la Covid-19, loi 2016-1088." for number in range(30)])
    await writer.index("wanted", ["Le port du masque est obligatoire."])
    found = await fused(database, "masque covid-19", nearest="Le port du masque est obligatoire.")
    assert found[0].passage.source == "wanted"
    found = await fused(database, "masque loi n° 2016-1088", nearest="Le port du masque est obligatoire.")
    assert {each.passage.source for each in found} == {"many"}


async def test_filters_hold_for_identifiers_too(database: Database, writer: Writer) -> None:
    await write_articles(writer)
    (document_id,) = {
        each.passage.document_id for each in await search.lexical(database, request(), question="Revue")
    }
    found = await fused(database, "L1121-1", filters=filters_from({"document_ids": [document_id]}))
    assert [each.passage.source for each in found] == ["commentary"]


async def test_a_search_without_identifiers_is_as_it_was(database: Database, writer: Writer) -> None:
    await write_articles(writer)
    question = "Nul ne peut apporter de restrictions"
    found = await fused(database, question)
    scores = [each.score for each in found]
    assert scores == sorted(scores, reverse=True)
    assert not any(each.standing.place or each.missing for each in found)


async def test_passages_indexed_before_identifiers_are_found_among_the_candidates(
    database: Database, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sourcier.services.index.pipeline.batches.passage_terms", lambda *_: ())
    await write_articles(writer)
    found = await fused(database, "art. L 1121-1", limit=10)
    assert [each.passage.source for each in found[:2]] == ["L1121-1", "commentary"]
    assert not found[0].missing
    (missing,) = (await fused(database, "L1121-3", limit=10))[0].missing
    assert missing.unread
    monkeypatch.undo()
    await writer.index("new", ["L. 1121-3 bis"], title="")
    assert (await fused(database, "L1121-3"))[0].passage.source == "new"


async def test_terms_are_counted_and_go_with_their_documents(database: Database, writer: Writer) -> None:
    await writer.index("a", ["Référence PX-1200/B."])
    await writer.index("a", ["Référence PX-1300/B."])
    async with database.transaction(tenant="acme", read_only=True) as connection:
        cursor = await connection.execute(
            "select lexeme, passages from lexeme_frequencies where lexeme like '%%=px%%' or lexeme like %s",
            (f"%:{READ}",),
        )
        counted = {lexeme.partition(":")[2]: passages for lexeme, passages in await cursor.fetchall()}
    assert counted == {"=px-1300-b": 1, READ: 1}
    assert (await fused(database, "PX-1200/B"))[0].missing
