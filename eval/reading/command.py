"""Draws the documents, has every reader read them, and writes what of the truth each one told."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import click

from eval.reading import judged, measures, own, peers, readings, report, truth
from eval.reading.readings import Reading
from eval.reporting.report import provenance, write_block

ROOT = Path(__file__).parents[2]
_PYTHON = ROOT / ".venv" / "readers" / "bin" / "python"
_INSTALL = "python3 requirements/install.py readers"


async def measure_reading(
    folder: Path, *, seed: int, ocr: bool, document: Path | None, plot: Path | None, command: str
) -> None:
    """Print the figures and write them; raise ClickException where the peers' environment is absent."""
    if not _PYTHON.exists():
        raise click.ClickException(f"what draws the pages is not installed; {_INSTALL} does")
    if not (folder / truth.FILE).exists():
        click.echo("drawing the documents …")
        _in_peers("eval.reading.drawing", str(folder), str(seed))
    documents = truth.read(folder)
    if not ocr:
        documents = [each for each in documents if not each.resolution]
    found = {own.NAME: {each.name: each async for each in own.read_all(folder, documents)}}
    for name in peers.NAMES:
        output = folder / f"{name}.jsonl"
        click.echo(f"{name} reads …")
        if output.exists() or _in_peers("eval.reading.peers", name, str(folder), str(output)) == 0:
            found[name] = readings.read(output)
    _tell(documents, found, document=document, plot=plot, command=command)


def _in_peers(module: str, *arguments: str) -> int:
    return subprocess.run(
        (str(_PYTHON), "-m", module, *arguments), cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False
    ).returncode


def _tell(
    documents: Sequence[truth.Document], found: dict[str, dict[str, Reading]], *, document: Path | None,
    plot: Path | None, command: str,
) -> None:
    drawn = [each for each in documents if not each.resolution]
    scanned = [each for each in documents if each.resolution]
    figures = {name: judged.judge(drawn, each) for name, each in found.items()}
    pages = sum(each.pages for each in documents)
    parts = [report.table(figures)]
    if scanned:
        wrong = {each.name: measures.characters(each, found[own.NAME].get(each.name, Reading(each.name)))
                 for each in scanned}
        parts.append("Characters that OCR reads wrong (the other readers have no OCR of their own):\n\n"
                     + report.scans(scanned, wrong))
    parts.append(report.by_kind(figures))
    missed = report.missed(figures)
    parts.append(f"Missed: {'; '.join(missed)}." if missed else "No bar is missed; no reader is better in any measure.")
    click.echo("\n\n".join(parts))
    if document is not None:
        told = provenance(system=f"{pages} pages, in one process a document", command=command)
        write_block(document, "reading", "\n\n".join(("### Reading of drawn pages", *parts, told)))
    if plot is not None:
        report.plot(plot, figures)
