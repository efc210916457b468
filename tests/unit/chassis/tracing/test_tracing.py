"""Traces of one process: parents, sampling, what is sent and what is not, and collectors that do not take it."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import FailedPrecondition, NotFound
from sourcier.services.chassis.telemetry import JsonFormatter, LineFormatter
from sourcier.services.chassis.tracing import gen_ai, sending, spans
from sourcier.services.chassis.tracing.opening import open_tracing
from sourcier.services.chassis.tracing.options import TracingOptions, traces_headers, traces_url
from sourcier.services.chassis.tracing.traceparent import parent_in, read_traceparent
from tests.fix_traces import Collector, open_collector
from tests.waiting import until

TRACE, ASKED = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED = f"00-{TRACE}-{ASKED}-01"
NOT_SAMPLED = f"00-{TRACE}-{ASKED}-00"
SECRET = "Basic aHVudGVyMjpodW50ZXIy"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with open_collector() as opened:
        yield opened
        # While it still answers: spans for one that is gone are tried again, and told, in the middle of the next test.
        spans.close()


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    spans.close()


def trace_to(collector: Collector, *, ratio: float = 1.0, contents: bool = False) -> None:
    open_tracing(TracingOptions(
        url=traces_url(collector.url), headers=traces_headers(json.dumps({"Authorization": SECRET})), ratio=ratio,
        contents=contents, service="sourcier", instance="here",
    ), service="probe")


def counted(outcome: str) -> float:
    return REGISTRY.get_sample_value("sourcier_spans_total", {"outcome": outcome}) or 0.0


def fail_within(name: str) -> None:
    with spans.span(name):
        assert spans.current().traceparent.split("-")[1] == TRACE
        raise NotFound("no collection « paie »")


def test_steps_know_their_parents_and_say_to_whom_they_belong(collector: Collector) -> None:
    trace_to(collector)
    with spans.entered("Ask", kind="server", parent=read_traceparent(SAMPLED)):
        with spans.span("search", kind="client", attributes={"rows": 3}) as search, pytest.raises(NotFound):
            fail_within("rows")
        beside = spans.begun("send", kind="producer")
        beside.end()
    spans.close()
    by_name = {span.name: span for span in collector.spans}
    assert {span.trace_id for span in collector.spans} == {TRACE}
    assert by_name["Ask"].parent_id == ASKED
    assert by_name["search"].parent_id == by_name["send"].parent_id == by_name["Ask"].span_id
    assert by_name["rows"].parent_id == by_name["search"].span_id == search.span_id
    assert by_name["search"].attributes == {"rows": 3}
    # What an error says may be words of a document: its kind alone is told.
    assert by_name["rows"].failed
    assert by_name["rows"].attributes == {"error.type": "NOT_FOUND"}
    assert not by_name["Ask"].failed
    assert {span.service for span in collector.spans} == {"sourcier-probe"}
    [headers] = collector.headers
    assert headers[":path"] == "/v1/traces"
    assert headers["authorization"] == SECRET
    assert headers["content-type"] == "application/x-protobuf"


def test_what_is_begun_by_nobody_is_no_trace(collector: Collector) -> None:
    trace_to(collector)
    with spans.span("look at the broker") as span:
        assert not span.recorded
        assert spans.begun("ask", kind="client") is spans.NO_SPAN
    spans.close()
    assert collector.spans == []


@pytest.mark.parametrize(("traceparent", "ratio", "kept"), [
    (SAMPLED, 0.0, True), (NOT_SAMPLED, 1.0, False), ("", 1.0, True), ("", 0.0, False),
])
def test_the_caller_decides_and_the_ratio_where_it_says_nothing(
    collector: Collector, traceparent: str, ratio: float, kept: bool
) -> None:
    trace_to(collector, ratio=ratio)
    with spans.entered("Ask", kind="server", parent=read_traceparent(traceparent)) as span:
        # The next process is told either way: else it would decide anew.
        assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]", span.traceparent)
        assert span.traceparent.endswith("-01" if kept else "-00")
        with spans.span("search") as inner:
            assert inner.recorded is kept
    spans.close()
    assert len(collector.spans) == (2 if kept else 0)


@pytest.mark.parametrize("text", [
    "", "x", SAMPLED[:-1], SAMPLED.upper(), SAMPLED.replace("00-4", "ff-4"), f"{SAMPLED}-more", f" {SAMPLED}",
    f"00-{'0' * 32}-{ASKED}-01", f"00-{TRACE}-{'0' * 16}-01", SAMPLED.replace("-", "_"), f"{SAMPLED}\n",
    f"01-{TRACE}-{ASKED}-01-{'a' * 600}", SAMPLED.replace("4", "٤"),
])
def test_a_malformed_traceparent_is_none(text: str) -> None:
    assert read_traceparent(text) is None


def test_a_later_version_of_it_is_read_as_far_as_it_is_known() -> None:
    later = read_traceparent(f"01-{TRACE}-{ASKED}-03-more")
    assert later is not None
    assert later.sampled


def test_one_that_is_given_twice_is_none() -> None:
    assert parent_in([("traceparent", SAMPLED)]) is not None
    assert parent_in([("traceparent", SAMPLED), ("traceparent", NOT_SAMPLED)]) is None
    assert parent_in([("Traceparent", SAMPLED)]) is None
    assert parent_in(None) is None


@pytest.mark.parametrize("contents", [False, True])
def test_what_people_wrote_is_sent_only_where_that_is_asked_for(collector: Collector, contents: bool) -> None:
    trace_to(collector, contents=contents)
    with (
        spans.entered("Ask", kind="server", parent=None),
        gen_ai.retrieval(collections=["rh"], question="Quel salaire a Zoé ?"),
        gen_ai.chat(model="qwen", engine="vllm", remote=False, tokens_max=60, temperature=0.0, generation_id="g",
                    messages=[("user", "Zoé gagne 3000 €")]) as chat,
    ):
        gen_ai.first_chunk(chat, 0.25)
        gen_ai.chat_ended(chat, model="qwen", finish_reason="stop", input_tokens=12, cached_tokens=4, output_tokens=7,
                          text="Zoé gagne 3000 €")
    spans.close()
    [chat_span] = [span for span in collector.spans if span.name == "chat qwen"]
    for name, value in {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "vllm", "gen_ai.request.model": "qwen",
        "gen_ai.usage.input_tokens": 12, "gen_ai.usage.output_tokens": 7, "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.response.time_to_first_chunk": 0.25,
    }.items():
        assert chat_span.attributes[name] == value
    sent = json.dumps([span.attributes for span in collector.spans], ensure_ascii=False)
    assert ("Zoé" in sent) is contents
    if contents:
        assert json.loads(chat_span.attributes["gen_ai.input.messages"]) == [
            {"role": "user", "parts": [{"type": "text", "content": "Zoé gagne 3000 €"}]}]


@pytest.mark.parametrize("text", ["é" * 40_000, '"\n' * 40_000, "\x01" * 40_000, "x"])
def test_contents_are_bounded_however_many_messages_there_are(collector: Collector, text: str) -> None:
    trace_to(collector, contents=True)
    messages = [("system", "Réponds."), *[("user", text)] * 2_000, ("user", "La fin ?")]
    with (
        spans.entered("Ask", kind="server", parent=None), gen_ai.retrieval(collections=["rh"], question=text * 10),
        gen_ai.chat(model="qwen", engine="vllm", remote=False, tokens_max=60, temperature=0.0, generation_id="g",
                    messages=messages) as chat,
    ):
        gen_ai.chat_ended(chat, model="qwen", finish_reason="stop", input_tokens=12, cached_tokens=4, output_tokens=7,
                          text=text)
    spans.close()
    by_name = {span.name: span.attributes for span in collector.spans}
    sent = by_name["chat qwen"]
    read = json.loads(sent["gen_ai.input.messages"])
    assert read[-1]["parts"][0]["content"] == "La fin ?"
    assert sent["sourcier.contents_cut"] is True
    assert len(json.dumps(sent, ensure_ascii=False).encode()) < 80_000
    assert len((sent["gen_ai.input.messages"] + sent["gen_ai.output.messages"]).encode()) <= 33_000
    # What a step is called has few values, whatever is searched.
    assert ("sourcier.contents_cut" in by_name["retrieval"]) is (text != "x")


def test_what_waits_and_what_is_sent_at_once_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "QUEUE_BYTES_MAX", 100)
    monkeypatch.setattr(sending, "BATCH_BYTES_MAX", 30)
    monkeypatch.setattr(sending, "INTERVAL_SECONDS", 60.0)
    going, batches = threading.Event(), list[list[int]]()

    class Slow:
        def post(self, posted: Sequence[int]) -> str:
            batches.append(list(posted))
            going.wait(30)
            return ""

        def close(self) -> None:
            pass

    dropped = counted("dropped")
    sender = sending.Sender(Slow(), url="http://slow")
    sender.put(40, size_bytes=40)
    while not batches:
        going.wait(0.01)
    for size in (10, 10, 10, 50, 10, 10, 10, 10):
        sender.put(size, size_bytes=size)
    going.set()
    sender.close(seconds=30)
    assert counted("dropped") - dropped == 2
    assert batches == [[40], [10, 10, 10], [50], [10, 10]]


def test_lines_of_the_log_name_the_trace(collector: Collector) -> None:
    trace_to(collector)
    record = logging.LogRecord("sourcier", logging.INFO, __file__, 1, "read\n%s", ("a",), None)
    assert "trace_id" not in LineFormatter().format(record) + JsonFormatter("probe").format(record)
    with telemetry.request("ask-1"), spans.entered("Ask", kind="server", parent=read_traceparent(SAMPLED)) as span:
        line, entry = LineFormatter().format(record), json.loads(JsonFormatter("probe").format(record))
    assert re.fullmatch(rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d:INFO\|read\\na trace_id={TRACE}", line)
    assert (entry["trace_id"], entry["span_id"], entry["request_id"]) == (TRACE, span.span_id, "ask-1")


@pytest.mark.parametrize(("status", "location", "why"), [
    (401, "", "status 401"), (500, "", "status 500"), (307, "http://127.0.0.1:1/v1/traces", "status 307"),
    (404, "", "status 404"),
])
async def test_a_collector_that_refuses_is_told_once_and_costs_nothing(
    collector: Collector, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, status: int, location: str,
    why: str,
) -> None:
    monkeypatch.setattr(sending, "INTERVAL_SECONDS", 0.01)
    collector.status, collector.location = status, location
    trace_to(collector)
    failed, sent = counted("failed"), counted("sent")
    with caplog.at_level(logging.INFO):
        for lost in (1, 2, 3):
            with spans.entered("Ask", kind="server", parent=None):
                pass
            await until(lambda lost=lost: counted("failed") - failed == lost, seconds=30)
    assert counted("sent") == sent
    [line] = [record.getMessage() for record in caplog.records if "collector" in record.getMessage()]
    assert why in line
    assert SECRET not in caplog.text
    collector.status, collector.location = 200, ""
    with caplog.at_level(logging.INFO):
        with spans.entered("Ask", kind="server", parent=None):
            pass
        await until(lambda: counted("sent") - sent == 1, seconds=30)
        await asyncio.to_thread(spans.close)
    assert counted("sent") - sent == 1
    assert "takes spans again" in caplog.text


def test_a_queue_that_is_full_drops_and_never_waits(
    collector: Collector, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "QUEUE_MAX", 10)
    monkeypatch.setattr(sending, "CLOSE_SECONDS", 0.0)
    collector.seconds = 0.5
    trace_to(collector)
    dropped = counted("dropped")
    with caplog.at_level(logging.WARNING):
        for _ in range(500):
            with spans.entered("Ask", kind="server", parent=None):
                pass
    assert counted("dropped") - dropped >= 480
    assert [record.getMessage() for record in caplog.records if "dropped" in record.getMessage()] == [
        f"spans are dropped: 10 wait for the collector {collector.url}, which is too slow"]


def test_the_header_that_was_given_is_sent_whatever_a_netrc_says(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login a password b\n", "utf-8")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    trace_to(collector)
    with spans.entered("Ask", kind="server", parent=None):
        pass
    spans.close()
    assert [headers["authorization"] for headers in collector.headers] == [SECRET]


def test_a_collector_that_is_gone_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    with open_collector() as gone:
        pass
    trace_to(gone)
    with caplog.at_level(logging.DEBUG):
        with spans.entered("Ask", kind="server", parent=None):
            pass
        spans.close()
    assert SECRET not in caplog.text
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) <= 1


def test_what_others_tell_of_their_connections_is_heard(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    trace_to(collector)
    for name in ("urllib3", "urllib3.connectionpool", "urllib3.util.retry"):
        logging.getLogger(name).warning("not of the sender: %s", name)
    assert len(caplog.records) == 3


@pytest.mark.parametrize(("url", "whole"), [
    ("", ""), ("http://collector:4318", "http://collector:4318/v1/traces"), ("http://c:4318/", "http://c:4318/v1/traces"),
    ("https://cloud.langfuse.com/api/public/otel/v1/traces", "https://cloud.langfuse.com/api/public/otel/v1/traces"),
    ("http://[::1]:4318", "http://[::1]:4318/v1/traces"),
])
def test_where_spans_go(url: str, whole: str) -> None:
    assert traces_url(url) == whole


@pytest.mark.parametrize("url", ["collector:4318", "ftp://c", "http://", "http://u:hunter2@c:4318", "http://c?a=b",
                                 "http://c/#x", "/v1/traces", "http://:4318"])
def test_what_is_no_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as refused:
        traces_url(url)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}', '{"a b": "x"}', '{"a": "x\\ny"}', '{"": "x"}', '{"a": "é"}',
                                  '"hunter2"', '{"a": {"b": "hunter2"}}'])
def test_headers_that_are_none_are_refused_without_telling_them(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as refused:
        traces_headers(text)
    assert "hunter2" not in str(refused.value)


async def test_tasks_go_on_in_the_trace_that_began_them_and_do_not_mix(collector: Collector) -> None:
    trace_to(collector)

    async def ask(name: str) -> str:
        with spans.entered(name, kind="server", parent=None) as span:
            await asyncio.sleep(0)
            inner = asyncio.create_task(step(name))
            await inner
            return span.trace_id

    async def step(name: str) -> None:
        with spans.span(f"step of {name}"):
            await asyncio.sleep(0)

    first, second = await asyncio.gather(ask("a"), ask("b"))
    await asyncio.to_thread(spans.close)
    assert first != second
    assert {(span.name, span.trace_id) for span in collector.spans} == {
        ("a", first), ("step of a", first), ("b", second), ("step of b", second)}


def test_a_missing_sdk_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sourcier.services.chassis.tracing.opentelemetry", None)
    with pytest.raises(FailedPrecondition, match=r"SOURCIER_TRACES_URL.*pip install"):
        open_tracing(TracingOptions(url="http://c/v1/traces"), service="probe")


def test_only_one_module_knows_the_names_of_generative_ai() -> None:
    root = Path(spans.__file__).parents[2]
    knowing = [path.name for path in root.rglob("*.py") if re.search(r"[\"']gen_ai\.", path.read_text("utf-8"))]
    assert knowing == ["gen_ai.py"]
