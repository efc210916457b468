"""A scan and a picture from their upload to passages that can be found: the real reader, the real OCR."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.ingest.parsing.limits import MEBIBYTE, ParsingLimits
from sourcier.services.ingest.stages.by_parts.recognisers import Recognisers
from sourcier.services.ingest.stages.sandbox import ParserPool
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import Pipeline
from tests.unit.ingest.fix_scans import as_bytes, notice, scan_pdf, scanned
from tests.waiting import eventually

pytestmark = [pytest.mark.usefixtures("keeping_priority"), pytest.mark.timeout(300)]
LIMITS = ParsingLimits(wall_seconds=600, cpu_seconds=1200, memory_bytes=3072 * MEBIBYTE)


async def is_over(service: Pipeline, job_id: str) -> bool:
    return (await service.job(job_id)).status in (ingest_pb2.JOB_STATUS_COMPLETED, ingest_pb2.JOB_STATUS_FAILED)


async def test_scans_and_pictures_can_be_found(serve: Serve, tmp_path: Path) -> None:
    picture = scanned(notice(["La cantine est fermée le lundi."], title="Avis"), tmp_path, height=0.2)
    second = scanned(notice(["Le parking ferme à vingt heures."], title="Accès"), tmp_path, height=0.2)
    scan = scan_pdf(tmp_path / "scan.pdf", [picture, second]).read_bytes()
    async with (
        ParserPool(concurrency=1) as parsers,
        Recognisers(concurrency=1, threads=2, limits=LIMITS) as recognisers,
        serve(stages="accept,parse,ocr,chunk,index", parsers=parsers, recognisers=recognisers) as service,
    ):
        for body, filename in ((scan, "scan.pdf"), (as_bytes(picture), "avis.png")):
            response = await service.submit(body, filename=filename, source=filename)
            await eventually(partial(is_over, service, response.job.job_id), seconds=140)
            job = await service.job(response.job.job_id)
            assert job.status == ingest_pb2.JOB_STATUS_COMPLETED, job.error
        rows = await service.rows("select source, page, text from chunks join documents using (document_id) "
                                  "order by source, chunk_index")
        found = {(source, page): text for source, page, text in rows}
        assert "La cantine est fermée le lundi." in found["avis.png", 1]
        assert "La cantine est fermée le lundi." in found["scan.pdf", 1]
        assert "Le parking ferme à vingt heures." in found["scan.pdf", 2]
