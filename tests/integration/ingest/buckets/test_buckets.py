"""Objects of a watched bucket: taken in, followed, removed, refused; and what the comparison finds without events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import pytest_asyncio

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.errors import PermissionDenied, Unavailable
from sourcier.services.chassis.objects import ObjectStore, StoredObject
from sourcier.services.chassis.postgres.database import ALL_TENANTS
from sourcier.services.chassis.queue import subjects
from sourcier.services.index.buckets import manifest
from sourcier.services.index.buckets.manifest import ObjectName
from sourcier.services.ingest.buckets import collector
from sourcier.services.ingest.buckets.reconciler import Reconciler
from sourcier.services.stack.servers.nats import NatsServer
from sourcier.services.stack.servers.s3 import S3Server
from tests.fix_servers import S3Bucket
from tests.integration.ingest.fix_pipeline import METADATA, TENANT, Pipeline, cut_off_commit, ingesting
from tests.waiting import eventually

TEXT = "Le télétravail est possible deux jours par semaine."
OTHER = "Les congés se demandent quinze jours avant le départ."


@pytest_asyncio.fixture
async def bucket_name(s3_server: S3Server, s3_bucket: S3Bucket) -> str:
    name = f"{s3_bucket.bucket}-source"
    await s3_server.create_bucket(name)
    return name


@pytest_asyncio.fixture
async def watching(
    database_url: str, nats_server: NatsServer, subject_prefix: str, s3_bucket: S3Bucket, bucket_name: str,
    tmp_path_factory: Any, short_waits: None,
) -> AsyncIterator[Pipeline]:
    rules = tmp_path_factory.mktemp("rules") / "rules.toml"
    rules.write_text(
        f'[[rule]]\nbucket = "{bucket_name}"\ntenant = "{TENANT}"\ncollection = "docs"\nlane = "interactive"\n'
        'exclude = ["**/*.tmp"]\nsize_bytes_max = 100_000\n'
    )
    async with ingesting(
        database_url=database_url, nats_url=nats_server.url, prefix=subject_prefix, bucket=s3_bucket,
        stages="accept,collect,parse,chunk,index", bucket_rules=rules, reconcile_seconds=3600,
    ) as pipeline:
        async def compared() -> bool:
            return bool(await pipeline.rows("select 1 from reconciliations where state = 'finished'"))

        # The service's own comparison at its start: what a test puts meanwhile, that would find.
        await eventually(compared)
        yield pipeline


def source(watching: Pipeline) -> ObjectStore:
    """Return the watched bucket."""
    return watching.parts.buckets.store(watching.parts.buckets.rules.rules[0].bucket)


async def put(watching: Pipeline, key: str, text: str) -> None:
    await source(watching).put(key, text.encode())


async def delete(watching: Pipeline, key: str) -> None:
    await source(watching).delete(key)


async def notify(watching: Pipeline, key: str, event: str = "s3:ObjectCreated:Put") -> None:
    """Say what a store says."""
    bucket = watching.parts.buckets.rules.rules[0].bucket
    body = {"EventName": event, "Key": f"{bucket}/{key}", "Records": [
        {"eventName": event, "s3": {"bucket": {"name": bucket}, "object": {"key": key}}}
    ]}
    address = subjects.BUCKET_NOTIFICATION.address(watching.jetstream.prefix, tenant="")
    await watching.jetstream.context.publish(address, json.dumps(body).encode())


async def settled(watching: Pipeline) -> bool:
    """Whether no object waits and nothing is under way."""
    waiting = await watching.rows("select 1 from objects where state = 'changed'")
    under_way = await watching.rows("select 1 from document_versions where state in ('accepted', 'released')")
    return not waiting and not under_way


async def texts_become(watching: Pipeline, *expected: str) -> None:
    async def so() -> bool:
        return sorted(await watching.texts()) == sorted(expected) and await settled(watching)

    await eventually(so)


async def reconcile(watching: Pipeline, **fields: Any) -> ingest_pb2.ReconcileResponse:
    call = watching.stub.Reconcile(ingest_pb2.ReconcileRequest(**fields), timeout=60, metadata=METADATA)
    last = None
    async for response in call:
        last = response
    assert last is not None
    assert last.finished
    return last


async def no_file_is_left(watching: Pipeline) -> None:
    """Wait for the files, which go after the rows."""
    async def so() -> bool:
        return await watching.keys() == []

    await eventually(so)


async def test_an_object_is_taken_in_followed_and_removed(watching: Pipeline) -> None:
    await put(watching, "guide.md", TEXT)
    await notify(watching, "guide.md")
    await texts_become(watching, TEXT)
    [(stored_source, collection)] = await watching.rows(
        "select source, name from documents join collections using (collection_id)"
    )
    assert stored_source.endswith("/guide.md")
    assert stored_source.startswith("s3://")
    assert collection == "docs"

    await put(watching, "guide.md", OTHER)
    await notify(watching, "guide.md")
    await texts_become(watching, OTHER)
    assert await watching.rows("select count(*)::int from documents") == [(1,)]

    await delete(watching, "guide.md")
    await notify(watching, "guide.md", "s3:ObjectRemoved:Delete")
    await texts_become(watching)
    for table in ("documents", "document_versions", "chunks", "lexical_entries", "staged_batches", "objects"):
        assert await watching.rows(f"select count(*)::int from {table}") == [(0,)], table
    await no_file_is_left(watching)


async def _document(watching: Pipeline) -> tuple[str, str]:
    [(document_id, key)] = await watching.rows(
        "select document_id::text, regexp_replace(source, '.*/', '') from documents"
    )
    return document_id, key


@pytest.mark.parametrize("gone_first", [True, False])
async def test_an_object_that_was_renamed_stays_the_document_that_it_was(
    watching: Pipeline, gone_first: bool
) -> None:
    await put(watching, "ancien.md", TEXT)
    await notify(watching, "ancien.md")
    await texts_become(watching, TEXT)
    (document_id, _) = await _document(watching)

    await put(watching, "nouveau.md", TEXT)
    await delete(watching, "ancien.md")
    events = [("nouveau.md", "s3:ObjectCreated:Copy"), ("ancien.md", "s3:ObjectRemoved:Delete")]
    for key, event in reversed(events) if gone_first else events:
        await notify(watching, key, event)
    await texts_become(watching, TEXT)
    assert await _document(watching) == (document_id, "nouveau.md")
    assert await watching.rows("select key, state from objects") == [("nouveau.md", "current")]

    # The old name comes back before anybody asked about it: it is a document of its own.
    await put(watching, "dernier.md", TEXT)
    await delete(watching, "nouveau.md")
    await notify(watching, "dernier.md", "s3:ObjectCreated:Copy")

    async def renamed() -> bool:
        return await _document(watching) == (document_id, "dernier.md") and await settled(watching)

    await eventually(renamed)
    await put(watching, "nouveau.md", TEXT)
    await notify(watching, "nouveau.md")
    await texts_become(watching, TEXT, TEXT)
    assert (await watching.rows("select document_id::text from documents where source like '%%/dernier.md'")) == [
        (document_id,)]


async def test_events_that_come_twice_late_or_lie_change_nothing(watching: Pipeline) -> None:
    await put(watching, "a.md", TEXT)
    for _ in range(3):
        await notify(watching, "a.md")
    await texts_become(watching, TEXT)
    await notify(watching, "a.md")
    await notify(watching, "a.md", "s3:ObjectRemoved:Delete")  # it is still there
    await notify(watching, "never.md")  # it never was
    await notify(watching, "never.md", "s3:ObjectRemoved:Delete")
    await texts_become(watching, TEXT)
    assert await watching.rows("select generation::int, state from document_versions") == [(1, "committed")]
    assert await watching.rows("select key, state from objects") == [("a.md", "current")]


async def test_the_comparison_finds_what_no_event_told(watching: Pipeline) -> None:
    for number in range(5):
        await put(watching, f"folder {number}/été+{number}.md", f"{TEXT} Numéro {number}.")
    await put(watching, "left-out.tmp", TEXT)
    counted = await reconcile(watching, dry_run=True)
    assert (counted.listed, counted.missing, counted.changed, counted.gone) == (5, 5, 0, 0)
    assert await watching.rows("select count(*)::int from objects") == [(0,)]

    found = await reconcile(watching)
    assert (found.listed, found.missing, found.changed, found.gone) == (5, 5, 0, 0)
    await texts_become(watching, *(f"{TEXT} Numéro {number}." for number in range(5)))

    await put(watching, "folder 0/été+0.md", OTHER)
    await delete(watching, "folder 1/été+1.md")
    found = await reconcile(watching)
    assert (found.missing, found.changed, found.gone) == (0, 1, 1)
    await texts_become(watching, OTHER, *(f"{TEXT} Numéro {number}." for number in range(2, 5)))
    found = await reconcile(watching)
    assert (found.listed, found.missing, found.changed, found.gone) == (4, 0, 0, 0)


async def test_an_object_that_cannot_be_taken_in_has_a_dead_letter_and_its_neighbours_go_on(
    watching: Pipeline,
) -> None:
    await put(watching, "empty.md", "")
    await put(watching, "large.md", "x" * 100_001)
    await put(watching, "damaged.md", "!damaged")
    await put(watching, "good.md", TEXT)
    await reconcile(watching)
    await texts_become(watching, TEXT)

    async def three() -> bool:
        return len(await watching.rows("select 1 from dead_letters where state = 'open'")) == 3

    await eventually(three)
    letters = dict(await watching.rows("select split_part(source, '/', -1), reason from dead_letters "
                                       "join documents using (document_id)"))
    assert letters == {
        "empty.md": "DOCUMENT_EMPTY", "large.md": "DOCUMENT_TOO_LARGE", "damaged.md": "DOCUMENT_MALFORMED",
    }
    # Nothing is tried again before the object changes.
    found = await reconcile(watching)
    assert (found.missing, found.changed, found.gone) == (0, 0, 0)
    await put(watching, "empty.md", OTHER)
    await notify(watching, "empty.md")
    await texts_become(watching, TEXT, OTHER)
    open_letters = await watching.rows("select reason from dead_letters where state = 'open' order by reason")
    assert open_letters == [("DOCUMENT_MALFORMED",), ("DOCUMENT_TOO_LARGE",)]


@pytest.mark.parametrize(("grown", "reason"), [("x" * 3_000_000, "DOCUMENT_TOO_LARGE"), ("", "DOCUMENT_EMPTY")])
async def test_an_object_that_is_overwritten_after_it_was_found_is_refused_for_what_it_is_then(
    watching: Pipeline, monkeypatch: pytest.MonkeyPatch, grown: str, reason: str
) -> None:
    store = source(watching)
    head = store.head

    async def overtaken(key: str) -> StoredObject | None:
        found = await head(key)
        await put(watching, key, grown)
        return found

    async def refused() -> bool:
        return await watching.rows("select reason from dead_letters") == [(reason,)] and await settled(watching)

    monkeypatch.setattr(store, "head", overtaken)
    await put(watching, "a.md", TEXT)
    await notify(watching, "a.md")
    await eventually(refused)
    assert [key for key in await watching.keys() if key.startswith("documents/")] == []
    # What was refused is on record as it is: the comparison finds no difference.
    monkeypatch.setattr(store, "head", head)
    found = await reconcile(watching)
    assert (found.missing, found.changed, found.gone) == (0, 0, 0)


async def test_an_object_that_an_outage_hides_is_asked_for_again_and_is_no_failure(
    watching: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "DELAY_SECONDS_MAX", 0.05)
    store = source(watching)
    head = store.head
    asked = 0

    async def hidden(key: str) -> StoredObject | None:
        nonlocal asked
        asked += key == "guide.md"
        if key == "guide.md" and asked <= 3:
            raise Unavailable("the object store did not answer")
        return await head(key)

    monkeypatch.setattr(store, "head", hidden)
    await put(watching, "guide.md", TEXT)
    await notify(watching, "guide.md")
    await texts_become(watching, TEXT)
    assert asked >= 4
    assert await watching.rows("select 1 from dead_letters") == []


async def test_an_object_that_cannot_be_read_fails_once_however_often_it_is_asked_for(
    watching: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = source(watching)
    head = store.head
    asked = 0

    async def refused(key: str) -> StoredObject | None:
        nonlocal asked
        if key != "secret.md":
            return await head(key)
        asked += 1
        raise PermissionDenied("the object store refuses to give secret.md: 403")

    async def letters() -> list[tuple[Any, ...]]:
        return await watching.rows("select stage, reason, state, generation::int from dead_letters order by generation")

    async def compared(times: int) -> None:
        found = await reconcile(watching)
        assert found.missing + found.changed == 1

        async def so() -> bool:
            return asked == times and await settled(watching)

        await eventually(so)

    monkeypatch.setattr(store, "head", refused)
    await put(watching, "secret.md", TEXT)
    for times in range(1, 4):
        await compared(times)
        assert await letters() == [("accept", "PERMISSION_DENIED", "open", 1)]
        assert await watching.rows("select status from jobs") == [("failed",)]
        assert await watching.rows("select state, error <> '' from objects") == [("refused", True)]
    listing = await watching.stub.ListBuckets(ingest_pb2.ListBucketsRequest(), timeout=60, metadata=METADATA)
    (told,) = listing.buckets
    assert (told.current_count, told.waiting_count, told.refused_count, told.comparing) == (0, 0, 1, False)
    assert [each.key for each in told.errors] == ["secret.md"]
    assert "403" in told.errors[0].error
    assert told.HasField("compared_at")
    # Once a person closed the letter, what still cannot be read has one again, and one only.
    async with watching.database.transaction(tenant=TENANT) as connection:
        await connection.execute("update dead_letters set state = 'discarded'")
    for times in range(4, 6):
        await compared(times)
    assert await letters() == [
        ("accept", "PERMISSION_DENIED", "discarded", 1), ("accept", "PERMISSION_DENIED", "open", 2),
    ]
    # It is asked for all the same, so that it is there once it can be read.
    monkeypatch.setattr(store, "head", head)
    await reconcile(watching)
    await texts_become(watching, TEXT)
    assert [state for _, _, state, _ in await letters()] == ["discarded", "discarded"]


async def test_a_collection_with_an_object_that_was_refused_is_deleted_with_all_its_files(
    watching: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A folder refuses to delete what has no name; an S3 store may do so, too.
    folder = ObjectStore.open(url=f"file://{tmp_path}", bucket="", access_key="", secret_key="", region="")
    monkeypatch.setattr(watching.objects, "_backend", folder._backend)
    await put(watching, "empty.md", "")
    await put(watching, "good.md", TEXT)
    await reconcile(watching)
    await texts_become(watching, TEXT)
    assert len(await watching.keys()) == 2  # an original and an artefact
    await watching.stub.DeleteCollection(
        ingest_pb2.DeleteCollectionRequest(name="docs"), timeout=30, metadata=METADATA
    )
    assert await watching.keys() == []


async def test_what_a_person_deleted_stays_deleted_until_the_object_changes(watching: Pipeline) -> None:
    await put(watching, "a.md", TEXT)
    await reconcile(watching)
    await texts_become(watching, TEXT)
    [(document_id,)] = await watching.rows("select document_id from documents")
    await watching.stub.Delete(
        ingest_pb2.DeleteRequest(document_id=str(document_id)), timeout=30, metadata=METADATA
    )
    found = await reconcile(watching)
    assert (found.missing, found.changed, found.gone) == (0, 0, 0)
    await notify(watching, "a.md")
    await texts_become(watching)
    await put(watching, "a.md", OTHER)
    await notify(watching, "a.md")
    await texts_become(watching, OTHER)


async def test_identical_content_is_read_once_and_hides_no_name(watching: Pipeline) -> None:
    parsers: Any = watching.parts.parsers
    await put(watching, "one.md", TEXT)
    await reconcile(watching)
    await texts_become(watching, TEXT)
    await put(watching, "two.md", TEXT)
    await notify(watching, "two.md")
    await texts_become(watching, TEXT, TEXT)
    assert parsers.read == ["one.md"]
    assert await watching.rows("select title from documents order by title") == [("one",), ("two",)]
    await delete(watching, "one.md")
    await notify(watching, "one.md", "s3:ObjectRemoved:Delete")
    await texts_become(watching, TEXT)
    assert await watching.rows("select title from documents") == [("two",)]
    # The artefact serves the one that is left, and goes with it.
    assert any(key.startswith("artefacts/") for key in await watching.keys())
    await delete(watching, "two.md")
    await notify(watching, "two.md", "s3:ObjectRemoved:Delete")
    await texts_become(watching)
    await no_file_is_left(watching)


async def test_fifty_versions_are_seen_whole_and_end_with_the_last(watching: Pipeline) -> None:
    seen: set[int] = set()
    done = asyncio.Event()

    async def look() -> None:
        while not done.is_set():
            # One statement is one snapshot, as a search is.
            texts = await watching.texts()
            versions = {int(word) for text in texts for word in text.split() if word.isdigit()}
            assert len(texts) in (0, 3), texts
            assert len(versions) <= 1, versions
            seen.update(versions)

    async with asyncio.TaskGroup() as group:
        group.create_task(look())
        for number in range(50):
            await put(watching, "a.md", "\n\n".join(f"# Partie {part}\n\n{number} " + "mot " * 250 for part in "abc"))
            await notify(watching, "a.md")

        async def last() -> bool:
            return 49 in seen and await settled(watching)

        await eventually(last)
        done.set()
    assert await watching.rows("select count(*)::int from document_versions where state = 'committed'") == [(1,)]


async def test_an_object_that_was_taken_in_keeps_its_copy_though_the_commit_was_cut_off(
    watching: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_off_commit(watching.intake, monkeypatch, psycopg.OperationalError("server closed the connection unexpectedly"))
    await put(watching, "a.md", TEXT)
    await notify(watching, "a.md")
    await texts_become(watching, TEXT)
    [(key,)] = await watching.rows("select original_key from document_versions")
    assert await watching.objects.get(key) == TEXT.encode()
    assert await watching.rows("select state from objects") == [("current",)]


async def test_a_claim_that_was_lost_settles_nothing(watching: Pipeline) -> None:
    name = ObjectName(tenant="other", bucket="nowhere", key="k")
    async with watching.database.transaction(tenant=ALL_TENANTS) as connection:
        await manifest.hint(connection, [name])
        [first] = await manifest.claim(connection, limit=1, lease_seconds=-1)
        [second] = await manifest.claim(connection, limit=1, lease_seconds=30)
        assert (first.key, second.attempts) == ("k", 2)
        assert not await manifest.holds(connection, first)
        assert await manifest.holds(connection, second)
        await manifest.settle_unchanged(connection, first)
        await manifest.hint(connection, [name])
        # Somebody is asking: nobody else may.
        assert await manifest.claim(connection, limit=1, lease_seconds=30) == []
        await manifest.settle_unchanged(connection, second)
        cursor = await connection.execute("select state from objects where bucket = 'nowhere'")
        # The hint that came meanwhile is not lost.
        assert await cursor.fetchall() == [("changed",)]


async def test_who_waits_for_a_comparison_leaves_it_the_connections_that_it_needs(watching: Pipeline) -> None:
    parts = watching.parts
    (rule,) = parts.buckets.rules.rules
    connections_max = watching.database.settings.connections_max
    # As in another process: of this one's own comparisons those that wait know without asking the database.
    other = Reconciler(watching.database, parts.buckets, parts.collector, parts.relay, every_seconds=3600)
    async with asyncio.TaskGroup() as group, other._alone(rule, wait=True) as alone:
        assert alone
        waiting = [group.create_task(reconcile(watching)) for _ in range(connections_max + 2)]
        async with asyncio.timeout(10):
            # What is asked for last is served last: by the end, all who wait have had their turn at the pool.
            for _ in range(5 * connections_max):
                await watching.rows("select 1")
        assert not any(task.done() for task in waiting)
        async with parts.reconciler._alone(rule, wait=False) as second:
            assert not second
    assert all(task.result().finished for task in waiting)
