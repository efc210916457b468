"""What documents do to one another: found whichever came first, and said or denied by people."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from sourcier.services.chassis.errors import FailedPrecondition, InvalidArgument, NotFound
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import ALL_TENANTS
from sourcier.services.index.documents import documents
from sourcier.services.index.documents.documents import Document
from sourcier.services.index.times import mending, relations
from sourcier.services.index.times.document import DateKind
from tests.integration.index.writer import Writer

OLD = ("Note de service du 3 mars 2020", "La restauration ouvre à midi.")
NEW = ("Note de service du 5 mai 2023", "Elle annule et remplace la note de service du 3 mars 2020.")
RIDER = ("Avenant n° 3 à l'accord du 4 avril 2022 sur le télétravail", "Il modifie l'article 4 de l'accord.")
ACCORD = ("Accord sur le télétravail du 4 avril 2022", "Deux jours par semaine.")


async def _index(writer: Writer, document: tuple[str, str]) -> str:
    title, text = document
    version = await writer.index(f"{title}.md", [text], title=title)
    return version.document_id


async def _find(writer: Writer) -> int:
    async with writer.database.transaction(tenant=ALL_TENANTS) as connection:
        return await relations.find_more(connection, limit=100)


async def _document(writer: Writer, document_id: str) -> Document:
    async with writer.database.transaction(tenant=writer.tenant, read_only=True) as connection:
        return await documents.get_document(connection, tenant=writer.tenant, document_id=document_id)


async def _supersede(writer: Writer, document_id: str, superseded_id: str, **options: Any) -> None:
    async with writer.database.transaction(tenant=writer.tenant) as connection:
        await mending.supersede(
            connection, tenant=writer.tenant, document_id=document_id, superseded_id=superseded_id, **options
        )


@pytest.mark.parametrize("pair", [(OLD, NEW), (NEW, OLD), (RIDER, ACCORD), (ACCORD, RIDER)])
async def test_relations_are_found_whichever_document_comes_first(
    writer: Writer, pair: tuple[tuple[str, str], tuple[str, str]]
) -> None:
    by_title = {}
    for document in pair:
        by_title[document[0]] = await _index(writer, document)
        assert await _find(writer) == 1
    assert await _find(writer) == 0
    doing, other = (NEW, OLD) if NEW in pair else (RIDER, ACCORD)
    told = (await _document(writer, by_title[doing[0]])).relations
    assert told is not None
    kinds = {kind for kind, *_ in told}
    assert kinds == ({"replaces"} if doing is NEW else {"rider"})
    assert {document_id for _, document_id, *_ in told} == {by_title[other[0]]}
    related_by = (await _document(writer, by_title[other[0]])).related_by
    assert related_by is not None
    assert related_by[0][1:3] == [by_title[doing[0]], doing[0]]


async def test_what_was_found_goes_with_its_document_and_its_words(writer: Writer) -> None:
    old, new = await _index(writer, OLD), await _index(writer, NEW)
    await _find(writer)
    assert (await _document(writer, old)).related_by
    await writer.index(f"{NEW[0]}.md", ["Elle complète ce qui est dit."], title=NEW[0])
    await _find(writer)
    assert (await _document(writer, old)).related_by is None
    await _supersede(writer, new, old)
    async with writer.database.transaction(tenant=writer.tenant) as connection:
        await documents.delete_document(connection, tenant=writer.tenant, document_id=new)
    assert (await _document(writer, old)).related_by is None


async def test_what_people_say_outlasts_what_is_read(writer: Writer) -> None:
    old, new = await _index(writer, OLD), await _index(writer, NEW)
    await _find(writer)
    await _supersede(writer, new, old, removed=True)
    assert (await _document(writer, old)).related_by is None
    await writer.index(f"{NEW[0]}.md", [f"{NEW[1]} Bis."], title=NEW[0])
    await _find(writer)
    assert (await _document(writer, old)).related_by is None
    # The other way round, and then not twice at once.
    await _supersede(writer, old, new)
    assert (await _document(writer, new)).related_by == [["replaces", old, OLD[0], "user", "", ""]]
    with pytest.raises(FailedPrecondition):
        await _supersede(writer, new, old)


async def test_two_that_cannot_replace_one_another_are_refused(writer: Writer) -> None:
    old = await _index(writer, OLD)
    elsewhere = await writer.index("x.md", ["Autre"], collection="other")
    for document_id, superseded_id, error in (
        (old, old, InvalidArgument), (old, elsewhere.document_id, InvalidArgument), (old, new_id(), NotFound),
        ("none", old, NotFound),
    ):
        with pytest.raises(error):
            await _supersede(writer, document_id, superseded_id)


async def test_a_date_is_set_and_taken_back(writer: Writer) -> None:
    document_id = await _index(writer, OLD)
    for text, told in (("2024-02", ("user", date(2024, 2, 29))), ("", ("title", date(2020, 3, 3)))):
        async with writer.database.transaction(tenant=writer.tenant) as connection:
            await mending.set_date(
                connection, tenant=writer.tenant, document_id=document_id, kind=DateKind.DOCUMENT,
                period=mending.period_of(text) if text else None,
            )
        [found] = (await _document(writer, document_id)).times.dates
        assert (found.origin.value, found.period.end) == told


@pytest.mark.parametrize("text", [
    "2024-02-30", "2024-13", "2024-00", "2024-00-15", "2024-05-00", "01/03/2024", "24", "1800-01-01", "2024-2-3",
    "hier",
])
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="2024-03-01"):
        mending.period_of(text)
