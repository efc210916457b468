"""NATS JetStream: the table of subjects, publishing, the consume loop, logs by subject."""

import importlib
import sys


def _import_nats() -> None:
    """Import nats-py without aiohttp, which it needs for WebSockets alone and does without where it is missing.

    It is a quarter of a second and ten megabytes of each process, and the services speak to NATS over TCP.
    """
    if "nats" in sys.modules or "aiohttp" in sys.modules:
        return
    sys.modules["aiohttp"] = None  # type: ignore[assignment]  # what makes an import of it fail
    try:
        importlib.import_module("nats")
    finally:
        del sys.modules["aiohttp"]


_import_nats()
