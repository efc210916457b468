"""Keeps one service process running, as the stack's supervisor does, and arms one failpoint after another in it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sourcier.services.stack.processes import ports
from sourcier.services.stack.processes.component import StartFailed
from sourcier.services.stack.service import Service, ServiceSettings
from tests.chaos.nursery import ForkedService, Nursery
from tests.chaos.process import VARIABLE

REPOSITORY = Path(__file__).parents[2]
LINES_SHOWN = 10
STARTS_MAX = 10
"""Starts in a row that may fail, because a server is away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A process of a scenario."""

    service: str = "ingest"
    stages: str = "accept,collect,parse,chunk,index"
    failpoints: str = ""
    """Armed as long as there are faults."""
    kills: tuple[str, ...] = ()
    """Failpoints that end the process, one in each of its lives."""
    kill_probability: float = 0.3
    settings: Mapping[str, str] = field(default_factory=dict)
    root: Path = REPOSITORY
    """The checkout whose code it runs."""
    port: int = 0
    """0 takes a free one."""


class Keeper:
    """One process of a plan, in as many lives as it takes."""

    def __init__(
        self, plan: Plan, *, name: str, log: Path, environment: Mapping[str, str], interpreter: Path, seed: int,
        nursery: Nursery | None = None,
    ) -> None:
        """Prepare; nothing is started. A nursery starts the process without its imports."""
        self.name = name
        self.plan = plan
        self.port = plan.port or ports.free_ports(1)[0]
        self.fired: Counter[str] = Counter()
        """Kills by failpoint."""
        self.deaths_unasked: list[str] = []
        """Ends that nobody caused."""
        self.exits: list[int] = []
        self.to_fire: list[str] = []
        self.ready = asyncio.Event()
        self._armed = ""
        self._calm = False
        self._killing = False
        self._stopping = False
        self._environment = {**environment, **plan.settings}
        self._lives = 0
        self._seed = seed
        settings = ServiceSettings(
            name=plan.service, interpreter=interpreter, port=self.port, log=log,
            arguments=("-m", "tests.chaos.process", plan.service), import_root=plan.root, environment=self._variables,
        )
        self.service = Service(settings) if nursery is None else ForkedService(settings, nursery)

    def arm(self, rounds: int) -> None:
        """Let each of the plan's failpoints end the process so many times."""
        self.to_fire = list(self.plan.kills) * rounds

    def calm(self) -> None:
        """Fail no more from the next life on."""
        self._calm = True
        self.to_fire = []

    async def run(self) -> None:
        """Start, and start again, until cancelled."""
        failed = 0
        try:
            while True:
                try:
                    await self.service.start()
                except StartFailed:
                    code = self.service.child.exit_code if self.service.child else None
                    if code == -signal.SIGKILL and self._deadly:
                        self._note_end(code)  # work was waiting for it
                        continue
                    failed += 1
                    if failed == STARTS_MAX:
                        raise
                    continue
                failed = 0
                self.ready.set()
                assert self.service.child is not None
                code = await self.service.child.wait()
                self.ready.clear()
                self._note_end(code)
        finally:
            await self.service.stop()

    @property
    def failpoints_passed(self) -> int:
        """How many faults the process's lives say they met at failpoints, those they died of included."""
        log = self.service.settings.log
        return log.read_text("utf-8").count("|failpoint") if log.exists() else 0

    def kill(self) -> None:
        """End the process at once."""
        self.signal(signal.SIGKILL)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal that may end the process."""
        child = self.service.child
        if child is not None and child.running and child.pid:
            self._killing = True
            os.kill(child.pid, number)

    @property
    def _deadly(self) -> bool:
        return bool(self._armed) or ("=kill" in self.plan.failpoints and not self._calm)

    def _note_end(self, code: int) -> None:
        self.exits.append(code)
        if self._killing:
            self._killing = False
        elif code == -signal.SIGKILL and self._deadly:
            self.fired[self._armed or self.plan.failpoints] += 1
            if self._armed in self.to_fire:
                self.to_fire.remove(self._armed)
        else:
            said = self.service.child.log_tail(lines=LINES_SHOWN) if self.service.child else []
            self.deaths_unasked.append(" / ".join([f"{self.name} ended with {code}", *said]))

    def _variables(self) -> dict[str, str]:
        self._lives += 1
        self._armed = self.to_fire[self._lives % len(self.to_fire)] if self.to_fire and not self._calm else ""
        faults = [] if self._calm else [self.plan.failpoints] if self.plan.failpoints else []
        if self._armed:
            faults.append(f"{self._armed}=kill:{self.plan.kill_probability}")
        return {
            "SOURCIER_INGEST_STAGES": self.plan.stages, **self._environment,
            "SOURCIER_FAILPOINTS": ",".join(faults), "SOURCIER_FAILPOINTS_SEED": f"{self._seed} {self._lives}",
            VARIABLE: self._environment.get(VARIABLE, "{}"),
        }
