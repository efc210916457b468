"""`sourcier doctor`: what it sees by itself of the machine it runs on."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcier.cli.health.doctor import FREE_BYTES_LAST, FREE_BYTES_MIN, line, of_disk


@pytest.mark.parametrize(("free_bytes", "state"), [
    (FREE_BYTES_MIN, "ok"), (FREE_BYTES_MIN - 1, "warning"), (FREE_BYTES_LAST - 1, "failed"),
])
def test_a_disk_is_told_before_it_is_full(free_bytes: int, state: str) -> None:
    told = line(of_disk(Path("data"), free_bytes))
    assert told.startswith(f"{state:8} disk ")
    assert ("→ du -sh data/*" in told) == (state != "ok")
