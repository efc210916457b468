"""The attacker's process where locking in worked in the trial, and fails when there is something to read."""

import errno
from typing import NoReturn

from sourcier.services.ingest.parsing import zygote
from sourcier.services.ingest.parsing.confining import landlock
from tests.integration.ingest.parsing.attacker import work


def fail(**paths: object) -> NoReturn:
    """Fail as where there are too many rule sets already."""
    raise OSError(errno.E2BIG, "too many")


def warm() -> None:
    """Import nothing."""


if __name__ == "__main__":
    tried = zygote.Lock.tried

    def then_failing() -> zygote.Lock:
        lock = tried()
        landlock.restrict = fail
        return lock

    zygote.Lock.tried = then_failing  # type: ignore[method-assign,assignment]
    zygote.main(work, warm)
