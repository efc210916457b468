"""Server-sent events: every way to cut and to end a line, and what is no event stream."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcier.services.generate.openai.event_stream import EventStream, MalformedStream

STREAM = (
    'data: {"a": "é"}\n\n: comment\r\nevent: x\r\nid: 1\r\ndata: one\r\ndata:two\r\n\r\n'
    "data: 😀\r\rdata: [DONE]\n\n"
)
EVENTS = ['{"a": "é"}', "one\ntwo", "😀", "[DONE]"]


def read(*chunks: bytes) -> list[str]:
    stream = EventStream()
    events = [event for chunk in chunks for event in stream.feed(chunk)]
    stream.close()
    return events


def test_events_of_one_chunk_come_together() -> None:
    assert EventStream().feed(STREAM.encode()) == EVENTS


@given(st.lists(st.integers(0, len(STREAM.encode())), max_size=12))
def test_any_cut_of_the_bytes_reads_the_same(cuts: list[int]) -> None:
    raw = STREAM.encode()
    places = [0, *sorted(cuts), len(raw)]
    assert read(*(raw[start:end] for start, end in itertools.pairwise(places))) == EVENTS


def test_a_byte_order_mark_is_skipped() -> None:
    assert read("\ufeffdata: x\n\n".encode()) == ["x"]


def test_only_one_space_belongs_to_the_format() -> None:
    assert read(b"data:  x\n\n") == [" x"]


@pytest.mark.parametrize("raw", [
    b'{"choices": []}\n', b"<html>\n", b"data: \xff\n\n", b"data:" + b"x" * (1 << 20) + b"xxxxxxx",
])
def test_what_is_no_event_stream_is_refused(raw: bytes) -> None:
    with pytest.raises(MalformedStream):
        EventStream().feed(raw)


@pytest.mark.parametrize("raw", [b"data: x", b"data: x\n"])
def test_an_event_cut_off_is_noticed(raw: bytes) -> None:
    stream = EventStream()
    assert stream.feed(raw) == []
    with pytest.raises(MalformedStream, match="inside an event"):
        stream.close()
