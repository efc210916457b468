"""What a tenant may be called: a name that is one NATS token. Imports are light: every call is checked by this."""

from __future__ import annotations

import re

from sourcier.services.chassis.errors import InvalidArgument

TENANT_PATTERN = re.compile(r"[a-z0-9-]{1,40}")


def checked_tenant(tenant: str) -> str:
    """Return the tenant, or refuse what would not be one NATS token."""
    if not TENANT_PATTERN.fullmatch(tenant):
        raise InvalidArgument(f"tenant {tenant!r} is not 1 to 40 characters of a-z, 0-9 and '-'", field="tenant")
    return tenant
