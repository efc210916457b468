"""Full queues make publishers wait, drop nothing and lock nothing up; the interactive lane passes a long backlog."""

from __future__ import annotations

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.queue import subjects
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import Pipeline
from tests.waiting import eventually

SLOTS = 4
DOCUMENTS = 12
"""Each hop holds one or has it in hand in each slot; so many fill all of them."""
BACKLOG = 4_000


def long_text(number: int) -> str:
    """Return a text of several batches of chunks."""
    return "\n\n".join(f"# Partie {part}\n\n" + f"Mot{number} " * 250 for part in range(3))


async def test_hops_that_are_full_lose_nothing_and_do_not_deadlock(serve: Serve) -> None:
    async with serve(
        queue_messages_max=1, in_flight_max=DOCUMENTS, parse_slots=SLOTS, chunk_slots=SLOTS
    ) as service:
        info = await service.jetstream.context.stream_info(
            subjects.stream_name(service.jetstream.prefix, subjects.READY)
        )
        assert info.config.max_msgs_per_subject == 1
        # While nothing is embedded, every hop before it fills up.
        service.embedder.gate.clear()
        submitted = [
            await service.submit(long_text(number), filename=f"{number}.md", lane="bulk") for number in range(DOCUMENTS)
        ]
        await service.embedder.held.wait()

        async def ready_is_full() -> bool:
            state = (await service.jetstream.context.stream_info(info.config.name or "")).state
            return state.messages >= 1

        await eventually(ready_is_full)
        service.embedder.gate.set()
        for response in submitted:
            job = await service.finished(response.job.job_id)
            assert job.status == ingest_pb2.JOB_STATUS_COMPLETED, job.error.message
        assert await service.rows("select count(distinct document_id)::int from chunks") == [(DOCUMENTS,)]
        assert await service.rows("select count(*)::int from dead_letters") == [(0,)]
        doubled = await service.rows(
            "select document_id, chunk_index from chunks group by 1, 2 having count(*) > 1"
        )
        assert doubled == []


async def test_an_interactive_upload_passes_thousands_of_waiting_documents(serve: Serve) -> None:
    async with serve(in_flight_max=8) as service:
        first = await service.submit("Le premier document en attente.", filename="first.md", lane="bulk")
        await service.finished(first.job.job_id)
        # In hand and not done: the bulk lane stands still with all its slots taken.
        service.embedder.gate.clear()
        await backlog(service, BACKLOG)
        service.relay.wake()
        await service.embedder.held.wait()
        assert await waiting(service) >= BACKLOG - 8
        service.embedder.gate.set()
        urgent = await service.submit("Un document pressé.", filename="urgent.md", lane="interactive")
        job = await service.finished(urgent.job.job_id)
        assert job.status == ingest_pb2.JOB_STATUS_COMPLETED
        # Most of the backlog still waits: the upload did not.
        assert await waiting(service) > BACKLOG * 9 // 10


async def backlog(service: Pipeline, count: int) -> None:
    """Accept documents as many uploads would have, in one statement: the first one's content under other names."""
    [(version_id, original_key)] = await service.rows("select version_id, original_key from document_versions")
    assert original_key
    ids = [[new_id() for _ in range(count)] for _ in range(3)]
    async with service.database.transaction(tenant="acme") as connection:
        values = {"version_id": version_id, "documents": ids[0], "versions": ids[1], "jobs": ids[2]}
        for statement in BACKLOG_STATEMENTS:
            await connection.execute(statement.encode(), values)


async def waiting(service: Pipeline) -> int:
    """Return how many documents of the bulk lane are not released yet."""
    rows = await service.rows("select count(*)::int from document_versions where state = 'accepted' and lane = 'bulk'")
    return int(rows[0][0])


_SAME = """
from unnest(%(documents)s::uuid[], %(versions)s::uuid[], %(jobs)s::uuid[]) as made (document_id, version_id, job_id),
     document_versions as like_it
where like_it.version_id = %(version_id)s
"""
BACKLOG_STATEMENTS = (
    f"""
insert into documents (document_id, tenant, collection_id, source, title, filename, content_type, size_bytes,
                       content_sha256, last_generation)
select made.document_id, tenant, collection_id, made.document_id::text, '', filename, '', size_bytes, content_sha256, 1
{_SAME}""",
    f"""
insert into document_versions (version_id, tenant, collection_id, document_id, generation, job_id, space_id, lane,
                               state, original_key, title, filename, content_type, size_bytes, content_sha256,
                               configuration_digest, metadata, category, request_id)
select made.version_id, tenant, collection_id, made.document_id, 1, made.job_id, space_id, 'bulk', 'accepted',
       original_key, '', filename, '', size_bytes, content_sha256, configuration_digest, '{{}}', '', ''
{_SAME}""",
    f"""
insert into jobs (job_id, tenant, collection_id, document_id, version_id, lane, status, filename, size_bytes)
select made.job_id, tenant, collection_id, made.document_id, made.version_id, 'bulk', 'pending', filename, size_bytes
{_SAME}""",
)
