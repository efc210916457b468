"""Images of deploy/docker/Dockerfile, built by buildah on a base of this machine's and run by runc, as root.

Neither a registry of images nor a daemon is needed: the base is made of Debian's packages, and runc runs what buildah
mounts. A container has the network of the host, a user without a name, a read-only root and no capability.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BASE = "localhost/sourcier-base:local"
TARGETS = ("gateway", "web", "ingest", "ocr", "speech", "embed", "rerank", "generate")
"""Those that need no vLLM and no PyTorch."""
LARGE = ("generate-cpu", "models")
NOBODY = 10001
READY_SECONDS_MAX = 240.0
STOP_SECONDS_MAX = 60.0
DEBIAN = "python3,python3-venv,ca-certificates,netbase,tzdata"
SLIM = ("man", "locale", "info")
"""What slim images leave out of /usr/share, beside documentation."""


def lacking() -> str:
    """Return why no image can be built here; empty where it can."""
    if os.geteuid() != 0:
        return "images are built and run as root"
    missing = [name for name in ("buildah", "runc", "mmdebstrap") if shutil.which(name) is None]
    return f"not installed: {', '.join(missing)} (Debian's packages of these names)" if missing else ""


def run(*command: str, timeout_seconds: float = 1_800.0) -> str:
    """Run a command and return what it wrote; raise with its last lines where it failed."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=timeout_seconds, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[:2])} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout.strip()


def make_base() -> None:
    """Make the base, unless it is there: Debian's Python in the size of a slim image."""
    there = subprocess.run(["buildah", "inspect", "--type", "image", BASE], capture_output=True, check=False)
    if there.returncode == 0:
        return
    left_out = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in SLIM]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        archive = f"{folder}/base.tar"
        run("mmdebstrap", "--variant=minbase", f"--include={DEBIAN}", *left_out,
            "--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-include=/usr/share/doc/*/copyright",
            "bookworm", archive)
        container = run("buildah", "from", "scratch")
        run("buildah", "add", container, archive, "/")
    run("buildah", "config", "--env", "PATH=/usr/local/bin:/usr/bin:/bin", "--env", "LANG=C.UTF-8", container)
    run("buildah", "commit", "--quiet", "--rm", container, BASE)


def build(target: str, *, output: Path | None = None) -> None:
    """Build a target; pip is set up in it as it is here. With `output`, its files are written into that folder."""
    make_base()
    written = ["--output", f"type=local,dest={output}"] if output else ["--tag", name(target)]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        volumes, has_wheels = _pip(Path(folder))
        run(
            "buildah", "bud", "--quiet", "--isolation", "chroot", "--network", "host", "--layers", "--format", "docker",
            "--build-arg", f"BASE={BASE}", *(["--build-arg", "TORCH="] if has_wheels else []), *volumes,
            "--target", target, "--file", "deploy/docker/Dockerfile", *written, ".",
        )


def _pip(folder: Path) -> tuple[list[str], bool]:
    """Return the volumes with this machine's configuration of pip, and whether it names folders of wheels."""
    told = dict(
        line.partition("=")[::2] for line in run(sys.executable, "-m", "pip", "config", "list").splitlines()
    )
    settings = {key.rpartition(".")[2]: value.strip("'") for key, value in told.items()}
    wanted = {key: settings[key] for key in ("cert", "find-links", "index-url") if key in settings}
    configuration = folder / "pip.conf"
    configuration.write_text("[global]\n" + "".join(f"{key} = {value}\n" for key, value in wanted.items()))
    folders = [path for path in wanted.get("find-links", "").split() if Path(path).is_dir()]
    if "cert" in wanted:
        folders.append(wanted["cert"])
    mounted = [f"--volume={configuration}:/etc/pip.conf:ro", *(f"--volume={path}:{path}:ro" for path in folders)]
    return mounted, "find-links" in wanted


def name(target: str) -> str:
    """Return what an image is called here."""
    return BASE if target == "base" else f"localhost/sourcier-{target}:local"


def megabytes(target: str) -> float:
    """Return the size of an image as buildah tells it, uncompressed, its base included."""
    [told] = json.loads(run("buildah", "images", "--json", name(target)))
    # The size as a text, rounded by buildah to a thousandth of its unit: "442 MB".
    number, unit = told["size"].split()
    return float(number) * {"KB": 0.001, "MB": 1.0, "GB": 1000.0}[unit]


