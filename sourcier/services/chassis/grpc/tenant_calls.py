"""Calls by tenant, as a metric: of so many tenants at most, since each is a series for good."""

from __future__ import annotations

from prometheus_client import Counter

from sourcier.services.chassis.tenants import TENANT_PATTERN

TENANTS_MAX = 200
OTHER = "_other"
"""Those that came when so many were known, and names that are none."""

tenant_calls_total = Counter(
    "sourcier_tenant_calls_total", "Calls by tenant and status; _other for the tenants beyond the first 200.",
    ["tenant", "code"],
)
_known: set[str] = set()


def count_call(tenant: str, code: str) -> None:
    """Count a call that ended."""
    if tenant not in _known:
        if len(_known) >= TENANTS_MAX or not TENANT_PATTERN.fullmatch(tenant):
            tenant = OTHER
        else:
            _known.add(tenant)
    tenant_calls_total.labels(tenant, code).inc()
