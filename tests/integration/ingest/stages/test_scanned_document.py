"""A scan and a picture from their upload to passages that can be found: the real reader, the real OCR."""

from __future__ import annotations

import base64
import io
from functools import partial
from pathlib import Path

import pytest
from PIL import Image

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.index.places import encoding
from sourcier.services.index.places.place import PagePlace, ParagraphsPlace, Rectangle
from sourcier.services.ingest.parsing.limits import MEBIBYTE, ParsingLimits
from sourcier.services.ingest.stages.by_parts.recognisers import Recognisers
from sourcier.services.ingest.stages.sandbox import ParserPool
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import Pipeline
from tests.integration.ingest.fix_vision_endpoint import asking, describing
from tests.unit.ingest.fix_office_files import paragraph
from tests.unit.ingest.fix_pdf_pages import HEIGHT, WIDTH, PageMaker, write_pdf
from tests.unit.ingest.fix_pictures import blip, drawn, file_of, word_with
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


async def test_pictures_inside_documents_can_be_found_with_their_places(serve: Serve, tmp_path: Path) -> None:
    said, sold = drawn("Sortie de secours"), drawn("Ventes 2025", shade=250)
    broken = file_of(drawn("Entrée"))[:900]
    word = word_with(
        tmp_path / "guide.docx",
        paragraph("Le plan est affiché.", blip("p1")) + paragraph(blip("p2")) + paragraph(blip("p3")),
        {"p1": file_of(said), "p2": broken, "p3": file_of(Image.new("1", (20_000, 20_000)))},
    ).read_bytes()
    page = PageMaker().lines(50, 80, ["Le texte de la page, qui n'est pas relu."] * 4)
    report = write_pdf(tmp_path / "bilan.pdf", [page.image(100, 300, 420, 420, sold)]).read_bytes()
    async with (
        ParserPool(concurrency=1) as parsers,
        Recognisers(concurrency=1, threads=2, limits=LIMITS) as recognisers,
        describing() as endpoint, asking(endpoint.url) as vision,
        serve(
            stages="accept,parse,ocr,chunk,index", parsers=parsers, recognisers=recognisers, vision=vision
        ) as service,
    ):
        for body, filename in ((word, "guide.docx"), (report, "bilan.pdf")):
            response = await service.submit(body, filename=filename, source=filename)
            await eventually(partial(is_over, service, response.job.job_id), seconds=140)
            job = await service.job(response.job.job_id)
            assert job.status == ingest_pb2.JOB_STATUS_COMPLETED, job.error
        rows = await service.rows(
            "select source, text, place_map from chunks join documents using (document_id) "
            "where text like '[Image%' order by source"
        )
        found = {source: (text, encoding.decode(bytes(kept))) for source, text, kept in rows}
        assert found.keys() == {"bilan.pdf", "guide.docx"}
        text, kept = found["bilan.pdf"]
        assert "Ventes 2025" in text
        assert kept.places(0, len(text)) == (
            PagePlace(1, "", WIDTH, HEIGHT, (Rectangle(100, 300, 320, 120),), picture=1),
        )
        text, kept = found["guide.docx"]
        assert "Sortie de secours" in text
        assert "Description : Un plan d'évacuation du rez-de-chaussée." in text
        assert len(endpoint.sent) == 2
        sent = endpoint.sent[0]["messages"][0]["content"][1]["image_url"]["url"].partition(",")[2]
        with Image.open(io.BytesIO(base64.b64decode(sent))) as picture:
            assert (picture.format, picture.size) == ("JPEG", (640, 240))
        assert kept.places(0, len(text)) == (ParagraphsPlace(1, 1, picture=1),)
        warnings = await service.rows("select reading_warnings from document_versions")
        assert "pictures_not_read" in str(warnings)
