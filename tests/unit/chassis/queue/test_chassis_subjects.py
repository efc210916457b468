"""The table of subjects: what it says of itself has to be true."""

from __future__ import annotations

import pytest

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.subjects import (
    BODY_BYTES_MAX,
    CHUNKS_READY,
    DOCUMENT_INDEXED,
    DOCUMENT_PARSED,
    LANES,
    PROGRESS,
    TABLE,
    space_token,
)

PREFIX = "test.v1."


def test_an_address_is_name_lane_tenant_and_suffix() -> None:
    assert DOCUMENT_PARSED.address(PREFIX, tenant="acme", lane="bulk") == "test.v1.document.parsed.bulk.acme"
    assert DOCUMENT_PARSED.address(PREFIX, tenant="acme") == "test.v1.document.parsed.interactive.acme"
    assert CHUNKS_READY.address(PREFIX, tenant="acme", suffix="ab") == "test.v1.chunks.ready.interactive.acme.ab"
    assert DOCUMENT_INDEXED.address(PREFIX, tenant="acme") == "test.v1.document.indexed.acme"
    assert PROGRESS.address(PREFIX, tenant="acme", suffix="job") == "test.v1.progress.acme.job"


@pytest.mark.parametrize("tenant", ["", "a.b", "a b", "*", ">", "ACME", "é", "a" * 41, "a\n"])
def test_a_tenant_is_one_token(tenant: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        CHUNKS_READY.address(PREFIX, tenant=tenant, lane="bulk", suffix="ab")
    assert refused.value.field == "tenant"


@pytest.mark.parametrize("lane", ["fast", "*", "bulk.x"])
def test_a_lane_is_one_of_two(lane: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        CHUNKS_READY.address(PREFIX, tenant="acme", lane=lane, suffix="ab")
    assert refused.value.field == "lane"


@pytest.mark.parametrize("suffix", ["", "a.b", "*", ">", "a b", "é", "a" * 65])
def test_a_suffix_is_one_token(suffix: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        CHUNKS_READY.address(PREFIX, tenant="acme", suffix=suffix)
    assert refused.value.field == "suffix"


def test_a_suffix_narrows_a_pattern() -> None:
    assert CHUNKS_READY.pattern(PREFIX, "bulk") == "test.v1.chunks.ready.bulk.*.*"
    assert CHUNKS_READY.pattern(PREFIX, "bulk", "ab") == "test.v1.chunks.ready.bulk.*.ab"


@pytest.mark.parametrize("subject", [CHUNKS_READY, DOCUMENT_PARSED, DOCUMENT_INDEXED], ids=lambda subject: subject.name)
def test_an_address_tells_its_tenant(subject: subjects.Subject) -> None:  # type: ignore[type-arg]
    assert subject.tenant_of(subject.address(PREFIX, tenant="acme", suffix="ab")) == "acme"


@pytest.mark.parametrize("space_id", ["multilingual-e5-small-ff671f68", "model v1.5/é", ""])
def test_any_space_has_a_token_of_its_own(space_id: str) -> None:
    token = space_token(space_id)
    assert CHUNKS_READY.address(PREFIX, tenant="acme", suffix=token).endswith(f".acme.{token}")
    assert token != space_token(space_id + "x")


def _matches(pattern: str, address: str) -> bool:
    tokens, given = pattern.split("."), address.split(".")
    return len(tokens) == len(given) and all(token in ("*", place) for token, place in zip(tokens, given, strict=True))


@pytest.mark.parametrize("subject", TABLE, ids=lambda subject: subject.name)
def test_an_address_falls_under_one_lane_and_one_subject(subject: subjects.Subject) -> None:  # type: ignore[type-arg]
    address = subject.address(PREFIX, tenant="acme", lane="bulk" if subject.laned else "", suffix="x")
    assert [other.name for other in TABLE if _matches(other.pattern(PREFIX), address)] == [subject.name]
    if subject.laned:
        # Overlapping filters on a work queue are refused by the server.
        assert [lane for lane in LANES if _matches(subject.pattern(PREFIX, lane), address)] == ["bulk"]


def test_every_hop_has_a_stream_of_its_own() -> None:
    held = dict(subjects.streams())
    assert all(len(of_stream) == 1 for stream, of_stream in held.items() if stream.work_queue)
    assert sum(map(len, held.values())) == sum(subject.stream is not None for subject in TABLE)


def test_stages_with_a_work_queue_have_a_place_for_dead_letters() -> None:
    stages = {stage for subject in TABLE if subject.stream and subject.stream.work_queue for stage in subject.consumers}
    assert stages == set(subjects.DEAD_BY_STAGE)


@pytest.mark.parametrize(("prefix", "name"), [
    ("sourcier.v1.", "SOURCIER_V1_READY"), ("", "READY"), ("a-b.", "A-B_READY"),
])
def test_stream_names_carry_the_prefix(prefix: str, name: str) -> None:
    assert subjects.stream_name(prefix, subjects.READY) == name


def test_bodies_leave_room_below_the_servers_limit() -> None:
    assert BODY_BYTES_MAX <= 1024 * 1024 // 2


def test_an_address_tells_its_subject_whatever_tenant_lane_and_suffix() -> None:
    for prefix in ("sourcier.v1.", "", "answer."):
        for subject in TABLE:
            address = subject.address(prefix, tenant="acme", lane="bulk", suffix="a1")
            assert subjects.name_in(address, prefix=prefix) == subject.name
    for address in ("", "sourcier.v1.", "sourcier.v1.other.acme", "document", "documents.parsed.bulk.acme"):
        assert subjects.name_in(address, prefix="sourcier.v1.") == ""
