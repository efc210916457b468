"""The process that documents' children are forked from, and the pipe to it: requests out, replies matched to them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from dataclasses import asdict
from typing import Any

from sourcier.services.chassis.errors import Unavailable
from sourcier.services.ingest.parsing.limits import ParsingLimits

START_TIMEOUT_SECONDS = 120.0


class ZygoteProcess:
    """A running zygote."""

    def __init__(self, process: asyncio.subprocess.Process, told: dict[str, Any]) -> None:
        self.network: str = told["network"]
        self.confinement = {
            "namespace": self.network == "namespace", "landlock": told["landlock"], "seccomp": told["seccomp"],
        }
        """By mechanism: whether it is in force in the children."""
        self._process = process
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._waited: dict[int, float] = {}
        self._abandoned = False
        self._reader = asyncio.create_task(self._read_replies(), name="parser-replies")

    @classmethod
    async def start(cls, limits: ParsingLimits, program: str) -> ZygoteProcess:
        # An environment of its own: no credentials to leak, one thread in numeric libraries, no model hub.
        environment = {
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_VERBOSITY": "error",
            "LANG": "C.UTF-8",
            # Libraries that keep something there find nothing, rather than ask the system whose home it is.
            "HOME": "/nonexistent",
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-W", "ignore", "-m", program, json.dumps(asdict(limits)),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=environment,
        )  # fmt: skip
        assert process.stdout is not None
        try:
            async with asyncio.timeout(START_TIMEOUT_SECONDS):
                line = await process.stdout.readline()
            return cls(process, json.loads(line))
        except BaseException as error:
            # A service that is stopped meanwhile leaves no process behind either.
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            if isinstance(error, (TimeoutError, ValueError)):
                raise Unavailable("The parsing process did not start; its log says why.") from error
            raise

    @property
    def ended(self) -> bool:
        """Whether no further request can be answered."""
        return self._abandoned or self._reader.done()

    def request(self, identifier: int, command: dict[str, Any]) -> asyncio.Future[dict[str, Any]]:
        """Ask for a parse; the future ends with the child."""
        self._waiting[identifier] = ended = asyncio.get_running_loop().create_future()
        self._send({"id": identifier, **command})
        return ended

    def kill(self, identifier: int) -> None:
        """Ask for the child's death; its future then ends."""
        self._send({"id": identifier, "kill": True})

    def give_way(self, identifier: int, niceness: int) -> None:
        """Let the child run behind everything else, and ask how long it has been kept waiting."""
        self._send({"id": identifier, "give_way": niceness})

    def waited(self, identifier: int) -> float:
        """Return the seconds that a child had been kept waiting for a processor when it was last asked."""
        return self._waited.get(identifier, 0.0)

    def abandon(self) -> None:
        """Kill the zygote, which ends its children, and fail what waits for it; it is still to be stopped."""
        self._abandoned = True
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._fail_waiting()

    async def stop(self) -> None:
        """Close the zygote's input, which ends it and its children, and wait."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(5):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        await self._reader

    def _send(self, command: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        if not self._process.stdin.is_closing():
            self._process.stdin.write(json.dumps(command).encode() + b"\n")

    async def _read_replies(self) -> None:
        assert self._process.stdout is not None
        try:
            async for line in self._process.stdout:
                message = json.loads(line)
                if "waited" in message:
                    self._waited[message["id"]] = message["waited"]
                    continue
                self._waited.pop(message["id"], None)
                future = self._waiting.pop(message["id"], None)
                if future is not None and not future.done():
                    future.set_result(message)
        finally:
            self._fail_waiting()

    def _fail_waiting(self) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(Unavailable("The parsing process ended; the document will be tried again."))