class Container:
    """A running image."""

    def __init__(self, identity: str, process: asyncio.subprocess.Process, log: Path, health: Sequence[str]) -> None:
        self._identity = identity
        self._health = tuple(health)
        self._log = log
        self.process = process

    def log(self) -> str:
        """Return the last that it wrote."""
        return self._log.read_text("utf-8", errors="replace")[-3000:]

    async def execute(self, *command: str) -> tuple[int, str]:
        """Run a command in it, as its user; return its exit status and what it wrote."""
        process = await asyncio.create_subprocess_exec(
            "runc", "exec", self._identity, *command,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await process.communicate()
        return process.returncode or 0, said.decode()

    async def healthy(self) -> None:
        """Wait until the image's own HEALTHCHECK passes."""
        async with asyncio.timeout(READY_SECONDS_MAX):
            while (await self.execute(*self._health))[0] != 0:
                assert self.process.returncode is None, self.log()
                await asyncio.sleep(0.5)

    async def stop(self) -> int:
        """Send SIGTERM to its first process, wait, and return the exit status."""
        await _runc("kill", self._identity, "TERM")
        async with asyncio.timeout(STOP_SECONDS_MAX):
            return await self.process.wait()


@asynccontextmanager
async def container(
    target: str, folder: Path, *, told: Mapping[str, str], arguments: Sequence[str] = (), models: Path | None = None
) -> AsyncIterator[Container]:
    """Run an image; `arguments` take the place of its command, `models` lie read-only at /models."""
    identity = f"sourcier-{target}-{uuid.uuid4().hex[:8]}"
    bundle = folder / identity
    bundle.mkdir()
    working = run("buildah", "from", "--name", identity, name(target))
    root = run("buildah", "mount", working)
    image = json.loads(run("buildah", "inspect", "--type", "image", name(target)))["Docker"]["config"]
    _write_bundle(bundle, identity, root, image, told=told, arguments=arguments, models=models)
    log = bundle / "log"
    process: asyncio.subprocess.Process | None = None
    try:
        with log.open("wb") as written:
            process = await asyncio.create_subprocess_exec(
                "runc", "run", "--bundle", str(bundle), identity,
                stdin=asyncio.subprocess.DEVNULL, stdout=written, stderr=written,
            )
        health = image.get("Healthcheck", {}).get("Test", ["CMD"])[1:]
        yield Container(identity, process, log, health)
    finally:
        await _runc("delete", "--force", identity)
        if process is not None:
            await process.wait()
        run("buildah", "umount", working)
        run("buildah", "rm", working)


async def _runc(*arguments: str) -> None:
    """Tell a container something; one that is gone already is no error."""
    process = await asyncio.create_subprocess_exec("runc", *arguments, stderr=asyncio.subprocess.DEVNULL)
    await process.wait()


def _write_bundle(
    bundle: Path, identity: str, root: str, image: Mapping[str, Any], *, told: Mapping[str, str],
    arguments: Sequence[str], models: Path | None,
) -> None:
    """Write what runc wants to know, from its own template: less of everything."""
    run("runc", "spec", "--bundle", str(bundle))
    file = bundle / "config.json"
    specification = json.loads(file.read_text())
    user, group = map(int, image["User"].split(":"))
    specification["process"] |= {
        "terminal": False, "user": {"uid": user, "gid": group}, "cwd": image["WorkingDir"],
        "args": [*image["Entrypoint"], *(arguments or image["Cmd"])],
        "env": [*image["Env"], *(f"{key}={value}" for key, value in told.items())],
        "capabilities": {}, "noNewPrivileges": True,
    }
    # A container within another may not raise them.
    specification["process"].pop("rlimits", None)
    specification["root"] = {"path": root, "readonly": True}
    specification["hostname"] = identity
    specification["linux"]["namespaces"] = [
        each for each in specification["linux"]["namespaces"] if each["type"] != "network"
    ]
    specification["mounts"].append({
        "destination": "/tmp", "type": "tmpfs", "source": "tmpfs",
        "options": ["nosuid", "nodev", "mode=1777", "size=4g"],
    })
    if models is not None:
        specification["mounts"].append({
            "destination": "/models", "type": "bind", "source": str(models), "options": ["rbind", "ro"],
        })
    file.write_text(json.dumps(specification))
