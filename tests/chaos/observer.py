"""Looks at the index while the faults happen: at any moment a document is one whole version, and never goes back."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.postgres.database import Database
from tests.chaos import checker
from tests.chaos.checker import Finding
from tests.chaos.state import read_documents

LOOK_SECONDS = 0.25
FINDINGS_MAX = 20


class Observer:
    """Reads as a search would, several times a second."""

    def __init__(self, database: Database) -> None:
        """Begin with nothing seen."""
        self._database = database
        self._seen: dict[str, tuple[int, int]] = {}
        self.findings: list[Finding] = []
        self.looks = 0

    async def run(self) -> None:
        """Look until cancelled."""
        while len(self.findings) < FINDINGS_MAX:
            with suppress(ServiceError):  # the database may be the victim
                await self._look()
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self) -> None:
        documents = await read_documents(self._database)
        self.looks += 1
        for document in documents:
            self.findings += checker.whole(document)
            now = (document.generation, checker.version_of(document))
            before = self._seen.get(document.document_id, (0, 0))
            if now[0] < before[0] or (now[1] < before[1] and now[1] > 0):
                self.findings.append(Finding(
                    "F-I3", "outdated", f"{document.name} went back from version {before[1]} to {now[1]}"
                ))
            self._seen[document.document_id] = now
