"""The set of questions with acronyms, searched for by words in the index: with what documents spell out and without."""

from __future__ import annotations

from eval.sets.acronyms import acronym_set
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.index.search import search
from sourcier.services.index.search.search import SearchRequest
from tests.integration.index.writer import Writer

PLACES = 5


async def _recall(database: Database) -> float:
    dataset = acronym_set("held")
    names = {passage.text: passage.passage_id for passage in dataset.passages}
    request = SearchRequest(tenant="acme", collections=["default"], limit=PLACES)
    found = 0.0
    for question in dataset.questions:
        results = await search.lexical(database, request, question=question.text)
        hits = {names[each.passage.text] for each in results}
        found += len(hits & question.relevant.keys()) / len(question.relevant)
    return found / len(dataset.questions)


async def test_what_an_acronym_stands_for_is_among_the_first_five(database: Database, writer: Writer) -> None:
    dataset = acronym_set()
    # Few documents of many passages: what is found is told apart by its text.
    for kind in ("definition", "long", "short", "other"):
        texts = [passage.text for passage in dataset.passages if kind in passage.passage_id]
        await writer.index(kind, texts)
    for passage in dataset.passages:
        if passage.passage_id.startswith("title"):
            await writer.index(passage.passage_id, [passage.text], title=passage.title)
    knowing = await _recall(database)
    async with database.transaction(tenant="acme") as connection:
        await connection.execute("delete from acronyms")
    plain = await _recall(database)
    print(f"R@{PLACES}: {plain:.3f} without, {knowing:.3f} with acronyms")  # noqa: T201
    assert knowing >= 0.95
    assert plain < knowing - 0.1
