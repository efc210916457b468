"""The services' own metrics, read from their Prometheus endpoints."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families

from services.stack.ports import HOST, free_ports

SERVICES = ("ingest", "embed")


def endpoints() -> dict[str, str]:
    """Return the settings that make each service tell its metrics on a free port."""
    return {
        f"SOURCIER_{name.upper()}_METRICS_LISTEN": f"{HOST}:{port}"
        for name, port in zip(SERVICES, free_ports(len(SERVICES)), strict=True)
    }


async def read(listening: Mapping[str, str]) -> dict[str, float]:
    """Return the value of every sample, named `name` or `name{label values}`, summed where services share a name."""
    values: dict[str, float] = {}
    for address in listening.values():
        text = await asyncio.to_thread(_get, f"http://{address}/metrics")
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                labels = ",".join(sample.labels.values())
                name = f"{sample.name}{{{labels}}}" if labels else sample.name
                values[name] = values.get(name, 0.0) + sample.value
    return values


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as response:
        return str(response.read().decode())
