"""What was done and what the other side said: accepted, refused, or unknown because the answer never came."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tests.chaos.generator import Step

Outcome = Literal["accepted", "unknown"]


@dataclass(frozen=True, slots=True)
class Known:
    """What may be there in the end of one document."""

    tenant: str
    versions: frozenset[int]
    """Numbers of versions; 0 stands for none at all."""
    poison: str = ""
    earlier: frozenset[int] = frozenset({0})
    """What may answer instead where the newest version has a dead letter."""


@dataclass
class History:
    """The record of a run, in the order in which the operations ended; those on one document never overlap."""

    steps: list[tuple[Step, Outcome]] = field(default_factory=list)
    notifications: int = 0
    """Notifications sent, doubles and lies included."""

    def record(self, step: Step, outcome: Outcome) -> None:
        """Add an operation that ended."""
        self.steps.append((step, outcome))

    @property
    def events(self) -> int:
        """How many operations and notifications there were."""
        return len(self.steps) + self.notifications

    def known(self) -> dict[tuple[str, str], Known]:
        """Return what may be there in the end, by tenant and name."""
        ended: dict[tuple[str, str], Known] = {}
        for step, outcome in self.steps:
            name = (step.tenant, step.name)
            before = ended.get(name, Known(step.tenant, frozenset({0})))
            versions = frozenset({step.version})
            if outcome == "unknown":
                versions |= before.versions
            earlier = before.earlier | before.versions
            ended[name] = Known(step.tenant, versions, step.poison, frozenset({0}) if step.version == 0 else earlier)
        return ended
