"""Whose call it is: the tenant that its metadata names, and the keys of it that decide rights."""

from __future__ import annotations

from typing import Any

import grpc.aio

from sourcier.services.chassis.access import ACCESS_KEY, current_access
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.grpc.admission import metadata_value
from sourcier.services.chassis.tenants import checked_tenant

TENANT_KEY = "sourcier-tenant"
RIGHTS_KEYS = (TENANT_KEY, "authorization", ACCESS_KEY)
"""Keys of the metadata that decide whose data a call sees. Each may be given once: behind a proxy that adds its own,
the caller would otherwise choose."""
DEFAULT_TENANT = "default"


def tenant_of(context: grpc.aio.ServicerContext[Any, Any]) -> str:
    """Return the caller's tenant; where no account is asked for, the one in the metadata, `default` where none is."""
    access = current_access()
    return access.tenant if access is not None else checked_tenant(named_tenant(context))


def named_tenant(context: grpc.aio.ServicerContext[Any, Any]) -> str:
    """Return the tenant that a call names, whether the name is well formed or not."""
    return metadata_value(context.invocation_metadata(), TENANT_KEY) or DEFAULT_TENANT


def check_rights_keys(metadata: Any) -> None:
    """Raise InvalidArgument where a key that decides rights is given more than once."""
    names = [name for name, _ in metadata or ()]
    for key in RIGHTS_KEYS:
        if names.count(key) > 1:
            raise InvalidArgument(f"the metadata has {key} {names.count(key)} times; send it once", field=key)
