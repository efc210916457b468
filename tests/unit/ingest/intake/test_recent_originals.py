"""Bodies kept for a moment: each is taken once, and the oldest goes where there is no room."""

from __future__ import annotations

from sourcier.services.ingest.intake.recent import RecentOriginals


def test_a_body_is_taken_once() -> None:
    recent = RecentOriginals()
    recent.keep("a", b"one")
    assert recent.take("a") == b"one"
    assert recent.take("a") is None


def test_the_oldest_goes_where_there_is_no_room() -> None:
    recent = RecentOriginals(bytes_max=10)
    for name in "abc":
        recent.keep(name, name.encode() * 4)
    assert [recent.take(name) for name in "abc"] == [None, b"bbbb", b"cccc"]
    recent.keep("d", b"d" * 11)
    assert recent.take("d") is None
    recent.keep("e", b"e" * 10)
    assert recent.take("e") == b"e" * 10
