"""Named places in the code where a test can end the process, raise or wait; nothing happens unless asked for.

`SOURCIER_FAILPOINTS` names them: `index.before-acknowledge=kill:0.05,parse.after-work=delay:2.5` ends the process with
SIGKILL in one of twenty passes through the first, and waits 2.5 s at the second. `error:P` raises `Unavailable`.
`SOURCIER_FAILPOINTS_SEED` makes the same passes fail in every run of a process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sourcier.services.chassis.errors import InvalidArgument, Unavailable

logger = logging.getLogger(__name__)

VARIABLE = "SOURCIER_FAILPOINTS"
SEED_VARIABLE = "SOURCIER_FAILPOINTS_SEED"

NAMES = (
    "consume.after-fetch", "consume.before-acknowledge", "parse.after-work", "parse.after-publish",
    "ocr.after-page", "ocr.after-description", "ocr.after-work", "ocr.after-publish", "speech.after-page",
    "speech.after-work",
    "speech.after-publish", "members.after-store", "members.before-commit",
    "members.after-commit", "chunk.after-work", "chunk.between-batches", "embed.before-work", "embed.after-work",
    "embed.after-publish", "index.before-commit", "index.after-commit", "relay.after-publish", "collect.after-copy",
    "collect.after-commit", "reconcile.after-page", "enrich.after-release", "enrich.after-work",
    "enrich.before-commit", "enrich.after-commit", "enrich.after-vectors", "times.before-commit",
    "relations.before-commit", "acronyms.before-commit", "erase.after-curation", "erase.after-documents",
    "erase.after-files", "erase.after-queues", "erase.after-rows", "erase.after-access", "erase.before-traces",
)


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens at a place."""

    action: Literal["kill", "error", "delay", "skip"]
    value: float
    """A probability; seconds for a delay."""


def read_faults(text: str) -> dict[str, Fault]:
    """Read `name=action:value,…`; raise InvalidArgument for unknown names, so that no test waits for a typing error."""
    faults = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, _, described = entry.partition("=")
        action, _, value = described.partition(":")
        if name not in NAMES or action not in ("kill", "error", "delay", "skip"):
            raise InvalidArgument(
                f"{VARIABLE} holds {entry!r}; write NAME=kill:P, error:P, delay:SECONDS or skip:P with one of "
                f"{', '.join(NAMES)}", field=VARIABLE,
            )
        faults[name] = Fault(action, float(value or 1))  # type: ignore[arg-type]
    return faults


class Failpoints:
    """The faults of this process."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Read them from the environment."""
        self.faults = read_faults(environment.get(VARIABLE, ""))
        self._random = random.Random(environment.get(SEED_VARIABLE) or None)  # noqa: S311 - not a secret

    async def pass_through(self, name: str) -> bool:
        """Do what was asked for at a place; return whether the step that follows is to be left out."""
        fault = self.faults.get(name)
        if fault is None:
            return False
        if fault.action == "delay":
            await asyncio.sleep(fault.value)
            return False
        if self._random.random() >= fault.value:
            return False
        logger.warning("failpoint", extra={"failpoint": name, "action": fault.action})
        if fault.action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault.action == "error":
            raise Unavailable(f"the failpoint {name} was reached")
        return fault.action == "skip"


_failpoints = Failpoints(os.environ)


async def failpoint(name: str) -> bool:
    """Pass through a named place; return whether a test wants the next step left out, to prove that it is needed."""
    if not _failpoints.faults:
        return False
    return await _failpoints.pass_through(name)
