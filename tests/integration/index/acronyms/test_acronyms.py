"""Acronyms in the index: read with a commit or after it, used both ways, and forgotten with their documents."""

from __future__ import annotations

from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.gateway.retrieval.question_vector import embedded_text
from sourcier.services.index.acronyms import storing
from sourcier.services.index.acronyms.asking import Expansion, find_expansions
from sourcier.services.index.documents.documents import delete_document
from sourcier.services.index.search import search
from sourcier.services.index.search.search import QuestionVector, SearchRequest, SearchResult
from tests.integration.index.writer import SPACE, Writer, text_vector

SPELLED = "Le règlement professionnel du notariat (RPN) s'applique à tous."
LONG_ALONE = "Les devoirs sont dans le règlement professionnel du notariat, à son article premier."
SHORT_ALONE = "Les sanctions sont celles du RPN."
FILLERS = [f"La réunion {number} du conseil traite du règlement des factures et du notariat." for number in range(8)]


async def _meanings(writer: Writer, question: str, *, collection: str = "default") -> dict[str, list[str]]:
    async with writer.database.transaction(tenant=writer.tenant, read_only=True) as connection:
        found = await find_expansions(
            connection, tenant=writer.tenant, collections=[collection], question=question
        )
    return {each.written: [meaning.long if each.is_short else meaning.short for meaning in each.meanings]
            for each in found}


async def _read_more(writer: Writer) -> int:
    async with writer.database.transaction(tenant=ALL_TENANTS) as connection:
        return await storing.read_more(connection, limit=10)


async def _lexical(database: Database, question: str) -> list[SearchResult]:
    request = SearchRequest(tenant="acme", collections=["default"], limit=5)
    return await search.lexical(database, request, question=question)


async def _fused(database: Database, question: str, *, nearest: str) -> list[SearchResult]:
    request = SearchRequest(tenant="acme", collections=["default"], limit=5)
    vector = QuestionVector(SPACE.space_id, text_vector(nearest))
    return await search.fused(database, request, question=question, vector=vector)


async def test_either_way_of_saying_finds_the_other(database: Database, writer: Writer) -> None:
    await writer.index("fillers", FILLERS)
    await writer.index("spelled", [SPELLED])
    await writer.index("long", [LONG_ALONE])
    await writer.index("short", [SHORT_ALONE])
    for question in ("Qu'est-ce que le RPN ?", "c'est quoi le rpn", "le R.P.N. ?", "Que dit le RPN des devoirs ?"):
        for found in (await _lexical(database, question), await _fused(database, question, nearest=FILLERS[0])):
            assert {"spelled", "long", "short"} <= {each.passage.source for each in found[:4]}, question
            (expansion,) = found[0].expansions
            assert expansion.is_short
            assert [each.long for each in expansion.meanings] == ["règlement professionnel du notariat"]
    found = await _lexical(database, "les sanctions du règlement professionnel du notariat")
    assert "short" in {each.passage.source for each in found[:3]}
    assert [each.short for each in found[0].expansions[0].meanings] == ["RPN"]
    # Words of the long form that stand alone are none.
    found = await _lexical(database, "le règlement des factures")
    assert found[0].passage.source == "fillers"
    assert found[0].expansions == ()


async def test_a_long_form_counts_no_more_than_the_acronym_it_stands_for(database: Database, writer: Writer) -> None:
    await writer.index("fillers", FILLERS)
    await writer.index("spelled", [SPELLED])
    await writer.index("wanted", ["Le RPN prévoit la radiation."])
    await writer.index("long", ["Règlement professionnel du notariat, préambule du règlement professionnel."])
    assert (await _lexical(database, "radiation RPN"))[0].passage.source == "wanted"


async def test_one_acronym_of_two_long_forms_keeps_both(database: Database, writer: Writer) -> None:
    await writer.index("card", ["La carte de paiement interne (CPI) est remise à l'entrée."])
    await writer.index("leave", ["Le congé parental indemnisé (CPI) dure un an."])
    await writer.index("leave-too", ["Le congé parental indemnisé (CPI) se demande."])
    assert await _meanings(writer, "le CPI") == {
        "CPI": ["congé parental indemnisé", "carte de paiement interne"],
    }
    found = await _lexical(database, "le CPI")
    assert {each.passage.source for each in found} == {"card", "leave", "leave-too"}


