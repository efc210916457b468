"""What a rendering would run, run: its commands with its environment as processes, on servers of the test's own.

No container and no kubelet: addresses and folders are put in place of a cluster's, everything else is as rendered.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from sourcier.services.stack.processes.ports import free_ports

ROOT = Path(__file__).parents[2]
RENDERED = ROOT / "deploy" / "k8s" / "rendered" / "minimal" / "sourcier.yaml"
SECONDS_MAX = 100


class Pods:
    """Runs the containers of a rendering."""

    def __init__(self, folder: Path, *, secrets: Mapping[str, str], prefix: str) -> None:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._manifests = [each for each in yaml.load_all(RENDERED.read_text("utf-8"), loader) if each]
        self._folder = folder
        self._prefix = prefix
        for name, value in secrets.items():
            (folder / name).write_text(f"{value}\n")

    def pod(self, kind: str, name: str) -> Any:
        """Return the specification of a pod."""
        [found] = [each for each in self._manifests
                   if each["kind"] == kind and each["metadata"]["name"].startswith(name)]
        return found["spec"]["template"]["spec"]

    def environment(self, container: Any) -> dict[str, str]:
        """Return what a container is told, with the addresses and folders of this machine."""
        [settings] = [each["data"] for each in self._manifests if each["kind"] == "ConfigMap"]
        told = settings | {entry["name"]: str(entry["value"]) for entry in container["env"]}
        for name, value in told.items():
            if name.endswith("_LISTEN"):
                [port] = free_ports(1)
                told[name] = f"127.0.0.1:{port}"
            elif name.endswith("_URL") and value.startswith("sourcier-"):
                # Nobody is there: a peer that is away keeps no service from starting.
                told[name] = "127.0.0.1:1"
            else:
                told[name] = value.replace("/secrets/", f"{self._folder}/")
        # As on every address but this machine's own, where a cluster's gateway listens.
        return told | {"PATH": os.environ["PATH"], "HOME": str(self._folder), "SOURCIER_LOG_FORMAT": "line",
                       "SOURCIER_SUBJECT_PREFIX": self._prefix, "SOURCIER_GATEWAY_ACCOUNTS": "on"}

    async def prepare(self, name: str) -> None:
        """Run what a Deployment runs before its container, models apart, to a good end."""
        for container in self.pod("Deployment", name).get("initContainers", []):
            if container["name"] != "models":
                process, _ = await self.start("Deployment", name, container)
                _, said = await process.communicate()
                assert process.returncode == 0, said.decode()[-2000:]

    async def start(
        self, kind: str, name: str, container: Any = None
    ) -> tuple[asyncio.subprocess.Process, dict[str, str]]:
        """Start a pod's container."""
        container = container or self.pod(kind, name)["containers"][0]
        told = self.environment(container)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "sourcier.services", *container["args"], cwd=ROOT, env=told,
            stderr=asyncio.subprocess.PIPE,
        )
        return process, told

    @asynccontextmanager
    async def running(self, name: str) -> AsyncIterator[None]:
        """Run a Deployment's container until it is ready by its rendered probe, then end it as the kubelet does."""
        await self.prepare(name)
        process, told = await self.start("Deployment", name)
        reading = asyncio.create_task(self._read(process), name=f"log of {name}")
        try:
            async with asyncio.timeout(SECONDS_MAX):
                while await self._probe(told) != 0:
                    assert process.returncode is None, (await reading)[-2000:]
                    await asyncio.sleep(0.2)
            yield
            process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(self.pod("Deployment", name)["terminationGracePeriodSeconds"]):
                assert await process.wait() == 0, (await reading)[-2000:]
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            await reading

    async def _read(self, process: asyncio.subprocess.Process) -> str:
        assert process.stderr is not None
        return (await process.stderr.read()).decode()

    async def _probe(self, told: Mapping[str, str]) -> int:
        """Ask as the probes of a container do: by gRPC on its port."""
        probe = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "sourcier.services", "probe", cwd=ROOT, env=dict(told),
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )
        return await probe.wait()


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_the_job_migrates_and_services_start_and_stop_as_they_are_rendered(
    tmp_path: Path, empty_database_url: str, nats_url: str, subject_prefix: str
) -> None:
    pods = Pods(tmp_path, prefix=subject_prefix, secrets={
        "postgres-url": empty_database_url, "nats-url": nats_url, "s3-access-key": "a", "s3-secret-key": "b",
        "prompt-secret": "a secret of this test", "internal-token": "what services show", "session-secret": "a seal",
        "first-key": f"sourcier_default_00000000000000aa_{'k' * 43}",
    })
    job, _ = await pods.start("Job", "sourcier-migrate")
    _, said = await job.communicate()
    assert job.returncode == 0, said.decode()
    assert b"applied 0001_index" in said
    # Twice, as replicas and restarts do: the first key is kept once.
    await pods.prepare("sourcier-gateway")
    async with pods.running("sourcier-gateway"):
        pass
    async with pods.running("sourcier-web"):
        pass
    async with pods.running("sourcier-rerank"):
        pass
