"""`sourcier-service broker-users`: what the configuration of a broker of one's own lets each service do.

It is made from the table of subjects; passwords stay in the broker's environment.
"""

from __future__ import annotations

import sys

from pydantic import ValidationError
from pydantic_settings import SettingsConfigDict

from sourcier.services.chassis.queue.permissions import STAGES, users
from sourcier.services.chassis.settings import SubjectSettings

EXIT_USAGE = 2


class PrefixSettings(SubjectSettings):
    """How the subjects of this installation begin, which its services are told as well."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", populate_by_name=True)


def main(arguments: list[str]) -> int:
    """Print an account for nats-server's configuration; return the exit code."""
    if arguments:
        sys.stderr.write("error: broker-users takes no arguments\n")
        return EXIT_USAGE
    try:
        settings = PrefixSettings()
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_input=False):
            sys.stderr.write(f"error: {fault['loc'][0]}: {fault['msg'].removeprefix('Value error, ')}\n")
        return EXIT_USAGE
    passwords = {name: f"$NATS_PASSWORD_{name.upper()}" for name in STAGES}
    sys.stdout.write(ACCOUNT.format(users=users(settings.subject_prefix, passwords)))
    return 0


ACCOUNT = """\
# Include it in nats-server's configuration. Each service has a user, whose password is in the broker's environment:
# SOURCIER_NATS_URL=nats://ingest:PASSWORD@HOST:4222 for ingest, and so on. `notifier` is for an object store that tells
# the broker of its bucket itself.
accounts {{
SOURCIER {{
  jetstream: enabled
  users: [
{users}  ]
}}
}}
"""
