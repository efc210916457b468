"""Images built, run and asked: `make images`, as root, where buildah, runc and mmdebstrap are.

Without `LARGE=1`, those with vLLM or PyTorch are left out, and the language model is a service of this machine.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from bench.environment import running_stack
from sourcier.services.chassis.models.store import root_of
from tests.deploy import containers

ROOT = Path(__file__).parents[2]
ASKED = os.environ.get("SOURCIER_TEST_IMAGES", "")
"""`small` or `large`; else nothing is built."""
BUILT = (*containers.TARGETS, *(containers.LARGE if ASKED == "large" else ()))
MEGABYTES_MAX = 450.0
"""What an image may have, its base included."""
OVER = {"embed": 520.0, "ocr": 650.0, "speech": 650.0}
"""Those that hold OpenVINO, OpenCV or FFmpeg, and do not keep to it: what they are bounded by instead."""
BILLS = ROOT / "build" / "sbom"
SCAN = "Quand le site de Nantes est-il fermé pendant l’été ?"
"""The demo's first question: its answer is in a scanned page."""

MODEL = "smollm2-135m-instruct"
TOLD = ("SOURCIER_NATS", "SOURCIER_POSTGRES", "SOURCIER_S3", "SOURCIER_INTERNAL_TOKEN", "SOURCIER_GENERATE_URL")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(2_400),
    pytest.mark.skipif(not ASKED, reason="minutes and gigabytes: `make images` builds them and asks"),
    pytest.mark.skipif(bool(containers.lacking()), reason=containers.lacking()),
]


def services() -> Mapping[str, tuple[str, str]]:
    """Return the image and the prefix of the settings of each service of the stack, a loopback address each."""
    images = {"ingest": "INGEST", "ocr": "INGEST", "speech": "INGEST", "embed": "EMBED", "rerank": "RERANK",
              "generate-cpu": "GENERATE", "gateway": "GATEWAY", "web": "WEB"}
    return {image: (prefix, f"127.0.0.{number}") for number, (image, prefix) in enumerate(images.items(), start=21)
            if image in BUILT}


@pytest.mark.parametrize("target", BUILT)
def test_a_target_builds_and_is_of_a_bounded_size(target: str) -> None:
    containers.build(target)
    added = containers.megabytes(target) - containers.megabytes("base")
    print(f"{target}: {containers.megabytes(target):.0f} MB, {added:.0f} MB of them above the base")  # noqa: T201
    if target not in containers.LARGE:
        assert containers.megabytes(target) <= OVER.get(target, MEGABYTES_MAX)


def test_the_bills_of_materials_are_written_beside_the_images() -> None:
    shutil.rmtree(BILLS, ignore_errors=True)
    BILLS.mkdir(parents=True)
    containers.build("sbom" if ASKED == "large" else "sbom-services", output=BILLS)
    named = {path.name.partition(".")[0]: json.loads(path.read_text()) for path in BILLS.iterdir()}
    parts = {"common" if target in ("gateway", "generate") else target for target in BUILT}
    assert named.keys() == parts
    for part, bill in named.items():
        assert {"grpcio", "numpy"} <= {each["name"] for each in bill["components"]} or part == "models"
    assert "openvino" in {each["name"] for each in named["embed"]["components"]}
    print(f"bills of materials: {BILLS.relative_to(ROOT)}")  # noqa: T201


def test_no_image_holds_an_installer_or_a_compiler() -> None:
    for target in containers.TARGETS:
        working = containers.run("buildah", "from", containers.name(target))
        try:
            root = Path(containers.run("buildah", "mount", working))
            commands = {path.name for path in (root / "opt/sourcier/bin").iterdir()}
            assert not {name for name in commands if name.startswith(("pip", "cyclonedx"))}
            assert not [name for name in ("gcc", "cc", "make", "strip") if (root / "usr/bin" / name).exists()]
        finally:
            containers.run("buildah", "rm", working)


async def test_the_image_for_an_endpoint_starts_and_stops(tmp_path: Path) -> None:
    told = {"SOURCIER_GENERATE_OPENAI_URL": "http://127.0.0.1:9/v1", "SOURCIER_GENERATE_OPENAI_MODEL": "any",
            "SOURCIER_GENERATE_LISTEN": "127.0.0.31:50051", "SOURCIER_GENERATE_METRICS_LISTEN": "127.0.0.31:9101"}
    async with containers.container("generate", tmp_path, told=told) as running:
        await running.healthy()
        assert await running.stop() == 0, running.log()


@pytest.mark.skipif("models" not in BUILT, reason="holds PyTorch: `make images LARGE=1`")
async def test_the_image_of_models_lists_them(tmp_path: Path) -> None:
    models = root_of(os.environ)
    async with containers.container("models", tmp_path, told={}, models=models) as running:
        assert await running.process.wait() == 0, running.log()
        assert "multilingual-e5-small" in running.log()


async def test_the_images_answer_the_first_question_of_the_demo(tmp_path: Path) -> None:
    async with stack(tmp_path) as running:
        code, said = await running["rerank"].execute("python3", "-c", "import os; print(os.getuid()); open('/x', 'w')")
        assert code != 0
        assert said.startswith(f"{containers.NOBODY}\n")
        assert "Read-only file system" in said
        gateway = f"{services()['gateway'][1]}:50051"
        sourcier("ingest", "demo/documents", "--wait", "--gateway", gateway)
        events = [json.loads(line) for line in sourcier("ask", SCAN, "--json", "--gateway", gateway).splitlines()]
        told = json.dumps(events, ensure_ascii=False)
        print("".join(str(event.get("token", {}).get("text", "")) for event in events))  # noqa: T201
        assert "note-de-service-14" in told
        assert "27 juillet" in told
        for name in reversed(running):
            assert await running[name].stop() == 0, f"{name}: {running[name].log()}"


@asynccontextmanager
async def stack(folder: Path) -> AsyncIterator[dict[str, containers.Container]]:
    """Run an image of each service on servers of this machine, until the HEALTHCHECK of each passes."""
    here = "none" if "generate-cpu" in BUILT else "generate"
    async with (
        running_stack(SOURCIER_STACK_SERVICES=here, SOURCIER_GENERATE_MODEL=MODEL) as servers,
        AsyncExitStack() as opened,
    ):
        told = {key: value for key, value in servers.items() if key.startswith(TOLD)}
        told |= {f"SOURCIER_{prefix}_URL": f"{address}:50051" for image, (prefix, address) in services().items()
                 if image not in ("ocr", "speech", "web")}
        told |= {"SOURCIER_GENERATE_MODEL": MODEL, "SOURCIER_INGEST_SPEECH": "true",
                 "SOURCIER_START_WAIT_SECONDS": "120"}
        running: dict[str, containers.Container] = {}
        for image, (prefix, address) in services().items():
            own = {f"SOURCIER_{prefix}_LISTEN": f"{address}:50051",
                   f"SOURCIER_{prefix}_METRICS_LISTEN": f"{address}:9101"}
            if image == "web":
                own["SOURCIER_WEB_HTTP_LISTEN"] = f"{address}:8080"
            running[image] = await opened.enter_async_context(
                containers.container(image, folder, told=told | own, models=root_of(os.environ))
            )
        for each in running.values():
            await each.healthy()
        yield running


def sourcier(*arguments: str) -> str:
    """Run the command as a person would, on this machine; return what it wrote."""
    done = subprocess.run([sys.executable, "-m", "sourcier.cli", *arguments], cwd=ROOT, capture_output=True, text=True,
                          timeout=600, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout
