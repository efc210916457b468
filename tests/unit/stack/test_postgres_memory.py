"""How much memory the stack's PostgreSQL takes for the pages that it reads."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from services.stack.servers import postgres

GIB = 1024 * 1024 * 1024
KB_A_GIB = 1024 * 1024


@pytest.mark.parametrize(("memory", "shared_kb"), [
    (GIB // 2, KB_A_GIB // 8),
    (16 * GIB, 2 * KB_A_GIB),
    (1024 * GIB, 8 * KB_A_GIB),
])
def test_an_eighth_of_the_memory_within_bounds(memory: int, shared_kb: int) -> None:
    assert postgres.memory_configuration(memory)["shared_buffers"] == f"{shared_kb}kB"


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
    monkeypatch.setattr(postgres, "CGROUP_LIMIT", file)
    monkeypatch.setattr(postgres.psutil, "virtual_memory", lambda: SimpleNamespace(total=16 * GIB))
    assert postgres.memory_bytes() == expected
