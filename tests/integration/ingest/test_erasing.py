"""The erasure of a tenant: nothing of it is left in any table, file, queue or log, and another tenant is whole."""

from __future__ import annotations

from typing import Any

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.postgres.database import ALL_TENANTS
from sourcier.services.index.erasure import rows
from tests.fix_servers import S3Bucket
from tests.integration.ingest.fix_pipeline import METADATA, TENANT, Pipeline, ingesting

OTHER = (("sourcier-tenant", "other"),)


async def erased(pipeline: Pipeline, **fields: Any) -> list[ingest_pb2.EraseTenantResponse]:
    """Return what is told of an erasure."""
    request = ingest_pb2.EraseTenantRequest(tenant=TENANT, **fields)
    return [each async for each in pipeline.stub.EraseTenant(request, timeout=60, metadata=METADATA)]


async def test_every_table_with_a_tenant_is_erased_or_named_as_kept(
    database_url: str, nats_url: str, subject_prefix: str, s3_bucket: S3Bucket
) -> None:
    async with ingesting(
        database_url=database_url, nats_url=nats_url, prefix=subject_prefix, bucket=s3_bucket, stages=""
    ) as pipeline, pipeline.database.transaction(tenant=ALL_TENANTS) as connection:
        cursor = await connection.execute(TABLES)
        tables = {table for (table,) in await cursor.fetchall()}
    assert tables == {*rows.CURATION, *rows.REST, *rows.ACCESS, *rows.KEPT}


async def test_a_tenant_is_erased_and_another_one_is_whole(
    database_url: str, nats_url: str, subject_prefix: str, s3_bucket: S3Bucket
) -> None:
    async with ingesting(
        database_url=database_url, nats_url=nats_url, prefix=subject_prefix, bucket=s3_bucket
    ) as pipeline:
        job = (await pipeline.submit("Le préavis est de trois mois.")).job
        assert (await pipeline.finished(job.job_id)).stage == "done"
        [counted] = await erased(pipeline, dry_run=True)
        assert {each.kind: each.count for each in counted.counts}["documents"] == 1
        *_, report = await erased(pipeline)
        assert report.finished
        assert await pipeline.keys() == []
        assert await pipeline.rows("select from documents") == []


TABLES = """
select relname from pg_class
join pg_attribute on attrelid = pg_class.oid and attname = 'tenant'
where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace
  and relname not like 'vectors\\_%'
"""
