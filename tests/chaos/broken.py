"""Rules broken on purpose, to prove that the checker sees it: each is a patch of the service about to start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def acknowledge_before_commit(service: str) -> None:
    """Acknowledge each message as soon as it is fetched: what dies in hand is never delivered again."""
    from sourcier.services.chassis.queue.consuming import Consumer

    work = Consumer._work

    async def acknowledged_first(self: Any, message: Any, lane: str) -> None:
        await message.ack_sync(timeout=5)
        await work(self, message, lane)

    Consumer._work = acknowledged_first  # type: ignore[method-assign]


def no_fencing(service: str) -> None:
    """Commit a version whatever has been committed since it was accepted."""
    if service == "ingest":
        from sourcier.services.index.pipeline import batches

        batches._check = lambda batch, state: None


def no_staged_key(service: str) -> None:
    """Count a batch each time it is delivered, with the keys of its rows, which would refuse it too, out of the way."""
    if service == "ingest":
        from sourcier.services.index.pipeline import commit_statements as statements

        statements.STAGE_BATCH = statements.STAGE_BATCH.replace(
            "on conflict do nothing", "on conflict (version_id, batch_no) do update set staged_at = now()"
        )
        for name in ("STAGE_CHUNKS", "INSERT_CHUNKS", "INSERT_ENTRIES", "INSERT_VECTORS"):
            setattr(statements, name, getattr(statements, name) + " on conflict do nothing")


BREAKS: dict[str, Callable[[str], None]] = {
    "acknowledge-before-commit": acknowledge_before_commit, "no-fencing": no_fencing, "no-staged-key": no_staged_key,
}
