"""The client against a scripted gateway."""

from __future__ import annotations

import asyncio
import io
import json
import pkgutil
import subprocess
import sys
from contextlib import aclosing
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import pytest

from sourcier import errors
from sourcier.calls import jobs
from sourcier.client import Client
from sourcier.connection import channel
from sourcier.connection.channel import REQUEST_ID_KEY, TENANT_KEY
from sourcier.gateway import v1
from sourcier.gateway.v1 import answer_pb2, knowledge_pb2
from sourcier.services.chassis import errors as service_errors
from tests.unit.sdk.fake_gateway import BEGUN_AT, REFUSAL, FakeGateway, serve

pytestmark = pytest.mark.unit


def test_importing_the_package_does_not_load_grpc() -> None:
    code = "import sys, sourcier; assert 'grpc' not in sys.modules; from sourcier import Client; print(Client.__name__)"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "Client"


async def test_an_answer_is_gathered(client: Client) -> None:
    answer = await client.answer("Combien de jours ?", collection="demo", passages=3, rerank=False, temperature=0.5)
    assert (answer.text, answer.outcome, answer.refused) == ("Deux jours par semaine [1].", "answered", False)
    assert [passage.source for passage in answer.sources] == ["charte.pdf", "frais.docx", "securite.html"]
    assert (answer.durations, answer.model, answer.language) == ({"total": 0.25}, "script", "fr")
    assert answer.answer_id == "answer-1"
    assert answer.created_at == datetime.fromtimestamp(BEGUN_AT, UTC)


async def test_options_travel(client: Client, gateway: FakeGateway) -> None:
    await client.answer("Combien ?", collection="demo", passages=3, rerank=False, seed=7, metadata={"year": "2026"})
    request = gateway.requests[-1]
    assert (request.passages, request.rerank, request.HasField("rerank"), request.seed) == (3, False, True, 7)
    assert not request.HasField("temperature")
    assert dict(request.filter.metadata) == {"year": "2026"}


async def test_every_call_has_tenant_request_id_and_deadline(client: Client, gateway: FakeGateway) -> None:
    await client.search("télétravail", limit=2, mode="fused")
    seen = gateway.metadata[-1]
    assert seen[TENANT_KEY] == "acme"
    assert len(seen[REQUEST_ID_KEY]) == 32
    # gRPC rounds a deadline up to what its header can say.
    assert 0 < seen["left"] <= 31
    assert gateway.requests[-1].mode == answer_pb2.SEARCH_MODE_FUSED


async def test_a_refusal_is_an_answer(client: Client) -> None:
    answer = await client.answer("La recette de la tarte ?")
    assert (answer.refused, answer.text, answer.reason) == (True, REFUSAL, "BELOW_THRESHOLD")
    assert answer.citations == ()


async def test_closing_the_iterator_cancels_the_call(client: Client, gateway: FakeGateway) -> None:
    gateway.token_gate.clear()
    async with aclosing(client.ask("Combien ?")) as events:
        async for event in events:
            if event.WhichOneof("event") == "token":
                break
    async with asyncio.timeout(5):
        await gateway.ask_cancelled.wait()


async def test_cancelling_the_task_cancels_the_call(client: Client, gateway: FakeGateway) -> None:
    gateway.token_gate.clear()
    first_token = asyncio.Event()

    async def ask() -> None:
        async with aclosing(client.ask("Combien ?")) as events:
            async for event in events:
                if event.WhichOneof("event") == "token":
                    first_token.set()

    task = asyncio.create_task(ask())
    async with asyncio.timeout(5):
        await first_token.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await gateway.ask_cancelled.wait()


async def test_a_failed_answer_is_an_error(client: Client, gateway: FakeGateway) -> None:
    gateway.answer_failure = answer_pb2.Failed(reason="UNAVAILABLE", message="the model stopped")
    with pytest.raises(errors.AnswerFailed, match="the model stopped") as caught:
        await client.answer("Combien ?")
    assert caught.value.reason == "UNAVAILABLE"


