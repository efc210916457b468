"""A benchmark whose peer is not there, for the harness to run."""

from __future__ import annotations

from bench.measuring import Table


async def run(*, quick: bool) -> list[Table]:
    """Fail."""
    raise RuntimeError("the peer cannot be imported")
