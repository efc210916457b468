"""Lists of documents: what is meant, in which order, and each once however it is paged."""

from __future__ import annotations

from typing import Any

import pytest

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.index.documents import listing
from sourcier.services.index.documents.listing import Listed
from sourcier.services.index.filtering.compiling import compiled
from sourcier.services.index.filtering.conditions import Test as Asked
from tests.integration.index.writer import Writer


async def listed(database: Database, *, page_size: int = 2, **what: Any) -> list[str]:
    """Return the sources of all pages, in order."""
    seen: list[str] = []
    token = ""
    while True:
        async with database.transaction(tenant="acme", read_only=True) as connection:
            page = await listing.list_documents(
                connection, tenant="acme", listed=Listed(**what), page_size=page_size, page_token=token
            )
        seen += [document.source for document in page.items]
        token = page.next_page_token
        if not token:
            return seen


@pytest.fixture
async def filled(writer: Writer, database: Database) -> Writer:
    """Five documents; the last is not indexed yet."""
    for source, title, metadata in (
        ("rh/b.md", "Évaluation annuelle", {"type": "note"}), ("rh/a.md", "charte du télétravail", {"type": "charte"}),
        ("it/d.md", "Zones d’accès", {"type": "note"}), ("it/c.md", "", {}),
    ):
        await writer.index(source, [source], title=title, metadata=metadata)
    await writer.accept("it/e\u0301te\u0301.md", "x" * 5_000)
    async with database.transaction(tenant="acme") as connection:
        for source, day in (("rh/b.md", "2024-01-01"), ("it/d.md", "2026-03-12"), ("rh/a.md", "2024-01-01")):
            await connection.execute(
                "update documents set dated_from = %s, dated_to = %s, times_rules = 1 where source = %s",
                (day, day, source),
            )
    return writer


async def test_each_order_gives_every_document_once_over_its_pages(filled: Writer) -> None:
    database = filled.database
    late = "it/e\u0301te\u0301.md"
    assert await listed(database) == ["rh/b.md", "rh/a.md", "it/d.md", "it/c.md", late]
    # Without a title by the file's name; accents and case do not part what belongs together.
    assert await listed(database, order="title") == ["rh/a.md", "rh/b.md", "it/c.md", late, "it/d.md"]
    assert (await listed(database, order="date"))[0] == "it/d.md"
    assert set((await listed(database, order="date"))[1:3]) == {"rh/b.md", "rh/a.md"}
    assert await listed(database, order="indexed") == ["it/c.md", "it/d.md", "rh/a.md", "rh/b.md", late]
    assert (await listed(database, order="size"))[0] == late
    for size in (1, 3, 5):
        assert len(set(await listed(database, order="size", page_size=size))) == 5


async def test_documents_are_found_by_a_part_of_their_name_and_by_conditions(filled: Writer) -> None:
    database = filled.database
    assert await listed(database, name="TELETRAVAIL") == ["rh/a.md"]
    assert await listed(database, name="it/ete") == ["it/e\u0301te\u0301.md"]
    assert await listed(database, name="d'acces") == ["it/d.md"]
    assert await listed(database, name="%") == []
    notes = compiled(Asked("type", "eq", ("note",)))
    assert await listed(database, where=notes, order="title") == ["rh/b.md", "it/d.md"]
    assert await listed(database, where=notes, name="zones") == ["it/d.md"]
    async with database.transaction(tenant="acme", read_only=True) as connection:
        assert await listing.count_documents(connection, tenant="acme", listed=Listed(where=notes)) == 2


@pytest.mark.parametrize("locale", ["", ' collate "C"'])
@pytest.mark.parametrize(("written", "plain"), [
    ("ÉTÉ À NOËL", "ete a noel"), ("e\u0301te\u0301", "ete"), ("Œuvre, Cœur et Ægide", "oeuvre, coeur et aegide"),
    ("Curriculum vitæ", "curriculum vitae"), ("Žižek", "zizek"), ("L’Ø", "l'o"), ("Nguyễn Văn", "nguyen van"),
    ("100 % 'sûr'", "100 % 'sur'"), ("", ""),
])
async def test_names_are_compared_without_case_and_accents(
    database: Database, locale: str, written: str, plain: str
) -> None:
    async with database.transaction(tenant="acme", read_only=True) as connection:
        folded = listing._folded(f"%(text)s::text{locale}")
        cursor = await connection.execute(f"select {folded}".encode(), {"text": written})
        assert await cursor.fetchone() == (plain,)


@pytest.mark.parametrize("token", ["forged!", "AAAA", "AAAAAAAAAAAAAAAAAAAAAAD_"])
async def test_a_forged_token_is_refused(database: Database, writer: Writer, token: str) -> None:
    async with database.transaction(tenant="acme", read_only=True) as connection:
        with pytest.raises(InvalidArgument):
            await listing.list_documents(
                connection, tenant="acme", listed=Listed(order="title"), page_token=token
            )
