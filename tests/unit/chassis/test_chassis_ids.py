"""Ids: created ones sort by time, derived ones are the same again."""

from __future__ import annotations

import time
import uuid

from sourcier.services.chassis.ids import chunk_id, new_id


def test_created_ids_are_uuid_7_of_now() -> None:
    made = uuid.UUID(new_id())
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert abs((made.int >> 80) / 1000 - time.time()) < 5


def test_created_ids_differ() -> None:
    assert len({new_id() for _ in range(10_000)}) == 10_000


def test_chunk_ids_depend_on_everything_that_makes_a_chunk_and_on_nothing_else() -> None:
    base = {
        "tenant": "acme", "collection": "docs", "source": "a.md", "content_sha256": b"\x01" * 32,
        "configuration_digest": "c", "position": 0,
    }
    variants = [
        base, base | {"tenant": "other"}, base | {"collection": "notes"}, base | {"source": "b.md"},
        base | {"content_sha256": b"\x02" * 32}, base | {"configuration_digest": "d"}, base | {"position": 1},
    ]
    made = [chunk_id(**variant) for variant in variants]  # type: ignore[arg-type]
    assert len(set(made)) == len(variants)
    assert [chunk_id(**variant) for variant in variants] == made  # type: ignore[arg-type]
    assert uuid.UUID(made[0]).version == 5