async def test_a_deadline_that_passes(client: Client, gateway: FakeGateway) -> None:
    gateway.token_gate.clear()
    with pytest.raises(errors.DeadlineExceeded, match="in time"):
        await client.answer("Combien ?", timeout_seconds=0.3)


@pytest.mark.parametrize("raised", [
    service_errors.InvalidArgument("no", field="question"), service_errors.SpaceMismatch("no"),
    service_errors.ResourceExhausted("no"), service_errors.TooLarge("no"), service_errors.PermissionDenied("no"),
    service_errors.DocumentEncrypted("no"), service_errors.ServiceError("no"),
])
async def test_errors_keep_reason_message_and_field(
    client: Client, gateway: FakeGateway, raised: service_errors.ServiceError
) -> None:
    gateway.failures = [raised]
    with pytest.raises(errors.SourcierError) as caught:
        await client.search("quoi")
    assert (caught.value.reason, caught.value.message, caught.value.field) == (raised.reason, "no", raised.field or "")
    assert caught.value.request_id == gateway.metadata[-1][REQUEST_ID_KEY]


@pytest.mark.usefixtures("short_pauses")
async def test_an_unavailable_gateway_is_tried_again(client: Client, gateway: FakeGateway) -> None:
    gateway.failures = [service_errors.Unavailable(), service_errors.Unavailable()]
    assert (await client.search("quoi", limit=1)).passages[0].rank == 1
    assert len(gateway.requests) == 3


async def test_a_collection_is_not_created_twice(client: Client, gateway: FakeGateway) -> None:
    gateway.failures = [service_errors.Unavailable()]
    with pytest.raises(errors.Unavailable):
        await client.create_collection("lois")
    assert len(gateway.requests) == 1


def test_every_service_is_tried_again_but_for_what_must_not_be_sent_twice() -> None:
    modules = [import_module(f"{v1.__name__}.{each.name}") for each in pkgutil.iter_modules(v1.__path__)]
    methods = {
        (service.full_name, method.name): method
        for module in modules if module.__name__.endswith("_pb2")
        for service in module.DESCRIPTOR.services_by_name.values() for method in service.methods
    }
    config = json.loads(str(dict(channel._options("gateway:8080"))["grpc.service_config"]))
    retried = {(each["service"], each["method"]) for each in config["methodConfig"][0]["name"]}
    assert {service for service, _ in retried} == {service for service, _ in methods}
    assert not any(methods[each].client_streaming for each in retried)
    once = {method for _, method in methods.keys() - retried}
    assert {
        "CreateAgent", "CreateDeployment", "AddFaqEntry", "ApproveAnswer", "RebuildAgentIndex", "AddPair", "DeletePair",
        "ImportCollection", "ImportPoints",
    } <= once
    # A name that no service has would keep nothing from being sent twice.
    assert once == channel._NOT_RETRIED


@pytest.mark.usefixtures("short_pauses")
async def test_nobody_there() -> None:
    async with Client("127.0.0.1:1") as client:
        with pytest.raises(errors.Unavailable, match=r"cannot reach a gateway at 127\.0\.0\.1:1"):
            await client.search("quoi", timeout_seconds=10)


async def test_an_upload_is_sent_in_pieces(client: Client, gateway: FakeGateway, tmp_path: Path) -> None:
    path = tmp_path / "gros.pdf"
    path.write_bytes(b"x" * (600 * 1024))
    upload = await client.upload(path, collection="demo", source="dossier/gros.pdf", category="rh", lane="bulk")
    assert gateway.piece_bytes == [256 * 1024, 256 * 1024, 88 * 1024]
    header = gateway.headers[-1]
    assert (header.filename, header.source, header.lane, header.category) == (
        "gros.pdf", "dossier/gros.pdf", "bulk", "rh")
    assert (upload.unchanged, upload.job.size_bytes) == (False, 600 * 1024)


async def test_an_upload_is_repeated_whole(client: Client, gateway: FakeGateway, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"abc")
    gateway.failures = [service_errors.ResourceExhausted("full")]
    assert (await client.upload(path)).job.size_bytes == 3
    assert [header.filename for header in gateway.headers] == ["a.txt"]


