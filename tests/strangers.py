"""What a port answers to somebody who shows nothing: asked in each protocol that this project's ports speak."""

from __future__ import annotations

import asyncio
import json
import stat
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from importlib import import_module
from ipaddress import IPv6Address, ip_address
from itertools import product
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import httpx
import psutil
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

SECONDS = 3.0
TRIES = 8
HTTP_METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS", "PROPFIND")
HTTP_PATHS = (
    "/", "/metrics", "/buckets/?limit=10", "/documents/", "/dir/status", "/dir/assign", "/cluster/status",
    "/vol/status", "/status", "/stats/counter", "/ui/index.html", "/varz", "/connz", "/jsz", "/v1/models",
    "/v1/bucket-notifications",
    "/admin", "/debug/pprof/", "/1,01637037d6",
)
PROTOS = (
    "sourcier.embed.v1.embed_pb2", "sourcier.rerank.v1.rerank_pb2", "sourcier.generate.v1.generate_pb2",
    "sourcier.ingest.v1.ingest_pb2", "sourcier.ingest.v1.spaces_pb2", "sourcier.ingest.v1.transfer_pb2",
    "sourcier.gateway.v1.knowledge_pb2",
)
SEAWEEDFS_METHODS = (
    "/master_pb.Seaweed/Statistics", "/master_pb.Seaweed/VolumeList", "/master_pb.Seaweed/Assign",
    "/filer_pb.SeaweedFiler/ListEntries", "/filer_pb.SeaweedFiler/GetFilerConfiguration",
    "/volume_server_pb.VolumeServer/VolumeServerStatus", "/iam_pb.SeaweedIdentityAccessManagement/GetConfiguration",
    "/worker_pb.WorkerService/WorkerStream", "/messaging_pb.SeaweedS3IamCache/PutIdentity",
)
REFUSED = {grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAVAILABLE}
"""UNAVAILABLE is what a client sees of a port that speaks TLS, another protocol, or closes."""


def listening(pid: int) -> Iterator[tuple[str, str, int]]:
    """Yield process, address and port of each TCP socket on which a process or one of its children listens."""
    for process in _family(pid):
        for entry in process.net_connections("inet"):
            if entry.status == psutil.CONN_LISTEN:
                yield f"{process.name()} ({process.pid})", entry.laddr.ip, entry.laddr.port


def open_sockets(pid: int) -> Iterator[str]:
    """Yield each local socket of a process and its children that another user may connect to."""
    for process in _family(pid):
        for entry in process.net_connections("unix"):
            path = Path(str(entry.laddr))
            with suppress(FileNotFoundError):
                if str(entry.laddr).startswith("@") or (entry.laddr and _is_open(path)):
                    yield f"{process.name()} ({process.pid}): {entry.laddr}"


async def answers(port: int) -> list[str]:
    """Return what a port of this machine tells somebody without a credential; nothing where it only refuses."""
    found = [answer async for answer in _http(port)]
    return found + [answer async for answer in _grpc(port)] + await _nats(port) + await _postgres(port)


async def _http(port: int) -> AsyncIterator[str]:
    for scheme in ("http", "https"):
        async with httpx.AsyncClient(trust_env=False, verify=False, timeout=SECONDS) as client:
            for number, (path, method) in enumerate(product(HTTP_PATHS, HTTP_METHODS)):
                try:
                    answer = await client.request(method, f"{scheme}://127.0.0.1:{port}{path}")
                except (httpx.HTTPError, OSError):
                    if not number:
                        break  # another protocol's port, or one that asks for a certificate
                    continue
                if answer.status_code == 400 and b"HTTPS server" in answer.content:
                    break
                # Health, and a preflight, which tells what a browser may send: that something is there, no more.
                if answer.status_code < 400 and answer.content:
                    yield f"{method} {scheme} {path}: {answer.status_code} {answer.text[:60]!r}"


async def _grpc(port: int) -> AsyncIterator[str]:
    options = (("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1))
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        for method in ("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", *_methods(),
                       *SEAWEEDFS_METHODS):
            for _ in range(TRIES):
                code = await _called(channel, method)
                # A call that is refused in the middle of its own write may lose its status.
                if code is not grpc.StatusCode.INTERNAL:
                    break
            if code is grpc.StatusCode.UNAVAILABLE:
                return  # no gRPC for who shows nothing
            # One that isn't there tells nothing, beside one that is.
            if code not in REFUSED and code is not grpc.StatusCode.UNIMPLEMENTED:
                yield f"{method}: {code.name}"
        with suppress(grpc.aio.AioRpcError):
            stub = reflection_pb2_grpc.ServerReflectionStub(channel)
            asked = reflection_pb2.ServerReflectionRequest(list_services="")
            async for answer in stub.ServerReflectionInfo(iter([asked]), timeout=SECONDS):
                yield f"reflection: {[service.name for service in answer.list_services_response.service]}"
                break


async def _called(channel: grpc.aio.Channel, method: str) -> grpc.StatusCode:
    """Call a method with an empty request, as a stream: the wire is the same for all shapes."""
    call: Any = channel.stream_stream(method)(iter([b""]), timeout=SECONDS)
    try:
        async for _ in call:
            return grpc.StatusCode.OK
    except grpc.aio.AioRpcError as error:
        return error.code()
    finally:
        call.cancel()
    code: grpc.StatusCode = await call.code()
    return code


def _methods() -> Iterator[str]:
    for name in PROTOS:
        for service in import_module(name).DESCRIPTOR.services_by_name.values():
            yield from (f"/{service.full_name}/{method.name}" for method in service.methods)


async def _nats(port: int) -> list[str]:
    hellos = ({}, {"user": "", "pass": ""}, {"user": "sourcier", "pass": ""}, {"auth_token": ""})
    return [
        f"NATS takes {hello}" for hello in hellos
        if b"PONG" in await _said(port, f"CONNECT {json.dumps(hello)}\r\nPING\r\n".encode())
    ]


async def _postgres(port: int) -> list[str]:
    found = []
    for user, database in (("postgres", "postgres"), ("sourcier", "sourcier")):
        body = struct.pack("!i", 196608) + f"user\0{user}\0database\0{database}\0\0".encode()
        said = await _said(port, struct.pack("!i", len(body) + 4) + body)
        # AuthenticationOk: let in without a password.
        if said[:1] == b"R" and len(said) >= 9 and struct.unpack("!i", said[5:9]) == (0,):
            found.append(f"PostgreSQL lets {user} in")
    return found


async def _said(port: int, sent: bytes) -> bytes:
    said = b""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(SECONDS):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(sent)
                while b"PONG" not in said and (part := await reader.read(4096)):
                    said += part
                    if said[:1] in {b"R", b"E"}:
                        break
            finally:
                writer.close()
    return said


def _family(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def _is_open(path: Path) -> bool:
    found = path.stat()
    if not stat.S_ISSOCK(found.st_mode) or not found.st_mode & 0o022:
        return False
    return all(parent.stat().st_mode & 0o011 for parent in path.resolve().parents)


def loopback(address: str) -> bool:
    """Return whether only this machine reaches an address."""
    found = ip_address(address)
    return ((isinstance(found, IPv6Address) and found.ipv4_mapped) or found).is_loopback
