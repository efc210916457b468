"""Building a space from stored chunks while documents come, change and go; and what keeps a build from its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import grpc.aio
import pytest

from sourcier.ingest.v1 import spaces_pb2
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Connection
from sourcier.services.chassis.queue import consuming, jetstream
from sourcier.services.index.moves import upkeep as space_upkeep
from sourcier.services.index.pipeline import releases
from sourcier.services.index.spaces import spaces
from sourcier.services.ingest.upkeep import space_builder
from tests.integration.chassis.fix_jetstream import stream_messages
from tests.integration.index.writer import SPACE
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import METADATA, Pipeline, WordEmbedder
from tests.unit.ingest.fix_words import WordCounter
from tests.waiting import eventually

WIDE = replace(SPACE, space_id="wide-space", model="wide-model", dimension=24)
DOCUMENT = "# Congés\n\nLes congés se posent un mois avant.\n\n# Paie\n\nLa paie tombe le vingt-huit du mois."


@asynccontextmanager
async def embedding(pipeline: Pipeline, embedder: WordEmbedder) -> AsyncIterator[None]:
    """Run an embed service of another space beside the first."""
    stopping = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(embedder.consumer().run(stopping))
        try:
            yield
        finally:
            embedder.gate.set()
            stopping.set()


async def call(pipeline: Pipeline, method: str, **fields: Any) -> str:
    request = getattr(spaces_pb2, f"{method}Request")(collection="default", **fields)
    response = await getattr(pipeline.space_stub, method)(request, timeout=30, metadata=METADATA)
    return str(response.build_id)


async def state_of(pipeline: Pipeline) -> tuple[str, str]:
    ((state, error),) = await pipeline.rows("select state, error from space_builds order by created_at desc limit 1")
    return state, error


async def reached(pipeline: Pipeline, state: str) -> None:
    async def there() -> bool:
        return (await state_of(pipeline))[0] == state

    await eventually(there)


async def lacking(pipeline: Pipeline, space_id: str) -> int:
    ((table,),) = await pipeline.rows(f"select vectors_table from embedding_spaces where space_id = '{space_id}'")
    ((count,),) = await pipeline.rows(
        f"select count(*) from chunks where not exists (select from {table} as v where v.chunk_id = chunks.chunk_id)"
    )
    return int(count)


async def whole(pipeline: Pipeline, *space_ids: str) -> None:
    """Wait until no chunk lacks a vector in the spaces."""
    async def done() -> bool:
        return not any([await lacking(pipeline, space_id) for space_id in space_ids])

    await eventually(done)


async def indexed(pipeline: Pipeline, body: str, filename: str) -> None:
    submitted = await pipeline.submit(body, filename=filename)
    job = await pipeline.finished(submitted.job.job_id)
    assert job.stage == "done", job


async def test_a_space_is_built_switched_rolled_back_and_dropped_while_documents_come(serve: Serve) -> None:
    async with serve(further_spaces=[WIDE]) as pipeline:
        wide = WordEmbedder(pipeline.jetstream, space=WIDE, copies=2)
        for number in range(4):
            await indexed(pipeline, f"{DOCUMENT}\n\nNuméro {number} de la série.", f"{number}.md")
        await call(pipeline, "BuildSpace", space="wide-model")
        async with embedding(pipeline, wide):
            await reached(pipeline, "ready")
            await whole(pipeline, WIDE.space_id)
            # What comes while the new space stands by is in both.
            await indexed(pipeline, DOCUMENT, "pendant.md")
            await whole(pipeline, SPACE.space_id, WIDE.space_id)

            await call(pipeline, "SwitchSpace")
            assert await pipeline.rows("select space_id from collections") == [(WIDE.space_id,)]
            # New documents go to the new space, and into the one before, so that going back stays possible.
            await indexed(pipeline, "# Primes\n\nLes primes sont versées en décembre.", "apres.md")
            ((space_id,),) = await pipeline.rows(
                "select space_id from document_versions where filename = 'apres.md'"
            )
            assert space_id == WIDE.space_id
            await whole(pipeline, SPACE.space_id, WIDE.space_id)
            await call(pipeline, "RollbackSpace")
            assert await pipeline.rows("select space_id from collections") == [(SPACE.space_id,)]

            await call(pipeline, "DropSpace")
            ((table,),) = await pipeline.rows(
                f"select vectors_table from embedding_spaces where space_id = '{WIDE.space_id}'"
            )

            async def cleared() -> bool:
                return await pipeline.rows(f"select count(*) from {table}") == [(0,)]

            await eventually(cleared)
            assert await lacking(pipeline, SPACE.space_id) == 0


async def test_a_switch_by_force_is_made_whole_afterwards_and_so_is_a_return_by_force(serve: Serve) -> None:
    async with serve(further_spaces=[WIDE]) as pipeline:
        for number in range(3):
            await indexed(pipeline, f"{DOCUMENT}\n\nNuméro {number} de la série.", f"{number}.md")
        await call(pipeline, "BuildSpace", space=WIDE.space_id)
        await call(pipeline, "SwitchSpace", force=True)
        assert await lacking(pipeline, WIDE.space_id) > 0
        async with embedding(pipeline, WordEmbedder(pipeline.jetstream, space=WIDE)):
            await whole(pipeline, WIDE.space_id)

            async def no_gap_is_left() -> bool:
                return await pipeline.rows("select 1 from space_gaps") == []

            await eventually(no_gap_is_left)
            ((table,),) = await pipeline.rows(
                f"select vectors_table from embedding_spaces where space_id = '{SPACE.space_id}'"
            )
            await pipeline.rows(f"with gone as (delete from {table}) select 1")
            await call(pipeline, "RollbackSpace", force=True)
            await whole(pipeline, SPACE.space_id)


async def test_the_same_content_is_not_indexed_again_after_a_switch(serve: Serve) -> None:
    async with serve(further_spaces=[WIDE]) as pipeline, embedding(
        pipeline, WordEmbedder(pipeline.jetstream, space=WIDE)
    ):
        await indexed(pipeline, DOCUMENT, "guide.md")
        await call(pipeline, "BuildSpace", space=WIDE.space_id)
        await reached(pipeline, "ready")
        await call(pipeline, "SwitchSpace")
        assert (await pipeline.submit(DOCUMENT, filename="guide.md")).unchanged


async def test_a_service_that_is_not_there_is_named_and_the_build_goes_on_once_it_is(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space_builder, "STALL_SECONDS", 0.5)
    async with serve(further_spaces=[WIDE]) as pipeline:
        await indexed(pipeline, DOCUMENT, "guide.md")
        await call(pipeline, "BuildSpace", space=WIDE.space_id)

        async def told() -> bool:
            return "is an embed service" in (await state_of(pipeline))[1]

        await eventually(told)
        async with embedding(pipeline, WordEmbedder(pipeline.jetstream, space=WIDE)):
            await reached(pipeline, "ready")
        assert (await state_of(pipeline))[1] == ""


async def test_a_space_without_a_service_lets_the_gaps_of_others_be_closed(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space_builder, "STALL_SECONDS", 0.3)
    monkeypatch.setattr(space_builder, "PAGE_DOCUMENTS", 1)
    monkeypatch.setattr(space_builder, "POSTPONED_SECONDS", 0.5)
    absent = replace(WIDE, space_id="a-space-first-in-order")
    async with serve(further_spaces=[absent]) as pipeline:
        await indexed(pipeline, DOCUMENT, "guide.md")
        await call(pipeline, "BuildSpace", space=absent.space_id)
        for number in range(3):
            await indexed(pipeline, f"{DOCUMENT}\n\nNuméro {number} de la série.", f"{number}.md")
        ((table,),) = await pipeline.rows(
            f"select vectors_table from embedding_spaces where space_id = '{SPACE.space_id}'"
        )
        # The youngest gap is one of a space that has its service, too.
        await pipeline.rows(
            f"with gone as (delete from {table} where document_id = ("
            "select document_id from documents where filename = '2.md')) select 1"
        )
        await whole(pipeline, SPACE.space_id)
        assert await lacking(pipeline, absent.space_id) > 0
        async with embedding(pipeline, WordEmbedder(pipeline.jetstream, space=absent)):
            await whole(pipeline, absent.space_id)


async def test_chunks_that_wait_in_a_queue_that_nobody_reads_are_not_sent_again(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space_builder, "STALL_SECONDS", 0.3)
    monkeypatch.setattr(space_builder, "LOOK_SECONDS", 0.05)
    rounds, open_builds = 0, space_upkeep.open_builds

    async def counted(connection: Connection, *, state: str) -> list[space_upkeep.OpenBuild]:
        nonlocal rounds
        rounds += state == "building"
        return await open_builds(connection, state=state)

    monkeypatch.setattr(space_upkeep, "open_builds", counted)
    async with serve(further_spaces=[WIDE]) as pipeline:
        await indexed(pipeline, DOCUMENT, "guide.md")
        await call(pipeline, "BuildSpace", space=WIDE.space_id)

        async def told() -> bool:
            return "is an embed service" in (await state_of(pipeline))[1]

        await eventually(told)
        sent, before = await stream_messages(pipeline.jetstream), rounds

        async def again() -> bool:
            return rounds > before + 4

        await eventually(again)
        assert sent == await stream_messages(pipeline.jetstream) == 1
        async with embedding(pipeline, WordEmbedder(pipeline.jetstream, space=WIDE)):
            await reached(pipeline, "ready")


async def test_a_full_queue_is_told_at_the_build(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jetstream, "FULL_WAIT_SECONDS", 0.3)
    async with serve(further_spaces=[WIDE], queue_messages_max=1) as pipeline:
        for number in range(2):
            await indexed(pipeline, f"{DOCUMENT}\n\nNuméro {number} de la série.", f"{number}.md")
        await call(pipeline, "BuildSpace", space=WIDE.space_id)

        async def told() -> bool:
            return "is an embed service" in (await state_of(pipeline))[1]

        await eventually(told)
        async with embedding(pipeline, WordEmbedder(pipeline.jetstream, space=WIDE)):
            await reached(pipeline, "ready")


async def test_chunks_that_the_new_model_cannot_read_fail_the_build_with_the_way_out(serve: Serve) -> None:
    async with serve(further_spaces=[WIDE]) as pipeline:
        await indexed(pipeline, DOCUMENT, "guide.md")
        counted = pipeline.parts.spaces.of(WIDE.space_id)
        pipeline.parts.spaces._by_id[WIDE.space_id] = replace(counted, tokens=WordCounter(passage_limit=2))
        await call(pipeline, "BuildSpace", space=WIDE.space_id)
        await reached(pipeline, "failed")
        assert "cut the collection's documents shorter" in (await state_of(pipeline))[1]
        # Repaired, it begins anew.
        pipeline.parts.spaces._by_id[WIDE.space_id] = counted
        await call(pipeline, "BuildSpace", space=WIDE.space_id)
        async with embedding(pipeline, WordEmbedder(pipeline.jetstream, space=WIDE)):
            await reached(pipeline, "ready")


async def test_a_dead_letter_of_a_build_is_told_at_the_build_and_harms_no_document(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consuming, "DELIVERIES_MAX", 1)
    async with serve(further_spaces=[WIDE]) as pipeline:
        await indexed(pipeline, DOCUMENT, "guide.md")
        await call(pipeline, "BuildSpace", space=WIDE.space_id)
        wrong = WordEmbedder(pipeline.jetstream, space=replace(WIDE, dimension=16))
        async with embedding(pipeline, wrong):
            async def told() -> bool:
                return "dimensions" in (await state_of(pipeline))[1]

            await eventually(told)
        assert await pipeline.rows("select count(*) from dead_letters") == [(0,)]
        assert await pipeline.rows("select status from jobs") == [("completed",)]


async def test_unknown_spaces_and_collections_are_refused(serve: Serve) -> None:
    async with serve(further_spaces=[WIDE]) as pipeline:
        await indexed(pipeline, DOCUMENT, "guide.md")
        for method, fields, code in (
            ("BuildSpace", {"space": "unknown"}, "NOT_FOUND"), ("BuildSpace", {}, "INVALID_ARGUMENT"),
            ("BuildSpace", {"space": SPACE.space_id}, "FAILED_PRECONDITION"), ("SwitchSpace", {}, "NOT_FOUND"),
            ("RollbackSpace", {}, "NOT_FOUND"), ("DropSpace", {}, "NOT_FOUND"),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await call(pipeline, method, **fields)
            assert refused.value.code().name == code, (method, refused.value.details())


async def test_a_large_space_has_its_index_before_it_is_ready(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spaces, "EXACT_ROWS_MAX", 0)
    async with serve(further_spaces=[WIDE]) as pipeline, embedding(
        pipeline, WordEmbedder(pipeline.jetstream, space=WIDE)
    ):
        await indexed(pipeline, DOCUMENT, "guide.md")
        await call(pipeline, "BuildSpace", space=WIDE.space_id)
        await reached(pipeline, "ready")
        ((table,),) = await pipeline.rows(
            f"select vectors_table from embedding_spaces where space_id = '{WIDE.space_id}'"
        )
        assert await pipeline.rows(
            f"select indisvalid from pg_index join pg_class on pg_class.oid = indexrelid "
            f"join pg_am on pg_am.oid = relam where indrelid = '{table}__acme'::regclass and amname = 'hnsw'"
        ) == [(True,)]


async def test_a_document_that_waits_goes_to_the_space_that_its_collection_was_switched_to(serve: Serve) -> None:
    async with serve(stages="", further_spaces=[WIDE]) as pipeline:
        await pipeline.submit(DOCUMENT, filename="guide.md")
        await call(pipeline, "BuildSpace", space=WIDE.space_id)
        await call(pipeline, "SwitchSpace", force=True)
        async with pipeline.database.transaction(tenant=ALL_TENANTS) as connection:
            (released,) = await releases.release(connection, in_flight_max=10, limit=10)
        assert released.space_id == WIDE.space_id
