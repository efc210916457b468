"""The system under test: a stack of one's own in a data folder, or a gateway that runs already."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.generate.v1 import generate_pb2, generate_pb2_grpc
from sourcier.installation import own_environment
from sourcier.services.chassis.grpc.channels import Identity, open_channel
from sourcier.services.stack import statefile

SERVICES = "ingest,embed,rerank,gateway"
NO_MODEL = "127.0.0.1:9"
"""The gateway wants the address of a language model; searching never calls it."""
OWN_MODEL = ""
"""In place of an address: the stack serves its own language model."""
TOKEN = "SOURCIER_INTERNAL_TOKEN"
DESCRIBE_SECONDS_MAX = 30.0


class StackFailed(Exception):
    """The stack did not start; what it printed says why."""


@dataclass(frozen=True, slots=True)
class System:
    """What is measured."""

    gateway: str
    """host:port."""
    engine: str
    """What runs the embedding model, for example `onnxruntime-fp32`; empty where it cannot be asked."""
    model: str
    revision: str
    language_model: str = ""
    """What answers; empty where there is none, or it cannot be asked."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """The addresses of the services behind the gateway; empty where only the gateway's is known."""

    @property
    def token(self) -> str:
        """What the services behind the gateway ask for; empty where their addresses are not known either."""
        return self.environment.get(TOKEN, "")

    @property
    def described(self) -> str:
        """Return the model and its engine in words."""
        if not self.model:
            return f"the gateway {self.gateway}"
        return f"{self.model} (revision {self.revision}), {self.engine}"

    @property
    def described_with_model(self) -> str:
        """Return the same, and what answers, in words."""
        return f"{self.described}, language model {self.language_model or 'unknown'}"


@contextlib.contextmanager
def running_system(
    *, gateway: str, data_dir: Path | None, engine: str, generate: str = NO_MODEL
) -> Iterator[System]:
    """Yield the gateway given, or start a stack and stop it at the end.

    `generate` is the address of a language model, or `OWN_MODEL`; what only searches needs none.

    Without a data folder the stack gets one that is removed with it; with one, what is ingested stays. A stack that
    runs on the folder already is used and left running.
    """
    if gateway:
        yield System(gateway, "", "", "")
        return
    with contextlib.ExitStack() as cleanup:
        if data_dir is None:
            data_dir = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="sourcier-eval-")))
        data_dir = data_dir.absolute()
        if not (data_dir.exists() and statefile.is_locked(data_dir)):
            cleanup.callback(_stack, "down", data_dir, engine=engine, generate=generate)
            if _stack("up", data_dir, "--detach", engine=engine, generate=generate) != 0:
                raise StackFailed("the stack did not start; its own message is above")
        yield asyncio.run(_describe(data_dir))


def _stack(command: str, data_dir: Path, *options: str, engine: str, generate: str) -> int:
    services = SERVICES if generate else f"{SERVICES},generate"
    environment = {
        **own_environment(os.environ), "SOURCIER_STACK_SERVICES": services,
        "SOURCIER_EMBED_ENGINE": engine, "SOURCIER_STACK_PARENT": str(os.getpid()),
    }
    if address := os.environ.get("SOURCIER_GENERATE_URL", generate):
        environment["SOURCIER_GENERATE_URL"] = address
    arguments = (sys.executable, "-m", "sourcier.services.stack", command, "--data-dir", str(data_dir), *options)
    return subprocess.run(arguments, env=environment, check=False).returncode


async def _describe(data_dir: Path) -> System:
    status = statefile.read(data_dir)
    if status is None or not status.gateway:
        raise StackFailed(f"the stack on {data_dir} has no gateway")
    token = status.environment.get(TOKEN, "")
    async with open_channel(status.environment["SOURCIER_EMBED_URL"], identity=Identity(token=token)) as channel:
        described = await embed_pb2_grpc.EmbedServiceStub(channel).Describe(
            embed_pb2.DescribeRequest(), timeout=DESCRIBE_SECONDS_MAX
        )
    return System(
        status.gateway, described.engine, described.model, described.revision,
        await _language_model(status.environment.get("SOURCIER_GENERATE_URL", ""), token=token), status.environment,
    )


async def _language_model(address: str, *, token: str) -> str:
    if address in ("", NO_MODEL):
        return ""
    async with open_channel(address, identity=Identity(token=token)) as channel:
        response = await generate_pb2_grpc.GenerateServiceStub(channel).Describe(
            generate_pb2.DescribeRequest(), timeout=DESCRIBE_SECONDS_MAX
        )
    return response.model
