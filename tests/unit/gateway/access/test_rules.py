"""Every RPC of the gateway has a rule, and no rule is of an RPC that is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcier.gateway import v1
from sourcier.services.chassis.access import MANAGE, READ, WRITE
from sourcier.services.gateway.access.principal import Role
from sourcier.services.gateway.access.rules import RULES

SERVICES = [
    service for path in sorted(Path(v1.__file__).parent.glob("*_pb2.py"))
    for module in [__import__(f"sourcier.gateway.v1.{path.stem}", fromlist=["DESCRIPTOR"])]
    for service in module.DESCRIPTOR.services_by_name.values()
]
METHODS = [f"/{service.full_name}/{method.name}" for service in SERVICES for method in service.methods]


def test_every_rpc_has_a_rule_and_every_rule_an_rpc() -> None:
    assert sorted(METHODS) == sorted(RULES)
    assert len(METHODS) >= 67


def test_nothing_but_the_way_to_sign_in_is_public() -> None:
    assert [method for method, rule in RULES.items() if rule.public] == ["/sourcier.gateway.v1.AccessService/GetSignIn"]


@pytest.mark.parametrize("method", sorted(RULES))
def test_a_role_is_needed_that_can_hold_the_right(method: str) -> None:
    """A grant can give a reader the right to manage; the role bounds what comes of it."""
    rule = RULES[method]
    assert rule.role >= {READ: Role.READER, WRITE: Role.WRITER, MANAGE: Role.MANAGER}[rule.right]
