"""Dead letters, filters and chunking between the index and the contract."""

from __future__ import annotations

from datetime import UTC, datetime

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.index.collections.collections import Chunking
from sourcier.services.index.pipeline.dead_letters import DeadLetter
from sourcier.services.ingest.api.operation_messages import (
    chunking_configuration,
    chunking_message,
    dead_letter_message,
    letter_filter,
    progress_message,
)
from sourcier.services.ingest.buckets.reconciler import ReconciliationProgress

LETTER = DeadLetter(
    dead_letter_id="letter", tenant="acme", state="replayed", stage="parse", reason="UNAVAILABLE", message="away",
    attempts=8, subject="subject", payload_bytes=12, collection_id="collection", document_id="document",
    version_id="version", generation=3, job_id="job", collection="lois", source="a/b.md", filename="b.md",
    request_id="request", original_key="documents/acme/x/original", failed_at=datetime(2026, 1, 31, 12, tzinfo=UTC),
)
KEPT_INSIDE = {"tenant", "collection_id", "generation"}


def test_a_dead_letter_is_told_whole() -> None:
    message = dead_letter_message(LETTER)
    told = {field.name: value for field, value in message.ListFields()}
    assert set(told) == {name for name in DeadLetter.__slots__ if name not in KEPT_INSIDE}
    assert message.state == ingest_pb2.DEAD_LETTER_STATE_REPLAYED
    assert message.failed_at.ToDatetime(UTC) == LETTER.failed_at
    for name in set(told) - {"state", "failed_at"}:
        assert told[name] == getattr(LETTER, name)


def test_an_absent_filter_narrows_nothing() -> None:
    assert not letter_filter(ingest_pb2.ReplayDeadLettersRequest().filter).narrows
    assert letter_filter(ingest_pb2.DeadLetterFilter(reason="UNAVAILABLE")).narrows


def test_an_overlap_of_none_is_meant() -> None:
    assert chunking_configuration(ingest_pb2.Chunking(method="page", overlap=0)).overlap == 0
    assert chunking_configuration(ingest_pb2.Chunking(method="page")).overlap > 0
    chunking = Chunking(method="lines", unit="characters", target=512, overlap=0, maximum=600)
    message = chunking_message(chunking)
    assert message.HasField("overlap")
    configuration = chunking_configuration(message)
    assert (configuration.method, configuration.target, configuration.overlap, configuration.maximum) == (
        "lines", 512, 0, 600)


def test_a_comparison_is_told_whole() -> None:
    progress = ReconciliationProgress(
        bucket="docs", prefix="rh/", listed=5, missing=1, changed=2, gone=3, finished=True, examples=("rh/a",)
    )
    message = progress_message(progress)
    assert [getattr(message, name) for name in ("bucket", "prefix", "listed", "missing", "changed", "gone")] == [
        "docs", "rh/", 5, 1, 2, 3]
    assert (message.finished, list(message.examples)) == (True, ["rh/a"])
