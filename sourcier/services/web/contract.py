"""The gateway's public methods, as their descriptors tell them: a service that is added to the contract is here too."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

import sourcier.gateway.v1

PACKAGE = sourcier.gateway.v1.__name__
_READS = ("Get", "List", "Search", "Describe")
"""How methods begin that change nothing: they may be tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One method of a public service."""

    service: str
    """The service's full name: `sourcier.gateway.v1.KnowledgeService`."""
    name: str
    request: type[Message]
    response: type[Message]
    takes_stream: bool
    answers_stream: bool

    @property
    def path(self) -> str:
        """The path of its calls: `/sourcier.gateway.v1.KnowledgeService/GetJob`."""
        return f"/{self.service}/{self.name}"

    @property
    def only_reads(self) -> bool:
        """Whether it may be tried again without a second effect."""
        return self.name.startswith(_READS) and not self.takes_stream


def public_services() -> Iterator[ServiceDescriptor]:
    """Yield the services of the public package, whichever file they stand in."""
    for module in pkgutil.iter_modules(sourcier.gateway.v1.__path__):
        if module.name.endswith("_pb2"):
            yield from importlib.import_module(f"{PACKAGE}.{module.name}").DESCRIPTOR.services_by_name.values()


def _method(service: ServiceDescriptor, method: MethodDescriptor) -> Method:
    return Method(
        service=service.full_name, name=method.name, request=GetMessageClass(method.input_type),
        response=GetMessageClass(method.output_type), takes_stream=method.client_streaming,
        answers_stream=method.server_streaming,
    )


METHODS: Mapping[str, Method] = {
    found.path: found for service in public_services() for method in service.methods
    for found in [_method(service, method)]
}
"""All public methods, by path."""


def named(service: str, method: str) -> Method:
    """Return a method of the public package by its short names."""
    return METHODS[f"/{PACKAGE}.{service}/{method}"]