async def test_collections_and_tenants_tell_their_own(database: Database, writer: Writer) -> None:
    await writer.index("spelled", [SPELLED], collection="notaires")
    await writer.index("other", ["La réunion des parents nouveaux (RPN)."], collection="ecole")
    other = Writer(database, tenant="other")
    await other.index("mine", ["Rien."], collection="notaires")
    assert await _meanings(writer, "RPN", collection="notaires") == {"RPN": ["règlement professionnel du notariat"]}
    assert await _meanings(writer, "RPN", collection="ecole") == {"RPN": ["réunion des parents nouveaux"]}
    assert await _meanings(other, "RPN", collection="notaires") == {}
    assert await _meanings(writer, "la réunion des parents nouveaux", collection="notaires") == {}


async def test_documents_that_change_or_go_are_forgotten(database: Database, writer: Writer) -> None:
    version = await writer.index("a", [SPELLED])
    await writer.index("a", ["Le comité social et économique (CSE) siège."])
    assert await _meanings(writer, "RPN et CSE") == {"CSE": ["comité social et économique"]}
    async with database.transaction(tenant="acme") as connection:
        await delete_document(connection, tenant="acme", document_id=version.document_id)
    assert await writer.count("acronyms") == 0


async def test_a_title_has_an_acronym_that_gives_way_to_one_that_is_spelled_out(
    database: Database, writer: Writer
) -> None:
    await writer.index("fillers", FILLERS)
    await writer.index("title", ["Article premier. Tout notaire le respecte."],
                       title="Règlement professionnel du notariat")
    assert (await _lexical(database, "Qu'est-ce que le RPN ?"))[0].passage.source == "title"
    await writer.index("other", ["La réunion des parents nouveaux (RPN)."])
    assert await _meanings(writer, "RPN") == {"RPN": ["réunion des parents nouveaux"]}


async def test_a_question_is_embedded_with_the_long_form_of_its_acronym(database: Database, writer: Writer) -> None:
    await writer.index("spelled", [SPELLED])
    texts = {
        question: await embedded_text(
            database, question, tenant="acme", collections=["default"], deadline=Deadline.after(30)
        )
        for question in ("Que dit le R.P.N. ?", "que dit le rpn", "Que dit le CSE ?", "le règlement du notariat")
    }
    assert list(texts.values()) == [
        "Que dit le R.P.N. ? (règlement professionnel du notariat)",
        "que dit le rpn (règlement professionnel du notariat)", "Que dit le CSE ?", "le règlement du notariat",
    ]
    # What cannot be read is no reason to embed nothing.
    asked = embedded_text(
        database, "Le RPN", tenant="acme", collections=["default"], deadline=Deadline.after(-1)
    )
    assert await asked == "Le RPN"


async def test_several_batches_and_documents_of_before_are_read_later(writer: Writer) -> None:
    version = (await writer.accept("long.md", "one")).version
    for number in (1, 0):
        await writer.stage(version, [(SPELLED, "Autre chose.")[number]], batch_no=number, batch_count=2,
                           first_index=number)
    await writer.refresh()
    assert await _meanings(writer, "RPN") == {}
    assert [await _read_more(writer), await _read_more(writer)] == [1, 0]
    assert await _meanings(writer, "RPN") == {"RPN": ["règlement professionnel du notariat"]}
    await writer.index("cse.md", ["Le comité social et économique (CSE) siège."])
    async with writer.database.transaction(tenant=writer.tenant) as connection:
        await connection.execute("delete from acronyms")
        await connection.execute("update documents set acronym_rules = 0")
    assert await _read_more(writer) == 2
    assert await _meanings(writer, "RPN, CSE") == {
        "RPN": ["règlement professionnel du notariat"], "CSE": ["comité social et économique"],
    }


async def test_a_word_that_looks_like_an_acronym_is_a_word(database: Database, writer: Writer) -> None:
    await writer.index("lives", [f"L'assurance de la vie {number}." for number in range(30)])
    await writer.index("vie", ["Le volontariat international en entreprise (VIE) dure deux ans."])
    assert all(each.expansions == () for each in await _lexical(database, "une assurance vie"))
    found: tuple[Expansion, ...] = (await _lexical(database, "Comment partir en VIE ?"))[0].expansions
    assert [each.written for each in found] == ["VIE"]
