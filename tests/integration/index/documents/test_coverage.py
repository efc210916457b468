"""Every document of a collection is counted once, and what is missing is named with its reason."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from sourcier.services.chassis.postgres.database import Database
from sourcier.services.index.collections.versions import VersionReference
from sourcier.services.index.documents import coverage
from sourcier.services.index.documents.coverage import Coverage
from sourcier.services.index.documents.documents import delete_document
from sourcier.services.index.pipeline.dead_letters import Failure, fail_version
from tests.integration.index.writer import Writer


async def looked(writer: Writer, *, collection: str = "default", examples: int = 3) -> Coverage:
    owner = await writer.collection(collection)
    async with writer.database.transaction(tenant=writer.tenant, read_only=True) as connection:
        return await coverage.look(
            connection, tenant=writer.tenant, collection_id=owner.collection_id, examples=examples
        )


async def give_up(writer: Writer, version: VersionReference, reason: str, message: str) -> None:
    failure = Failure(stage="parse", reason=reason, message=message, attempts=1, subject="parse", payload=b"{}")
    async with writer.database.transaction(tenant=writer.tenant) as connection:
        assert await fail_version(connection, version, failure)


async def warn(writer: Writer, version: VersionReference, *warnings: list[Any]) -> None:
    async with writer.database.transaction(tenant=writer.tenant) as connection:
        await connection.execute(
            "update document_versions set reading_warnings = %s where version_id = %s",
            (json.dumps(warnings), version.version_id),
        )


async def test_each_document_is_in_one_state_and_each_gap_has_its_documents(database: Database) -> None:
    writer = Writer(database)
    await writer.index("whole.md", ["Un."])
    for name, pages in (("a.pdf", 2), ("b.pdf", 3), ("c.pdf", 5)):
        version = await writer.index(name, [f"Deux {name}."])
        warnings = [["pages_without_text", pages, ["1"], ""]]
        await warn(writer, version, *warnings, *([["pictures", 4, [], ""]] if name == "a.pdf" else []))
    await writer.accept("coming.md", "Trois.")
    await give_up(writer, (await writer.accept("locked.pdf", "Quatre.")).version, "DOCUMENT_ENCRYPTED", "a password")
    # Those that answer in an earlier version.
    await writer.index("updated.md", ["Cinq."])
    await writer.accept("updated.md", "Cinq et demi.")
    await writer.index("broken.md", ["Six."])
    await give_up(writer, (await writer.accept("broken.md", "Six et demi.")).version, "DOCUMENT_MALFORMED", "damaged")
    await Writer(database, "other").index("foreign.md", ["Sept."])
    await writer.index("elsewhere.md", ["Huit."], collection="archive")

    found = await looked(writer, examples=2)
    counts = dataclasses.asdict(found)
    del counts["unread"], counts["failures"]
    assert counts == {
        "documents": 8, "whole": 3, "partial": 3, "under_way": 1, "failed": 1, "updating": 1, "outdated": 1,
    }
    pages, pictures = found.unread
    assert (pages.reason, pages.documents, pages.count) == ("pages_without_text", 3, 10)
    assert [each.source for each in pages.examples] == ["a.pdf", "b.pdf"]
    assert (pictures.reason, pictures.documents, pictures.count) == ("pictures", 1, 4)
    assert [(gap.reason, gap.documents, [(each.source, each.message) for each in gap.examples])
            for gap in found.failures] == [
        ("DOCUMENT_ENCRYPTED", 1, [("locked.pdf", "a password")]),
        ("DOCUMENT_MALFORMED", 1, [("broken.md", "damaged")]),
    ]


async def test_a_failure_keeps_its_reason_once_its_job_is_gone(database: Database) -> None:
    writer = Writer(database)
    await give_up(writer, (await writer.accept("locked.pdf")).version, "DOCUMENT_ENCRYPTED", "a password")
    async with database.transaction(tenant=writer.tenant) as connection:
        await connection.execute("delete from jobs")
    (gap,) = (await looked(writer)).failures
    assert (gap.reason, gap.examples[0].message) == ("DOCUMENT_ENCRYPTED", "a password")


async def test_a_document_that_was_deleted_is_not_missed(database: Database) -> None:
    writer = Writer(database)
    version = (await writer.accept("locked.pdf")).version
    await give_up(writer, version, "DOCUMENT_ENCRYPTED", "a password")
    async with database.transaction(tenant=writer.tenant) as connection:
        await delete_document(connection, tenant=writer.tenant, document_id=version.document_id)
    found = await looked(writer)
    assert (found.documents, found.failed, found.failures) == (0, 0, [])


@pytest.mark.parametrize("collection", ["default", "archive"])
async def test_an_empty_collection_has_nothing(database: Database, collection: str) -> None:
    assert await looked(Writer(database), collection=collection) == Coverage(
        documents=0, whole=0, partial=0, under_way=0, failed=0, updating=0, outdated=0, unread=[], failures=[]
    )
