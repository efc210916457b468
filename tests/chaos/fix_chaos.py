"""The session's servers, as the trials want them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcier.services.stack.servers.nats import NatsServer
from sourcier.services.stack.servers.postgres import PostgresServer
from sourcier.services.stack.servers.s3 import S3Server
from tests.chaos.cluster import Servers


@pytest.fixture
def servers(
    servers_folder: Path, nats_server: NatsServer, postgres_server: PostgresServer, s3_server: S3Server
) -> Servers:
    """Return the servers that nobody harms; scenarios that do start their own."""
    return Servers(servers_folder, nats_server, postgres_server, s3_server)
