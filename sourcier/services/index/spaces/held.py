"""Which collections need vectors in a space, as a part of statements: theirs, and that of a move in the making."""

from __future__ import annotations

OPEN_STATES = "('building', 'ready', 'live', 'failed')"
"""Of builds that have not ended: a collection has one such at most."""

HELD = f"""(collection.space_id = {{space}} or exists (
    select from space_builds as build
    where build.collection_id = collection.collection_id
      and build.state in {OPEN_STATES} and {{space}} in (build.from_space_id, build.space_id)
))"""
"""Whether a collection needs vectors in a space: its own, or that of an open build."""
