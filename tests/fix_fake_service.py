"""A service reduced to its health: `python fix_fake_service.py`, told what to do by its environment.

`FAKE_LISTEN` is where it listens. While the file `FAKE_BROKEN` exists it ends at once, with a word on its log; the
file `FAKE_DEAF` makes it run without listening.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc


def main() -> None:
    """Serve health until SIGTERM."""
    if Path(os.environ["FAKE_BROKEN"]).exists():
        sys.stderr.write('{"level": "ERROR", "message": "the model is missing"}\n')
        sys.exit(3)
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stopping.set())
    if Path(os.environ["FAKE_DEAF"]).exists():
        stopping.wait()
        return
    server = grpc.server(ThreadPoolExecutor(max_workers=2))
    servicer = health.HealthServicer()
    servicer.set("", health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    server.add_insecure_port(os.environ["FAKE_LISTEN"])
    server.start()
    stopping.wait()
    server.stop(grace=0.5).wait()


if __name__ == "__main__":
    main()
