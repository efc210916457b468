"""`sourcier-service probe [HOST:PORT]`: ask a service for its health, as an image does where no gRPC probe is at hand.

Kubernetes asks by itself; Docker, podman and systemd start this. 0 says that it serves, 1 that it does not.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sourcier.services.chassis.addresses import split_address

SECONDS_MAX = 3.0
EXIT_NOT_SERVING, EXIT_USAGE = 1, 2
ANY_HOST = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - an address to replace, not one to listen on


def main(arguments: list[str]) -> int:
    """Ask at the address that is named, or where the one service of this environment listens."""
    listens = {name: value for name, value in sorted(os.environ.items())
               if name.startswith("SOURCIER_") and name.endswith("_LISTEN")
               and not name.endswith(("_METRICS_LISTEN", "_HTTP_LISTEN"))}
    # A port of its own for health asks for no certificate.
    in_clear = [value for name, value in listens.items() if name.endswith("_HEALTH_LISTEN") and value]
    given = arguments or in_clear or [
        value for name, value in listens.items() if not name.endswith("_HEALTH_LISTEN")
    ]
    if len(given) != 1:
        sys.stderr.write("error: name the address of one service, as sourcier-service probe 127.0.0.1:50051\n")
        return EXIT_USAGE
    try:
        host, port = split_address(given[0])
    except ValueError as error:
        sys.stderr.write(f"error: {given[0]}: {error}\n")
        return EXIT_USAGE
    host = ANY_HOST.get(host, host)
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        opened = grpc.insecure_channel(target) if given is in_clear else _channel(target)
    except OSError as error:
        sys.stderr.write(f"error: {target}: a certificate cannot be read: {error}\n")
        return EXIT_NOT_SERVING
    with opened as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        try:
            answer: health_pb2.HealthCheckResponse = stub.Check(
                health_pb2.HealthCheckRequest(), timeout=SECONDS_MAX
            )
        except grpc.RpcError as error:
            sys.stderr.write(f"error: {target}: {error.code().name}\n")
            return EXIT_NOT_SERVING
    state = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    sys.stdout.write(f"{state}\n")
    return 0 if answer.status == health_pb2.HealthCheckResponse.SERVING else EXIT_NOT_SERVING


def _channel(target: str) -> grpc.Channel:
    """Open a channel, with the certificate of this environment where its services speak TLS with one another."""
    paths = [os.environ.get(f"SOURCIER_INTERNAL_TLS_{part}", "") for part in ("CA", "KEY", "CERTIFICATE")]
    if not all(paths) or _speaks_without(os.environ):
        return grpc.insecure_channel(target)
    authority, key, certificate = (Path(path).read_bytes() for path in paths)
    return grpc.secure_channel(target, grpc.ssl_channel_credentials(authority, key, certificate))


def _speaks_without(environment: Mapping[str, str]) -> bool:
    """Return whether the service of an environment serves its health without: those in front of the others do."""
    return any(f"SOURCIER_{name}_LISTEN" in environment for name in ("GATEWAY", "WEB"))
