"""`sourcier tenants erase`: counted, confirmed by the name that is typed, and told to the end."""

from __future__ import annotations

import json

from tests.integration.cli.conftest import Command
from tests.unit.sdk.fake_gateway import FakeGateway


def asked(gateway: FakeGateway) -> list[tuple[str, bool]]:
    """Return what the gateway was asked to erase, and whether only to count."""
    return [(request.tenant, request.dry_run) for request in gateway.requests]


async def test_counting_changes_nothing(cli: Command, gateway: FakeGateway) -> None:
    done = await cli("tenants", "erase", "acme", "--dry-run")
    assert (done.code, done.out.splitlines()) == (0, ["WHAT\tTHERE", f"documents\t{len(gateway.documents)}"])
    assert asked(gateway) == [("acme", True)]
    assert dict(gateway.metadata[-1])["sourcier-tenant"] == "acme", "on whose behalf, too"


async def test_it_is_confirmed_by_the_name_alone(cli: Command, gateway: FakeGateway) -> None:
    for typed in ("", "\n", "y\n", "ACME\n"):
        refused = await cli("tenants", "erase", "acme", stdin=typed)
        assert refused.code != 0, typed
    assert {dry_run for _, dry_run in asked(gateway)} == {True}
    done = await cli("tenants", "erase", "acme", stdin="acme\n")
    assert done.code == 0, done.err
    assert asked(gateway)[-1] == ("acme", False)
    lines = done.out.splitlines()
    assert any(line.startswith("erased acme, 2030-") for line in lines)
    assert lines[-2:] == ["backups\toperator\t-", "backups: Yours."]
    assert done.err.count("erasing rows …") == 1


async def test_a_script_asks_nobody(cli: Command, gateway: FakeGateway) -> None:
    done = await cli("tenants", "erase", "acme", "--yes", "--json")
    report = json.loads(done.out.splitlines()[-1])
    assert (done.code, report["finished"], report["traces"][0]["state"]) == (0, True, "TRACE_STATE_OPERATOR")
    assert asked(gateway) == [("acme", False)]
