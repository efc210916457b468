"""Pages of PDF read a second of a core, and the memory it takes, beside other readers on the same drawn pages."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from bench.measuring import Table
from eval.reading import own, peers, readings, truth

ROOT = Path(__file__).parents[2]
_PYTHON = ROOT / ".venv" / "readers" / "bin" / "python"
_DRAW = "import sys; from pathlib import Path; from eval.reading.drawing import draw; " \
        "draw(Path(sys.argv[1]), share=int(sys.argv[2]), scanned=False)"
_SLOW = ("docling-parse", "pdfplumber")
"""Readers of a few pages a second: one round is enough."""


async def run(*, quick: bool) -> list[Table]:
    """Read the same pages by each reader in turn, a few rounds; the processor's seconds count, not the clock's."""
    speed = Table("reading PDF: pages a second of a core", "pages/s")
    memory = Table("reading PDF: most memory", "MiB", higher_is_better=False)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await _python(_PYTHON, "-c", _DRAW, str(folder), "8" if quick else "1")
        pages = sum(each.pages for each in truth.read(folder))
        for round_number in range(1 if quick else 3):
            for reader in (own.NAME, *peers.NAMES):
                if round_number and reader in _SLOW:
                    continue
                output = folder / f"{reader}.jsonl"
                if not await _read(reader, folder, output):
                    continue
                cpu_seconds, bytes_max = readings.read_cost(output)
                speed.add(reader, pages / cpu_seconds)
                memory.add(reader, bytes_max / 2**20)
    speed.notes[own.NAME] = f"{pages} drawn pages, layout and tables included"
    speed.limit(own.NAME, at_least=60.0)
    return [speed, memory]


async def _read(reader: str, folder: Path, output: Path) -> bool:
    if reader == own.NAME:
        return await _python(Path(sys.executable), "-m", "eval.reading.own", str(folder), str(output)) == 0
    return await _python(_PYTHON, "-m", "eval.reading.peers", reader, str(folder), str(output)) == 0


async def _python(python: Path, *arguments: str) -> int:
    process = await asyncio.create_subprocess_exec(
        str(python), *arguments, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    try:
        return await process.wait()
    except asyncio.CancelledError:
        process.kill()
        raise
