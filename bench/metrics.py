"""The services' own metrics, read from their Prometheus endpoints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import httpx
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from sourcier.services.stack.processes.ports import HOST, free_ports

INGESTING = ("ingest", "embed")
"""The services whose metrics a benchmark of ingestion reads."""


def endpoints(services: Sequence[str] = INGESTING) -> dict[str, str]:
    """Return the settings that make each service tell its metrics on a free port."""
    return {
        setting(name): f"{HOST}:{port}" for name, port in zip(services, free_ports(len(services)), strict=True)
    }


def setting(service: str) -> str:
    """Return the name of the setting that says where a service tells its metrics."""
    return f"SOURCIER_{service.upper()}_METRICS_LISTEN"


async def families(addresses: Iterable[str]) -> list[list[Metric]]:
    """Return what each address tells, in their order."""
    # Whatever proxy the environment names, the services are on this machine.
    async with httpx.AsyncClient(trust_env=False, timeout=10) as client:
        texts = [(await client.get(f"http://{address}/metrics")).text for address in addresses]
    return [list(text_string_to_metric_families(text)) for text in texts]


async def read(listening: Mapping[str, str]) -> dict[str, float]:
    """Return the value of every sample, named `name` or `name{label values}`, summed where services share a name."""
    values: dict[str, float] = {}
    for told in await families(listening.values()):
        for sample in (sample for family in told for sample in family.samples):
            labels = ",".join(sample.labels.values())
            name = f"{sample.name}{{{labels}}}" if labels else sample.name
            values[name] = values.get(name, 0.0) + sample.value
    return values
