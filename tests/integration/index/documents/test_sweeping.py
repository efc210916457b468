"""Sweeps of what ended long ago: what they take and leave, and that they read no table that grows with the corpus."""

from __future__ import annotations

from sourcier.services.chassis.postgres.database import ALL_TENANTS
from sourcier.services.index.documents import documents, sweeping
from tests.integration.index.writer import Writer

DAY = 24 * 3600.0
MONTH = 30 * DAY


async def ended(writer: Writer, source: str, *, days: float, deleted: bool = False) -> str:
    """Index a document whose job ended so many days ago; return the job's id."""
    version = (await writer.accept(source, source)).version
    await writer.stage(version, [source])
    async with writer.database.transaction(tenant="acme") as connection:
        await connection.execute(
            "update jobs set finished_at = now() - make_interval(secs => %s) where job_id = %s",
            (days * DAY, version.job_id),
        )
        if deleted:
            await documents.delete_document(connection, tenant="acme", document_id=version.document_id)
    return version.job_id


async def kept(writer: Writer) -> set[str]:
    async with writer.database.transaction(tenant="acme") as connection:
        cursor = await connection.execute("select job_id from jobs")
        return {str(job_id) for (job_id,) in await cursor.fetchall()}


async def test_old_jobs_of_what_is_gone_are_forgotten_page_by_page(writer: Writer) -> None:
    live = [await ended(writer, f"{number}.txt", days=50 - number) for number in range(3)]
    gone = [await ended(writer, f"gone-{number}.txt", days=40 - number, deleted=True) for number in range(2)]
    young = await ended(writer, "young.txt", days=29, deleted=True)
    after: sweeping.EndedJob | None = None
    pages = []
    for _ in range(3):
        async with writer.database.transaction(tenant=ALL_TENANTS) as connection:
            after = await sweeping.forget_jobs(connection, older_than_seconds=MONTH, limit=2, after=after)
        pages.append((after.job_id if after is not None else None, await kept(writer)))
    # Those of documents that are there are looked at once, and the look after them does not begin with them.
    assert pages == [
        (live[1], {*live, *gone, young}), (gone[0], {*live, gone[1], young}), (None, {*live, young}),
    ]


async def test_sweeps_of_jobs_and_letters_go_by_an_index(writer: Writer) -> None:
    values = {"older_than_seconds": MONTH, "limit": 10, "finished_at": None, "job_id": None}
    async with writer.database.transaction(tenant=ALL_TENANTS) as connection:
        await connection.execute("set local enable_seqscan = off")
        for statement, index in ((sweeping.DELETE_JOBS, "jobs_by_end"),
                                 (sweeping.DELETE_LETTERS, "dead_letters_closed")):
            cursor = await connection.execute(f"explain {statement}".encode(), values)
            plan = "\n".join(str(line) for (line,) in await cursor.fetchall())
            assert f"using {index}" in plan or f"on {index}" in plan, plan
