"""How much of the machine's memory a container may take."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcier.services.chassis.models import memory

pytestmark = pytest.mark.unit

GIB = 1024 * 1024 * 1024


@pytest.mark.parametrize(("limit", "expected"), [
    (f"{4 * GIB}\n", 4 * GIB),
    (f"{1 << 60}\n", 16 * GIB),
    ("max\n", 16 * GIB),
    (None, 16 * GIB),
])
def test_a_container_has_what_it_may_take(
    limit: str | None, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "memory.max"
    if limit is not None:
        file.write_text(limit)
    monkeypatch.setattr(memory, "CGROUP_LIMIT", file)
    assert memory.within_container(16 * GIB) == expected
