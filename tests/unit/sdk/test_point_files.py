"""Files of points as they are sent: numbered lines, some at a time, none of them too much."""

from __future__ import annotations

from pathlib import Path

from sourcier.calls.curation.points import LINE_CHARACTERS_MAX, MESSAGE_BYTES, point_requests
from sourcier.gateway.v1 import transfer_pb2

HEADER = transfer_pb2.PointsHeader(collection="c")


def test_lines_keep_their_numbers_and_empty_ones_are_not_sent(tmp_path: Path) -> None:
    file = tmp_path / "points.jsonl"
    file.write_bytes("\ufeff{\"a\": 1}\r\n\n  \n{\"b\": \"\u2028\"}\n{\"c\": 3}".encode())
    header, lines = point_requests(file, HEADER)
    assert header.header.collection == "c"
    assert [(line.number, line.text) for line in lines.lines.lines] == [
        (1, '{"a": 1}'), (4, '{"b": "\u2028"}'), (5, '{"c": 3}'),
    ]


def test_a_file_of_any_size_goes_in_small_messages(tmp_path: Path) -> None:
    file = tmp_path / "points.jsonl"
    endless = "é" * (3 * LINE_CHARACTERS_MAX)
    file.write_text("\n".join(["x" * 1000] * 2_000 + [endless, "after"]), "utf-8")
    _, *messages = point_requests(file, HEADER)
    lines = [line for message in messages for line in message.lines.lines]
    assert [line.number for line in lines] == list(range(1, 2_003))
    # Long enough to be refused by its length, and no longer; the next line is whole.
    assert len(lines[-2].text) == LINE_CHARACTERS_MAX + 1
    assert lines[-1].text == "after"
    assert all(message.ByteSize() < MESSAGE_BYTES + 2 * LINE_CHARACTERS_MAX + 4_096 for message in messages)


def test_an_empty_file_sends_the_header_alone(tmp_path: Path) -> None:
    (tmp_path / "points.jsonl").touch()
    assert list(point_requests(tmp_path / "points.jsonl", HEADER)) == [transfer_pb2.ImportPointsRequest(header=HEADER)]
