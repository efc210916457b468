"""What two profiles of the same load are compared by: kept as JSON beside a profile's page, for one to come."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.profiling.profiles import Profile
from bench.publishing.figures import number

FILE_NAME = "profile.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One profile's."""

    origin: str
    """When, where and by what they were measured."""
    kind: str
    unit: str
    rates: Mapping[str, float]
    """Units a second, by how many clients there were."""
    stages: Mapping[str, float]
    """Milliseconds at p50 with one client, as it sees them."""
    processor: Mapping[str, float]
    """Milliseconds of processor time for each unit, by process, with several clients."""

    @classmethod
    def of(cls, found: Profile, origin: str) -> Figures:
        """Return a profile's figures."""
        spent = {name: 1000 * seconds / found.busy.units for name, seconds in found.processor.items()}
        return cls(
            origin=origin, kind=found.kind, unit=found.unit,
            rates={"1 client": found.alone.units / found.alone.seconds,
                   f"{found.clients} clients": found.busy.units / found.busy.seconds},
            stages={stage: statistics.median(values) for stage, values in found.alone.stages.items()},
            processor={**spent, "all": sum(spent.values())},
        )

    @classmethod
    def read(cls, path: Path) -> Figures:
        """Return what `write` wrote; raise `ValueError` for anything else."""
        try:
            return cls(**json.loads(path.read_text("utf-8")))
        except (OSError, TypeError, ValueError) as error:
            raise ValueError(f"{path} holds no figures; name the {FILE_NAME} that an earlier profile wrote") from error

    def write(self, path: Path) -> None:
        """Write them as JSON."""
        path.write_text(json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n", "utf-8")

    def beside(self, before: Figures) -> list[tuple[str, ...]]:
        """Return the rows of a table: each figure before and now, as far as both have it; raise `ValueError` where the
        loads differ."""
        if before.kind != self.kind:
            raise ValueError(f"a profile of {before.kind} cannot be compared with one of {self.kind}")
        rows: list[tuple[str, ...]] = [("", "before", "after", "after / before")]
        for title, then, now in (
            (f"{self.unit} a second, {{}}", before.rates, self.rates),
            ("{}, 1 client, ms at p50", before.stages, self.stages),
            (f"processor time of {{}}, ms for each {self.unit}", before.processor, self.processor),
        ):
            rows += [(title.format(name), number(then[name]), number(value), number(value / then[name]))
                     for name, value in now.items() if then.get(name)]
        return rows
