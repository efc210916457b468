"""Ten thousand objects compared with the manifest in one pass, a page at a time."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import obstore
import pytest
from obstore.store import MemoryStore

from sourcier.services.chassis.objects import ObjectStore
from sourcier.services.chassis.postgres.database import ALL_TENANTS
from sourcier.services.ingest.buckets.reconciler import ReconciliationProgress
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import TENANT, Pipeline

OBJECTS = 10_000
MEMORY_BYTES_MAX = 2 * 1024 * 1024
"""A page takes a tenth of it; all keys with their ETags would take over 3 MB."""


async def compare(service: Pipeline, *, dry_run: bool = False) -> ReconciliationProgress:
    last = None
    async for progress in service.parts.reconciler.reconcile(tenant=TENANT, dry_run=dry_run):
        last = progress
    assert last is not None
    assert last.finished
    return last


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_ten_thousand_objects_are_compared_in_bounded_memory(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = MemoryStore()
    for number in range(OBJECTS):
        obstore.put(backend, f"folder-{number % 100}/document-{number}.md", b"x")
    rules = tmp_path / "rules.toml"
    rules.write_text(f'[[rule]]\nbucket = "large"\ntenant = "{TENANT}"\n')
    # Nothing collects here: what is marked stays marked, and is counted.
    async with serve(stages="", bucket_rules=rules) as service:
        monkeypatch.setattr(service.parts.buckets, "store", lambda bucket: ObjectStore(backend))
        tracemalloc.start()
        first = await compare(service)
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert (first.listed, first.missing, first.changed, first.gone) == (OBJECTS, OBJECTS, 0, 0)
        assert peak_bytes < MEMORY_BYTES_MAX
        assert await service.rows("select count(*)::int from objects") == [(OBJECTS,)]

        # As if all had been taken in, then one changed, two went and one came.
        async with service.database.transaction(tenant=ALL_TENANTS) as connection:
            await connection.execute("set local statement_timeout = 0")
            await connection.execute("update objects set state = 'current', last_seen = now() - interval '1 hour'")
        etags = {meta["path"]: meta["e_tag"] for page in obstore.list(backend, chunk_size=10_000) for meta in page}
        async with service.database.transaction(tenant=ALL_TENANTS) as connection:
            await connection.execute("set local statement_timeout = 0")
            await connection.execute(
                "update objects set etag = trim(both '\"' from listed.etag) "
                "from unnest(%s::text[], %s::text[]) as listed (key, etag) where objects.key = listed.key",
                (list(etags), list(etags.values())),
            )
        obstore.put(backend, "folder-0/document-0.md", b"xy")
        obstore.delete(backend, ["folder-1/document-1.md", "folder-2/document-2.md"])
        obstore.put(backend, "new.md", b"x")
        again = await compare(service)
        assert (again.listed, again.missing, again.changed, again.gone) == (OBJECTS - 1, 1, 1, 2)
        marked = await service.rows("select key from objects where state = 'changed' order by key")
        assert [key for (key,) in marked] == [
            "folder-0/document-0.md", "folder-1/document-1.md", "folder-2/document-2.md", "new.md",
        ]
