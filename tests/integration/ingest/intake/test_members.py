"""What comes inside a mail or an archive is documents of its own: recorded once, replaced and deleted with it."""

from __future__ import annotations

import asyncio
import io
import zipfile
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis import failpoints
from sourcier.services.chassis.failpoints import VARIABLE, Failpoints
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import ALL_TENANTS
from sourcier.services.chassis.queue import subjects
from sourcier.services.index.pipeline import releases
from sourcier.services.ingest.intake import members
from sourcier.services.ingest.intake.members import member_source
from sourcier.services.ingest.messages import received_message
from sourcier.services.ingest.stages.sandbox import ParsedArtefact
from tests.integration.chassis.fix_jetstream import stream_messages
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import METADATA, Pipeline, PlainParsers
from tests.integration.ingest.stages.test_ocr_stage import PlainRecognisers
from tests.waiting import eventually

QUEUES = (subjects.RECEIVED, subjects.PARSED, subjects.READY, subjects.EMBEDDED)


def archive(**files: str | bytes) -> bytes:
    """Return an archive; a name's last underscore is its dot."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as written:
        for name, content in files.items():
            # Always of one moment: the same files are the same archive.
            written.writestr(zipfile.ZipInfo(".".join(name.rsplit("_", 1))), content)
    return buffer.getvalue()


def mail(*attached: str, subject: str = "Budget 2026") -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "Zoé <zoe@exemple.fr>", "paie@exemple.fr", subject
    message["Date"] = "Tue, 3 Mar 2026 14:05:00 +0100"
    message.set_content("Voici le budget.")
    for name in attached:
        message.add_attachment(f"Texte de {name}.", filename=name)
    return message.as_bytes()


async def idle(service: Pipeline) -> None:
    """Wait until no version is under way and no stage has anything left to do."""
    async def over() -> bool:
        under_way = await service.rows("select from document_versions where state in ('accepted', 'released')")
        return not under_way and not any([await stream_messages(service.jetstream, queue) for queue in QUEUES])

    await eventually(over, seconds=60)


async def sources(service: Pipeline) -> list[str]:
    return [source for (source,) in await service.rows("select source from documents order by source")]


async def originals(service: Pipeline) -> int:
    return sum(1 for key in await service.keys() if key.startswith("documents/"))


async def send(service: Pipeline, body: bytes, filename: str) -> str:
    """Send a document, wait until all that comes of it is over, and return its id."""
    response = await service.submit(body, filename=filename, source=filename, metadata={"team": "paie"})
    assert (await service.finished(response.job.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
    await idle(service)
    return str(response.job.document_id)


async def test_an_archive_is_its_members_with_it_replaced_and_deleted_with_it(serve: Serve) -> None:
    async with serve() as service:
        document_id = await send(service, archive(a_md="Le préavis.", b_md="La prime.", c_md="Le congé."), "a.zip")
        assert await sources(service) == ["a.zip", "a.zip/a.md", "a.zip/b.md", "a.zip/c.md"]
        assert await originals(service) == 4
        assert sorted(await service.texts()) == ["- a.md\n- b.md\n- c.md", "La prime.", "Le congé.", "Le préavis."]
        ((metadata,),) = await service.rows("select metadata from documents where source = 'a.zip/a.md'")
        assert metadata == {"team": "paie", "part_of": "a.zip"}
        known = dict(await service.rows("select source, current_version from documents"))

        await send(service, archive(a_md="Le préavis.", b_md="La prime de mars.", d_md="Le repos."), "a.zip")
        assert await sources(service) == ["a.zip", "a.zip/a.md", "a.zip/b.md", "a.zip/d.md"]
        assert sorted(await service.texts())[1:] == ["La prime de mars.", "Le préavis.", "Le repos."]
        now = dict(await service.rows("select source, current_version from documents"))
        # What is the same was not read again.
        assert [name for name in known if now.get(name) == known[name]] == ["a.zip/a.md"]

        await service.stub.Delete(ingest_pb2.DeleteRequest(document_id=document_id), timeout=30, metadata=METADATA)
        assert await sources(service) == []
        assert await service.texts() == []
        assert await service.rows("select from document_versions") == []
        assert await originals(service) == 0


async def test_a_mail_says_who_sent_it_and_its_metadata_stays(serve: Serve) -> None:
    async with serve() as service:
        for _ in range(2):
            # Sent again as it is, a document takes its sender's metadata, and keeps what it says of itself.
            await send(service, mail("annexe.md", "annexe.md"), "mail.eml")
        assert await sources(service) == ["mail.eml", "mail.eml/annexe (2).md", "mail.eml/annexe.md"]
        ((metadata,),) = await service.rows("select metadata from documents where source = 'mail.eml'")
        assert metadata == {
            "team": "paie", "from": "Zoé <zoe@exemple.fr>", "to": "paie@exemple.fr", "subject": "Budget 2026",
            "date": "2026-03-03T14:05:00+01:00",
        }
        # Under another name the content is known: what is inside it is due all the same.
        await send(service, mail("annexe.md", "annexe.md"), "copie.eml")
        assert len(await sources(service)) == 6
        # Without attachments, the mail that takes its place leaves none.
        await send(service, mail(), "mail.eml")
        assert await sources(service) == ["copie.eml", "copie.eml/annexe (2).md", "copie.eml/annexe.md", "mail.eml"]


@pytest.mark.parametrize(("filename", "body"), [("a.md", "Un texte."), ("a.txt", "Un texte."), ("a.pdf", "!scanned 2")])
async def test_whatever_takes_the_place_of_an_archive_leaves_no_member(
    serve: Serve, filename: str, body: str
) -> None:
    async with serve(stages="accept,parse,ocr,chunk,index", recognisers=PlainRecognisers()) as service:
        for name, content in (("a.zip", archive(a_md="Le préavis.", b_md="La prime.")), (filename, body.encode())):
            response = await service.submit(content, filename=name, source="a")
            assert (await service.finished(response.job.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
            await idle(service)
        assert await sources(service) == ["a"]
        assert len(await service.texts()) == 1


class HeldParsers(PlainParsers):
    """Reads archives when the test lets it."""

    def __init__(self) -> None:
        """Begin with a closed gate."""
        super().__init__()
        self.gate, self.held = asyncio.Event(), asyncio.Event()

    async def parse_artefact(self, path: Path, *, filename: str, **named: Any) -> ParsedArtefact:
        """Wait before an archive."""
        if filename.endswith(".zip"):
            self.held.set()
            await self.gate.wait()
        return await super().parse_artefact(path, filename=filename, **named)


@pytest.mark.parametrize("filename", ["a.md", "a.txt"])
async def test_an_archive_that_is_late_leaves_no_member(serve: Serve, filename: str) -> None:
    parsers = HeldParsers()
    async with serve(parsers=parsers) as service:
        late = await service.submit(archive(a_md="Le préavis."), filename="a.zip", source="a")
        await parsers.held.wait()
        service.embedder.gate.clear()
        newer = await service.submit("Un texte.", filename=filename, source="a")
        await service.embedder.held.wait()
        # The newer version was read, and is not visible yet: the older one is still to be, as far as anybody knows.
        parsers.gate.set()

        async def is_read() -> bool:
            return "parsed" in [entry.stage for entry in (await service.job(late.job.job_id)).stage_times]

        await eventually(is_read, seconds=30)
        service.embedder.gate.set()
        assert (await service.finished(newer.job.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
        await idle(service)
        assert await sources(service) == ["a"]
        assert await service.texts() == ["Un texte."]


@pytest.mark.parametrize("place", ["members.after-store", "members.before-commit", "members.after-commit"])
async def test_nothing_is_lost_or_doubled_where_it_breaks_off(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    broken = Failpoints({VARIABLE: f"{place}=error:1"})
    monkeypatch.setattr(failpoints, "_failpoints", broken)
    async with serve() as service:
        body = archive(a_md="Le préavis.", b_md="La prime.")
        job = (await service.submit(body, filename="a.zip", source="a.zip")).job

        async def failed() -> bool:
            return bool(await service.keys()) and await stream_messages(service.jetstream, subjects.RECEIVED) > 0

        await eventually(failed, seconds=30)
        broken.faults = {}
        assert (await service.finished(job.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
        await idle(service)
        assert await sources(service) == ["a.zip", "a.zip/a.md", "a.zip/b.md"]
        assert len(await service.texts()) == 3
        assert await originals(service) == 3
        ((count,),) = await service.rows("select count(*) from document_versions")
        assert count == 3


async def test_a_message_that_comes_again_finds_the_members_there(serve: Serve) -> None:
    async with serve() as service:
        service.embedder.gate.clear()
        job = (await service.submit(archive(a_md="Le préavis."), filename="a.zip", source="a.zip")).job
        await service.embedder.held.wait()
        async with service.database.transaction(tenant=ALL_TENANTS) as connection:
            waiting = await releases.stalled(connection, older_than_seconds=0, limit=10)
        for version in waiting:
            await service.jetstream.publish(
                subjects.DOCUMENT_RECEIVED, received_message(version), tenant="acme", lane="bulk", message_id=new_id()
            )
        service.embedder.gate.set()
        await service.finished(job.job_id)
        await idle(service)
        assert await sources(service) == ["a.zip", "a.zip/a.md"]
        assert await originals(service) == 2


async def test_a_document_of_its_own_is_not_taken_over(serve: Serve) -> None:
    async with serve() as service:
        await send(service, b"La mienne.", "a.zip/a.md")
        document_id = await send(service, archive(a_md="L’autre.", b_md="La prime."), "a.zip")
        assert "La mienne." in await service.texts()
        # Sent by itself, a member belongs to nobody.
        await send(service, "La prime, corrigée.".encode(), "a.zip/b.md")
        await service.stub.Delete(ingest_pb2.DeleteRequest(document_id=document_id), timeout=30, metadata=METADATA)
        assert await sources(service) == ["a.zip/a.md", "a.zip/b.md"]


async def test_archives_in_archives_are_opened_so_deep(serve: Serve) -> None:
    body: bytes = archive(fond_md="Au fond.")
    for _ in range(4):
        body = archive(dedans_zip=body)
    async with serve() as service:
        document_id = await send(service, body, "a.zip")
        failed = await service.rows("select source, error_message from jobs join documents using (document_id) "
                                    "where status = 'failed'")
        assert [source.count(".zip") for source, _ in failed] == [members.DEPTH_MAX + 1]
        assert "send it by itself" in failed[0][1]
        await service.stub.Delete(ingest_pb2.DeleteRequest(document_id=document_id), timeout=30, metadata=METADATA)
        assert await sources(service) == []


async def test_all_that_is_inside_one_document_is_bounded(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "WITHIN_MAX", 3)
    inner = archive(a_md="un", b_md="deux", c_md="trois")
    async with serve() as service:
        await send(service, archive(dedans_zip=inner, d_md="quatre"), "a.zip")
        assert await sources(service) == ["a.zip", "a.zip/d.md", "a.zip/dedans.zip"]


def test_a_name_that_is_too_long_is_told_by_a_digest() -> None:
    one, other = (member_source(f"{letter}{'x' * 1000}", f"{'é' * 300}.md") for letter in "ab")
    assert one != other
    assert one.endswith("é.md")
    assert max(len(one), len(one.encode())) <= 1024
