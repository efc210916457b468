"""Questions to a server that may not be there yet."""

from __future__ import annotations

import asyncio
import json

PROBE_TIMEOUT_SECONDS = 2.0


async def is_listening(port: int, *, host: str = "127.0.0.1") -> bool:
    """Tell whether anybody accepts connections, which costs far less than asking them something."""
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_SECONDS):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


async def http_is_ok(port: int, path: str, *, host: str = "127.0.0.1") -> bool:
    """Tell whether a GET is answered with 200; nothing is kept open, for a probe of a process that comes and goes."""
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_SECONDS):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                writer.write(f"GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
                status = await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False
    return status.split(b" ")[1:2] == [b"200"]


async def nats_is_ready(port: int, *, user: str, password: str, host: str = "127.0.0.1") -> bool:
    """Tell whether a NATS server takes a client of that name and answers its ping."""
    hello = {"verbose": False, "pedantic": False, "user": user, "pass": password, "name": "probe", "lang": "python"}
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_SECONDS):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                await reader.readline()  # INFO
                writer.write(f"CONNECT {json.dumps(hello)}\r\nPING\r\n".encode())
                answer = await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError, ValueError):
        return False
    return answer.strip() == b"PONG"
