"""What each service has to be allowed at the broker, from the table of subjects; everything else may be refused to it.

Every service makes the streams where it finds none, and looks at their state. What is in them is read by those alone
that the table names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.subjects import Payload, Stream, Subject

INBOX = "_INBOX"
STAGES = {
    "ingest": frozenset({
        "dispatcher", "intake", "parse", "ocr", "speech", "chunk", "index", "enrichment", "enrich", "failures",
        "workers", "WatchJob", "ingest",
    }),
    "embed": frozenset({"embed"}),
    "gateway": frozenset({"webhook", "gateway", "Resume"}),
    "notifier": frozenset({"bucket notifier"}),
}
"""Names of the table by who they are: the services, and an object store that tells the broker itself."""
ASKED = (subjects.VERSION_STANDING, subjects.ANSWER_OWNER)
"""What is asked on the broker itself, and replied to."""
ERASES = "ingest"
"""Deletes what streams hold of a tenant, and sends again what had failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """Subjects that a service publishes to and subscribes to, wildcards included."""

    service: str
    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    replies: bool
    """Whether others ask it something over the broker: it then answers on their inbox."""


def inbox_prefix(name: str) -> str:
    """Return where a service has its answers: no other one hears them."""
    return f"{INBOX}.{name}"


def permissions(prefix: str) -> list[Permissions]:
    """Return what each service is allowed under a subject prefix."""
    return [_of_service(service, prefix) for service in STAGES]


def users(prefix: str, passwords: Mapping[str, str]) -> str:
    """Return a user for each service that has a password, as a list of nats-server's configuration.

    A password that begins with `$` is the name of a variable of the server's environment.
    """
    return "".join(_user(each, passwords[each.service]) for each in permissions(prefix) if each.service in passwords)


def _user(allowed: Permissions, password: str) -> str:
    responses = "\n      allow_responses: true" if allowed.replies else ""
    return f"""\
  {{
    user: {json.dumps(allowed.service)}
    password: {password if password.startswith('$') else json.dumps(password)}
    permissions: {{
      publish: {{ allow: {_listed(allowed.publish)} }}
      subscribe: {{ allow: {_listed(allowed.subscribe)} }}{responses}
    }}
  }}
"""


def _listed(addresses: tuple[str, ...]) -> str:
    return f"[\n{''.join(f'        {json.dumps(address)}{chr(10)}' for address in addresses)}      ]"


def _of_service(service: str, prefix: str) -> Permissions:
    stages = STAGES[service]
    published = [each.pattern(prefix) for each in subjects.TABLE if _publishers(each) & stages]
    if service == ERASES:
        published += [each.pattern(prefix) for each in subjects.FED_BY_STAGE.values()]
    heard = [each.pattern(prefix) for each in _told() if stages.intersection(each.consumers)]
    api = [] if service == "notifier" else _api(service, prefix)
    return Permissions(
        service=service, publish=tuple(dict.fromkeys((*published, *api))),
        subscribe=(f"{inbox_prefix(service)}.>", *heard),
        replies=any(stages.intersection(each.consumers) for each in ASKED),
    )


def _publishers(subject: Subject[Payload]) -> frozenset[str]:
    return frozenset(name.strip() for name in subject.publisher.split(","))


def _told() -> Iterator[Subject[Payload]]:
    """Yield what is told, and kept by no stream."""
    return (each for each in subjects.TABLE if each.stream is None)


def _api(service: str, prefix: str) -> list[str]:
    """Return what a service asks JetStream."""
    stages = STAGES[service]
    asked = ["$JS.API.INFO"]
    for stream, held in subjects.streams():
        name = subjects.stream_name(prefix, stream)
        asked += [f"$JS.API.STREAM.{what}.{name}" for what in ("INFO", "CREATE", "UPDATE")]
        consumers = {consumer for each in held for consumer in each.consumers} & stages
        if consumers - subjects.WITHOUT_DURABLE:
            asked += _consuming(stream, name)
        if consumers & subjects.WITHOUT_DURABLE:
            asked += [f"$JS.API.STREAM.MSG.GET.{name}", f"$JS.API.DIRECT.GET.{name}"]
        if service == ERASES:
            asked += [f"$JS.API.STREAM.{what}.{name}" for what in ("PURGE", "MSG.GET", "MSG.DELETE")]
            asked.append(f"$JS.API.CONSUMER.LIST.{name}")
    return asked


def _consuming(stream: Stream, name: str) -> Iterator[str]:
    """Give what a consumer of a stream asks and acknowledges."""
    yield from (f"$JS.API.CONSUMER.{what}.{name}.>" for what in ("CREATE", "DURABLE.CREATE"))
    yield from (f"$JS.API.CONSUMER.{what}.{name}.*" for what in ("INFO", "DELETE", "MSG.NEXT"))
    # With and without the account that newer brokers name.
    yield from (f"$JS.ACK.{name}.>", f"$JS.ACK.*.*.{name}.>")
    if stream.by_tenant:
        yield from (f"$JS.API.STREAM.{what}.{name}" for what in ("MSG.GET", "PURGE"))
