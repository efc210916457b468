"""The session's servers, as the trials want them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sourcier.services.stack.servers.nats import NatsServer
from sourcier.services.stack.servers.postgres import PostgresServer
from sourcier.services.stack.servers.s3 import S3Server
from tests.chaos.cluster import Servers
from tests.chaos.nursery import Nursery


@pytest.fixture
def servers(
    servers_folder: Path, nats_server: NatsServer, postgres_server: PostgresServer, s3_server: S3Server
) -> Servers:
    """Return the servers that nobody harms; scenarios that do start their own."""
    return Servers(servers_folder, nats_server, postgres_server, s3_server)


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    """Yield what starts services that are imported already."""
    opened = Nursery()
    yield opened
    opened.close()
