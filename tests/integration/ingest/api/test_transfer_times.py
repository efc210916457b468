"""What people said of when documents hold and which replaces which goes out with a collection and comes in again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sourcier import errors
from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.index.times import mending
from sourcier.services.index.times.document import DateKind
from tests.integration.ingest.api.test_transfer import delete, settle, transferring
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import TENANT, Pipeline

SET = {DateKind.EFFECT: "2024-03", DateKind.END: "2025", DateKind.SIGNATURE: "2024-02-29"}


async def filled(service: Pipeline) -> list[str]:
    """Index three documents; set dates of the first, and say of each pair with it what replaces what."""
    for name in ("a.md", "b.md", "c.md"):
        job = (await service.submit(f"# Note {name}\n\nLe badge coûte 5 € par an.", filename=name, title=name)).job
        assert (await service.finished(job.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
    first, second, third = ids = [row[0] for row in await service.rows("select document_id from documents order by 1")]
    async with service.database.transaction(tenant=TENANT) as connection:
        for kind, text in SET.items():
            await mending.set_date(connection, tenant=TENANT, document_id=str(first), kind=kind,
                                   period=mending.period_of(text))
        for new, old, removed in ((third, first, False), (first, second, False), (second, third, True)):
            await mending.supersede(connection, tenant=TENANT, document_id=str(new), superseded_id=str(old),
                                    removed=removed)
    await settle(service)
    return [str(each) for each in ids]


async def said(service: Pipeline, collection: str = "default") -> list[Any]:
    """Return what was said and what follows from it, by the documents' names."""
    return await service.rows(f"""
        select document.source, set_dates, holds_from::text, holds_until::text,
               array(select (other.source, kind, origin, denied)::text from document_relations as relation
                     join documents as other on other.document_id = relation.other_id
                     where relation.document_id = document.document_id order by 1)
        from documents as document join collections as collection using (collection_id)
        where collection.name = '{collection}' order by document.source
    """)


async def test_what_people_said_of_times_comes_back(serve: Serve, tmp_path: Path) -> None:
    async with serve() as service, transferring(service) as (client, _):
        await filled(service)
        before = await said(service)
        assert [row[4] for row in before] == [
            ['(b.md,replaces,user,f)'], ['(c.md,replaces,user,t)'], ['(a.md,replaces,user,f)']
        ]
        await client.export_collection("default", tmp_path / "out")
        lines = [json.loads(line) for line in (tmp_path / "out" / "documents.jsonl").read_text().splitlines()]
        assert lines[0]["set_dates"] == {kind.value: text for kind, text in SET.items()}
        assert "set_dates" not in lines[1]
        await delete(service)
        await client.import_collection(tmp_path / "out")
        assert await said(service) == before
        # Beside them documents get other ids, and what was said follows.
        await client.import_collection(tmp_path / "out", collection="archive")
        assert await said(service, "archive") == before
        assert await said(service) == before


REFUSED = (
    ("set_dates", {"effect": "hier"}, "“hier” is no date"),
    ("set_dates", {"birth": "2024"}, "“birth” is no kind of date"),
    ("relations", [{"other_id": "x"}], "names 'x', not an id"),
)


async def test_what_is_no_date_or_id_is_refused(serve: Serve, tmp_path: Path) -> None:
    async with serve() as service, transferring(service) as (client, _):
        job = (await service.submit("# Note\n\nLe badge coûte 5 €.", filename="a.md", title="a.md")).job
        assert (await service.finished(job.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
        await settle(service)
        await client.export_collection("default", tmp_path / "out")
        path = tmp_path / "out" / "documents.jsonl"
        whole = json.loads(path.read_text())
        await delete(service)
        for field, value, told in REFUSED:
            path.write_text(json.dumps(whole | {field: value}) + "\n")
            with pytest.raises(errors.InvalidArgument, match=told):
                await client.import_collection(tmp_path / "out")
        assert await service.rows("select from documents") == []
