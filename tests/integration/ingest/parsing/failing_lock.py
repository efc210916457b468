"""The attacker's process where locking in worked in the trial, and fails when there is something to read."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from pathlib import Path

from sourcier.services.ingest.parsing import zygote
from sourcier.services.ingest.parsing.confining import landlock
from tests.integration.ingest.parsing.attacker import work

_restrict = landlock.restrict


def fail(*, reads: Iterable[str | Path], writes: Iterable[str | Path]) -> None:
    """Fail as where there are too many rule sets already; the trial, which writes nowhere, does not."""
    if tuple(writes):
        raise OSError(errno.E2BIG, "too many")
    _restrict(reads=reads, writes=())


if __name__ == "__main__":
    landlock.restrict = fail
    zygote.main(work, lambda: None)
