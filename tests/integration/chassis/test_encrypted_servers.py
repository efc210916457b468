"""PostgreSQL and an object store over TLS, by what their addresses and the environment say: the clients are the real
ones, and so are the servers, behind a relay that ends TLS as a proxy before them would."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trustme

from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.objects import PART_BYTES, WHOLE_BYTES_MAX, ObjectStore
from sourcier.services.chassis.postgres.database import Database, DatabaseSettings
from tests.fix_servers import S3Bucket
from tests.integration.chassis.fix_certificates import Holder

SSL_REQUEST = bytes.fromhex("0000000804d2162f")


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(65_536):
            writer.write(piece)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def relay(port: int, holder: Holder, *, asks: bool, postgres: bool = False) -> AsyncIterator[int]:
    """Yield the port of a relay to a server of this machine; `asks` for a certificate of the same authority."""

    def context() -> ssl.SSLContext:
        made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=holder.served.client_ca)
        made.load_cert_chain(holder.served.certificate, holder.served.key)
        made.verify_mode = ssl.CERT_REQUIRED if asks else ssl.CERT_NONE
        return made

    async def taken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if postgres:
                assert await reader.readexactly(len(SSL_REQUEST)) == SSL_REQUEST, "spoken without TLS"
                writer.write(b"S")
                await writer.drain()
            await writer.start_tls(context())
        except (OSError, AssertionError, EOFError):
            writer.close()
            return
        behind_reader, behind_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_copy(reader, behind_writer), _copy(behind_reader, writer))

    server = await asyncio.start_server(taken, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@contextmanager
def refused() -> Iterator[None]:
    with pytest.raises(Unavailable):
        yield


async def test_the_database_is_reached_by_a_certificate_which_may_be_replaced(
    database_url: str, tmp_path: Path
) -> None:
    old, new = trustme.CA(), trustme.CA()
    postgres, gateway = (Holder(tmp_path, name, signed=old) for name in ("postgres", "gateway"))
    assert gateway.shown.key is not None
    gateway.shown.key.chmod(0o600)
    port = urlsplit(database_url).port
    assert port is not None
    async with relay(port, postgres, asks=True, postgres=True) as encrypted:
        url = database_url.replace(f":{port}/", f":{encrypted}/")
        trusting = f"{url}?sslmode=verify-full&sslrootcert={gateway.shown.ca}"
        whole = f"{trusting}&sslcert={gateway.shown.certificate}&sslkey={gateway.shown.key}"
        for without in (f"{url}?sslmode=disable", f"{url}?sslmode=verify-full&sslrootcert=system", trusting):
            with refused():
                async with Database(DatabaseSettings(url=without, connection_timeout_seconds=1)):
                    pass
        async with Database(DatabaseSettings(
            url=whole, connections_min=1, connections_max=2, connection_timeout_seconds=20
        )) as database, database.transaction(tenant="acme", read_only=True):
            for holder in (postgres, gateway):
                holder.renew(signed=new)
            gateway.shown.key.chmod(0o600)
            # Another connection, while the first one is in use.
            async with database.transaction(tenant="acme", read_only=True) as second:
                assert await (await second.execute("SELECT 1")).fetchone() == (1,)


async def test_the_object_store_is_reached_over_tls(
    s3_bucket: S3Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    store = Holder(tmp_path, "store", signed=authority)
    port = urlsplit(s3_bucket.url).port
    assert port is not None
    async with relay(port, store, asks=False) as encrypted:
        def opened() -> ObjectStore:
            return ObjectStore.open(
                url=f"https://127.0.0.1:{encrypted}", bucket=s3_bucket.bucket, access_key=s3_bucket.access_key,
                secret_key=s3_bucket.secret_key, region=s3_bucket.region,
            )

        monkeypatch.setenv("SSL_CERT_FILE", str(store.shown.ca))
        objects = opened()
        await objects.put("small", b"whole")
        body = bytes(WHOLE_BYTES_MAX + PART_BYTES)

        async def pieces() -> AsyncIterator[bytes]:
            yield body

        await objects.put_stream("large", pieces())
        held = await objects.head("large")
        assert held is not None
        assert held.size_bytes == len(body)
        # Another authority than the one that is trusted.
        monkeypatch.setenv("SSL_CERT_FILE", str(Holder(tmp_path, "other", signed=trustme.CA()).shown.ca))
        with refused():
            await opened().get("small")
