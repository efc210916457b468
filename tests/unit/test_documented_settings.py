"""Every setting and metric that the documentation names exists; what a service cannot start without is documented."""

from __future__ import annotations

import inspect
import re
from functools import cache
from pathlib import Path

import pytest
from pydantic_settings import BaseSettings

from requirements import settings as settings_page
from sourcier.services.chassis.environment import declared_variables
from sourcier.services.chassis.settings import ServiceSettings
from sourcier.services.embed.settings import EmbedSettings
from sourcier.services.gateway.settings import GatewaySettings
from sourcier.services.generate.settings import GenerateSettings
from sourcier.services.ingest.settings import IngestSettings
from sourcier.services.rerank.settings import RerankSettings
from sourcier.services.stack.settings import SERVICE_NAMES, StackSettings
from sourcier.services.web.settings import WebSettings

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
DOCUMENTS = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
INSTALLING = (ROOT / "docs" / "running" / "install.md").read_text("utf-8")
SERVICES: dict[str, type[BaseSettings]] = {
    "ingest": IngestSettings, "embed": EmbedSettings, "rerank": RerankSettings, "generate": GenerateSettings,
    "gateway": GatewaySettings, "web": WebSettings,
}
SERVICES_FOLDER = Path(inspect.getfile(GatewaySettings)).parents[1]
NAME = re.compile(r"SOURCIER_(?:<SERVICE>_)?[A-Z0-9_]+")
METRIC = re.compile(r"`(sourcier_[a-z0-9_]+)")


def variables(settings: type[BaseSettings], *, required: bool = False) -> set[str]:
    """Return the variables that a settings class reads, or those of them without a default."""
    prefix = str(settings.model_config["env_prefix"])
    return {
        str(field.validation_alias or prefix + name.upper()) for name, field in settings.model_fields.items()
        if field.is_required() or not required
    }


@cache
def known() -> set[str]:
    """Return the variables of services and stack, of the command line, and of benchmarks."""
    own = {
        name for path in (
            *(ROOT / "sourcier" / "cli").rglob("*.py"), *(ROOT / "sourcier" / "connection").rglob("*.py"),
            ROOT / "sourcier" / "services" / "stack" / "__main__.py"
        )
        for name in re.findall(r'"(SOURCIER_[A-Z0-9_]+)"', path.read_text("utf-8"))
    }
    measuring = {
        name for path in (ROOT / "bench").rglob("*.py")
        for name in re.findall(r'"(SOURCIER_BENCH_[A-Z0-9_]+)"', path.read_text("utf-8"))
    }
    return own.union(measuring, declared_variables(), *map(variables, (*SERVICES.values(), StackSettings)))


def expanded(name: str) -> list[str]:
    """Return what a name stands for: with `<SERVICE>` one for each of the five."""
    return [name.replace("<SERVICE>", service.upper()) for service in SERVICE_NAMES]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_setting_that_is_named_exists(document: Path) -> None:
    existing = known()
    named = {each for name in NAME.findall(document.read_text("utf-8")) for each in expanded(name)}
    # `SOURCIER_GATEWAY_…` stands for all that begin so.
    groups = {name for name in named if name.endswith("_") and any(each.startswith(name) for each in existing)}
    assert not named - existing - groups


def test_each_metric_that_is_named_exists() -> None:
    named = {name for document in DOCUMENTS for name in METRIC.findall(document.read_text("utf-8"))}
    code = "\n".join(path.read_text("utf-8") for path in SERVICES_FOLDER.rglob("*.py"))
    assert len(named) > 20
    assert {name for name in named if f'"{name}"' not in code} == set()


def rows() -> dict[str, list[str]]:
    """Return the table of what each service is told, by service: what it must be, and what else."""
    _, _, section = INSTALLING.partition("\n## Each service by itself\n")
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if "|" in line]
    return {name: told for name, *told in cells if name in SERVICE_NAMES}


@pytest.mark.parametrize("service", SERVICE_NAMES)
def test_what_a_service_needs_to_be_run_elsewhere_is_documented(service: str) -> None:
    needed, further = rows()[service]
    assert set(NAME.findall(needed)) == variables(SERVICES[service], required=True)
    assert set(NAME.findall(further)) <= variables(SERVICES[service])


def test_the_page_of_settings_tells_their_defaults_and_bounds() -> None:
    _, _, told = settings_page.PAGE.read_text("utf-8").partition(settings_page.BEGIN)
    assert told.strip().splitlines() == settings_page.tables().strip().splitlines(), "run: make tree"


@pytest.mark.parametrize("settings", [*SERVICES.values(), StackSettings], ids=lambda settings: settings.__name__)
def test_every_setting_has_a_row_on_that_page(settings: type[BaseSettings]) -> None:
    page = settings_page.PAGE.read_text("utf-8")
    shared = {f"SOURCIER_<SERVICE>_{name.upper()}" for name in ServiceSettings.__annotations__}
    prefix = str(settings.model_config["env_prefix"])
    missing = {variable for variable in variables(settings) if f"| `{variable}` |" not in page}
    assert {f"SOURCIER_<SERVICE>_{variable.removeprefix(prefix)}" for variable in missing} <= shared
