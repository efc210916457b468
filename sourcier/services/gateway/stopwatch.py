"""How long each stage of a request took: told with the answer, as a metric, and as steps of its trace."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import Histogram

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.tracing import spans

TOTAL = "total"

stage_seconds = Histogram(
    "sourcier_stage_seconds", "Time that a search or an answer spent in each of its stages, and in all: total.",
    ["stage"], buckets=telemetry.DURATION_BUCKETS,
)


class Stopwatch:
    """Seconds by stage."""

    def __init__(self) -> None:
        """Begin now."""
        self.durations: dict[str, float] = {}
        self._started = time.perf_counter()

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Add the time of the block to a stage."""
        started = time.perf_counter()
        try:
            with spans.span(f"stage {stage}", attributes={"sourcier.stage": stage}):
                yield
        finally:
            self.add(stage, time.perf_counter() - started)

    def add(self, stage: str, seconds: float) -> None:
        """Add seconds that were measured elsewhere; less than none where a stage waited for another."""
        self.durations[stage] = self.durations.get(stage, 0.0) + seconds

    def finish(self) -> None:
        """Keep how long all of it took, and count it."""
        self.durations[TOTAL] = time.perf_counter() - self._started
        self.count()

    def count(self) -> None:
        """Count the stages that there are."""
        exemplar = telemetry.exemplar()
        for stage, seconds in self.durations.items():
            stage_seconds.labels(stage).observe(max(seconds, 0.0), exemplar)
