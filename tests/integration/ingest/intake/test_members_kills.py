"""The service killed at every step of recording what an archive holds: the next life goes on, and nothing is twice."""

from __future__ import annotations

import asyncio
import dataclasses
import signal
from functools import partial

import pytest

from sourcier.services.chassis import failpoints
from tests.fix_servers import S3Bucket
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_lives import Life
from tests.integration.ingest.fix_pipeline import Pipeline
from tests.integration.ingest.intake.test_members import archive, send, sources
from tests.integration.ingest.members_process import ACK_WAIT_SECONDS
from tests.waiting import eventually

KILLED_AT = tuple(name for name in failpoints.NAMES if name.startswith("members."))


async def all_over(service: Pipeline) -> bool:
    return not await service.rows("select from document_versions where state in ('accepted', 'released')")


async def originals_match(service: Pipeline) -> bool:
    """Tell whether every version has its original, and every original a version, or a note that it is to go."""
    rows = await service.rows(
        "select true, original_key from document_versions union all select false, original_key from file_removals"
    )
    kept = {key for is_kept, key in rows if is_kept}
    stored = {key for key in await service.keys() if key.startswith("documents/")}
    return kept <= stored <= {key for _, key in rows}


@pytest.mark.timeout(300)
async def test_what_kills_left_is_recorded_once(
    serve: Serve, database_url: str, nats_url: str, subject_prefix: str, s3_bucket: S3Bucket, life: Life
) -> None:
    """One message, and a life for each step: every kill is met by a life that gets one step further."""
    given = {
        "database_url": database_url, "nats_url": nats_url, "prefix": subject_prefix,
        "bucket": dataclasses.asdict(s3_bucket),
    }
    async with serve() as service:
        await send(service, archive(a_md="Le préavis.", b_md="La prime."), "a.zip")
    async with serve(stages="") as service:
        # Another archive in its place: a member comes, one changes, and one goes.
        await service.submit(archive(b_md="La prime de mars.", c_md="Le congé."), filename="a.zip", source="a.zip")
    for name in KILLED_AT:
        async with life("members_process", given, faults=f"{name}=kill:1") as process:
            assert await asyncio.wait_for(process.wait(), 60) == -signal.SIGKILL
    async with serve(ack_wait_seconds=ACK_WAIT_SECONDS) as service:
        await eventually(partial(all_over, service), seconds=60)
        assert await sources(service) == ["a.zip", "a.zip/b.md", "a.zip/c.md"]
        assert sorted(await service.texts()) == ["- b.md\n- c.md", "La prime de mars.", "Le congé."]
        counted = await service.rows("select count(*) from document_versions group by document_id order by 1")
        assert counted[0] == (1,), "a member that is new was recorded once"
        await eventually(partial(originals_match, service), seconds=10)