async def test_uploads_that_were_refused_together_do_not_come_back_together(
    client: Client, gateway: FakeGateway, pauses: list[tuple[float, float]]
) -> None:
    gateway.failures = [service_errors.ResourceExhausted("full"), service_errors.ResourceExhausted("full")]
    await client.upload(b"abc", filename="a.txt")
    assert pauses == [(0.25, 0.5), (0.5, 1.0)]


async def test_an_upload_that_is_refused_says_why(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "gros.bin"
    path.write_bytes(b"x" * (3 * 1024 * 1024))
    with pytest.raises(errors.NotFound, match="inconnue"):
        await client.upload(path, collection="inconnue")


async def test_a_file_that_cannot_be_read(client: Client, tmp_path: Path) -> None:
    class Torn(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell():
                raise OSError(5, "Input/output error")
            return super().read(size)

    with pytest.raises(OSError, match="Input/output error"):
        await client.upload(Torn(b"x" * (600 * 1024)), filename="a.bin")
    with pytest.raises(FileNotFoundError):
        await client.upload(tmp_path / "absent.pdf")


async def test_a_failed_job_is_an_error(client: Client) -> None:
    upload = await client.upload(b"%PDF", filename="broken.pdf")
    with pytest.raises(errors.JobFailed, match="password") as caught:
        await client.wait_for_job(upload.job_id)
    assert caught.value.reason == "DOCUMENT_ENCRYPTED"


async def test_a_watch_survives_a_restart(client: Client, gateway: FakeGateway) -> None:
    upload = await client.upload(b"abc", filename="a.txt")
    gateway.unavailable_watches = 2
    job = await client.wait_for_job(upload.job_id)
    assert job.status == knowledge_pb2.JOB_STATUS_COMPLETED


async def test_watches_that_broke_together_do_not_come_back_together(
    client: Client, gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    ceilings = list[float]()

    def jittered(ceiling_seconds: float) -> float:
        ceilings.append(ceiling_seconds)
        return 0.0

    monkeypatch.setattr(jobs, "jittered", jittered)
    upload = await client.upload(b"abc", filename="a.txt")
    gateway.unavailable_watches = 3
    await client.wait_for_job(upload.job_id)
    assert ceilings == [0.2] * 3


@pytest.mark.usefixtures("short_pauses")
async def test_a_watch_that_finds_nobody_says_so_at_once() -> None:
    async with Client("127.0.0.1:1") as client, asyncio.timeout(20):
        with pytest.raises(errors.Unavailable, match="cannot reach a gateway"):
            await client.wait_for_job("job-1")


@pytest.mark.usefixtures("short_pauses", "pauses")
async def test_a_watch_waits_for_a_gateway_that_was_there_when_the_document_was_sent(
    client: Client, gateway: FakeGateway
) -> None:
    upload = await client.upload(b"abc", filename="a.txt")
    # More than gRPC tries again by itself.
    gateway.failures = [service_errors.Unavailable() for _ in range(6)]
    job = await client.wait_for_job(upload.job_id)
    assert job.status == knowledge_pb2.JOB_STATUS_COMPLETED
    assert gateway.failures == []


async def test_lists_follow_their_pages(client: Client, gateway: FakeGateway) -> None:
    assert [each.source async for each in client.documents(page_size=2)] == [
        "charte.pdf", "frais.docx", "securite.html"]
    assert [request.page_token for request in gateway.requests] == ["", "2"]


async def test_a_closed_client_says_so(address: str) -> None:
    with pytest.raises(RuntimeError, match="async with"):
        await Client(address).search("quoi")


async def test_a_gateway_that_comes_back_is_found(gateway: FakeGateway) -> None:
    async with serve(gateway) as first:
        await first.start()
        address = f"127.0.0.1:{first.port}"
        async with Client(address) as client:
            await client.search("quoi")
            await first.stop()
            with pytest.raises(errors.Unavailable):
                await client.search("quoi", timeout_seconds=5)
            async with serve(gateway, listen=address) as second:
                await second.start()
                assert (await client.search("quoi", timeout_seconds=10)).passages
