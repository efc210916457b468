"""A benchmark that measures nothing much, for the harness to run."""

from __future__ import annotations

from bench.measuring import Table


async def run(*, quick: bool) -> list[Table]:
    """Reach one target and miss another."""
    table = Table("sums", "sums/s")
    for name, value in (("ours", 1.5), ("theirs", 1.0)):
        table.add(name, value + quick)
    table.ratio("ours", "theirs", target=3)
    table.limit("ours", at_least=1)
    return [table]
