"""Documents made to harm: they reach no network, read no file, and take no more than they are allowed."""

from __future__ import annotations

import asyncio
import zipfile
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import docx
import pytest
from docx.opc.constants import RELATIONSHIP_TYPE

from sourcier.services.chassis.errors import DocumentRejected
from sourcier.services.ingest.parsing.limits import MEBIBYTE, ParsingLimits
from sourcier.services.ingest.stages.sandbox import ParserPool

LIMITS = ParsingLimits(wall_seconds=60, memory_bytes=768 * MEBIBYTE)
ENDING_SECONDS_MAX = 30.0
"""For the end of what is over its limits, on a machine that has much else to do."""
pytestmark = pytest.mark.usefixtures("keeping_priority")


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParserPool]:
    async with ParserPool(concurrency=1, limits=LIMITS) as opened:
        yield opened


@pytest.fixture
async def canary() -> AsyncIterator[tuple[str, list[str]]]:
    """A web server's address, and who called."""
    calls: list[str] = []

    async def called(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        calls.append(str(writer.get_extra_info("peername")))
        writer.close()

    server = await asyncio.start_server(called, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}", calls


async def test_no_document_calls_out(pool: ParserPool, canary: tuple[str, list[str]], tmp_path: Path) -> None:
    address, calls = canary
    decimal = address.replace("127.0.0.1", "2130706433")
    images = "".join(f'<img src="{url}/a.png"><link rel="stylesheet" href="{url}/a.css">' for url in (address, decimal))
    page = tmp_path / "a.html"
    page.write_text(
        f'<html><head><base href="{address}"></head><body><p>Texte</p>{images}<img src="/b.png"></body></html>'
    )
    notes = tmp_path / "a.md"
    notes.write_text(f"# Titre\n\n![image]({address}/a.png)\n\n<img src='{address}/b.png'>\n\nTexte\n")
    letter = docx.Document()
    letter.add_paragraph("Texte")
    letter.part.relate_to(f"{address}/a.png", RELATIONSHIP_TYPE.IMAGE, is_external=True)
    await asyncio.to_thread(letter.save, str(tmp_path / "a.docx"))
    for name in ("a.html", "a.md", "a.docx"):
        assert "Texte" in (await pool.parse(tmp_path / name, filename=name)).text
    assert calls == []
    assert pool.network_isolation in ("namespace", "sockets")


async def test_external_entities_reach_no_file(pool: ParserPool, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("le-secret")
    page = tmp_path / "a.html"
    page.write_text(
        f'<!DOCTYPE html [<!ENTITY x SYSTEM "file://{secret}">]><html><body><p>Texte &x;</p>'
        f'<img src="file://{secret}"><iframe src="file://{secret}"></iframe></body></html>'
    )
    notes = tmp_path / "a.md"
    notes.write_text(f"Texte ![x](file://{secret}) <object data='file://{secret}'></object>")
    for name in ("a.html", "a.md"):
        assert "le-secret" not in (await pool.parse(tmp_path / name, filename=name)).text


def pdf_bomb(levels: int) -> bytes:
    """A page whose content is 400 MB of spaces, deflated once for each level."""
    compressor = zlib.compressobj(1)
    block = b" " * MEBIBYTE
    content = b"".join(compressor.compress(block) for _ in range(400)) + compressor.flush()
    for _ in range(levels - 1):
        content = zlib.compress(content, 1)
    filters = b"[" + b"/FlateDecode " * levels + b"]"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R>>",
        b"<</Length %d/Filter%s>>\nstream\n%s\nendstream" % (len(content), filters, content),
    ]
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (number, text) for number, text in enumerate(objects, 1))
    return b"%PDF-1.7\n" + body + b"trailer<</Root 1 0 R/Size 5>>\n%%EOF"


@pytest.mark.parametrize("levels", [1, 2])
async def test_a_pdf_bomb_is_refused_within_the_limits(pool: ParserPool, tmp_path: Path, levels: int) -> None:
    path = tmp_path / "bombe.pdf"
    await asyncio.to_thread(lambda: path.write_bytes(pdf_bomb(levels)))
    async with asyncio.timeout(LIMITS.wall_seconds + ENDING_SECONDS_MAX):
        with pytest.raises(DocumentRejected) as caught:
            await pool.parse(path, filename="bombe.pdf")
    assert "bombe.pdf" in caught.value.message


async def test_an_archive_writes_nothing_outside_its_folder(pool: ParserPool, tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    target = tmp_path.parent / "evaded.txt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", "<w/>")
        for name in (f"../{target.name}", str(target), f"word/../../{target.name}"):
            archive.writestr(name, "x")
    with pytest.raises(DocumentRejected):
        await pool.parse(path, filename="a.docx")
    assert not target.exists()
