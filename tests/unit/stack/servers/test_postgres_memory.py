"""How much memory the stack's PostgreSQL takes for the pages that it reads."""

from __future__ import annotations

import pytest

from sourcier.services.stack.servers import postgres

GIB = 1024 * 1024 * 1024
KB_A_GIB = 1024 * 1024


@pytest.mark.parametrize(("memory", "shared_kb"), [
    (GIB // 2, KB_A_GIB // 8),
    (16 * GIB, 2 * KB_A_GIB),
    (1024 * GIB, 8 * KB_A_GIB),
])
def test_an_eighth_of_the_memory_within_bounds(memory: int, shared_kb: int) -> None:
    assert postgres.memory_configuration(memory)["shared_buffers"] == f"{shared_kb}kB"
