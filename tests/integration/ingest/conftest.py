"""The servers that one ingest service needs, each with a place of the test's own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

import pytest

from sourcier.services.chassis.queue import consuming
from sourcier.services.ingest import relay
from sourcier.services.ingest.stages import sandbox
from tests.fix_servers import S3Bucket
from tests.integration.ingest.fix_lives import life, lives
from tests.integration.ingest.fix_pipeline import Pipeline, ingesting

__all__ = ["Serve", "keeping_priority", "life", "lives", "serve", "short_waits"]

Serve = Callable[..., AbstractAsyncContextManager[Pipeline]]


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have workers look often: one that is stopped waits for its last look."""
    monkeypatch.setattr(consuming, "FETCH_SECONDS", 0.3)
    monkeypatch.setattr(consuming, "NAK_DELAY_SECONDS_MAX", 0.05)
    monkeypatch.setattr(relay, "LOOK_SECONDS", 0.2)


@pytest.fixture
def serve(database_url: str, nats_url: str, subject_prefix: str, s3_bucket: S3Bucket, short_waits: None) -> Serve:
    """Return what runs the service; called again, it runs it again over the same database and bucket."""
    return partial(
        ingesting, database_url=database_url, nats_url=nats_url, prefix=subject_prefix, bucket=s3_bucket
    )


@pytest.fixture
def keeping_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what takes long keep its priority: it would wait for all other tests that run beside it."""
    monkeypatch.setattr(sandbox, "GIVE_WAY", (((1.0, 0),),))
